#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# echo.py add ARENA NAME VALUE [size] | show ARENA NAME: makes an object of the
# type of kmod/tests/echo/ by netlink, with a size, which it has not, if asked
# to; says its value.

"""An object of a type that the command line tool does not know."""

import socket
import struct
import sys

from dump import (DONE, DUMP, ERROR, NETLINK_GENERIC, OBJECT_ARENA, OBJECT_GET,
                  OBJECT_NAME, answers, attr, family_id, request)

ECHO = 15
OBJECT_ADD = 12
OBJECT_NODE, OBJECT_TYPE, OBJECT_SIZE = 2, 5, 12
OBJECT_INITIAL, OBJECT_VALUE = 13, 14


def number(kind, form, value):
    """An attribute that is a number."""
    data = struct.pack(form, value)
    return struct.pack("=HH", 4 + len(data), kind) + data


def value_of(body):
    """The value of the object that a message describes."""
    body = body[4:]
    while body:
        length, kind = struct.unpack_from("=HH", body)
        if kind == OBJECT_VALUE:
            return struct.unpack_from("=Q", body, 4)[0]
        body = body[length + 3 & ~3:]
    return None


def main(what, arena, name, value="0", size=None):
    """One request."""
    attrs = (attr(OBJECT_NODE, "home") + attr(OBJECT_ARENA, arena)
             + attr(OBJECT_NAME, name))
    command, flags = OBJECT_GET, DUMP
    if what == "add":
        command, flags = OBJECT_ADD, 0
        attrs += number(OBJECT_TYPE, "=I", ECHO)
        attrs += number(OBJECT_INITIAL, "=Q", int(value))
        if size:
            attrs += number(OBJECT_SIZE, "=Q", 4096)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as sock:
        family = family_id(sock)
        request(sock, family, flags, command, attrs)
        done = False
        while not done:
            for kind, body in answers(sock):
                if kind == ERROR:
                    sys.exit(f"refused: {-struct.unpack_from('=i', body)[0]}")
                if kind != DONE:
                    print(value_of(body))
                done = done or kind == DONE or not flags


main(*sys.argv[1:])
