// SPDX-License-Identifier: GPL-2.0
/* What is printed, and what goes to the file. */
#include "sim.h"

static unsigned int results, failed;
static FILE *figures;

bool out_open(const char *path)
{
	figures = fopen(path, "we");
	return figures;
}

/* Return: the exit status. */
int out_close(void)
{
	if (figures) {
		fprintf(figures, "\n]\n");
		failed += fclose(figures) != 0;
	}
	return failed != 0;
}

void ok(bool good, const char *what)
{
	results++;
	failed += !good;
	printf("%sok %u %s\n", good ? "" : "not ", results, what);
	fflush(stdout);
}

void figure(const char *name, double value, const char *unit, double baseline,
	    double ratio)
{
	static bool more;

	if (!figures)
		return;
	fprintf(figures, "%s\n  {\"name\": \"%s\", ", more ? "," : "[", name);
	fprintf(figures, "\"value\": %.4g, \"unit\": \"%s\", ", value, unit);
	fprintf(figures, "\"baseline\": %.4g, \"ratio\": %.4g, ", baseline,
		ratio);
	fprintf(figures, "\"spread\": 0, \"lane\": \"simulator\", ");
	fprintf(figures, "\"kernel\": \"none\"}");
	more = true;
}

bool run(const char *what, const struct sim_load *load,
	 const struct sim_costs *costs, struct sim_result *result)
{
	const char *wrong = sim_run(load, costs, result);

	printf("# %s: %llu grants in %.1f ms, Jain's index %.4f\n", what,
	       result->grants, result->time / 1e6, result->jain);
	printf("#   wait: median %.1f, 99 %% %.1f, longest %.1f us\n",
	       result->wait50 / 1e3, result->wait99 / 1e3, result->worst / 1e3);
	printf("#   a grant: %.2f messages, %.2f atomics; %llu without one\n",
	       (double)result->messages / (result->grants ?: 1),
	       (double)result->atomics / (result->grants ?: 1), result->tried);
	if (load->fault)
		printf("#   %llu breaks, %llu sessions lost\n",
		       result->faults, result->lost);
	if (load->evil)
		printf("#   %llu lies, %llu grants to evil nodes, %llu accused\n",
		       result->lies, result->stolen, result->accused);
	if (wrong)
		printf("# %s at %.3f ms\n", wrong, now / 1e6);
	return !wrong;
}
