/* SPDX-License-Identifier: GPL-2.0 */
/* A key that is in a file. */
#ifndef TALLY_KEY_H
#define TALLY_KEY_H

int key_from_file(const char *file, const char **description);

#endif
