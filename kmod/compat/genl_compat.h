/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generic netlink of older kernels.
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
#include <net/sock.h>

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

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
static inline void genl_info_init_ntf(struct genl_info *info,
				      const struct genl_family *family, u8 cmd)
{
	struct genlmsghdr *hdr = (void *)&info->user_ptr[0];

	memset(info, 0, sizeof(*info));
	info->genlhdr = hdr;
	hdr->cmd = cmd;
}
#endif

/* What began a dump, for functions that serve requests, too. */
static inline void tally_genl_info_dump(struct netlink_callback *cb,
					struct genl_info *info)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	*info = (struct genl_info) {
		.snd_seq = cb->nlh->nlmsg_seq,
		.snd_portid = NETLINK_CB(cb->skb).portid,
		.nlhdr = (struct nlmsghdr *)cb->nlh,
		.genlhdr = nlmsg_data(cb->nlh),
		.attrs = genl_dumpit_info(cb)->attrs,
		.extack = cb->extack,
	};
	genl_info_net_set(info, sock_net(cb->skb->sk));
#else
	*info = *genl_info_dump(cb);
#endif
}

/* Attributes of the request that began a dump. */
static inline struct nlattr **tally_genl_dump_attrs(struct netlink_callback *cb)
{
	struct genl_info info;

	tally_genl_info_dump(cb, &info);
	return info.attrs;
}

#endif
