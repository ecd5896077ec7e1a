#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# lease.py hold LOCK: has the lock until it is lost; says when (ns,
# CLOCK_MONOTONIC) it was held last and when a poll that waited was told.  What
# all faces of the kernel say must agree at all times.
#
# lease.py take LOCK: waits for the lock; says when it had it.

"""A holder whose lease ends, and the next one."""

import os
import select
import sys
import time

from files import lock, same, stat_lock


def says(fd):
    """What poll says now: has it been lost?"""
    poll = select.poll()
    poll.register(fd, 0)
    return bool(poll.poll(0))


def waits(fd):
    """A child that is told by poll."""
    if os.fork():
        return
    poll = select.poll()
    poll.register(fd, 0)
    poll.poll()
    print("told", time.monotonic_ns(), flush=True)
    os._exit(0)


def hold(path):
    """Until it is lost."""
    fd = os.open(path, os.O_RDWR)
    token = lock(fd)
    waits(fd)
    print("held", token, flush=True)
    lost = 0
    while not lost:
        last = time.monotonic_ns()
        before = stat_lock(fd)
        polled = says(fd)
        held, lost = stat_lock(fd)[:2]
        same(bool(held), not lost, "held is not lost")
        if polled and not lost or before[1] and not polled:
            sys.exit(f"poll says {polled}, the lock {before[:2]}, then {held, lost}")
        time.sleep(0.001)
    print("last", last, flush=True)
    os.wait()
    for _ in range(100):
        same((stat_lock(fd)[:2], says(fd)), ((0, 1), True), "lost for good")
        time.sleep(0.01)


def take(path):
    """Whenever it comes."""
    fd = os.open(path, os.O_RDWR)
    lock(fd)
    print("taken", time.monotonic_ns(), flush=True)


if __name__ == "__main__":
    {"hold": hold, "take": take}[sys.argv[1]](*sys.argv[2:])
