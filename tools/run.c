// SPDX-License-Identifier: GPL-2.0
/*
 * lock run: a command that lives no longer than the lock is held.
 *
 * The process that the user started is the front: it passes signals on, shares the
 * terminal with the command, and tells what happened. Its child, the guard, starts
 * the command, watches the lock, and ends the command and all that came of it when
 * the lock is lost, before its lease ends, or when the front is gone; so it does
 * not matter whether the front is stopped or killed. What has lost its parent becomes
 * the guard's child (it is a child subreaper), in whatever process group it is: when
 * the guard has no children any more, nothing of the command is left.
 *
 * Both have the lock's open file. Should the guard be killed, the front does
 * that before it closes the file.
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
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "args.h"
#include "file.h"
#include "tally.h"
#include "tree.h"

#define GRACE_MS	2000	/* between TERM and KILL, at most */
#define MARGIN_MS	100	/* between KILL and the end of the lease, at most */
#define STEP_MS		20	/* while it is being ended */
#define LOOK_MS		1000	/* looks at the lock even without an event */
#define FOR_EVER	(INT64_MAX / 2)

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,
				 SIGUSR2, SIGTSTP, SIGCONT };

/* What the guard tells the front; the front tells it signals to pass on. */
enum word {
	STARTED,	/* pid of the command, leader of its process group */
	STOPPED,	/* the signal that stopped it */
	LOST,		/* the command is being ended, as the lock is lost … */
	LEASE,		/* … or the lease nearly over */
	DENIED,		/* what is left of it is not ours to kill */
	ENDED,		/* wait status of the command; last word */
	FAULT,		/* errno: it could not be started; last word */
	NOT_RUN,	/* errno of exec(); last word */
};

struct message {
	enum word word;
	int value;
};

/**
 * struct run - one lock run
 * @path: the lock
 * @lock: its open file
 * @argv: the command
 * @token: fencing token
 * @signals: signalfd
 * @old: signal mask as it was
 * @old_pipe: what SIGPIPE did
 * @old_child: what SIGCHLD did
 * @terminal: the command has the terminal
 * @asked: a signal to stop was passed on
 * @command: the command, leader of its process group
 * @guard: the guard
 * @link: to the other one of front and guard
 * @lost: the lock was lost
 * @last: last word of the guard
 */
struct run {
	struct path path;
	int lock;
	char **argv;
	uint64_t token;
	int signals;
	sigset_t old;
	void (*old_pipe)(int sig);
	void (*old_child)(int sig);
	bool terminal;
	bool asked;
	pid_t command;
	pid_t guard;
	int link;
	bool lost;
	struct message last;
};

/**
 * struct guard - what the guard knows
 * @run: what it guards
 * @signals: signalfd for SIGCHLD
 * @report: errno comes here if the command cannot be run
 * @over: the command has ended
 * @alone: nothing of it is left
 * @status: its wait status
 * @ending: it is being ended
 * @denied: what is left of it is not ours to kill
 * @since: since then
 * @safe: until then the lock is ours, as we know
 * @lease: longest time that this was told to be, in ms
 */
struct guard {
	struct run *run;
	int signals;
	int report;
	bool over;
	bool alone;
	int status;
	bool ending;
	bool denied;
	int64_t since;
	int64_t safe;
	int64_t lease;
};

static int acquire(struct run *run, uint32_t flags, uint32_t timeout)
{
	struct tally_ioc_lock ioc = {
		.flags = flags,
		.timeout_ms = timeout,
	};
	int status;

	status = file_open("lock", &run->path, O_RDWR, &ioc.timeout_ms,
			   &run->lock);
	if (status)
		return status;
	if (ioctl(run->lock, TALLY_IOC_LOCK, &ioc)) {
		status = file_failed("lock", &run->path, errno);
		close(run->lock);
		return status;
	}
	run->token = ioc.token;
	return DONE;
}

/* A lease goes on while the machine sleeps. */
static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Does not wait for a front that is stopped, but to say its last word. */
static void tell(const struct guard *guard, enum word word, int value)
{
	const struct message message = { word, value };

	send(guard->run->link, &message, sizeof(message),
	     MSG_NOSIGNAL | (word < ENDED ? MSG_DONTWAIT : 0));
}

/* Runs in the child. */
static void command(struct run *run, int report, pid_t guard)
{
	char token[24];
	int error;

	setpgid(0, 0);
	if (run->terminal)
		tcsetpgrp(STDIN_FILENO, getpid());
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(1);
	snprintf(token, sizeof(token), "%llu", (unsigned long long)run->token);
	setenv("TALLY_TOKEN", token, 1);
	signal(SIGPIPE, run->old_pipe);
	signal(SIGCHLD, run->old_child);
	sigprocmask(SIG_SETMASK, &run->old, NULL);
	execvp(run->argv[0], run->argv);
	error = errno;
	if (write(report, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
}

static int start_command(struct guard *guard)
{
	pid_t self = getpid();
	int ends[2];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	guard->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (guard->signals < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -1;
	guard->run->command = fork();
	if (!guard->run->command)
		command(guard->run, ends[1], self);
	close(ends[1]);
	guard->report = ends[0];
	if (guard->run->command < 0)
		return -1;
	/* The command does this as well: who is first has its signals reach it. */
	setpgid(guard->run->command, guard->run->command);
	return 0;
}

/* For how long the lock is ours even without a word of its home; 0: it is lost. */
static int64_t lock_left(int lock)
{
	struct tally_ioc_lockstat stat = { .held = 0 };

	if (ioctl(lock, TALLY_IOC_LOCKSTAT, &stat) || !stat.held)
		return 0;
	return stat.lease_ms < FOR_EVER ? (int64_t)stat.lease_ms : FOR_EVER;
}

static int64_t least(int64_t one, int64_t two)
{
	return one < two ? one : two;
}

/* TERM when so much of the lease is left: renewals have failed for longer. */
static int64_t warning(const struct guard *guard)
{
	return least(GRACE_MS, guard->lease / 4);
}

static void signal_all(const struct guard *guard, int sig)
{
	unsigned int denied;

	/* None was found where /proc is not mounted. */
	if (!tree_signal(sig, &denied) && !guard->over)
		kill(-guard->run->command, sig);
}

static void kill_all(struct guard *guard)
{
	unsigned int found, denied;

	/* To read all of /proc may take long. */
	if (!guard->over)
		kill(-guard->run->command, SIGKILL);
	found = tree_signal(SIGKILL, &denied);
	if (!found || found != denied)
		return;
	if (!guard->denied)
		tell(guard, DENIED, 0);
	guard->denied = true;
}

static void begin_end(struct guard *guard)
{
	if (guard->ending)
		return;
	guard->ending = true;
	guard->since = now_ms();
	signal_all(guard, SIGTERM);
	signal_all(guard, SIGCONT);
}

static void look(struct guard *guard)
{
	int64_t now = now_ms(), left = lock_left(guard->run->lock);

	if (left) {
		guard->safe = now + left;
		if (left < FOR_EVER && left > guard->lease)
			guard->lease = left;
	}
	if (guard->ending || left > warning(guard))
		return;
	begin_end(guard);
	tell(guard, left ? LEASE : LOST, 0);
}

/* What has lost its parent is ours, too. */
static void reap(struct guard *guard)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != guard->run->command)
			continue;
		if (WIFSTOPPED(status)) {
			tell(guard, STOPPED, WSTOPSIG(status));
			continue;
		}
		guard->status = status;
		guard->over = true;
	}
	guard->alone = pid < 0 && errno == ECHILD;
}

/* Return: is the front there? */
static bool pass_on(struct guard *guard)
{
	int sig;

	if (recv(guard->run->link, &sig, sizeof(sig), 0) != sizeof(sig))
		return false;
	if (!guard->over)
		kill(-guard->run->command, sig);
	return true;
}

/* When what is being ended is killed. */
static int64_t kill_time(const struct guard *guard)
{
	return least(guard->since + GRACE_MS,
		     guard->safe - least(MARGIN_MS, guard->lease / 16));
}

static int pause_of(const struct guard *guard)
{
	int64_t next = guard->ending ? kill_time(guard) :
				       guard->safe - warning(guard) + 1;
	int64_t left = next - now_ms();

	if (guard->denied)
		return LOOK_MS;
	if (guard->ending)
		return left > 0 ? least(STEP_MS, left) : STEP_MS;
	return left > 0 ? least(LOOK_MS, left) : 0;
}

/* Returns when the command has ended; if it had to be ended, all of it. */
static void guard_watch(struct guard *guard)
{
	struct signalfd_siginfo info;
	struct pollfd fds[] = {
		{ .fd = guard->signals, .events = POLLIN },
		{ .fd = guard->run->link, .events = POLLIN },
		{ .fd = guard->run->lock },	/* a loss is an error condition */
	};

	for (;;) {
		look(guard);
		if (guard->ending)
			fds[2].fd = -1;
		if (guard->ending && now_ms() >= kill_time(guard))
			kill_all(guard);
		poll(fds, 3, pause_of(guard));
		if (fds[1].revents && !pass_on(guard)) {
			fds[1].fd = -1;
			begin_end(guard);
		}
		while (read(guard->signals, &info, sizeof(info)) > 0)
			;
		reap(guard);
		if (guard->ending ? guard->alone : guard->over)
			return;
	}
}

/*
 * A process group of its own: the terminal's and a shell's signals are for others.
 * It stays in the session, else the command's group would have no parent there.
 */
static void be_guard(struct run *run)
{
	struct guard guard = { .run = run };
	char c;
	int error;

	setpgid(0, 0);
	prctl(PR_SET_NAME, GUARD_NAME);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (start_command(&guard)) {
		tell(&guard, FAULT, errno);
		_exit(0);
	}
	tell(&guard, STARTED, run->command);
	guard_watch(&guard);
	if (read(guard.report, &error, sizeof(error)) == sizeof(error))
		tell(&guard, NOT_RUN, error);
	else
		tell(&guard, ENDED, guard.status);
	/* Not before the front has resigned as a reaper. */
	while (recv(run->link, &c, 1, 0) > 0)
		;
	_exit(0);
}

static int start_guard(struct run *run)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	run->guard = fork();
	if (!run->guard) {
		close(ends[0]);
		close(run->signals);
		run->link = ends[1];
		be_guard(run);
	}
	close(ends[1]);
	run->link = ends[0];
	return run->guard < 0 ? -1 : 0;
}

static void block_signals(struct run *run)
{
	sigset_t set, more;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&set, forwarded[i]);
	run->signals = signalfd(-1, &set, SFD_CLOEXEC);
	more = set;
	sigaddset(&more, SIGCHLD);
	sigaddset(&more, SIGTTOU);	/* for tcsetpgrp() */
	sigprocmask(SIG_BLOCK, &more, &run->old);
	run->old_pipe = signal(SIGPIPE, SIG_IGN);
	/* Ignored, it would have the kernel reap the command, and keep its status. */
	run->old_child = signal(SIGCHLD, SIG_DFL);
}

static void restore_signals(struct run *run)
{
	close(run->signals);
	signal(SIGPIPE, run->old_pipe);
	signal(SIGCHLD, run->old_child);
	sigprocmask(SIG_SETMASK, &run->old, NULL);
}

static void forward(struct run *run, int sig)
{
	send(run->link, &sig, sizeof(sig), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Is the terminal ours to give? */
static bool has_terminal(void)
{
	return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Others may read from it that this is piped into, a pager: not before it is wanted. */
static bool may_give_early(void)
{
	return has_terminal() && isatty(STDOUT_FILENO);
}

static void give_terminal(struct run *run)
{
	if (!has_terminal())
		return;
	run->terminal = true;
	tcsetpgrp(STDIN_FILENO, run->command);
}

static void take_terminal(struct run *run)
{
	if (run->terminal)
		tcsetpgrp(STDIN_FILENO, getpgrp());
	run->terminal = false;
}

/*
 * As control-Z stops anything: not if nobody is there who could continue us. If we
 * were stopped, SIGCONT is pending.
 *
 * Return: were we?
 */
static bool stop(void)
{
	void (*old)(int sig);
	sigset_t set;

	old = signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGTSTP, old);
	return !sigpending(&set) && sigismember(&set, SIGCONT);
}

/*
 * The command stopped: stop too, so that the shell sees it. They go on together, as
 * SIGCONT is passed on. In the background only if it wants the terminal, or was
 * stopped by way of us.
 */
static void stop_along(struct run *run, int sig)
{
	bool wants = sig == SIGTTIN || sig == SIGTTOU, had = run->terminal;

	if (wants && !run->terminal && has_terminal()) {
		give_terminal(run);
		forward(run, SIGCONT);
	} else if (had || run->asked ||
		   (wants && tcgetpgrp(STDIN_FILENO) >= 0)) {
		take_terminal(run);
		if (stop() || wants)
			return;
		if (had)
			give_terminal(run);
		forward(run, SIGCONT);
	}
}

static void take_signal(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCONT && may_give_early())
		give_terminal(run);
	if (info.ssi_signo == SIGTSTP || info.ssi_signo == SIGCONT)
		run->asked = info.ssi_signo == SIGTSTP;
	forward(run, info.ssi_signo);
}

static void tell_loss(struct run *run, enum word word)
{
	run->lost = true;
	say("lock %s/%s: %s; %s is stopped", run->path.arena, run->path.object,
	    word == LOST ? "it was lost" : "no word from its home, and the lease ends",
	    run->argv[0]);
}

/* Return: true after the last word. */
static bool take_message(struct run *run, const struct message *message)
{
	switch (message->word) {
	case STARTED:
		run->command = message->value;
		return false;
	case STOPPED:
		stop_along(run, message->value);
		return false;
	case LOST:
	case LEASE:
		tell_loss(run, message->word);
		return false;
	case DENIED:
		say("lock %s/%s: what is left of %s cannot be killed: %s; its end is waited for",
		    run->path.arena, run->path.object, run->argv[0],
		    strerror(EPERM));
		return false;
	default:
		run->last = *message;
		return true;
	}
}

/* Return: false when the guard went without a last word. */
static bool watch(struct run *run)
{
	struct pollfd fds[] = {
		{ .fd = run->signals, .events = POLLIN },
		{ .fd = run->link, .events = POLLIN },
	};
	struct message message;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			take_signal(run);
		if (!fds[1].revents)
			continue;
		if (recv(run->link, &message, sizeof(message), 0) !=
		    sizeof(message))
			return false;
		if (take_message(run, &message))
			return true;
	}
}

static int release(struct run *run)
{
	int error = ioctl(run->lock, TALLY_IOC_UNLOCK) ? errno : 0;

	close(run->lock);
	if (run->lost)
		return LOCK_TROUBLE + FAILED;
	if (!error)
		return DONE;
	return LOCK_TROUBLE + file_failed("lock", &run->path, error);
}

static int command_status(const struct run *run)
{
	int value = run->last.value;

	if (run->last.word != ENDED)
		say("lock run: %s: %s", run->argv[0], strerror(value));
	if (run->last.word == NOT_RUN && value == ENOENT)
		return 127;
	if (run->last.word != ENDED)
		return 126;
	if (WIFSIGNALED(value))
		return 128 + WTERMSIG(value);
	return WEXITSTATUS(value);
}

/* What the command left behind goes on without us, and is no longer ours. */
static void dismiss_guard(struct run *run)
{
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(run->link);
	waitpid(run->guard, NULL, 0);
}

static int run_locked(struct run *run)
{
	int status = DONE, trouble;

	block_signals(run);
	run->terminal = may_give_early();
	if (run->signals < 0 || start_guard(run)) {
		run->last = (struct message){ FAULT, errno };
	} else if (watch(run)) {
		dismiss_guard(run);
	} else {
		say("lock %s/%s: the guard was killed; %s is killed",
		    run->path.arena, run->path.object, run->argv[0]);
		tree_end();
		run->lost = true;
		dismiss_guard(run);
	}
	take_terminal(run);
	trouble = release(run);
	if (!trouble)
		status = command_status(run);
	restore_signals(run);
	return trouble ? trouble : status;
}

/* For how long to wait for the lock. */
struct patience {
	bool try;
	uint32_t timeout;
};

static const char *arg_patience(const char *word, void *to)
{
	struct patience *patience = to;

	if (strcmp(word, "0"))
		return arg_timeout(word, &patience->timeout);
	patience->try = true;
	return NULL;
}

int lock_run(int argc, char **argv)
{
	struct run run = { .lock = -1, .signals = -1 };
	struct patience patience = { .try = false };
	bool shared = false;
	struct arg args[] = {
		{ .key = "timeout", .parse = arg_patience, .to = &patience },
		{ .key = "try", .to = &patience.try },
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
	status = acquire(&run, (patience.try ? TALLY_LOCK_TRY : 0) |
			 (shared ? TALLY_LOCK_SHARED : 0), patience.timeout);
	if (status)
		return LOCK_TROUBLE + status;
	return run_locked(&run);
}
