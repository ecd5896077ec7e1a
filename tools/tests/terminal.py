#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
terminal.py PREFIX...

Runs commands behind PREFIX on a terminal of their own, as people do, and fails
with a sentence if one is not treated as it would be without the prefix.
"""
import os
import pty
import re
import shlex
import sys

PREFIX = " ".join(map(shlex.quote, sys.argv[1:]))


class Terminal:
    """A command on a terminal."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["PS1"] = ""
            os.execvp(command[0], command)
        self.text = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, pattern):
        """What matches first, from what was not looked at yet."""
        while not (match := re.search(pattern, self.text)):
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                data = b""
            if not data:
                sys.exit(f"no {pattern!r} in {self.text!r}")
            self.text += data.decode(errors="replace")
        self.text = self.text[match.end():]
        return match


def without_shell():
    """Control-Z stops nothing that nobody would continue."""
    terminal = Terminal(*sys.argv[1:], "sh", "-c",
                        "stty -echo; echo up; read x; echo got $x; read x")
    terminal.until("up")
    terminal.type("\x1aword\n")
    terminal.until("got word")
    terminal.type("\x1a\n")
    os.waitpid(terminal.pid, 0)


def pager(terminal):
    """Who reads the command's output has the terminal."""
    terminal.type(f"{PREFIX} sh -c 'echo up; exec sleep 100' | sh -c '"
                  "read x; echo $x; read x < /dev/tty; echo pager $x; "
                  "read x < /dev/tty; echo pager $x'\n")
    terminal.until("up")
    terminal.type("one\n")
    terminal.until("pager one")
    terminal.type("\x1a")
    terminal.until("Stopped")
    terminal.type("echo shell; fg > /dev/null\n")
    terminal.until("shell")
    terminal.type("two\n")
    terminal.until("pager two")
    terminal.type("\x03")
    terminal.type("echo en''d\n")
    terminal.until("end")


def main():
    without_shell()
    terminal = Terminal("bash", "--norc", "--noediting", "-i")
    terminal.type("stty -echo; echo be''gin\n")
    terminal.until("begin")
    pager(terminal)
    terminal.type(f"{PREFIX} sh -c 'read x; echo got $x; exit 3'\n")
    terminal.type("word\n")
    terminal.until("got word")
    terminal.type("echo status $?\n")
    terminal.until("status 3")

    terminal.type(f"{PREFIX} sh -c 'trap \"echo caught; exit 4\" INT; "
                  "echo up; while :; do sleep 0.1; done'\n")
    terminal.until("up")
    terminal.type("\x03")
    terminal.until("caught")
    terminal.type("echo status $?\n")
    terminal.until("status 4")

    terminal.type(f"{PREFIX} sh -c 'echo up; read x; echo got $x'\n")
    terminal.until("up")
    terminal.type("\x1a")
    terminal.until("Stopped")
    terminal.type("echo shell; fg > /dev/null\n")
    terminal.until("shell")
    terminal.type("again\n")
    terminal.until("got again")
    terminal.type("exit\n")
    os.waitpid(terminal.pid, 0)


main()
