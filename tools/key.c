// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "key.h"
#include "tally.h"

#define KEY_NAME	"tally:keyfile"
#define KEY_LEAST	16
#define KEY_MOST	64

/* Return: how many bytes the file has, up to KEY_MOST + 1; or -1. */
static ssize_t read_key(int fd, char key[KEY_MOST + 1])
{
	ssize_t len = 0, more;

	do {
		more = read(fd, key + len, KEY_MOST + 1 - len);
		if (more < 0)
			return -1;
		len += more;
	} while (more && len <= KEY_MOST);
	return len;
}

static int add_key(const char *file, const char *key, ssize_t len)
{
	if (len < 0) {
		say("keyfile %s: %s", file, strerror(errno));
		return FAILED;
	}
	if (len < KEY_LEAST || len > KEY_MOST) {
		say("keyfile %s: a key has %d to %d bytes, this is %s", file,
		    KEY_LEAST, KEY_MOST, len < KEY_LEAST ? "shorter" : "longer");
		return FAILED;
	}
	/* The keyring of this process, which goes with it. */
	if (syscall(SYS_add_key, "logon", KEY_NAME, key, len,
		    KEY_SPEC_PROCESS_KEYRING) >= 0)
		return DONE;
	say("keyfile %s: the key cannot be given to the kernel: %s", file,
	    strerror(errno));
	return FAILED;
}

/**
 * key_from_file - give a key to the kernel
 * @file: what it is in, as it is
 * @description: set to what the kernel knows it by, until this process ends
 *
 * Return: DONE, or FAILED after a sentence.
 */
int key_from_file(const char *file, const char **description)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), status;
	char key[KEY_MOST + 1];
	struct stat st;

	if (fd < 0) {
		say("keyfile %s: %s", file, strerror(errno));
		return FAILED;
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (st.st_mode & 0077))
		say("keyfile %s: taken, but others may read or change it (mode %04o)",
		    file, (unsigned int)st.st_mode & 07777);
	status = add_key(file, key, read_key(fd, key));
	explicit_bzero(key, sizeof(key));
	close(fd);
	*description = KEY_NAME;
	return status;
}
