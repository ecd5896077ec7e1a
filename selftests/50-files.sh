#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# The tally file system: two nodes in one kernel, each with a mount, so that
# what one writes the other reads by way of the device.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/two-nodes.sh"
need_tally
need_rdma
plan 44

names() {
	(cd "$1" && echo *)
}

check "two nodes and two mounts" start_nodes
check "an arena with a counter, a lock and two regions" make_objects

check_fails "a mount of a node that is not there is refused" 32 . \
	mount -t tally -o node=nobody none /mnt
check_equal "the root lists the arena at its home" t "$(ls "$home")"
check_equal "and elsewhere" t "$(ls "$far")"
check_equal "the arena lists its objects at its home" "c l r s" \
	"$(names "$home/t")"
check_equal "and elsewhere" "c l r s" "$(names "$far/t")"
check_equal "ARENA@NODE is the same" "c l r s" "$(names "$far/t@home")"
check_fails "a name that a peer uses is not taken by mistake" 1 'exists' \
	tally arena add t node far
check "arenas of one name" eval 'tally arena add u node home &&
	tally arena add u node far force'
check "are listed by home, ours first, from any position" \
	"$files" seek "$far" u@far t u@home
check "and so are objects" "$files" seek "$far/t" c l r s
check "they go" eval 'tally arena del u node home &&
	tally arena del u node far'
check "names that are not there, and what cannot be made" \
	"$files" names "$far" "$far/t"

check_equal "a region has its size" $size "$(stat -c %s "$far/t/r")"
check_equal "a counter is text" 0 "$(cat "$far/t/c")"
check "counter: ioctls at the home" "$files" counter "$home/t/c"
check "counter: ioctls elsewhere" "$files" counter "$far/t/c"
check_equal "counter: the home sees what was counted elsewhere" 101 \
	"$(cat "$home/t/c")"

check_fails "an ordinary user may not write without the right" 1 . \
	as_nobody bash -c ": > $far/t/c"
check_equal "but may read with it" 101 "$(as_nobody cat "$far/t/c")"
check_fails "mode is changed at the home only" 1 'remote' \
	chmod 666 "$far/t/c"
check "there it can be changed" chmod 666 "$home/t/c"
check_equal "and is seen elsewhere" 666 "$(stat -c %a "$far/t/c")"
check "then the user may write" as_nobody bash -c ": > $far/t/c"
check "the owner can be changed" chown 65534:65534 "$home/t/c"
check_equal "and is seen elsewhere" 65534:65534 \
	"$(stat -c %u:%g "$far/t/c")"

check "flock: home and elsewhere" "$files" flock "$home/t/l" "$far/t/l"
check "flock: elsewhere and home" "$files" flock "$far/t/l" "$home/t/l"
check "lock: ioctls" "$files" lock "$far/t/l" "$home/t/l"
check "lock: a killed waiter leaves nothing" \
	"$files" killed-waiter "$home/t/l" "$far/t/l"
check "flock(1) runs a command, as an ordinary user" \
	bounded 20 setpriv --reuid 65534 --regid 65534 --clear-groups \
	flock "$far/t/l" true

check "region: writes and reads of every shape" \
	"$files" region "$far/t/r" "$home/t/r"
check "region: the same from the home" "$files" region "$home/t/r" "$far/t/r"
check "region: many pieces" "$files" vectors "$far/t/r"
check "region: the end" "$files" ends "$far/t/r"
check "region: bad buffers" "$files" bad-buffers "$far/t/r"
head -c $size /dev/urandom > "$lib_work/data"
check "region: sendfile" "$files" splice "$far/t/r" "$lib_work/data"
dd if="$lib_work/data" of="$far/t/r" bs=1M status=none
sync "$far/t/r"
check "region: dd and cmp" cmp "$lib_work/data" "$home/t/r"
check "region: mappings" "$files" mmap "$home/t/r" "$far/t/r" "$far/t/s"

check "objects by ioctl" "$files" create "$home/t" "$far/t"
check_fails "memory is limited" 1 . \
	tally region add t/big size 64M node home

"$files" sigbus "$home/t/s" "$lib_work/go" &
sigbus=$!
wait_until 60 test -e "$lib_work/go.ready"
rm "$home/t/s"
: > "$lib_work/go"
check "a mapping ends with the region" wait $sigbus
check_fails "and so does its name" 1 'No such file' stat "$far/t/s"
