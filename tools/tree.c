// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tally.h"
#include "tree.h"

/* State, parent and, 17 words later, start of a process. */
#define STAT ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu"

/**
 * struct process - one of this machine's
 * @pid: its number
 * @parent: its parent's
 * @start: when it was started
 * @below: it is below us
 * @guard: it has the name of a guard of lock run
 * @busy: it has children that live
 */
struct process {
	pid_t pid;
	pid_t parent;
	unsigned long long start;
	bool below;
	bool guard;
	bool busy;
};

struct processes {
	struct process *list;
	size_t count;
	size_t room;
};

/* "36 (name) S 1 …": any character may be in the name. */
static bool read_process(pid_t pid, struct process *process)
{
	char path[64], line[1024], state, *name, *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
	fclose(file);
	*process = (struct process){ .pid = pid };
	name = strchr(line, '(');
	end = strrchr(line, ')');
	if (!name || !end ||
	    sscanf(end, STAT, &state, &process->parent, &process->start) != 3)
		return false;
	*end = '\0';
	process->guard = !strcmp(name + 1, GUARD_NAME);
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
		    read_process(atoi(entry->d_name), &process))
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

/* The guard of a lock run, which still guards: any process may have the name. */
static bool is_guarding(const struct process *process)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
	return process->guard && process->busy &&
	       !stat("/proc/self/exe", &ours) && !stat(path, &its) &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

/* Not to another one that has its number by now. Return: false if we may not. */
static bool signal_process(const struct process *process, int sig)
{
	int fd = syscall(SYS_pidfd_open, process->pid, 0);
	struct process now;
	bool denied = false;

	if (read_process(process->pid, &now) && now.start == process->start)
		denied = (fd < 0 ? kill(process->pid, sig) :
			  syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0)) &&
			 errno == EPERM;
	if (fd >= 0)
		close(fd);
	return !denied;
}

/**
 * tree_signal - a signal for all that is below us
 * @sig: the signal
 * @denied: set to how many of them we may not send signals to
 *
 * Children before their parents, mostly. The guard of a lock run below us is not
 * killed before what it guards is gone: it has a lock, too.
 *
 * Return: how many there are.
 */
unsigned int tree_signal(int sig, unsigned int *denied)
{
	struct processes all = { NULL, 0, 0 };
	const struct process *process;
	unsigned int found = 0;

	*denied = 0;
	read_processes(&all);
	find_below(&all);
	for (size_t i = all.count; i--; ) {
		process = &all.list[i];
		if (!process->below)
			continue;
		found++;
		if (sig == SIGKILL && is_guarding(process))
			continue;
		if (!signal_process(process, sig))
			(*denied)++;
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
	struct timespec step = { .tv_nsec = 20000000 };
	unsigned int found, denied;
	pid_t pid;

	for (;;) {
		found = tree_signal(SIGKILL, &denied);
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return;
		if (found && found == denied && !step.tv_sec) {
			say("what is left of it cannot be killed: %s; its end is waited for",
			    strerror(EPERM));
			step.tv_sec = 1;
		}
		nanosleep(&step, NULL);
	}
}
