/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generic netlink of older kernels, for the generated tables.
 *
 * Before 6.2 there are no split operations. An operation of ours is either a
 * do or a dump, and for one of these a split operation and a plain one have
 * the same fields, so there the generated table is compiled as a table of
 * plain operations. Forced in front of netlink/gen.c by Kbuild.
 */
#ifndef TALLY_GENL_COMPAT_H
#define TALLY_GENL_COMPAT_H

#include <linux/version.h>
#include <net/genetlink.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define genl_split_ops	genl_ops
#define split_ops	ops
#define n_split_ops	n_ops
#endif

/* Before 6.7 policies point to ranges without const; nothing writes there. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#undef NLA_POLICY_FULL_RANGE
#define NLA_POLICY_FULL_RANGE(tp, _range) {				\
	.type = NLA_ENSURE_UINT_OR_BINARY_TYPE(tp),			\
	.validation_type = NLA_VALIDATE_RANGE_PTR,			\
	.range = (struct netlink_range_validation *)(_range),		\
}
#endif

/* Attributes of the request that began a dump. */
static inline struct nlattr **tally_genl_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return genl_dumpit_info(cb)->attrs;
#else
	return genl_dumpit_info(cb)->info.attrs;
#endif
}

#endif
