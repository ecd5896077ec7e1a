// SPDX-License-Identifier: GPL-2.0
/*
 * The devices tally can use, from the core's add() to its remove(). When
 * remove() returns nothing of ours may be left on the device, so it tells the
 * users, of which every conn is one, and waits for the last reference.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include "transport/dev.h"

/* Scatter elements worth having; more only makes send queues larger. */
#define TALLY_DEV_MAX_SGE	32
/* Pages of one region, so that its length in bytes fits 32 bits. */
#define TALLY_DEV_MAX_MR_PAGES	BIT(16)
/* A removal that waits longer than this for its users says so. */
#define TALLY_DEV_STUCK		(10 * HZ)

static struct ib_client tally_dev_client;
static LIST_HEAD(tally_devs);
static DEFINE_MUTEX(tally_devs_lock);

static bool tally_dev_has_cm(struct ib_device *ibdev)
{
	u32 port;

	rdma_for_each_port(ibdev, port)
		if (rdma_cap_ib_cm(ibdev, port) || rdma_cap_iw_cm(ibdev, port))
			return true;
	return false;
}

/*
 * Kernel verbs the core has checked. Atomics are not asked for here: what a
 * device says about them and what it does are two things, see transport/probe.c.
 */
static bool tally_dev_usable(struct ib_device *ibdev)
{
	const struct ib_device_attr *attrs = &ibdev->attrs;

	return (attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) &&
	       attrs->max_fast_reg_page_list_len &&
	       tally_dev_has_cm(ibdev);
}

static void tally_dev_set_limits(struct tally_dev *dev)
{
	const struct ib_device_attr *attrs = &dev->ibdev->attrs;

	dev->max_mr_pages = min_t(u32, attrs->max_fast_reg_page_list_len,
				  TALLY_DEV_MAX_MR_PAGES);
	dev->max_sge = clamp(attrs->max_send_sge, 1, TALLY_DEV_MAX_SGE);
	if (attrs->max_sge_rd > 0)
		dev->max_sge = min_t(u32, dev->max_sge, attrs->max_sge_rd);
	dev->max_rd_atomic = clamp(attrs->max_qp_init_rd_atom, 1, U8_MAX);
	dev->max_dest_rd_atomic = clamp(attrs->max_qp_rd_atom, 1, U8_MAX);
}

/* Return: a device with the list's reference, or an ERR_PTR(). */
static struct tally_dev *tally_dev_alloc(struct ib_device *ibdev)
{
	struct tally_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->ctrl_pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dev->ctrl_pd)) {
		err = PTR_ERR(dev->ctrl_pd);
		goto err_free;
	}
	dev->home_pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dev->home_pd)) {
		err = PTR_ERR(dev->home_pd);
		goto err_dealloc_pd;
	}
	dev->ibdev = ibdev;
	kref_init(&dev->ref);
	init_completion(&dev->released);
	INIT_LIST_HEAD(&dev->users);
	mutex_init(&dev->lock);
	mutex_init(&dev->loop_lock);
	mutex_init(&dev->probe_lock);
	init_waitqueue_head(&dev->called);
	tally_dev_set_limits(dev);
	return dev;

err_dealloc_pd:
	ib_dealloc_pd(dev->ctrl_pd);
err_free:
	kfree(dev);
	return ERR_PTR(err);
}

static void tally_dev_release(struct kref *ref)
{
	complete(&container_of(ref, struct tally_dev, ref)->released);
}

void tally_dev_hold(struct tally_dev *dev)
{
	kref_get(&dev->ref);
}

void tally_dev_put(struct tally_dev *dev)
{
	kref_put(&dev->ref, tally_dev_release);
}

/*
 * The first device that is @ibdev, has @name, @net may use, where these are not
 * NULL. Process context, CM handlers too. Return: a reference; NULL when there
 * is none that is usable and not on its way out.
 */
struct tally_dev *tally_dev_find(const struct ib_device *ibdev,
				 const char *name, struct net *net)
{
	struct tally_dev *dev;

	guard(mutex)(&tally_devs_lock);
	list_for_each_entry(dev, &tally_devs, list) {
		if (ibdev && dev->ibdev != ibdev)
			continue;
		if (name && strcmp(dev_name(&dev->ibdev->dev), name))
			continue;
		if (net && !rdma_dev_access_netns(dev->ibdev, net))
			continue;
		tally_dev_hold(dev);
		return dev;
	}
	return NULL;
}

/*
 * @user is told when the device goes away. Process context. Return: 0, or
 * -ENODEV when it is going away already.
 */
int tally_dev_watch(struct tally_dev *dev, struct tally_dev_user *user)
{
	guard(mutex)(&dev->lock);
	INIT_LIST_HEAD(&user->list);
	if (dev->dying)
		return -ENODEV;
	if (user->last)
		list_add_tail(&user->list, &dev->users);
	else
		list_add(&user->list, &dev->users);
	return 0;
}

/* Waits for a running gone(), unless it is called from there. */
void tally_dev_unwatch(struct tally_dev *dev, struct tally_dev_user *user)
{
	scoped_guard(mutex, &dev->lock)
		list_del_init(&user->list);
	if (READ_ONCE(dev->remover) == current)
		return;
	/* Pairs with the release after gone() returned. */
	wait_event(dev->called, smp_load_acquire(&dev->calling) != user);
}

static void tally_dev_tell_users(struct tally_dev *dev)
{
	struct tally_dev_user *user;

	mutex_lock(&dev->lock);
	dev->dying = true;
	WRITE_ONCE(dev->remover, current);
	while (!list_empty(&dev->users)) {
		user = list_first_entry(&dev->users, typeof(*user), list);
		list_del_init(&user->list);
		WRITE_ONCE(dev->calling, user);
		mutex_unlock(&dev->lock);
		user->gone(user);
		/* Its unwatcher may free the user then. */
		smp_store_release(&dev->calling, NULL);
		wake_up_all(&dev->called);
		mutex_lock(&dev->lock);
	}
	mutex_unlock(&dev->lock);
}

static int tally_dev_add(struct ib_device *ibdev)
{
	struct tally_dev *dev;

	if (!tally_dev_usable(ibdev))
		return -EOPNOTSUPP;
	dev = tally_dev_alloc(ibdev);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ib_set_client_data(ibdev, &tally_dev_client, dev);
	guard(mutex)(&tally_devs_lock);
	list_add_tail(&dev->list, &tally_devs);
	return 0;
}

static void tally_dev_remove(struct ib_device *ibdev, void *data)
{
	struct tally_dev *dev = data;

	scoped_guard(mutex, &tally_devs_lock)
		list_del(&dev->list);
	tally_dev_tell_users(dev);
	tally_dev_put(dev);
	/* The device must not go before its users: all it can do is to say so. */
	while (!wait_for_completion_timeout(&dev->released, TALLY_DEV_STUCK))
		pr_warn("%s is going away and still in use\n",
			dev_name(&ibdev->dev));
	ib_dealloc_pd(dev->home_pd);
	ib_dealloc_pd(dev->ctrl_pd);
	mutex_destroy(&dev->probe_lock);
	mutex_destroy(&dev->loop_lock);
	mutex_destroy(&dev->lock);
	kfree(dev);
}

static struct ib_client tally_dev_client = {
	.name = "tally",
	.add = tally_dev_add,
	.remove = tally_dev_remove,
};

int tally_dev_init(void)
{
	return ib_register_client(&tally_dev_client);
}

/* As if every device went away. */
void tally_dev_exit(void)
{
	ib_unregister_client(&tally_dev_client);
}
