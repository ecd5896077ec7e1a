/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of objects. A type is a folder with a struct tally_type_ops in its
 * type.c, and one line in main.c; nothing else asks which type an object is of.
 */
#ifndef TALLY_OBJECT_TYPE_H
#define TALLY_OBJECT_TYPE_H

#include <linux/fs.h>
#include <linux/types.h>

struct genl_info;
struct sk_buff;
struct tally_handle;
struct tally_ioc_create;
struct tally_node;
struct tally_object;
struct tally_open;
struct tally_rep_open;
struct tally_session;
struct tally_sreq;

/* What a message of a type is about. */
enum tally_aim {
	TALLY_AIM_OPEN,		/* an object here that the sender has opened */
	TALLY_AIM_HANDLE,	/* an object at the sender that we opened */
	TALLY_AIM_SESSION,	/* neither: it goes to the type itself */
};

/**
 * struct tally_type_message - a message that belongs to a type
 * @type: enum tally_msg_type; 0 ends the list
 * @len: length its body has; with another one it is malformed
 * @aim: what it is about. The body of one about an object begins with struct
 *	tally_wire_object, whose reserved field has been looked at
 * @aim_of: NULL, or says what this one is about where @aim alone does not
 * @malformed: "malformed COUNTER": the reason when it is
 */
struct tally_type_message {
	u16 type;
	u16 len;
	enum tally_aim aim;
	enum tally_aim (*aim_of)(const void *body);
	const char *malformed;
};

/**
 * struct tally_type_ops - a type of objects
 * @id: TALLY_TYPE_* (uapi), as on the wire; below TALLY_TYPES_MAX
 * @name: as programs and people call it
 * @word: its objects have an entry in the word table
 * @object_size: bytes of an object at its home, struct tally_object first
 * @open_size: bytes of an object as a session was given it, struct tally_open
 *	first; counts against the memory of the session
 * @messages: its own messages, or NULL
 *
 * All that follows may be NULL and then does nothing. "Process": may sleep,
 * not for the network. "Rx": process context, but neither sleeps for memory
 * nor takes a mutex that is held while memory is had.
 *
 * At the home; struct tally_object is home/object.h, tally_open home/export.h:
 *
 * @check: is what was asked for possible? After @fs_take or @nl_take;
 *	it is not visible yet. Process.
 *	Returns 0, or a negative errno with @reason, a constant sentence.
 * @create: make what the object needs: it has its id, entry and name, but cannot
 *	be found yet, so the CPU may write its words. Process. Returns the same.
 * @deleted: the name is gone; sessions and users may still have it. Process.
 * @destroy: nothing can reach it any more: undo @create. Process.
 * @open: a session opens it for the first time: set up what follows
 *	struct tally_open, which is zero. With arena->lock held; may sleep for
 *	memory. Returns 0 or a negative errno.
 * @fill: the type's fields of OPEN's reply, each time it is opened; @open is
 *	NULL for our own users. With arena->lock held.
 * @withdraw: the rights of the session changed: it is being asked to forget it. It
 *	may have it until @close, and is told nothing more. With arena->lock held.
 * @close: the session closed it, answered FORGET or is OVER: after this it
 *	reaches nothing of it. Process, from a work item; once an @open.
 * @forget: the last reference to a struct tally_open is gone. Any context.
 * @request: a request about an object that the session has open, of the right
 *	length; to be answered now or later, with tally_open_get() until then.
 *	Rx.
 * @message: a one-way message about one. Rx. Returns 0, or a negative errno
 *	when the peer broke the protocol.
 *
 * Sessions, whichever side is whose home; the order is that of main.c:
 *
 * @created: a session begins, see tally_export_private(). Process. Returns 0 or
 *	-ENOMEM.
 * @live: its link is up; @resumed: again. Process.
 * @down: its link broke, its QPs are destroyed. Process.
 * @lost: it is OVER, its QPs may still exist: tell users now. Process.
 * @over: it is fenced. Process.
 * @leave: we are about to say goodbye. Process.
 * @news: a one-way message for the type itself. Rx. Returns what @message does.
 *
 * At a client, struct tally_handle is client/handle.h:
 *
 * @valid: are the type's fields of OPEN's reply possible? Returns true if so.
 * @attach: the handle becomes (handle->made is false) or still is (true) the
 *	object that OPEN's reply describes. By the one that opens it. Process.
 *	Returns 0; -EIDRM: it is another object; -ENOMEM.
 * @error: it cannot be used any more, users are told before this returns;
 *	-ENOTCONN until it is opened again, anything else for good. Process.
 * @release: the last reference is gone: undo @attach. Process.
 * @spare: it keeps a reference for the next use, beside which there is none: give it
 *	up to the caller, if nothing of it is under way and it was not used since this
 *	was called last. Any context. Returns true if it did.
 * @question: a request of the home about it. Rx; answered now or later.
 * @notice: a one-way message of the home about it. Rx. Returns what @message does.
 *
 * Faces:
 *
 * @fops: what its file can do
 * @fs_truncate: its file was opened with O_TRUNC, and has a size, which stays:
 *	all of it reads as zero then. Process. Returns 0 or a negative errno.
 * @fs_take: take what TALLY_IOC_CREATE says into an object that is not visible
 *	yet, refuse what the type has not. Returns 0 or -EINVAL.
 * @nl_attrs: mask of the attributes that @nl_take and @nl_set may find
 * @nl_take: the same from the attributes of object-add, with a sentence in the
 *	extack. Returns 0 or a negative errno.
 * @nl_set: change a living object to the attributes of object-set. Returns
 *	what @nl_take does.
 * @nl_fill: put the type's attributes of an object into a message that begins
 *	with @hdr, see tally_nl_put_list(). Returns 0 or -EMSGSIZE.
 * @nl_read: the same with what only those are told who could read its file
 * @nl_break: begin to take an object away from the nodes that have it. Returns
 *	what @nl_take does.
 * @nl_ask: begin to ask those nodes which processes have their objects, of all
 *	arenas and names where these are empty. Returns 0 or a negative errno.
 */
struct tally_type_ops {
	u8 id;
	const char *name;
	bool word;
	size_t object_size;
	size_t open_size;
	const struct tally_type_message *messages;

	/* home */
	int (*check)(struct tally_object *object, const char **reason);
	int (*create)(struct tally_object *object, const char **reason);
	void (*deleted)(struct tally_object *object);
	void (*destroy)(struct tally_object *object);
	int (*open)(struct tally_open *open);
	void (*fill)(struct tally_object *object, struct tally_open *open,
		     struct tally_rep_open *rep);
	void (*withdraw)(struct tally_open *open);
	void (*close)(struct tally_open *open);
	void (*forget)(struct tally_open *open);
	void (*request)(struct tally_open *open, struct tally_sreq *req);
	int (*message)(struct tally_open *open, u16 type, const void *body,
		       u32 len);

	/* sessions */
	int (*created)(struct tally_session *s);
	void (*live)(struct tally_session *s, bool resumed);
	void (*down)(struct tally_session *s);
	void (*lost)(struct tally_session *s);
	void (*over)(struct tally_session *s);
	void (*leave)(struct tally_session *s);
	int (*news)(struct tally_session *s, u16 type, const void *body,
		    u32 len);

	/* client */
	bool (*valid)(const struct tally_rep_open *rep);
	int (*attach)(struct tally_handle *handle,
		      const struct tally_rep_open *rep);
	void (*error)(struct tally_handle *handle, int err);
	void (*release)(struct tally_handle *handle);
	bool (*spare)(struct tally_handle *handle);
	void (*question)(struct tally_handle *handle, struct tally_sreq *req);
	int (*notice)(struct tally_handle *handle, u16 type, const void *body,
		      u32 len);

	/* faces */
	const struct file_operations *fops;
	int (*fs_truncate)(struct tally_handle *handle);
	int (*fs_take)(struct tally_object *object,
		       const struct tally_ioc_create *arg);
	u64 nl_attrs;
	int (*nl_take)(struct tally_object *object, struct genl_info *info);
	int (*nl_set)(struct tally_object *object, struct genl_info *info);
	int (*nl_fill)(struct sk_buff *skb, void *hdr,
		       struct tally_object *object);
	int (*nl_read)(struct sk_buff *skb, void *hdr,
		       struct tally_object *object);
	int (*nl_break)(struct tally_object *object, struct genl_info *info);
	int (*nl_ask)(struct tally_node *node, const char *arena,
		      const char *name);
};

/* Where the module is built for tests, see Kbuild. */
#ifdef TALLY_TEST_TYPE
extern const struct tally_type_ops TALLY_TEST_TYPE;
#endif

#define TALLY_TYPES_MAX	16	/* ids are below this */

int tally_types_init(const struct tally_type_ops *const *types);
void tally_types_exit(void);
void *tally_type_alloc(const struct tally_type_ops *type, bool open);
void tally_type_free(const struct tally_type_ops *type, bool open,
		     void *memory);
const struct tally_type_ops *tally_type(u8 id);
const struct tally_type_message *
tally_type_message(u16 type, const struct tally_type_ops **ops);

#endif
