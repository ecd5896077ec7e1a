// SPDX-License-Identifier: GPL-2.0
/*
 * A type of objects for tests: what is written to its file is said to the home,
 * which keeps it and counts; reading gives the count and what was said last, by
 * whichever node. This folder, and one line in main.c, is all there is of it.
 */
#include "object/type.h"

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include "client/handle.h"
#include "fs/file.h"
#include "home/export.h"
#include "home/serve.h"
#include "netlink/gen.h"
#include "session/rpc.h"

#define ECHO_TYPE	15	/* TALLY_TYPES_MAX - 1 */
#define ECHO_MESSAGE	TALLY_MSG_TESTS
#define ECHO_TEXT	64

/**
 * struct echo_home - an echo at its home
 * @object: what all objects have
 * @lock: protects what follows
 * @count: how often something was said to it
 * @text: what was said last
 */
struct echo_home {
	struct tally_object object;
	spinlock_t lock;	/* see above */
	u64 count;
	char text[ECHO_TEXT];
};

/**
 * struct echo_open - an echo as a session was given it
 * @open: what all opens have
 * @said: how often this one said something
 */
struct echo_open {
	struct tally_open open;
	u32 said;
};

/* ECHO_MESSAGE: empty text asks only. */
struct echo_msg {
	struct tally_wire_object object;
	char text[ECHO_TEXT];
} __packed;

struct echo_rep {
	__be64 count;
	__be32 said;	/* of them by this session */
	__be32 reserved;
	char text[ECHO_TEXT];
} __packed;

static struct echo_home *echo_home(struct tally_object *object)
{
	return container_of(object, struct echo_home, object);
}

static void echo_say(struct tally_object *object, u32 *said, const char *text,
		     struct echo_rep *rep)
{
	struct echo_home *echo = echo_home(object);

	memset(rep, 0, sizeof(*rep));
	spin_lock(&echo->lock);
	if (text[0]) {
		echo->count++;
		++*said;
		strscpy(echo->text, text, sizeof(echo->text));
	}
	rep->count = cpu_to_be64(echo->count);
	rep->said = cpu_to_be32(*said);
	strscpy(rep->text, echo->text, sizeof(rep->text));
	spin_unlock(&echo->lock);
}

static int echo_create(struct tally_object *object, const char **reason)
{
	spin_lock_init(&echo_home(object)->lock);
	return 0;
}

static void echo_request(struct tally_open *open, struct tally_sreq *req)
{
	struct echo_open *eo = container_of(open, struct echo_open, open);
	const struct echo_msg *msg = (const void *)req->body;
	struct echo_rep rep;

	if (strnlen(msg->text, ECHO_TEXT) == ECHO_TEXT) {
		tally_serve_malformed(req, "malformed ECHO");
	} else if (msg->text[0] && tally_open_access(open) != TALLY_ACCESS_RW) {
		tally_sreq_reply(req, -EACCES, NULL, 0);
	} else {
		echo_say(open->object, &eo->said, msg->text, &rep);
		tally_sreq_reply(req, 0, &rep, sizeof(rep));
	}
}

static bool echo_valid(const struct tally_rep_open *rep)
{
	return !rep->size && !rep->mrs && !rep->lock_class;
}

static int echo_call(struct tally_handle *handle, const char *text,
		     struct echo_rep *rep)
{
	struct echo_msg msg = {
		.object = tally_handle_wire(handle),
	};
	struct tally_session *s = tally_view_session(handle->view);
	u32 len = sizeof(*rep);
	int err;

	if (!s)
		return tally_handle_no_conn(handle);
	strscpy(msg.text, text, sizeof(msg.text));
	err = tally_session_call(s, ECHO_MESSAGE, &msg, sizeof(msg), rep, &len,
				 MAX_SCHEDULE_TIMEOUT);
	if (!err && len != sizeof(*rep)) {
		tally_session_violation(s, "malformed answer to ECHO");
		err = -EREMOTEIO;
	}
	tally_session_put(s);
	return err;
}

static int echo_do(struct tally_handle *handle, const char *text,
		   struct echo_rep *rep)
{
	int err = tally_handle_enter(handle, MAX_SCHEDULE_TIMEOUT);
	u32 said = 0;

	if (err)
		return err;
	if (handle->object)
		echo_say(handle->object, &said, text, rep);
	else
		err = echo_call(handle, text, rep);
	tally_handle_leave(handle);
	return err;
}

static int echo_file_open(struct inode *inode, struct file *file)
{
	return tally_file_open(inode, file, sizeof(struct tally_file));
}

static ssize_t echo_file_read(struct file *file, char __user *buf, size_t count,
			      loff_t *pos)
{
	struct tally_file *tf = file->private_data;
	char line[ECHO_TEXT + 48];
	struct echo_rep rep;
	int err;

	err = echo_do(tf->handle, "", &rep);
	if (err)
		return err;
	return simple_read_from_buffer(buf, count, pos, line,
				       scnprintf(line, sizeof(line),
						 "%llu %u %.*s\n",
						 be64_to_cpu(rep.count),
						 be32_to_cpu(rep.said),
						 ECHO_TEXT - 1, rep.text));
}

static ssize_t echo_file_write(struct file *file, const char __user *buf,
			       size_t count, loff_t *pos)
{
	struct tally_file *tf = file->private_data;
	char text[ECHO_TEXT] = "";
	struct echo_rep rep;
	int err;

	if (!count || count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	strim(text);
	err = echo_do(tf->handle, text, &rep);
	return err ? err : count;
}

static const struct file_operations echo_fops = {
	.owner		= THIS_MODULE,
	.open		= echo_file_open,
	.release	= tally_file_release,
	.llseek		= default_llseek,
	.read		= echo_file_read,
	.write		= echo_file_write,
	.lock		= tally_file_no_lock,
	.flock		= tally_file_no_lock,
	.setlease	= TALLY_NO_LEASE,
};

static int echo_fs_take(struct tally_object *object,
			const struct tally_ioc_create *arg)
{
	return arg->size || arg->lock_class ? -EINVAL : 0;
}

/* The attribute of counters will do: from where it counts. */
static int echo_nl_take(struct tally_object *object, struct genl_info *info)
{
	const struct nlattr *attr = info->attrs[TALLY_A_OBJECT_INITIAL];

	if (attr)
		echo_home(object)->count = nla_get_u64(attr);
	return 0;
}

static int echo_nl_fill(struct sk_buff *skb, void *hdr,
			struct tally_object *object)
{
	return nla_put_u64_64bit(skb, TALLY_A_OBJECT_VALUE,
				 READ_ONCE(echo_home(object)->count),
				 TALLY_A_OBJECT_PAD);
}

static const struct tally_type_message echo_messages[] = {
	{ .type = ECHO_MESSAGE, .len = sizeof(struct echo_msg),
	  .aim = TALLY_AIM_OPEN, .malformed = "malformed ECHO" },
	{}
};

const struct tally_type_ops tally_echo_type = {
	.id		= ECHO_TYPE,
	.name		= "echo",
	.object_size	= sizeof(struct echo_home),
	.open_size	= sizeof(struct echo_open),
	.messages	= echo_messages,
	.create		= echo_create,
	.request	= echo_request,
	.valid		= echo_valid,
	.fops		= &echo_fops,
	.fs_take	= echo_fs_take,
	.nl_attrs	= BIT_ULL(TALLY_A_OBJECT_INITIAL),
	.nl_take	= echo_nl_take,
	.nl_fill	= echo_nl_fill,
};
