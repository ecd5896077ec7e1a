// SPDX-License-Identifier: GPL-2.0
/*
 * lock run: a command that lives no longer than the lock is held.
 *
 * The command is our child, in a process group of its own. Beside it a guard
 * is forked that shares the open lock file: should we be killed, the guard
 * ends the command before it closes the file, so that no user is granted the
 * lock while the command still runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/tally.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "args.h"
#include "file.h"
#include "tally.h"

#define GRACE_MS	2000	/* between TERM and KILL */
#define STEP_MS		20
#define LOOK_MS		1000	/* looks at the lock even without an event */

/* What we tell the guard. */
#define ENDED		'e'	/* the command has ended */
#define ENDING		'l'	/* the lock was lost, we are ending it */

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,
				 SIGUSR2, SIGTSTP, SIGCONT };

/**
 * struct run - one lock run
 * @path: the lock
 * @fd: its open file
 * @argv: the command
 * @token: fencing token
 * @signals: signalfd
 * @old: signal mask as it was
 * @old_pipe: what SIGPIPE did
 * @terminal: descriptor of the terminal the command was given, or -1
 * @child: the command, leader of its process group
 * @guard: the guard
 * @guard_pipe: our end; closed when we die
 * @exec_error: errno of a command that could not be run, or 0
 * @lost: the lock was lost
 * @status: wait status of the command
 */
struct run {
	struct path path;
	int fd;
	char **argv;
	uint64_t token;
	int signals;
	sigset_t old;
	void (*old_pipe)(int sig);
	int terminal;
	pid_t child;
	pid_t guard;
	int guard_pipe;
	int exec_error;
	bool lost;
	int status;
};

static void pause_ms(long ms)
{
	const struct timespec step = { .tv_sec = ms / 1000,
				       .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&step, NULL);
}

static int acquire(struct run *run, uint32_t flags, uint32_t timeout)
{
	struct tally_ioc_lock ioc = {
		.flags = flags,
		.timeout_ms = timeout,
	};
	int status;

	status = file_open("lock", &run->path, O_RDWR, &run->fd);
	if (status)
		return status;
	if (ioctl(run->fd, TALLY_IOC_LOCK, &ioc)) {
		status = file_failed("lock", &run->path, errno);
		close(run->fd);
		return status;
	}
	run->token = ioc.token;
	return DONE;
}

static bool lock_lost(int fd)
{
	struct tally_ioc_lockstat stat = { .held = 0 };

	return ioctl(fd, TALLY_IOC_LOCKSTAT, &stat) || !stat.held;
}

/* The group is gone when no signal reaches it any more. */
static void end_group(pid_t group)
{
	kill(-group, SIGTERM);
	kill(-group, SIGCONT);
	for (int ms = 0; ms < GRACE_MS; ms += STEP_MS) {
		if (kill(-group, 0) && errno == ESRCH)
			return;
		pause_ms(STEP_MS);
	}
	kill(-group, SIGKILL);
}

/* Returns when the command has ended, or has to be ended by the guard. */
static bool guard_watch(int from, int lock)
{
	struct pollfd fds[] = {
		{ .fd = from, .events = POLLIN },
		{ .fd = lock },
	};
	int lost = 0;
	char c;

	for (;;) {
		poll(fds, lost < 0 ? 1 : 2, lost < 0 ? -1 : LOOK_MS);
		if (fds[0].revents) {
			if (read(from, &c, 1) != 1)
				return true;
			if (c == ENDED)
				return false;
			lost = -1;	/* it is taken care of */
		} else if (lost >= 0 && lock_lost(lock)) {
			/* We may be stopped: a while for us, then the guard. */
			if (lost++)
				return true;
			poll(fds, 1, GRACE_MS / 4);
		}
	}
}

/* Runs in the guard. */
static void be_guard(int from, int lock)
{
	pid_t group = 0;

	setsid();
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		signal(forwarded[i], SIG_IGN);
	prctl(PR_SET_NAME, "tally-guard");
	if (read(from, &group, sizeof(group)) == sizeof(group) &&
	    guard_watch(from, lock))
		end_group(group);
	close(lock);
	_exit(0);
}

static int start_guard(struct run *run)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	run->guard = fork();
	if (!run->guard) {
		close(ends[1]);
		close(run->signals);
		be_guard(ends[0], run->fd);
	}
	close(ends[0]);
	run->guard_pipe = ends[1];
	return run->guard < 0 ? -1 : 0;
}

/* Runs in the child; begins when the gate opens, so never without a guard. */
static void command(struct run *run, int gate, int report, pid_t parent)
{
	char token[24];
	int error;
	char c;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || read(gate, &c, 1) != 1)
		_exit(1);
	snprintf(token, sizeof(token), "%llu", (unsigned long long)run->token);
	setenv("TALLY_TOKEN", token, 1);
	sigprocmask(SIG_SETMASK, &run->old, NULL);
	signal(SIGPIPE, run->old_pipe);
	execvp(run->argv[0], run->argv);
	error = errno;
	if (write(report, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(error == ENOENT ? 127 : 126);
}

static void give_terminal(struct run *run)
{
	run->terminal = -1;
	if (tcgetpgrp(STDIN_FILENO) != getpgrp())
		return;
	run->terminal = STDIN_FILENO;
	tcsetpgrp(run->terminal, run->child);
}

static void take_terminal(struct run *run)
{
	if (run->terminal < 0)
		return;
	signal(SIGTTOU, SIG_IGN);
	tcsetpgrp(run->terminal, getpgrp());
	signal(SIGTTOU, SIG_DFL);
}

/* Tell the guard whom to guard, then let the child go and see it exec. */
static int let_go(struct run *run, int gate, int report)
{
	pid_t group = run->child;

	setpgid(group, group);
	give_terminal(run);
	if (write(run->guard_pipe, &group, sizeof(group)) != sizeof(group) ||
	    write(gate, "", 1) != 1)
		return -1;
	if (read(report, &run->exec_error, sizeof(run->exec_error)) < 0)
		return -1;
	return 0;
}

static int start_command(struct run *run)
{
	int gate[2], report[2], err = -1;
	pid_t self = getpid();

	if (pipe2(gate, O_CLOEXEC))
		return -1;
	if (pipe2(report, O_CLOEXEC)) {
		close(gate[0]);
		close(gate[1]);
		return -1;
	}
	run->child = fork();
	if (!run->child) {
		/* Else it would be its own writer, and wait for ever. */
		close(gate[1]);
		command(run, gate[0], report[1], self);
	}
	close(gate[0]);
	close(report[1]);
	if (run->child > 0)
		err = let_go(run, gate[1], report[0]);
	close(gate[1]);
	close(report[0]);
	return err;
}

static void block_signals(struct run *run)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&set, forwarded[i]);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &run->old);
	run->old_pipe = signal(SIGPIPE, SIG_IGN);
	run->signals = signalfd(-1, &set, SFD_CLOEXEC);
}

/* The command stopped: stop too, so that the shell sees it, and go on together. */
static void stop_along(struct run *run)
{
	if (run->terminal < 0) {
		/* It may have asked for a terminal that is ours by now. */
		give_terminal(run);
		if (run->terminal >= 0)
			kill(-run->child, SIGCONT);
		return;
	}
	take_terminal(run);
	raise(SIGSTOP);
	tcsetpgrp(run->terminal, run->child);
	kill(-run->child, SIGCONT);
}

static bool reap(struct run *run)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != run->child)
			continue;
		if (WIFSTOPPED(status)) {
			stop_along(run);
			continue;
		}
		run->status = status;
		return true;
	}
	return false;
}

/* Return: true when the command has ended. */
static bool take_signal(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGCHLD)
		return reap(run);
	if (info.ssi_signo == SIGCONT)
		give_terminal(run);
	kill(-run->child, info.ssi_signo);
	return false;
}

static bool tell_guard(struct run *run, char what)
{
	return write(run->guard_pipe, &what, 1) == 1;
}

static void watch(struct run *run)
{
	struct pollfd fds[] = {
		{ .fd = run->signals, .events = POLLIN },
		{ .fd = run->fd },	/* a loss is an error condition */
	};

	for (;;) {
		if (poll(fds, 2, LOOK_MS) < 0)
			continue;
		if ((fds[0].revents & POLLIN) && take_signal(run))
			return;
		if (lock_lost(run->fd))
			break;
	}
	run->lost = true;
	tell_guard(run, ENDING);
	say("lock %s/%s: it was lost; %s is stopped", run->path.arena,
	    run->path.object, run->argv[0]);
	end_group(run->child);
	waitpid(run->child, &run->status, 0);
}

static void dismiss_guard(struct run *run)
{
	if (run->guard <= 0)
		return;
	if (!tell_guard(run, ENDED))
		kill(run->guard, SIGKILL);
	close(run->guard_pipe);
	waitpid(run->guard, NULL, 0);
}

static int release(struct run *run)
{
	int error = ioctl(run->fd, TALLY_IOC_UNLOCK) ? errno : 0;

	close(run->fd);
	if (run->lost)
		return LOCK_TROUBLE + FAILED;
	if (!error)
		return DONE;
	return LOCK_TROUBLE + file_failed("lock", &run->path, error);
}

static int command_status(const struct run *run)
{
	if (run->exec_error) {
		say("lock run: %s: %s", run->argv[0],
		    strerror(run->exec_error));
		return run->exec_error == ENOENT ? 127 : 126;
	}
	if (WIFSIGNALED(run->status))
		return 128 + WTERMSIG(run->status);
	return WEXITSTATUS(run->status);
}

static int run_locked(struct run *run)
{
	int status, trouble;
	bool started;

	block_signals(run);
	/* The guard is there before the command, so that none runs alone. */
	started = run->signals >= 0 && !start_guard(run) &&
		  !start_command(run);
	if (started)
		watch(run);
	else
		say("lock run: %s: %s", run->argv[0], strerror(errno));
	take_terminal(run);
	dismiss_guard(run);
	trouble = release(run);
	close(run->signals);
	signal(SIGPIPE, run->old_pipe);
	sigprocmask(SIG_SETMASK, &run->old, NULL);
	status = started ? command_status(run) : 126;
	return trouble ? trouble : status;
}

int lock_run(int argc, char **argv)
{
	struct run run = { .fd = -1, .signals = -1, .terminal = -1 };
	uint32_t timeout = 0;
	bool try = false, shared = false;
	struct arg args[] = {
		{ .key = "timeout", .parse = arg_u32, .to = &timeout },
		{ .key = "try", .to = &try },
		{ .key = "shared", .to = &shared },
		{ .key = NULL },
	};
	int count, status;

	if (args_path(&argc, &argv, &run.path))
		return USAGE;
	for (count = 0; count < argc && strcmp(argv[count], "--");)
		count++;
	if (args_parse(count, argv, args))
		return USAGE;
	if (count + 1 >= argc) {
		say("'-- COMMAND' is missing");
		return USAGE;
	}
	run.argv = argv + count + 1;
	status = acquire(&run, (try ? TALLY_LOCK_TRY : 0) |
			 (shared ? TALLY_LOCK_SHARED : 0), timeout);
	if (status)
		return LOCK_TROUBLE + status;
	return run_locked(&run);
}
