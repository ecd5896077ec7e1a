#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# stress.py use LOCK FILE: two processes that take a lock in all ways, and bear
# what comes, while the file is there.  Each tenure is printed: X or S, token, and
# from when to when it was theirs (ns, CLOCK_MONOTONIC).
#
# stress.py roam MOUNT FILE: two processes that open what they find in the mount,
# by the first letter of its name a counter, lock or region, use it, and bear what
# comes, while the file is there.
#
# stress.py judge FILE...: what several of them printed of one lock: tenures that
# exclude each other do not overlap, and tokens grow.

"""Users, and what they may have seen."""

import errno
import fcntl
import os
import random
import sys
import time

from files import (ADD, IOC_DOWNGRADE, IOC_UNLOCK, counter, lock, same,
                   stat_lock, upgrade)

TRY, SHARED = 1, 2
# These say that something is wrong, whatever an administrator does.
BAD = {errno.EINVAL, errno.EIO, errno.EPROTO, errno.EALREADY}
# After these the file can be used on.
USUAL = {errno.EWOULDBLOCK, errno.EDEADLK}


class User:
    """One that has a lock open, or will open it."""

    def __init__(self, path):
        """Nothing is open yet."""
        self.path = path
        self.fd = -1
        self.had = 0
        self.errors = {}

    def close(self):
        """Whatever is held is released."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def inside(self, mode, token):
        """Stay for a moment; it counts as long as it is seen to be ours."""
        begin = time.monotonic_ns()
        # Some stay longer than a lease may last.
        longest = random.choices((0, 5e7, 3e9), (800, 195, 5))[0]
        leave = begin + longest * random.random()
        end = 0
        while True:
            now = time.monotonic_ns()
            if not stat_lock(self.fd)[0]:
                break
            end = now
            if now >= leave:
                break
            time.sleep(0.005)
        if end:
            print(mode, token, begin, end, flush=True)

    def tenure(self):
        """Take it, perhaps change the mode, and let it go."""
        if self.fd < 0:
            self.fd = os.open(self.path, os.O_RDWR)
        flags = random.choice((0, 0, TRY, SHARED, SHARED, SHARED | TRY))
        token = lock(self.fd, flags, 3000)
        self.had += 1
        try:
            self.inside("S" if flags & SHARED else "X", token)
            if random.random() < 0.1:
                if not flags & SHARED:
                    fcntl.ioctl(self.fd, IOC_DOWNGRADE)
                    self.inside("S", token)
                self.inside("X", upgrade(self.fd))
        finally:
            fcntl.ioctl(self.fd, IOC_UNLOCK)

    def once(self):
        """Errors may come, but only some."""
        try:
            self.tenure()
        except OSError as error:
            name = errno.errorcode[error.errno]
            self.errors[name] = self.errors.get(name, 0) + 1
            if error.errno in BAD:
                sys.exit(f"{self.path}: {name}")
            if error.errno not in USUAL:
                self.close()
                time.sleep(0.05)


def use(path, while_there):
    """The second process is a child."""
    child = os.fork()
    random.seed()
    user = User(path)
    while os.path.exists(while_there):
        user.once()
    user.close()
    print(f"# {path}: {user.had} tenures, {user.errors}", flush=True)
    if child == 0:
        os._exit(0)
    same(os.waitpid(child, 0)[1], 0, "child")


def visit(path):
    """Use one for a moment."""
    fd = os.open(path, os.O_RDWR)
    try:
        for _ in range(random.randrange(20)):
            kind = os.path.basename(path)[0]
            if kind == "c":
                counter(fd, ADD, 1)
            elif kind == "l":
                lock(fd, random.choice((0, TRY, SHARED)), 2000)
                fcntl.ioctl(fd, IOC_UNLOCK)
            else:
                size = os.fstat(fd).st_size
                os.pwrite(fd, os.pread(fd, size, 0)[1:], 1)
    finally:
        os.close(fd)


def roam(mount, while_there):
    """The second process is a child."""
    child = os.fork()
    random.seed()
    errors, visits = {}, 0
    while os.path.exists(while_there):
        path = mount
        try:
            for _ in range(2):
                path += "/" + random.choice(os.listdir(path))
            visit(path)
            visits += 1
        except IndexError:
            time.sleep(0.05)
        except OSError as error:
            name = errno.errorcode[error.errno]
            errors[name] = errors.get(name, 0) + 1
            if error.errno in BAD:
                sys.exit(f"{path}: {name}")
            time.sleep(0.05)
    print(f"# {mount}: {visits} visits, {errors}", flush=True)
    if child == 0:
        os._exit(0)
    same(os.waitpid(child, 0)[1], 0, "child")
    same(visits > 0, True, "any visits")


def tenures(names):
    """All of them: begin, end, is it shared, token."""
    for name in names:
        with open(name, encoding="ascii") as file:
            for line in file:
                word = line.split()
                if word[:1] in (["X"], ["S"]):
                    yield int(word[2]), int(word[3]), word[0] == "S", int(word[1])


def judge(*names):
    """In the order in which they began."""
    all_end = x_end = all_token = x_token = -1
    found = sorted(tenures(names))
    for begin, end, shared, token in found:
        # A reader comes after all writers before it, a writer after everybody.
        past_end, past_token = (x_end, x_token) if shared else (all_end, all_token)
        what = f"{'shared' if shared else 'exclusive'} {token} at {begin}"
        if begin < past_end:
            sys.exit(f"{what}: one before it ends at {past_end}")
        # A writer that became a reader keeps its token.
        if token < past_token or (token == past_token and not shared):
            sys.exit(f"{what}: there was {past_token} before")
        all_end, all_token = max(all_end, end), max(all_token, token)
        if not shared:
            x_end, x_token = end, token
    if len(found) < 3:
        sys.exit(f"only {len(found)} tenures")
    print(all_token)


if __name__ == "__main__":
    {"use": use, "roam": roam, "judge": judge}[sys.argv[1]](*sys.argv[2:])
