#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 900
#
# Every allocation of tally's own code fails, from the start of a node to its end:
# each step is done again and again, and each time another place in the code that
# allocates fails, until none is left (see kmod/tests/fault.c). What the step
# does may fail then, but must not crash, hang or leak, and in the end it must
# work. Needs a module that was built with TALLY_FAULTS=1. With SOAK=1 each place
# fails the second time it is come by, too.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
faults=/sys/module/tally/parameters/faults
[ -e $faults ] || skip_all "the module was built without TALLY_FAULTS=1"
plan 12

t() {
	bounded 20 tally "$@"
}

# fail_each STEP: the step, a function, with another allocation failing each time
# until it has none left to fail; then once more in peace. A step undoes what it
# did, as far as it came.
fail_each() {
	local step=$1 times=0 failed=1

	if soak; then
		echo new > $faults
	else
		echo once > $faults
	fi
	while [ "$failed" != 0 ] && [ $times -lt 300 ]; do
		times=$((times + 1))
		echo "rig: $step $times" > /dev/kmsg
		echo on > $faults
		$step > "$lib_work/step" 2>&1
		failed=$(cat $faults)
		echo off > $faults
	done
	echo "# $step: $((times - 1)) allocations failed"
	[ "$failed" = 0 ] && [ $times -gt 1 ] && $step
}

node_comes_and_goes() {
	local status=0

	t node add x port "$(port x)" lease 20000 nomount || status=$?
	t node del x
	wait_until 20 node_gone x && return $status
}

# A peer that is refused for want of memory tries again.
link_comes_and_goes() {
	local status=0

	add_peer a b || status=$?
	add_peer b a || status=$?
	[ $status != 0 ] || wait_until 30 is_live a b || status=$?
	[ $status != 0 ] || wait_until 30 is_live b a || status=$?
	t peer del a node b
	t peer del b node a
	return $status
}

mount_comes_and_goes() {
	local status=0

	mkdir -p "$mnt/x"
	mount -t tally -o node=b none "$mnt/x" && ls -lR "$mnt/x" || status=$?
	umount -q "$mnt/x"
	return $status
}

arena_comes_and_goes() {
	local status=0

	t arena add x access rw node a && bounded 20 ls -l "$mnt/b/x" ||
		status=$?
	t arena del x node a
	return $status
}

object_comes_and_goes() {
	local what=$1 status=0

	shift
	t "$what" add t/x "$@" node a && bounded 20 stat "$mnt/b/t/x" ||
		status=$?
	t "$what" del t/x node a
	return $status
}

counter_comes_and_goes() {
	object_comes_and_goes counter
}

lock_comes_and_goes() {
	object_comes_and_goes lock class region
}

region_comes_and_goes() {
	object_comes_and_goes region size 300000
}

count() {
	t -m "$mnt/b" counter inc t/c
}

take_lock() {
	bounded 20 flock "$mnt/b/t/l" true
}

copy() {
	bounded 20 dd if=/dev/zero of="$mnt/b/t/r" bs=300000 count=1 &&
		bounded 20 cat "$mnt/b/t/r" | cmp - <(head -c 300000 /dev/zero)
}

look() {
	local what

	for what in node peer arena counter lock region; do
		t $what show node b || t $what show || return
	done
	t stats node b
}

check "nodes" eval "add_node a && add_node b"
check "a node's start and end" fail_each node_comes_and_goes
check "a link's" fail_each link_comes_and_goes
check "they are linked" join a b
check "a mount's" fail_each mount_comes_and_goes
check "an arena's" fail_each arena_comes_and_goes
t arena add t access rw node a
check "objects'" eval "fail_each counter_comes_and_goes &&
	fail_each lock_comes_and_goes && fail_each region_comes_and_goes"
t counter add t/c node a
t lock add t/l class region node a
t region add t/r size 300000 node a
wait_until 20 test -e "$mnt/b/t/r"
check "an operation on a counter" fail_each count
check "on a lock" fail_each take_lock
check "on a region" fail_each copy
check "looks at all of it" fail_each look
check "all still works" eval "count && take_lock && copy && look"
