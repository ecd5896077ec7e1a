#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# matrix.py table SEED CASES FILE FILE FILE: every call that takes or changes a lock, beside
# every state of the lock that another user made, on the same file, in the same
# process, on the same node and on another one. The files are the lock as three nodes
# see it, the home first: .../NODE/ARENA/LOCK. CASES at random, 0: all. Calls for kernel
# code are among them where /dev/tally_lock_calls is (kmod/tests/lock_calls.c).
#
# matrix.py random SEED PROGRAMS FILE FILE FILE: random programs of four users, whose
# calls are judged one by one.
#
# Both compare with a lock that is one list of holders and one of waiters. A node asks
# the home for one of its users at a time: a writer behind readers of its own node is
# not known elsewhere before they have left, so others' readers come in meanwhile.

"""Locks beside an oracle."""

import errno
import fcntl
import itertools
import os
import random
import select
import signal
import struct
import sys
import time

from files import (IOC_DOWNGRADE, IOC_LOCK, IOC_UNLOCK, IOC_UPGRADE, LOCK,
                   stat_lock)

TRY, SHARED = 1, 2
LONG = 20	# seconds for what has to come
SOON = 0.05	# what waits now will wait for ever


def ioc_lock(fd, flags, timeout=0):
    """TALLY_IOC_LOCK."""
    fcntl.ioctl(fd, IOC_LOCK, bytearray(LOCK.pack(flags, timeout, 0, 0, 0)))


# Name: mode that is wanted, whether it waits, the call.
CALLS = {
    "flock sh": ("S", True, lambda fd: fcntl.flock(fd, fcntl.LOCK_SH)),
    "flock ex": ("X", True, lambda fd: fcntl.flock(fd, fcntl.LOCK_EX)),
    "flock sh nb": ("S", False, lambda fd: fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)),
    "flock ex nb": ("X", False, lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)),
    "lock shared": ("S", True, lambda fd: ioc_lock(fd, SHARED)),
    "lock exclusive": ("X", True, lambda fd: ioc_lock(fd, 0)),
    "lock shared try": ("S", False, lambda fd: ioc_lock(fd, SHARED | TRY)),
    "lock exclusive try": ("X", False, lambda fd: ioc_lock(fd, TRY)),
    "upgrade": ("X", False, lambda fd: fcntl.ioctl(fd, IOC_UPGRADE, bytearray(8))),
    "downgrade": ("S", False, lambda fd: fcntl.ioctl(fd, IOC_DOWNGRADE)),
    "unlock": (None, False, lambda fd: fcntl.ioctl(fd, IOC_UNLOCK)),
}
TAKE = [name for name in CALLS if name not in ("upgrade", "downgrade", "unlock")]

# Kernel code makes these, by a device that is told which.
DEVICE = "/dev/tally_lock_calls"
KERNEL = {
    f"{how} {mode}": (want, how.startswith("acquire"))
    for how in ("acquire", "acquire async", "try", "try async")
    for mode, want in (("sh", "S"), ("ex", "X"))
}
KERNEL_TAKE = list(KERNEL)
KERNEL.update({"upgrade": ("X", False), "upgrade async": ("X", False),
               "downgrade": ("S", False), "unlock": (None, False)})


def row(name, kernel=False):
    """Mode that a call wants, and whether it waits."""
    return KERNEL[name] if kernel else CALLS[name][:2]


class Wrong(Exception):
    """Not what the oracle says."""


class User:
    """A process that does what it is told on an open file."""

    def __init__(self, path=None, fd=-1, kernel=False):
        """Open @path, by kernel code or as a file, or have @fd of another user."""
        self.held = None
        self.wants = None
        self.behind = False	# wanted by it while its node's readers were inside
        self.path = path
        self.kernel = kernel
        if kernel:
            self.fd = os.open(DEVICE, os.O_WRONLY)
            node, arena, lock = path.split("/")[-3:]
            os.write(self.fd, f"{node} {arena}/{lock}".encode())
        else:
            self.fd = os.open(path, os.O_RDWR) if path else fd
        self.call, call = os.pipe()
        self.result, result = os.pipe()
        self.call, call = call, self.call
        self.pid = os.fork()
        if not self.pid:
            self.serve(call, result)
        os.close(call)
        os.close(result)

    def serve(self, call, result):
        """In the child: only it has the pipes and the file."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for fd in range(3, 256):
            if fd not in (call, result, self.fd):
                try:
                    os.close(fd)
                except OSError:
                    pass
        while True:
            name = os.read(call, 64)
            if not name:
                os._exit(0)
            os.write(result, b"    ")
            number = 0
            try:
                if self.kernel:
                    os.write(self.fd, name)
                else:
                    CALLS[name.decode()][2](self.fd)
            except OSError as error:
                number = error.errno
            os.write(result, struct.pack("i", number))

    def begin(self, name):
        """Let it call."""
        self.wants = name
        os.write(self.call, name.encode())
        os.read(self.result, 4)

    def sleeps(self):
        """It has not returned, and is not about to."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "SD"

    def ended(self, seconds):
        """Its errno, or None when it has not returned in that time."""
        if not select.select([self.result], [], [], seconds)[0]:
            return None
        return struct.unpack("i", os.read(self.result, 4))[0]

    def do(self, name):
        """It has to return."""
        self.begin(name)
        number = self.ended(LONG)
        if number is None:
            raise Wrong(f"{name} does not return")
        return number

    def take(self, mode):
        """A call of its kind that takes the lock, or None: gives it back."""
        if mode is None:
            return "unlock"
        if self.kernel:
            return "acquire sh" if mode == "S" else "acquire ex"
        return "lock shared" if mode == "S" else "lock exclusive"

    def end(self):
        """It goes, and with it what it has."""
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.call)
        os.close(self.result)


def compatible(mode, held, waiting):
    """May one more have it in @mode, beside these?"""
    if mode == "S":
        return "X" not in held and "X" not in waiting  # but x
    return not held and not waiting


def judge(user, name, expected, also=None):
    """One call; @expected is an errno, or None for one that waits; @also another one."""
    user.begin(name)
    number = user.ended(SOON if expected is None else LONG)
    while number is None and expected is None and not user.sleeps():
        number = user.ended(SOON)
    if number != expected and (number is None or number != also):
        raise Wrong(f"{name}: {number} instead of {expected}")
    return number


def upgrades_also(files, expected):
    """
    An upgrade waits for no answer of other nodes: one that keeps the lock for its next
    reader is a holder, and a waiter there may not have been heard of.
    """
    return errno.EDEADLK if expected == 0 and files[0].endswith("/on") else 0


def known(user):
    """A writer waits for readers, and the home knows by now."""
    end = time.monotonic() + LONG
    while user.do("flock sh nb") == 0:
        user.do("unlock")
        if time.monotonic() > end:
            raise Wrong("the waiter does not come")


def granted(*users):
    """The first of them that is; its call has to be over."""
    ready = select.select([u.result for u in users], [], [], LONG)[0]
    if not ready:
        raise Wrong("nobody is granted")
    first = [u for u in users if u.result == ready[0]]
    if first[0].ended(0) != 0:
        raise Wrong("a waiter is refused")
    return first


def expect(name, own, held, waiting, kernel=False):
    """What the oracle says of a call of one that has @own."""
    mode, waits = row(name, kernel)
    if name == "downgrade":
        return 0 if own == "X" else errno.EINVAL
    if name.startswith("upgrade"):
        if own != "S":
            return errno.EINVAL
        return 0 if not held and not waiting else errno.EDEADLK
    if own and (kernel or name.startswith("lock")):
        return errno.EALREADY
    if own and (own == mode or mode == "S"):
        return 0
    if compatible(mode, held, waiting):
        return 0
    return None if waits else errno.EWOULDBLOCK


def one_case(files, setup, where, name, own, kernel=(False, False)):
    """
    A holder and, maybe, a waiter on node @where[0]; then one call. @kernel: is the
    holder, or the caller, kernel code?
    """
    users = []

    def user(*args):
        users.append(User(*args))
        return users[-1]

    try:
        holder = user(files[where[0]], -1, kernel[0])
        held, waiting = [], []
        caller = user(None, os.dup(holder.fd)) if where[1] is None else \
            user(files[where[1]], -1, kernel[1])
        if own:
            judge(caller, caller.take(own), 0)
        if setup[0] != "-" and where[1] is not None:
            judge(holder, holder.take(setup[0]), 0)
            held = [setup[0]]
        if len(setup) > 1:
            waiter = user(files[where[2]])
            judge(waiter, "flock ex", None)
            waiting = ["X"]
            if "S" in (setup[0], own):
                known(user(files[where[2]]))
                at = where[0] if where[1] is None else where[1]
                reads = {where[0]} if setup[0] == "S" else {at}
                if at != where[2] and where[2] in reads:
                    waiting = ["x"]
        expected = expect(name, own, held, waiting, kernel[1])
        if name.startswith("upgrade") and own == "S" and not held:
            expected = judge(caller, name, expected, upgrades_also(files, expected))
        else:
            judge(caller, name, expected)
        if where[1] is None:
            # The other user of the file has what this one has.
            mode = CALLS[name][0] if expected == 0 else own
            lost = name.startswith("flock ex") and expected != 0
            stat = stat_lock(holder.fd)
            if not lost and bool(stat[0]) != bool(mode):
                raise Wrong(f"the file has it: {stat[0]} after {mode}")
        if expected is None:
            # All leave, in their order, and it is had.
            if held:
                holder.do("unlock")
            if waiting:
                # Which of two writers comes first depends on their nodes.
                if caller in granted(waiter, caller):
                    caller.do("unlock")
                    if waiter.ended(LONG) != 0:
                        raise Wrong("the waiter is not granted")
                    return None
                waiter.do("unlock")
            if own and where[1] is None and held:
                caller.do("unlock")
            if caller.ended(LONG) != 0:
                raise Wrong("it is never granted")
    except Wrong as wrong:
        return f"{setup} {where} kernel {kernel} own {own} {name}: {wrong}"
    finally:
        for one in users:
            one.end()
    return None


def case_table(seed, some, *files):
    """The table, or some of it."""
    bad, count = 0, 0
    # Holder's node, caller's (None: the same file), waiter's.
    places = [(0, 0, 1), (0, 1, 0), (1, 1, 0), (1, 1, 1), (1, 2, 2), (1, 0, 2)]
    cases = [(s, p, n, None) for s, p, n in
             itertools.product(("-", "S", "X", "S<X", "X<X"), places, TAKE)]
    cases += [(s, p, n, own) for s, p, n, own in
              itertools.product(("-", "S"), places, CALLS, ("S", "X"))
              if n != "unlock" and not (own == "X" and s == "S")]
    cases += [("-" + s, (node, None, 2 - node), n, own) for s, node, n, own in
              itertools.product(("", "<X"), (0, 1), CALLS, ("S", "X"))
              if n != "unlock"]
    if os.path.exists(DEVICE):
        kinds = ((False, True), (True, False), (True, True))
        cases += [(s, p, n, None, k) for s, p, k in
                  itertools.product(("-", "S", "X", "S<X", "X<X"), places, kinds)
                  for n in (KERNEL_TAKE if k[1] else TAKE)]
        cases += [(s, p, n, own, k) for s, p, k, own in
                  itertools.product(("-", "S"), places, kinds, ("S", "X"))
                  for n in (KERNEL if k[1] else CALLS)
                  if n != "unlock" and not (own == "X" and s == "S")]
    if int(some):
        cases = random.Random(seed).sample(cases, int(some))
    for case in cases:
        count += 1
        wrong = one_case(files, *case)
        if wrong:
            print(wrong, flush=True)
            bad += 1
    print(f"{count} cases, {bad} wrong")
    return bad


class Program:
    """Four users of one lock; one call at a time."""

    def __init__(self, files, rng):
        """Each on a node of its own choice."""
        self.rng = rng
        self.files = files
        self.log = []
        self.users = [self.user() for _ in range(4)]

    def user(self):
        """One more."""
        path = self.rng.choice(self.files)
        return User(path, -1, os.path.exists(DEVICE) and self.rng.random() < 0.3)

    def held(self, but=None):
        """Modes held."""
        return [u.held for u in self.users if u.held and u is not but]

    def waiting(self, but=None):
        """Modes waited for; x: a writer that @but's node may not know."""
        reads = {u.path for u in self.users if u.held}
        modes = [(row(u.wants, u.kernel)[0], u.path) for u in self.users
                 if u.wants and u is not but]
        return ["x" if but and mode == "X" and path != but.path and
                path in reads else mode for mode, path in modes]

    def settle(self):
        """Who has to be granted is, nobody else."""
        end = time.monotonic() + LONG
        while True:
            held, waiting = self.held(), self.waiting()
            if held.count("X") and len(held) > 1:
                raise Wrong(f"{held} together")
            due = waiting and (not held or
                               ("X" not in held and "X" not in waiting))
            pipes = {u.result: u for u in self.users if u.wants}
            ready = select.select(list(pipes), [], [], 0.5 if due else 0)[0]
            for pipe in ready:
                user = pipes[pipe]
                number = user.ended(0)
                if number:
                    raise Wrong(f"{user.wants} ended with {number}")
                user.held, user.wants = row(user.wants, user.kernel)[0], None
            if not ready and not due:
                return
            if time.monotonic() > end:
                raise Wrong(f"{waiting} wait for ever beside {held}")

    def step(self):
        """
        One random call, or one that waits is killed. A writer behind readers of its own
        node is known elsewhere soon after they have left: an other reader may be faster.
        """
        user = self.rng.choice(self.users)
        i = self.users.index(user)
        if user.wants:
            if self.rng.random() < 0.3:
                self.log.append(f"{i} killed")
                user.end()
                self.users[i] = self.user()
                self.settle()
            return
        if user.held and self.rng.random() < 0.5:
            name = "unlock"
        else:
            name = self.rng.choice([n for n in (KERNEL if user.kernel else CALLS)
                                    if n != "unlock"])
        self.log.append(f"{i}{'k' if user.kernel else ''} {name}")
        held, waiting = self.held(user), self.waiting(user)
        if name == "unlock":
            expected = [0]
        else:
            expected = [expect(name, user.held, held, waiting, user.kernel)]
        upgrades = name.startswith("upgrade")
        if (upgrades or name in ("flock ex", "flock ex nb")) and user.held == "S" \
                and waiting:
            # A waiter of the same node may not have been known.
            expected += [0]
        if row(name, user.kernel)[0] == "S" and not user.held and "X" not in held and \
                any(u.behind and u.path != user.path for u in self.users if u.wants):
            expected += [0, expect(name, None, held, ["X"], user.kernel)]
        if upgrades and expected == [0]:
            expected += [upgrades_also(self.files, 0)]
        user.behind = row(name, user.kernel)[0] == "X" and \
            any(u.held and u.path == user.path for u in self.users if u is not user)
        user.begin(name)
        number = user.ended(LONG if None not in expected else SOON)
        if number not in expected:
            raise Wrong(f"{number} instead of {expected}")
        if number is None:
            user.held = None
        else:
            user.wants = None
            if name == "unlock" or (number and name.startswith("flock ex")):
                user.held = None
            elif not number:
                user.held = row(name, user.kernel)[0]
        self.settle()

    def run(self):
        """Some steps; then all leave, and all that wait are granted."""
        try:
            for _ in range(14):
                self.step()
            for user in self.users:
                if user.held:
                    user.do("unlock")
                    user.wants, user.held = None, None
                    self.settle()
            while any(u.wants or u.held for u in self.users):
                for user in self.users:
                    if user.held:
                        user.do("unlock")
                        user.wants, user.held = None, None
                self.settle()
        except Wrong as wrong:
            return f"{', '.join(self.log)}: {wrong}"
        finally:
            for user in self.users:
                user.end()
        return None


def case_random(seed, programs, *files):
    """As many programs."""
    bad = 0
    for i in range(int(programs)):
        wrong = Program(files, random.Random(f"{seed} {i}")).run()
        if wrong:
            print(f"program {seed} {i}: {wrong}", flush=True)
            bad += 1
    print(f"{programs} programs, {bad} wrong")
    return bad


sys.exit(min(1, globals()["case_" + sys.argv[1]](*sys.argv[2:])))
