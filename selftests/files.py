#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# files.py CASE ARGUMENT...: one thing that programs do with the files of a
# tally mount and shells cannot. Silent and 0 when it went as it should.

"""System calls on counters, locks and regions."""

import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import random
import select
import signal
import stat
import struct
import sys
import time

COUNTER = struct.Struct("=IIQQQQQ")
LOCK = struct.Struct("=IIQQQ")
LOCKSTAT = struct.Struct("=IIQQQQ")
CREATE = struct.Struct("=IIQII64s")
READ, ADD, SET, CAS = 1, 2, 3, 4


def ioc(direction, number, size):
    """Number of an ioctl of tally."""
    return direction << 30 | size << 16 | ord("Y") << 8 | number


IOC_COUNTER = ioc(3, 0x01, COUNTER.size)
IOC_LOCK = ioc(3, 0x10, LOCK.size)
IOC_UNLOCK = ioc(0, 0x11, 0)
IOC_LOCKSTAT = ioc(2, 0x12, LOCKSTAT.size)
IOC_DOWNGRADE = ioc(0, 0x13, 0)
IOC_UPGRADE = ioc(2, 0x14, 8)
IOC_CREATE = ioc(1, 0x20, CREATE.size)


def same(got, want, what):
    """Compare, and say what differs."""
    if got != want:
        sys.exit(f"{what}: {got!r} instead of {want!r}")


def fails(number, what, function, *args):
    """The call has to fail with this errno."""
    try:
        result = function(*args)
    except OSError as error:
        same(errno.errorcode.get(error.errno), errno.errorcode[number], what)
    else:
        sys.exit(f"{what}: {result!r} instead of {errno.errorcode[number]}")


def counter(fd, op, value=0, compare=0, reserved=0):
    """One operation; the value before it."""
    arg = bytearray(COUNTER.pack(op, 0, value, compare, 0, reserved, 0))
    fcntl.ioctl(fd, IOC_COUNTER, arg)
    return COUNTER.unpack(arg)[4]


def case_counter(path):
    """Operations by ioctl, what they return and refuse."""
    fd = os.open(path, os.O_RDWR)
    counter(fd, SET, 5)
    same(counter(fd, ADD, 3), 5, "add")
    same(counter(fd, ADD, 2**64 - 1), 8, "add of -1")
    same(counter(fd, CAS, 100, 7), 7, "cas that fits")
    same(counter(fd, CAS, 1, 7), 100, "cas that does not fit")
    same(counter(fd, READ), 100, "read")
    same(os.pread(fd, 64, 0), b"100\n", "text")
    same(os.pread(fd, 64, 2), b"0\n", "rest of the text")
    same(os.pread(fd, 64, 4), b"", "end of the text")
    fails(errno.EINVAL, "unknown operation", counter, fd, 9)
    fails(errno.EINVAL, "reserved field", counter, fd, READ, 0, 0, 1)
    fails(errno.EINVAL, "write", os.write, fd, b"5")
    fails(errno.ENOTTY, "ioctl of a lock", fcntl.ioctl, fd, IOC_UNLOCK)
    libc = ctypes.CDLL(None, use_errno=True)
    same(libc.ioctl(fd, ctypes.c_ulong(IOC_COUNTER), None), -1, "no memory")
    same(ctypes.get_errno(), errno.EFAULT, "no memory")
    same(counter(fd, READ), 100, "value after refusals")
    reader = os.open(path, os.O_RDONLY)
    same(counter(reader, READ), 100, "read on a file open for reading")
    fails(errno.EBADF, "add on a file open for reading", counter, reader, ADD)
    writer = os.open(path, os.O_WRONLY | os.O_TRUNC)
    same(counter(writer, ADD, 1), 100, "add on a file open for writing")
    fails(errno.EBADF, "read on a file open for writing", counter, writer, READ)


def case_flock(path, other):
    """flock(2) on two files of one lock, on two mounts."""
    one = os.open(path, os.O_RDWR)
    two = os.open(other, os.O_RDONLY)
    fcntl.flock(one, fcntl.LOCK_EX)
    fcntl.flock(one, fcntl.LOCK_EX)
    fails(errno.EWOULDBLOCK, "second holder", fcntl.flock, two,
          fcntl.LOCK_EX | fcntl.LOCK_NB)
    fails(errno.EWOULDBLOCK, "a reader beside the holder", fcntl.flock, two,
          fcntl.LOCK_SH | fcntl.LOCK_NB)
    fcntl.flock(one, fcntl.LOCK_SH)
    fcntl.flock(two, fcntl.LOCK_SH)
    fails(errno.EWOULDBLOCK, "a writer beside a reader", fcntl.flock, one,
          fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(two, fcntl.LOCK_UN)
    fcntl.flock(one, fcntl.LOCK_UN)
    fcntl.flock(one, fcntl.LOCK_UN)
    # Unlocking does not wait for the home, so trying now could be too early.
    fcntl.flock(two, fcntl.LOCK_EX)
    os.close(two)
    fcntl.flock(one, fcntl.LOCK_EX)
    os.close(one)


def lock(fd, flags=0, timeout=0):
    """Take a lock; the token."""
    arg = bytearray(LOCK.pack(flags, timeout, 0, 0, 0))
    fcntl.ioctl(fd, IOC_LOCK, arg)
    return LOCK.unpack(arg)[2]


def upgrade(fd):
    """From shared to exclusive; the new token."""
    arg = bytearray(8)
    fcntl.ioctl(fd, IOC_UPGRADE, arg)
    return struct.unpack("=Q", arg)[0]


def stat_lock(fd):
    """held, lost, token, lease."""
    arg = bytearray(LOCKSTAT.size)
    fcntl.ioctl(fd, IOC_LOCKSTAT, arg)
    return LOCKSTAT.unpack(arg)[:4]


def case_lock(path, other):
    """The lock's ioctls: tokens grow, times pass."""
    one = os.open(path, os.O_RDWR)
    two = os.open(other, os.O_RDWR)
    token = lock(one)
    same(stat_lock(one)[:3], (1, 0, token), "state of the holder")
    same(stat_lock(two)[:3], (0, 0, 0), "state of the other")
    fails(errno.EALREADY, "twice", lock, one)
    same(select.select([], [], [one], 0)[2], [], "poll of a holder")
    fails(errno.EWOULDBLOCK, "try", lock, two, 1)
    begin = time.monotonic()
    fails(errno.ETIMEDOUT, "timed", lock, two, 0, 300)
    if not 0.2 < time.monotonic() - begin < 20:
        sys.exit("timed: not in time")
    fails(errno.EINVAL, "unknown flag", lock, two, 4)
    fails(errno.EINVAL, "unlock of what is not held", fcntl.ioctl, two,
          IOC_UNLOCK)
    same(select.select([], [], [one], 20)[2], [one], "poll of one recalled")
    fcntl.ioctl(one, IOC_UNLOCK)
    later = lock(two, 0, 20000)
    if later <= token:
        sys.exit(f"token {later:#x} after {token:#x}")
    fails(errno.EINVAL, "upgrade of what is not shared", upgrade, two)
    fcntl.ioctl(two, IOC_DOWNGRADE)
    fails(errno.EINVAL, "downgrade of what is shared", fcntl.ioctl, two,
          IOC_DOWNGRADE)
    if upgrade(two) <= later:
        sys.exit("upgrade: the token does not grow")
    fcntl.ioctl(two, IOC_DOWNGRADE)
    lock(one, 2)
    fails(errno.EDEADLK, "upgrade beside another reader", upgrade, two)
    fcntl.ioctl(one, IOC_UNLOCK)
    fcntl.ioctl(two, IOC_UNLOCK)


def refuses_lock(fd, name):
    """What a file that does not hold its lock refuses."""
    same(stat_lock(fd)[:3], (0, 0, 0), name)
    fails(errno.EINVAL, f"{name}: unlock", fcntl.ioctl, fd, IOC_UNLOCK)
    fails(errno.EINVAL, f"{name}: upgrade", upgrade, fd)
    fails(errno.EINVAL, f"{name}: downgrade", fcntl.ioctl, fd, IOC_DOWNGRADE)
    fcntl.flock(fd, fcntl.LOCK_UN)
    same(stat_lock(fd)[:3], (0, 0, 0), f"{name}: afterwards")


def case_lock_input(path, other):
    """What no lock takes, free or held, and that nothing comes of it."""
    one = os.open(path, os.O_RDWR)
    two = os.open(other, os.O_RDWR)
    refuses_lock(one, "free")
    token = lock(one)
    refuses_lock(two, "not the holder")
    refuses_lock(os.open(path, os.O_RDWR), "another file of the holder")
    fails(errno.EALREADY, "again", lock, one)
    fails(errno.EALREADY, "again, shared", lock, one, 2)
    fails(errno.EALREADY, "again, try", lock, one, 1)
    fails(errno.EINVAL, "upgrade of exclusive", upgrade, one)
    for flags in (4, 8, 1 << 31):
        fails(errno.EINVAL, "unknown mode", lock, two, flags)
    for reserved in ((1, 0), (0, 1)):
        fails(errno.EINVAL, "reserved field", fcntl.ioctl, two, IOC_LOCK,
              LOCK.pack(0, 0, 0, *reserved))
    fails(errno.ENOTTY, "ioctl of a counter", counter, two, READ)
    fails(errno.ENOTTY, "ioctl of nothing", fcntl.ioctl, two, ioc(0, 0x7f, 0))
    fails(errno.EINVAL, "read", os.read, two, 8)
    fails(errno.EINVAL, "write", os.write, two, b"1")
    libc = ctypes.CDLL(None, use_errno=True)
    for number in (IOC_LOCK, IOC_LOCKSTAT, IOC_UPGRADE):
        same(libc.ioctl(two, ctypes.c_ulong(number), None), -1, "no memory")
        same(ctypes.get_errno(), errno.EFAULT, "no memory")
    same(stat_lock(one)[:3], (1, 0, token), "the holder after all that")
    fcntl.ioctl(one, IOC_DOWNGRADE)
    fails(errno.EALREADY, "exclusive while shared", lock, one)
    fails(errno.EINVAL, "downgrade of shared", fcntl.ioctl, one, IOC_DOWNGRADE)
    same(stat_lock(one)[:3], (1, 0, token), "the reader after that")
    fcntl.ioctl(one, IOC_UNLOCK)
    refuses_lock(one, "no more")


def case_lost_lock(path, ready, *then):
    """Hold a lock until it is lost; see that it is lost until unlocked. Then
    locking fails with the errno THEN, or works again."""
    fd = os.open(path, os.O_RDWR)
    token = lock(fd)
    with open(ready, "w", encoding="ascii"):
        pass
    poll = select.poll()
    poll.register(fd, select.POLLPRI)
    while not poll.poll(30000)[0][1] & select.POLLERR:
        pass
    same(stat_lock(fd)[:3], (0, 1, token), "state of a lost lock")
    fails(errno.ESTALE, "lost: lock", lock, fd)
    fails(errno.ESTALE, "lost: try", lock, fd, 1)
    fails(errno.ESTALE, "lost: flock", fcntl.flock, fd, fcntl.LOCK_SH)
    fails(errno.ESTALE, "lost: upgrade", upgrade, fd)
    fails(errno.ESTALE, "lost: downgrade", fcntl.ioctl, fd, IOC_DOWNGRADE)
    fails(errno.ESTALE, "lost: unlock", fcntl.ioctl, fd, IOC_UNLOCK)
    refuses_lock(fd, "after that")
    if then:
        number = getattr(errno, then[0])
        fails(number, "no way back: lock", lock, fd)
        fails(number, "no way back: flock", fcntl.flock, fd, fcntl.LOCK_SH)
        return
    while os.path.exists(ready):
        time.sleep(0.02)
    if lock(fd, 0, 60000) <= token:
        sys.exit("the token after a loss is not higher")


def case_killed_waiter(path, other):
    """A waiter that is killed leaves nothing behind."""
    one = os.open(path, os.O_RDWR)
    lock(one)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        two = os.open(other, os.O_RDWR)
        os.write(writer, b".")
        lock(two)
        os._exit(1)
    os.read(reader, 1)
    wait_for_sleep(child)
    os.kill(child, signal.SIGKILL)
    same(os.waitpid(child, 0)[1], signal.SIGKILL, "status of the waiter")
    fcntl.ioctl(one, IOC_UNLOCK)
    third = os.open(other, os.O_RDWR)
    lock(third, 0, 20000)


def wait_for_sleep(pid):
    """Until a process sleeps, and stays asleep."""
    end = time.monotonic() + 60
    seen = 0
    while seen < 10:
        if time.monotonic() > end:
            sys.exit("the waiter never came to wait")
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            waits = file.read().rsplit(")", 1)[1].split()[0] in "SD"
        seen = seen + 1 if waits else 0
        time.sleep(0.02)


def pattern(size, seed):
    """Bytes that look random."""
    return random.Random(seed).randbytes(size)


def write_all(fd, data, pos):
    """pwrite until all is written."""
    while data:
        done = os.pwrite(fd, data, pos)
        data, pos = data[done:], pos + done


def read_all(fd, size, pos):
    """pread until all is read or the end is reached."""
    parts = []
    while size:
        part = os.pread(fd, size, pos)
        if not part:
            break
        parts.append(part)
        size, pos = size - len(part), pos + len(part)
    return b"".join(parts)


def case_region(path, other):
    """Reads and writes of every shape, seen through the other mount."""
    fd = os.open(path, os.O_RDWR)
    far = os.open(other, os.O_RDWR)
    size = os.fstat(fd).st_size
    image = bytearray(pattern(size, 1))
    write_all(fd, bytes(image), 0)
    os.fsync(fd)
    same(read_all(far, size, 0) == bytes(image), True, "whole region")
    rand = random.Random(2)
    for seed in range(60):
        length = rand.choice([1, 7, 8, 511, 4096, 4097, 65536, 300001])
        pos = rand.randrange(size - length)
        data = pattern(length, seed + 10)
        same(os.pwrite(fd, data, pos), length, "length written")
        image[pos:pos + length] = data
        same(os.pread(fd, length, pos) == data, True, f"{length} at {pos}")
    os.fsync(fd)
    same(read_all(far, size, 0) == bytes(image), True, "after many writes")
    same(read_all(fd, size, 0) == bytes(image), True, "read back")


def case_vectors(path):
    """Many small pieces, and pieces that begin anywhere."""
    fd = os.open(path, os.O_RDWR)
    pieces = [pattern(1 + i * 37 % 5000, i) for i in range(200)]
    total = b"".join(pieces)
    same(os.pwritev(fd, pieces, 12345), len(total), "length written")
    same(os.pread(fd, len(total), 12345) == total, True, "pieces written")
    buffers = [bytearray(len(p)) for p in reversed(pieces)]
    same(os.preadv(fd, buffers, 12345), len(total), "length read")
    same(b"".join(buffers) == total, True, "pieces read")
    begin = mmap.mmap(-1, 1 << 20)
    begin[777:777 + len(total)] = total
    view = memoryview(begin)[777:777 + len(total)]
    same(os.pwrite(fd, view, 1), len(total), "from within a page")
    same(os.pread(fd, len(total), 1) == total, True, "from within a page")


def case_ends(path):
    """What happens at the end, and that the size never changes."""
    fd = os.open(path, os.O_RDWR)
    size = os.fstat(fd).st_size
    same(os.pread(fd, 10, size), b"", "read at the end")
    same(os.pread(fd, 10, size + 5000), b"", "read behind the end")
    same(len(os.pread(fd, 10, size - 4)), 4, "read across the end")
    same(os.pwrite(fd, b"0123456789", size - 4), 4, "write across the end")
    same(os.pread(fd, 10, size - 4), b"0123", "what was written")
    fails(errno.ENOSPC, "write at the end", os.pwrite, fd, b"x", size)
    fails(errno.EPERM, "truncate", os.ftruncate, fd, 10)
    fails(errno.EPERM, "extend", os.ftruncate, fd, size + 1)
    os.ftruncate(fd, size)
    same(os.lseek(fd, -4, os.SEEK_END), size - 4, "seek")
    fails(errno.EINVAL, "seek behind the end", os.lseek, fd, size + 1, 0)
    same(os.read(fd, 2) + os.read(fd, 9) + os.read(fd, 9), b"0123", "read on")
    os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))
    same(read_all(fd, size, 0).count(0), size, "zeros after O_TRUNC")
    append = os.open(path, os.O_WRONLY | os.O_APPEND)
    fails(errno.ENOSPC, "append", os.write, append, b"x")
    same(os.fstat(fd).st_size, size, "size")
    same(select.select([fd], [fd], [], 0)[:2], ([fd], [fd]), "poll")


def case_bad_buffers(path):
    """Memory that is not there is EFAULT, and changes nothing."""
    fd = os.open(path, os.O_RDWR)
    os.pwrite(fd, b"stays", 0)
    libc = ctypes.CDLL(None, use_errno=True)
    pwrite, pread = libc.pwrite, libc.pread
    for call in pwrite, pread:
        call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                         ctypes.c_long]
        call.restype = ctypes.c_ssize_t
        same(call(fd, 4096, 8192, 0), -1, "result for no memory")
        same(ctypes.get_errno(), errno.EFAULT, "error for no memory")
    same(os.pread(fd, 5, 0), b"stays", "content")
    half = mmap.mmap(-1, 8 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(half))
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    same(libc.munmap(start + 4 * mmap.PAGESIZE, 4 * mmap.PAGESIZE), 0, "munmap")
    same(pread(fd, start, 8 * mmap.PAGESIZE, 0), 4 * mmap.PAGESIZE,
         "read into half a buffer")


def case_splice(path, source):
    """sendfile(2) into a region, and out of it from 6.5 on."""
    fd = os.open(path, os.O_RDWR)
    src = os.open(source, os.O_RDONLY)
    left = min(os.fstat(fd).st_size, os.fstat(src).st_size)
    want = hashlib.sha256(os.pread(src, left, 0)).digest()
    size = left
    while left:
        left -= os.sendfile(fd, src, None, left)
    same(hashlib.sha256(read_all(fd, size, 0)).digest() == want, True, "in")
    release = tuple(map(int, os.uname().release.split(".")[:2]))
    if release < (6, 5):
        return
    copy = os.memfd_create("copy")
    left = size
    os.lseek(fd, 0, 0)
    while left:
        left -= os.sendfile(copy, fd, None, left)
    same(hashlib.sha256(read_all(copy, size, 0)).digest() == want, True, "out")


def case_mmap(home, far, other):
    """A mapping at the home is the region, and is a buffer for transfers."""
    fd = os.open(home, os.O_RDWR)
    remote = os.open(far, os.O_RDWR)
    size = os.fstat(fd).st_size
    area = mmap.mmap(fd, size)
    os.pwrite(remote, b"from afar", 5000)
    os.fsync(remote)
    same(area[5000:5009], b"from afar", "seen in the mapping")
    area[size - 3:] = b"map"
    same(os.pread(remote, 3, size - 3), b"map", "seen from afar")
    fails(errno.ENODEV, "mapping elsewhere", mmap.mmap, remote, 4096)
    fails(errno.EINVAL, "private mapping", mmap.mmap, fd, 4096,
          mmap.MAP_PRIVATE)
    reader = os.open(home, os.O_RDONLY)
    same(mmap.mmap(reader, size, prot=mmap.PROT_READ)[5000:5004], b"from",
         "mapped for reading")
    target = os.open(other, os.O_RDWR)
    length = 200000
    area[1000:1000 + length] = pattern(length, 7)
    same(os.pwrite(target, memoryview(area)[1000:1000 + length], 0), length,
         "from the mapping")
    same(os.pread(target, length, 0) == area[1000:1000 + length], True,
         "what came from the mapping")
    same(os.preadv(target, [memoryview(area)[:length]], 0), length,
         "into the mapping")
    same(area[:length] == pattern(length, 7), True, "what came into it")
    if os.fork() == 0:
        os._exit(0 if area[:4] == pattern(length, 7)[:4] else 1)
    same(os.wait()[1], 0, "the mapping in a child")


def case_sigbus(home, go):
    """Maps; when the file GO appears, the next access has to be SIGBUS."""
    fd = os.open(home, os.O_RDWR)
    area = mmap.mmap(fd, os.fstat(fd).st_size)
    area[0] = 1
    child = os.fork()
    if not child:
        with open(go + ".ready", "w", encoding="ascii"):
            pass
        while not os.path.exists(go):
            time.sleep(0.02)
        area[0] = 2
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    same(os.WIFSIGNALED(status) and os.WTERMSIG(status), signal.SIGBUS,
         "access after deletion")
    fails(errno.EIDRM, "read after deletion", os.pread, fd, 1, 0)
    fails(errno.EIDRM, "mapping after deletion", mmap.mmap, fd, 4096)


def create(fd, kind, name, size=0, perm=0o666, reserved=0):
    """TALLY_IOC_CREATE"""
    fcntl.ioctl(fd, IOC_CREATE,
                CREATE.pack(kind, 0, size, perm, reserved, name.encode()))


def flock_arg(kind, start=0, length=0):
    """struct flock"""
    return struct.pack("=hh4xqqi4x", kind, os.SEEK_SET, start, length, 0)


def refuses_fcntl(fd, name, *commands):
    """Locks of fcntl(2), for reading and for writing, are refused."""
    for command in commands:
        for kind in fcntl.F_RDLCK, fcntl.F_WRLCK:
            fails(errno.EOPNOTSUPP, f"{name}: {command}", fcntl.fcntl, fd,
                  command, flock_arg(kind))


def case_no_locks(*paths):
    """No lock that binds this machine only can be had on these."""
    for path in paths:
        kind = os.O_RDONLY if os.path.isdir(path) else os.O_RDWR
        fd = os.open(path, kind)
        for how in fcntl.LOCK_SH, fcntl.LOCK_EX | fcntl.LOCK_NB:
            fails(errno.EOPNOTSUPP, path, fcntl.flock, fd, how)
        if kind == os.O_RDWR:
            refuses_fcntl(fd, path, fcntl.F_SETLK, fcntl.F_SETLKW,
                          fcntl.F_OFD_SETLK, fcntl.F_GETLK,
                          fcntl.F_OFD_GETLK)
        os.close(fd)
        fd = os.open(path, os.O_RDONLY)
        fails(errno.EINVAL, path, fcntl.fcntl, fd, fcntl.F_SETLEASE,
              fcntl.F_RDLCK)


def case_ofd(path, other):
    """Of fcntl(2), what an open file can hold is the lock, and nothing else."""
    one, two = os.open(path, os.O_RDWR), os.open(other, os.O_RDWR)
    refuses_fcntl(one, "of the process", fcntl.F_SETLK, fcntl.F_SETLKW,
                  fcntl.F_GETLK, fcntl.F_OFD_GETLK)
    for start, length in (1, 0), (0, 1):
        fails(errno.EOPNOTSUPP, "a part", fcntl.fcntl, one, fcntl.F_OFD_SETLK,
              flock_arg(fcntl.F_WRLCK, start, length))
    same(stat_lock(one)[0], 0, "held")
    fails(errno.EINVAL, "lease", fcntl.fcntl, one, fcntl.F_SETLEASE,
          fcntl.F_WRLCK)
    fcntl.fcntl(one, fcntl.F_OFD_SETLKW, flock_arg(fcntl.F_WRLCK))
    same(stat_lock(one)[0], 1, "held")
    fails(errno.EWOULDBLOCK, "flock beside it", fcntl.flock, two,
          fcntl.LOCK_EX | fcntl.LOCK_NB)
    fails(errno.EWOULDBLOCK, "the same beside it", fcntl.fcntl, two,
          fcntl.F_OFD_SETLK, flock_arg(fcntl.F_RDLCK))
    fcntl.fcntl(one, fcntl.F_OFD_SETLK, flock_arg(fcntl.F_RDLCK))
    fcntl.fcntl(two, fcntl.F_OFD_SETLKW, flock_arg(fcntl.F_RDLCK))
    fails(errno.EAGAIN, "exclusive beside it", fcntl.fcntl, one,
          fcntl.F_OFD_SETLK, flock_arg(fcntl.F_WRLCK))
    fails(errno.EDEADLK, "waiting for it", fcntl.fcntl, one,
          fcntl.F_OFD_SETLKW, flock_arg(fcntl.F_WRLCK))
    same((stat_lock(one)[0], stat_lock(two)[0]), (1, 1), "both still held")
    fcntl.fcntl(one, fcntl.F_OFD_SETLK, flock_arg(fcntl.F_UNLCK))
    same((stat_lock(one)[0], stat_lock(two)[0]), (0, 1), "one given back")


def case_direct(path, other):
    """O_DIRECT is what regions always do."""
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page[:] = pattern(mmap.PAGESIZE, 5)
    same(os.pwritev(fd, [page], mmap.PAGESIZE), mmap.PAGESIZE, "written")
    os.fsync(fd)
    later = os.open(other, os.O_RDONLY)
    fcntl.fcntl(later, fcntl.F_SETFL, os.O_DIRECT)
    same(os.pread(later, mmap.PAGESIZE, mmap.PAGESIZE) == page[:], True, "read")


def case_no_watch(*paths):
    """No watch can be had."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(0)
    for path in paths:
        same(libc.inotify_add_watch(fd, path.encode(), 0xfff), -1, path)
        same(ctypes.get_errno(), errno.EOPNOTSUPP, path)


def case_kept(path, directory):
    """What is set and cannot be kept is refused; what is kept changes times."""
    for name in path, directory:
        fails(errno.EOPNOTSUPP, "times", os.utime, name, (1, 2))
        fails(errno.EOPNOTSUPP, "touch", os.utime, name)
        old = os.stat(name)
        for bit in stat.S_ISUID, stat.S_ISGID, stat.S_ISVTX:
            fails(errno.EOPNOTSUPP, f"bit {bit:o}", os.chmod, name,
                  old.st_mode & 0o777 | bit)
        same(os.stat(name), old, "what was refused")
        os.chmod(name, 0o700)
        same(os.stat(name).st_ctime_ns > old.st_ctime_ns, True, "time")
        os.chmod(name, old.st_mode & 0o777)


def case_readonly(arena, lock_name):
    """Through a read-only mount nothing is made, and nobody kept out."""
    fd = os.open(arena, os.O_RDONLY | os.O_DIRECTORY)
    fails(errno.EROFS, "new object", create, fd, 1, "new")
    fd = os.open(os.path.join(arena, lock_name), os.O_RDONLY)
    for how in fcntl.LOCK_SH, fcntl.LOCK_EX | fcntl.LOCK_NB:
        fails(errno.EROFS, "flock", fcntl.flock, fd, how)
    fails(errno.EROFS, "ioctl", lock, fd)
    fcntl.flock(fd, fcntl.LOCK_UN)


def case_create(home, far):
    """Objects made by the directory's ioctl."""
    os.umask(0o022)
    fd = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    create(fd, 1, "made")
    same(os.stat(home + "/made").st_mode & 0o7777, 0o644, "mode")
    fails(errno.EEXIST, "twice", create, fd, 1, "made")
    fails(errno.EINVAL, "bad name", create, fd, 1, "a/b")
    fails(errno.EINVAL, "no name", create, fd, 1, "")
    fails(errno.EINVAL, "unknown type", create, fd, 77, "x")
    fails(errno.EINVAL, "size of a counter", create, fd, 1, "x", 5)
    fails(errno.EINVAL, "region without size", create, fd, 3, "x")
    fails(errno.EINVAL, "set-user-id", create, fd, 1, "x", 0, 0o4755)
    fails(errno.EINVAL, "reserved field", create, fd, 1, "x", 0, 0, 1)
    there = os.open(far, os.O_RDONLY | os.O_DIRECTORY)
    fails(errno.EREMOTE, "elsewhere", create, there, 1, "x")
    fails(errno.EREMOTE, "removing elsewhere", os.unlink, far + "/made")
    os.unlink(home + "/made")
    fails(errno.ENOENT, "after removal", os.stat, home + "/made")
    fails(errno.ENOENT, "after removal, elsewhere", os.stat, far + "/made")


def case_names(root, arena):
    """What a tally mount refuses."""
    fails(errno.EACCES, "new file", os.open, arena + "/new",
          os.O_CREAT | os.O_RDWR)
    fails(errno.EPERM, "new folder", os.mkdir, root + "/new")
    fails(errno.ENOENT, "no such object", os.stat, arena + "/nothing")
    fails(errno.ENOENT, "no such arena", os.stat, root + "/nothing")
    for name in "-x", ".x", "a b", "x" * 64, "a@b":
        fails(errno.ENOENT, repr(name), os.stat, f"{arena}/{name}")
    for name in "x@", "@x", "a@b@c", "a b":
        fails(errno.ENOENT, repr(name), os.stat, f"{root}/{name}")
    fails(errno.ENAMETOOLONG, "long", os.stat, root + "/" + "x" * 300)
    fails(errno.EPERM, "mode of the root", os.chmod, root, 0o777)


def case_seek(path, *names):
    """A directory from each of its positions on, in any order."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.opendir.restype = libc.readdir64.restype = ctypes.c_void_p
    libc.telldir.restype = ctypes.c_long
    stream = ctypes.c_void_p(libc.opendir(path.encode()))

    def following():
        entry = libc.readdir64(stream)
        # Behind inode, offset, length and type
        return os.fsdecode(ctypes.string_at(entry + 19)) if entry else None

    places = []
    for name in (".", "..", *names, None):
        places.append((libc.telldir(stream), name))
        same(following(), name, "in order")
    random.shuffle(places)
    for place, name in places:
        libc.seekdir(stream, ctypes.c_long(place))
        same(following(), name, f"at {place}")
    libc.rewinddir(stream)
    same(following(), ".", "from the beginning")
    libc.closedir(stream)


def case_load(path, *how):
    """Write and read for ever; "until-error" ends with the first error."""
    fd = os.open(path, os.O_RDWR)
    size = os.fstat(fd).st_size
    data = pattern(size, 3)
    print("ready", flush=True)
    while True:
        try:
            write_all(fd, data, 0)
            read_all(fd, size, 0)
        except OSError as error:
            if how != ("until-error",):
                raise
            print(errno.errorcode[error.errno])
            return


def case_hold_map(path, ready):
    """Keep a mapping until told otherwise; then touching it is SIGBUS."""
    fd = os.open(path, os.O_RDWR)
    area = mmap.mmap(fd, os.fstat(fd).st_size)
    area[0] = 1
    with open(ready, "w", encoding="ascii"):
        pass
    while os.path.exists(ready):
        time.sleep(0.02)
    child = os.fork()
    if not child:
        area[4096] = 1
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    same(os.WIFSIGNALED(status) and os.WTERMSIG(status), signal.SIGBUS,
         "access")
    print("SIGBUS")


def case_hold(path, ready, *ioctl):
    """Keep a file open until told otherwise; then say what works."""
    fd = os.open(path, os.O_RDWR)
    if ioctl:
        lock(fd)
    with open(ready, "w", encoding="ascii"):
        pass
    poll = select.poll()
    poll.register(fd, select.POLLPRI)
    while os.path.exists(ready):
        if poll.poll(100) and ioctl:
            same(stat_lock(fd)[:2], (0, 1), "state when poll says so")
            fails(errno.ESTALE, "unlock of a lost lock", fcntl.ioctl, fd,
                  IOC_UNLOCK)
            print("lost")
            return
    try:
        os.pread(fd, 1, 0)
        print("works")
    except OSError as error:
        print(errno.errorcode[error.errno])


if __name__ == "__main__":
    globals()["case_" + sys.argv[1].replace("-", "_")](*sys.argv[2:])
