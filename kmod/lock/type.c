// SPDX-License-Identifier: GPL-2.0
#include "lock/type.h"

#include "fs/file.h"
#include "home/export.h"
#include "lock/api_async.h"
#include "lock/client.h"
#include "lock/home.h"
#include <uapi/linux/tally.h>

const struct tally_type_ops tally_lock_type = {
	.id		= TALLY_TYPE_LOCK,
	.name		= "lock",
	.word		= true,
	.object_size	= sizeof(struct tally_object),
	.open_size	= sizeof(struct tally_open),
	.fops		= &tally_lock_ops,
};

/**
 * tally_lock_init - make what all locks share
 *
 * Return: 0 or -ENOMEM.
 */
int tally_lock_init(void)
{
	int err;

	err = tally_lock_homes_init();
	if (err)
		return err;
	err = tally_lock_clients_init();
	if (err)
		goto err_homes;
	err = tally_api_locks_init();
	if (err)
		goto err_clients;
	return 0;

err_clients:
	tally_lock_clients_exit();
err_homes:
	tally_lock_homes_exit();
	return err;
}

/* There is no node any more. */
void tally_lock_exit(void)
{
	tally_api_locks_exit();
	tally_lock_clients_exit();
	tally_lock_homes_exit();
}
