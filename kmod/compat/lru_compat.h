/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LRU_COMPAT_H
#define TALLY_LRU_COMPAT_H

#include <linux/list_lru.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/version.h>

/* What list_lru_walk() calls for each @item, with its @arg. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define TALLY_LRU_ISOLATE(fn)						\
	fn(struct list_head *item, struct list_lru_one *lru, void *arg)
#else
#define TALLY_LRU_ISOLATE(fn)						\
	fn(struct list_head *item, struct list_lru_one *lru,		\
	   spinlock_t *lock, void *arg)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define list_lru_add_obj	list_lru_add
#define list_lru_del_obj	list_lru_del
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
/* One with the pointer that newer ones have. */
struct tally_compat_shrinker {
	struct shrinker shrinker;
	void *private_data;
};
#endif

static inline void *tally_shrinker_private(struct shrinker *shrinker)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	return shrinker->private_data;
#else
	return container_of(shrinker, struct tally_compat_shrinker,
			    shrinker)->private_data;
#endif
}

/* Registered, or NULL. */
static inline struct shrinker *
tally_shrinker_new(const char *name,
		   unsigned long (*count)(struct shrinker *shrinker,
					  struct shrink_control *sc),
		   unsigned long (*scan)(struct shrinker *shrinker,
					 struct shrink_control *sc),
		   void *private_data)
{
	struct shrinker *shrinker;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	shrinker = shrinker_alloc(0, "%s", name);
	if (!shrinker)
		return NULL;
	shrinker->private_data = private_data;
#else
	struct tally_compat_shrinker *compat = kzalloc(sizeof(*compat),
						       GFP_KERNEL);

	if (!compat)
		return NULL;
	compat->private_data = private_data;
	shrinker = &compat->shrinker;
	shrinker->seeks = DEFAULT_SEEKS;
#endif
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	shrinker_register(shrinker);
#else
	if (register_shrinker(shrinker, "%s", name)) {
		kfree(compat);
		return NULL;
	}
#endif
	return shrinker;
}

static inline void tally_shrinker_free(struct shrinker *shrinker)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	shrinker_free(shrinker);
#else
	unregister_shrinker(shrinker);
	kfree(container_of(shrinker, struct tally_compat_shrinker, shrinker));
#endif
}

#endif
