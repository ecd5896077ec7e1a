/* SPDX-License-Identifier: GPL-2.0 */
/* All that a child subreaper has below it. */
#ifndef TALLY_TREE_H
#define TALLY_TREE_H

/* Without the tool's own name: what kills that by name leaves the guard. */
#define GUARD_NAME	"lock-run-guard"

unsigned int tree_signal(int sig, unsigned int *denied);
void tree_end(void);

#endif
