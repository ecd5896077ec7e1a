/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOCK_API_H
#define TALLY_LOCK_API_H

int tally_api_locks_init(void);
void tally_api_locks_exit(void);

#endif
