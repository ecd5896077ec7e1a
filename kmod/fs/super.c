// SPDX-License-Identifier: GPL-2.0
/*
 * The file system type: mount -t tally -o node=NAME none /dev/tally
 *
 * A mount shows one node. It keeps the struct of that node, not the node
 * itself: when the node is stopped, look-ups are -ESHUTDOWN until it is
 * unmounted.
 */
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "base/name.h"
#include "fs/dir.h"
#include "fs/super.h"
#include "session/nodes.h"

static const struct fs_parameter_spec fs_params[] = {
	fsparam_string("node", 0),
	{}
};

static int fs_show_options(struct seq_file *m, struct dentry *root)
{
	seq_show_option(m, "node", tally_fs_node(d_inode(root))->config.name);
	return 0;
}

static const struct super_operations fs_super_ops = {
	.statfs		= simple_statfs,
	.evict_inode	= tally_inode_evict,
	.show_options	= fs_show_options,
};

static int fs_fill_super(struct super_block *sb, struct fs_context *fc)
{
	struct inode *root;

	sb->s_magic = TALLY_FS_MAGIC;
	sb->s_op = &fs_super_ops;
	sb->s_maxbytes = MAX_LFS_FILESIZE;
	sb->s_blocksize = PAGE_SIZE;
	sb->s_blocksize_bits = PAGE_SHIFT;
	sb->s_time_gran = 1;
	sb->s_flags |= SB_NOSUID;
	sb->s_iflags |= SB_I_NODEV | SB_I_NOEXEC;
	tally_set_d_op(sb, &tally_dentry_ops);
	root = tally_dir_inode(sb, 0755, NULL);
	if (IS_ERR(root))
		return PTR_ERR(root);
	sb->s_root = d_make_root(root);
	return sb->s_root ? 0 : -ENOMEM;
}

static void fs_put(struct tally_fs *fs)
{
	tally_user_del(fs->node, &fs->user);
	tally_node_put(fs->node);
	kfree(fs);
}

/* fc->fs_private is the name of the node, or NULL for the first one. */
static int fs_get_tree(struct fs_context *fc)
{
	struct tally_node *node;
	struct tally_fs *fs;

	node = tally_node_find(fc->net_ns, fc->fs_private);
	if (!node) {
		errorfc(fc, "there is no such node in this network namespace");
		return -ENODEV;
	}
	fs = kzalloc(sizeof(*fs), GFP_KERNEL);
	if (!fs) {
		tally_node_put(node);
		return -ENOMEM;
	}
	fs->node = node;
	tally_user_add(node, &fs->user, "mount", "", "");
	fc->s_fs_info = fs;
	return get_tree_nodev(fc, fs_fill_super);
}

static int fs_parse_param(struct fs_context *fc, struct fs_parameter *param)
{
	struct fs_parse_result result;
	int opt = fs_parse(fc, fs_params, param, &result);

	if (opt < 0)
		return opt;
	if (!tally_name_valid(param->string, param->size))
		return invalfc(fc, "a node's name is 1 to 63 of A-Za-z0-9._-");
	kfree(fc->fs_private);
	fc->fs_private = param->string;
	param->string = NULL;
	return 0;
}

static int fs_reconfigure(struct fs_context *fc)
{
	struct tally_node *node = tally_fs_node(d_inode(fc->root));

	if (fc->fs_private && strcmp(fc->fs_private, node->config.name))
		return invalfc(fc, "a mount keeps its node; unmount it first");
	return 0;
}

static void fs_free(struct fs_context *fc)
{
	if (fc->s_fs_info)
		fs_put(fc->s_fs_info);
	kfree(fc->fs_private);
}

static const struct fs_context_operations fs_context_ops = {
	.parse_param	= fs_parse_param,
	.get_tree	= fs_get_tree,
	.reconfigure	= fs_reconfigure,
	.free		= fs_free,
};

static int fs_init_context(struct fs_context *fc)
{
	fc->ops = &fs_context_ops;
	return 0;
}

static void fs_kill_sb(struct super_block *sb)
{
	struct tally_fs *fs = sb->s_fs_info;

	kill_anon_super(sb);
	if (fs)
		fs_put(fs);
}

struct file_system_type tally_fs_type = {
	.owner			= THIS_MODULE,
	.name			= "tally",
	.init_fs_context	= fs_init_context,
	.parameters		= fs_params,
	.kill_sb		= fs_kill_sb,
};
