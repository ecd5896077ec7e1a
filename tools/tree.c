// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tree.h"

/**
 * struct process - one of this machine's
 * @pid: its number
 * @parent: its parent's
 * @below: it is below us
 * @guard: it is a guard of lock run
 * @busy: it has children that live
 */
struct process {
	pid_t pid;
	pid_t parent;
	bool below;
	bool guard;
	bool busy;
};

struct processes {
	struct process *list;
	size_t count;
	size_t room;
};

static bool read_process(const char *name, struct process *process)
{
	char path[64], line[512], state, *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", name);
	file = fopen(path, "re");
	if (!file)
		return false;
	end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	*process = (struct process){ .pid = atoi(name) };
	if (!end || sscanf(end, ") %c %d", &state, &process->parent) != 2)
		return false;
	process->guard = strstr(line, "(" GUARD_NAME ")");
	return state != 'Z' && state != 'X';
}

static void add_process(struct processes *all, const struct process *process)
{
	struct process *list;

	if (all->count == all->room) {
		list = realloc(all->list, (2 * all->room + 64) * sizeof(*list));
		if (!list)
			return;
		all->list = list;
		all->room = 2 * all->room + 64;
	}
	all->list[all->count++] = *process;
}

static int by_pid(const void *one, const void *two)
{
	const struct process *a = one, *b = two;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static void read_processes(struct processes *all)
{
	DIR *dir = opendir("/proc");
	struct process process;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    read_process(entry->d_name, &process))
			add_process(all, &process);
	if (dir)
		closedir(dir);
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_pid);
}

/* Most have a higher number than their parents: once more for those that do not. */
static void find_below(struct processes *all)
{
	struct process *process, *parent;
	pid_t self = getpid();
	bool again;

	do {
		again = false;
		for (size_t i = 0; i < all->count; i++) {
			process = &all->list[i];
			parent = bsearch(&(struct process){ .pid = process->parent },
					 all->list, all->count, sizeof(*process), by_pid);
			if (parent)
				parent->busy = true;
			if (process->below || !parent ||
			    (parent->pid != self && !parent->below))
				continue;
			process->below = true;
			again = true;
		}
	} while (again);
}

/**
 * tree_signal - a signal for all that is below us
 * @sig: the signal
 *
 * Children before their parents, mostly. The guard of a lock run below us is not
 * killed before what it guards is gone: it has a lock, too.
 *
 * Return: how many there are.
 */
unsigned int tree_signal(int sig)
{
	struct processes all = { NULL, 0, 0 };
	const struct process *process;
	unsigned int found = 0;

	read_processes(&all);
	find_below(&all);
	for (size_t i = all.count; i--; ) {
		process = &all.list[i];
		if (!process->below)
			continue;
		found++;
		if (sig != SIGKILL || !process->guard || !process->busy)
			kill(process->pid, sig);
	}
	free(all.list);
	return found;
}

/**
 * tree_end - kill all that is below us
 *
 * Returns when it is gone: what has lost its parent becomes our child.
 */
void tree_end(void)
{
	const struct timespec step = { .tv_nsec = 20000000 };
	pid_t pid;

	for (;;) {
		tree_signal(SIGKILL);
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return;
		nanosleep(&step, NULL);
	}
}
