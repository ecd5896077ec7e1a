/* SPDX-License-Identifier: GPL-2.0 */
/* All that a child subreaper has below it. */
#ifndef TALLY_TREE_H
#define TALLY_TREE_H

#define GUARD_NAME	"tally-guard"

unsigned int tree_signal(int sig);
void tree_end(void);

#endif
