// SPDX-License-Identifier: GPL-2.0
/*
 * withkey DESCRIPTION SECRET COMMAND [ARGUMENT...]: run a command with a key
 * of type logon in a session keyring of its own.
 */
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: %s DESCRIPTION SECRET COMMAND...\n",
			argv[0]);
		return 2;
	}
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0) {
		perror("keyctl");
		return 1;
	}
	if (syscall(SYS_add_key, "logon", argv[1], argv[2], strlen(argv[2]),
		    KEY_SPEC_SESSION_KEYRING) < 0) {
		perror("add_key");
		return 1;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
