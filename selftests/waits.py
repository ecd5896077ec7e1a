#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# waits.py HOW FILE: waits for a lock, or does what others must not wait for.
# Silent but for "waits", and 0, when it went as it should.

"""Waits for locks that something comes between."""

import ctypes
import errno
import fcntl
import os
import signal
import sys
import threading
import time

from files import IOC_LOCK, LOCK, same

LIBC = ctypes.CDLL(None, use_errno=True)
TIMEOUT = 500000


def wait(path):
    """Python would go on by itself; 0, or an errno."""
    fd = os.open(path, os.O_RDWR)
    print("waits", flush=True)
    return LIBC.flock(fd, fcntl.LOCK_EX) and ctypes.get_errno()


def handle(restarts):
    """Have a handler for SIGUSR1."""
    signal.signal(signal.SIGUSR1, lambda *args: None)
    signal.siginterrupt(signal.SIGUSR1, not restarts)


def case_flock(path):
    """It is had in the end."""
    same(wait(path), 0, "flock")


def case_restart(path):
    """It is had in the end."""
    handle(True)
    same(wait(path), 0, "flock")


def case_ended(path):
    """The signal ends it."""
    handle(False)
    same(wait(path), errno.EINTR, "flock")


def case_timed(path):
    """The signal ends it, and what is left of the time is there."""
    arg = ctypes.create_string_buffer(LOCK.pack(0, TIMEOUT, 0, 0, 0))
    fd = os.open(path, os.O_RDWR)
    handle(False)
    print("waits", flush=True)
    same(LIBC.ioctl(fd, ctypes.c_ulong(IOC_LOCK), arg), -1, "lock")
    same(ctypes.get_errno(), errno.EINTR, "lock")
    left = LOCK.unpack(arg.raw[:LOCK.size])[1]
    same(TIMEOUT - 100000 < left < TIMEOUT, True, f"{left} ms are left")


def case_upgrade(path):
    """One thread makes it exclusive, another one releases it meanwhile."""
    fd = os.open(path, os.O_RDWR)

    def release():
        while True:
            fcntl.flock(fd, fcntl.LOCK_UN)
            time.sleep(0)

    threading.Thread(target=release, daemon=True).start()
    for _ in range(300):
        fcntl.flock(fd, fcntl.LOCK_SH)
        fcntl.flock(fd, fcntl.LOCK_EX)
    os._exit(0)


def case_tries(path):
    """All that is done is to try, shared."""
    fd = os.open(path, os.O_RDWR)
    for _ in range(200):
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_UN)


def case_readers(path):
    """More readers than a tenure has numbers join one that stays."""
    stays = os.open(path, os.O_RDWR)
    fcntl.flock(stays, fcntl.LOCK_SH)
    for _ in range(300):
        fd = os.open(path, os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.close(fd)


globals()["case_" + sys.argv[1]](*sys.argv[2:])
