// SPDX-License-Identifier: GPL-2.0
#include "lock/type.h"

#include "home/export.h"
#include "lock/file.h"
#include "lock/lock.h"
#include <uapi/linux/tally.h>

static bool lock_valid(const struct tally_rep_open *rep)
{
	return !rep->size && !rep->mrs && !rep->mr_bytes &&
	       rep->lock_class <= TALLY_CLASS_REGION && rep->lock_cache <= 1;
}

static int lock_attach(struct tally_handle *handle,
		       const struct tally_rep_open *rep)
{
	handle->set = (struct tally_lock_set) {
		.cache = rep->lock_cache,
		.grants = be16_to_cpu(rep->lock_grants),
		.ms = be16_to_cpu(rep->lock_ms),
	};
	return handle->made ? 0 : tally_lock_client_create(handle);
}

const struct tally_type_ops tally_lock_type = {
	.id		= TALLY_TYPE_LOCK,
	.name		= "lock",
	.word		= true,
	.object_size	= sizeof(struct tally_object),
	.open_size	= sizeof(struct tally_open),
	.valid		= lock_valid,
	.attach		= lock_attach,
	.error		= tally_lock_client_error,
	.release	= tally_lock_client_destroy,
	.fops		= &tally_lock_ops,
};
