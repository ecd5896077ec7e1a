// SPDX-License-Identifier: GPL-2.0
#include "api/api.h"

#include <linux/err.h>
#include <linux/slab.h>
#include "base/name.h"
#include "client/handle.h"
#include "client/homes.h"
#include "session/nodes.h"

/* Find "ARENA/OBJECT" or "ARENA@NODE/OBJECT". */
static struct tally_handle *api_find_path(struct tally_node *node,
					  const char *path, long timeout)
{
	const char *slash = strchr(path, '/');
	char arena[2 * TALLY_NAME_SIZE], *at;
	struct tally_handle *handle;
	struct tally_view *view;

	if (!slash || slash - path >= sizeof(arena))
		return ERR_PTR(-EINVAL);
	memcpy(arena, path, slash - path);
	arena[slash - path] = '\0';
	at = strchrnul(arena, '@');
	if (!tally_name_valid(arena, at - arena) ||
	    (*at && !tally_name_valid(at + 1, strlen(at + 1))) ||
	    !tally_name_valid(slash + 1, strlen(slash + 1)))
		return ERR_PTR(-EINVAL);
	view = tally_view_find(node, arena, timeout);
	if (IS_ERR(view))
		return ERR_CAST(view);
	handle = tally_handle_find(view, slash + 1, timeout);
	tally_view_put(view);
	return handle;
}

/**
 * tally_api_get - a kernel user of an object begins to use it
 * @size: bytes of what the type has for it, struct tally_api_user first
 * @net: network namespace of the node
 * @name: name of our node; NULL for the first one
 * @path: "ARENA/OBJECT" or "ARENA@NODE/OBJECT"
 * @type: TALLY_TYPE_*
 * @timeout: jiffies
 *
 * Context: process, sleeps, killable.
 * Return: @size bytes, zero behind the user, to be given to tally_api_put(); or
 * what tally_counter_get() returns.
 */
void *tally_api_get(size_t size, struct net *net, const char *name,
		    const char *path, u8 type, long timeout)
{
	struct tally_node *node = tally_node_find(net, name);
	struct tally_api_user *user;
	struct tally_handle *handle;
	int err;

	if (!node)
		return ERR_PTR(-ENODEV);
	handle = api_find_path(node, path, timeout);
	tally_node_put(node);
	if (IS_ERR(handle))
		return handle;
	err = -EPROTOTYPE;
	if (handle->ops->id != type)
		goto err_put;
	err = -ENOMEM;
	user = kzalloc(size, GFP_KERNEL);
	if (!user)
		goto err_put;
	user->handle = handle;
	tally_user_add(handle->view->node, &user->user, "kernel",
		       handle->view->name, handle->name);
	return user;

err_put:
	tally_handle_put(handle);
	return ERR_PTR(err);
}

/**
 * tally_api_put - it uses it no more
 * @user: the user, freed
 *
 * Context: process.
 */
void tally_api_put(struct tally_api_user *user)
{
	tally_user_del(user->handle->view->node, &user->user);
	tally_handle_put(user->handle);
	kfree(user);
}
