#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# dump.py ARENA LOCK FILE PATTERN: lists a lock by netlink, a few kilobytes at a
# time. Says how many lines with PATTERN FILE got by that, and how many objects
# there were.

"""Does a list ask anybody?"""

import re
import socket
import struct
import sys

NETLINK_GENERIC = 16
CTRL, GETFAMILY, FAMILY_ID, FAMILY_NAME = 16, 3, 1, 2
OBJECT_GET, OBJECT_ARENA, OBJECT_NAME = 15, 3, 4
REQUEST, DUMP = 1, 0x300
ERROR, DONE = 2, 3


def attr(number, text):
    """A string attribute."""
    data = text.encode() + b"\0"
    return struct.pack("=HH", 4 + len(data), number) + data + bytes(-len(data) % 4)


def request(sock, family, flags, command, attrs):
    """Send a request."""
    body = struct.pack("=BBH", command, 1, 0) + attrs
    sock.send(struct.pack("=IHHII", 16 + len(body), family, REQUEST | flags, 1, 0)
              + body)


def answers(sock):
    """Type and body of each message of one read."""
    data = sock.recv(1 << 13)
    while data:
        length, kind = struct.unpack_from("=IH", data)
        yield kind, data[16:length]
        data = data[length + 3 & ~3:]


def family_id(sock):
    """Number of the family "tally"."""
    request(sock, CTRL, 0, GETFAMILY, attr(FAMILY_NAME, "tally"))
    kind, body = next(answers(sock))
    if kind == ERROR:
        sys.exit("no family tally")
    body = body[4:]
    while body:
        length, number = struct.unpack_from("=HH", body)
        if number == FAMILY_ID:
            return struct.unpack_from("=H", body, 4)[0]
        body = body[length + 3 & ~3:]
    sys.exit("the family has no number")


def count(path, pattern):
    """Lines with that pattern."""
    with open(path, encoding="ascii", errors="replace") as file:
        return sum(1 for line in file if re.search(pattern, line))


def main(arena, name, path, pattern):
    """One list."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as sock:
        family = family_id(sock)
        before = count(path, pattern)
        request(sock, family, DUMP, OBJECT_GET,
                attr(OBJECT_ARENA, arena) + attr(OBJECT_NAME, name))
        objects, done = 0, False
        while not done:
            for kind, body in answers(sock):
                if kind == ERROR:
                    sys.exit(f"refused: {-struct.unpack_from('=i', body)[0]}")
                done = done or kind == DONE
                objects += kind != DONE
        print(count(path, pattern) - before, objects)


if __name__ == "__main__":
    main(*sys.argv[1:])
