// SPDX-License-Identifier: GPL-2.0
/* The module that measures: there for so long, and with what names. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"
#include "tally.h"

#define MODULE_DIR	"/sys/module/tally_bench"
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define KEY(_key)	{ #_key, offsetof(struct bench_names, _key) }

/* Parameters of the module, read-only there. */
static const struct {
	const char *key;
	size_t offset;
} keys[] = {
	KEY(nodes), KEY(counter), KEY(cpu), KEY(lock), KEY(cached),
	KEY(cpu_lock), KEY(region), KEY(dev), KEY(far),
};

static char *const unload[] = { "rmmod", "tally_bench", NULL };
static char loaded_with[ARRAY_SIZE(keys)][1200];

static const char **name_of(struct bench_names *names, unsigned int i)
{
	return (const char **)((char *)names + keys[i].offset);
}

/* Return: 0, or an exit status. */
static int run_program(char *const argv[])
{
	/* Ignored, it would leave no status. */
	sighandler_t old = signal(SIGCHLD, SIG_DFL);
	bool ended;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	ended = pid > 0 && waitpid(pid, &status, 0) == pid;
	signal(SIGCHLD, old);
	if (!ended)
		return FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static int load(struct bench_names *names)
{
	char words[ARRAY_SIZE(keys)][1200], *argv[ARRAY_SIZE(keys) + 3];
	const char *name;
	unsigned int i;
	int argc = 0;

	argv[argc++] = "modprobe";
	argv[argc++] = "tally_bench";
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		name = *name_of(names, i);
		if (!name)
			continue;
		if (snprintf(words[i], sizeof(words[i]), "%s=%s", keys[i].key,
			     name) >= (int)sizeof(words[i])) {
			say("bench: %s is too long", keys[i].key);
			return FAILED;
		}
		argv[argc++] = words[i];
	}
	argv[argc] = NULL;
	if (!run_program(argv))
		return DONE;
	say("modprobe tally_bench failed; if there is no such module, install it: make install");
	return FAILED;
}

/* Another process may have loaded it, and what it has then stays. */
static int compare(struct bench_names *names, unsigned int i)
{
	const char **name = name_of(names, i);
	char path[80], *has = loaded_with[i];
	FILE *file;

	snprintf(path, sizeof(path), MODULE_DIR "/parameters/%s", keys[i].key);
	file = fopen(path, "re");
	if (!file || !fgets(has, sizeof(loaded_with[i]), file)) {
		say("%s: %s", path, strerror(errno));
		if (file)
			fclose(file);
		return FAILED;
	}
	fclose(file);
	has[strcspn(has, "\n")] = '\0';
	if (!*name && *has)
		*name = has;
	if (!*name || !strcmp(*name, has))
		return DONE;
	say("tally_bench is loaded with %s '%s', not '%s': unload it, or leave that out",
	    keys[i].key, has, *name);
	return FAILED;
}

static int compare_all(struct bench_names *names)
{
	int status = DONE;
	unsigned int i;

	for (i = 0; !status && i < ARRAY_SIZE(keys); i++)
		status = compare(names, i);
	return status;
}

/*
 * A process that unloads the module when we die before we do so. What ends all
 * processes of our name, or of our service, must not end it before us.
 */
static pid_t leave_heir(void)
{
	pid_t parent = getpid(), pid = fork();
	sigset_t all;
	int number;

	if (pid)
		return pid;
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	while (getppid() == parent)
		sigwait(&all, &number);
	execvp(unload[0], unload);
	_exit(127);
}

int bench_with_module(struct bench_names *names, int (*run)(void))
{
	bool is_ours = access(MODULE_DIR, F_OK);
	pid_t heir = -1;
	int status;

	if (is_ours && load(names))
		return FAILED;
	if (is_ours)
		heir = leave_heir();
	status = compare_all(names);
	if (!status)
		status = run();
	if (heir > 0) {
		kill(heir, SIGKILL);
		waitpid(heir, NULL, 0);
	}
	if (is_ours && run_program(unload))
		say("tally_bench cannot be unloaded");
	return status;
}
