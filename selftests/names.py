#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# names.py ARENA: says by netlink, past the command and its checks, that nodes, peers,
# an arena, rights and objects are to have names that none may have, and then one that
# they may have; and then that the node of each such name is deleted. A line for each
# that is not answered as it has to be, with its errno, and at last how many were asked
# for.

"""Does the kernel look at names?"""

import errno
import socket
import struct
import sys

from dump import ERROR, NETLINK_GENERIC, answers, attr, family_id, request

ACK = 4
GOOD = "good"
BAD = [".t", "-t", "", "a b", "a/b", "a@b", "a\nb", "ä", "..", "x" * 64]
NODE_ADD, NODE_DEL, PEER_ADD, ARENA_ADD, ARENA_SET, OBJECT_ADD = 1, 2, 5, 8, 9, 12
REGION = 3
# No name, none of that length, none that there is.
REFUSALS = (errno.EINVAL, errno.ERANGE, errno.ENOENT)


def number(kind, value):
    """An attribute of 32 bits."""
    return struct.pack("=HHI", 8, kind, value)


def port(kind, value):
    """Of 16."""
    return struct.pack("=HHHxx", 6, kind, value)


def address(kind):
    """Of a machine."""
    return struct.pack("=HH", 20, kind) + bytes(10) + b"\xff\xff\x7f\0\0\1"


def kinds(arena):
    """What has a name: its word, its request, and that without the name."""
    yield "node", NODE_ADD, 2, port(3, 7999)
    yield "peer", PEER_ADD, 3, address(4)
    yield "arena", ARENA_ADD, 2, b""
    yield "right", ARENA_SET, 11, attr(2, arena) + number(10, 1)
    for of in range(1, 4):
        size = struct.pack("=HHQ", 12, 12, 4096) if of == REGION else b""
        yield f"object {of}", OBJECT_ADD, 4, attr(3, arena) + number(5, of) + size
    yield "former node", NODE_DEL, 2, b""


def main(arena):
    """All kinds with all names."""
    asked = 0
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as sock:
        family = family_id(sock)
        for word, command, kind, rest in kinds(arena):
            for name in [*BAD, GOOD + word[-1]]:
                request(sock, family, ACK, command, attr(kind, name) + rest)
                error = None
                while error is None:
                    for answer, body in answers(sock):
                        if answer == ERROR:
                            error = -struct.unpack_from("=i", body)[0]
                asked += 1
                if error not in (REFUSALS if name in BAD else (0,)):
                    print(word, repr(name), error)
    print(asked)


if __name__ == "__main__":
    main(*sys.argv[1:])
