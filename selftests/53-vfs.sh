#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# What the kernel does by itself for files that do not care: locks of one machine,
# leases, watches, times, attributes that nobody keeps. docs/files.md says what is
# done instead. a is the home.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 40

as_user() {
	as_nobody "$(command -v tally)" -m "$mnt/b" "$@"
}

check "nodes" add_nodes a b
check "objects" eval 'tally arena add t perm 755 node a &&
	tally counter add t/c perm 644 node a && tally lock add t/l node a &&
	tally region add t/r size 1M node a'
a=$mnt/a/t b=$mnt/b/t

check "no lock of one machine is to be had at the home" \
	"$files" no_locks "$a/c" "$a/r" "$a" "$mnt/a"
check "nor elsewhere" "$files" no_locks "$b/c" "$b/r" "$b" "$mnt/b"
check "an open file's lock by fcntl(2) is the lock" "$files" ofd "$a/l" "$b/l"
check "elsewhere, too" "$files" ofd "$b/l" "$a/l"
check "O_DIRECT" "$files" direct "$b/r" "$a/r"
check "at the home" "$files" direct "$a/r" "$b/r"
check "no watch is to be had" "$files" no_watch "$mnt/a" "$a" "$a/r" "$b" "$b/c"

# Somebody has it open, so that its inode stays.
exec 7< "$b/c"
check "a mode is set" chmod 600 "$a/c"
check_equal "and seen elsewhere" 600 "$(stat -c %a "$b/c")"
check_equal "on the open file, too" 600 "$(stat -L -c %a /dev/fd/7)"
check_fails "and obeyed" 1 'denied' as_nobody cat "$b/c"
check "a right is given" chmod 666 "$a/c"
check "and can be used" as_user counter inc t/c
check "the arena is closed" tally arena set t perm 700 node a
check_fails "which is obeyed, too" 2 'denied' as_nobody ls "$b"
exec 8< "$b"
check "it is opened again" tally arena set t perm 755 group 65534 node a
check_equal "which is seen" 755:65534 "$(stat -L -c %a:%g /dev/fd/8)"
exec 7<&- 8<&-

# What a mode hides is not told by netlink.
# told COMMAND...
told() {
	"$@" tally -j counter show t/c node a | field value
}
check_equal "anyone is told what anyone may read" 1 "$(told as_nobody)"
chmod 640 "$a/c"
check_equal "but not more" "" "$(told as_nobody)"
check_equal "the administrator is" 1 "$(told)"
chmod 644 "$a/c"
tally arena set t perm 750 node a
check_equal "nor what an arena hides" "" "$(told as_nobody)"
check_equal "while its name is shown" c \
	"$(as_nobody tally -j counter show t/c node a | field name)"
check "the arena is opened" tally arena set t perm 755 node a

check_equal "home and others have one time" "$(stat -c '%x %y %z' "$a/r")" \
	"$(stat -c '%x %y %z' "$b/r")"
# shellcheck disable=SC2034 # for eval
old=$(stat -c %.Z "$b/r")
# shellcheck disable=SC2016 # for eval
check "a look changes nothing" eval 'head -c 9 "$b/r" > /dev/null &&
	[ "$old" = "$(stat -c %.Z "$b/r")" ]'
check "what is not kept is refused" "$files" kept "$a/r" "$a"

# A file with holes: what was in the region before must not be left in them.
file=$lib_work/file
truncate -s 1M "$file"
echo head | dd of="$file" conv=notrunc status=none
echo tail | dd of="$file" bs=1 seek=$((1024 * 1024 - 5)) conv=notrunc status=none
# copied TO COMMAND...
copied() {
	head -c 1M /dev/zero | tr '\0' '\377' > "$1" && "${@:2}" &&
		cmp "$file" "$a/r"
}
for to in "$b/r" "$a/r"; do
	check "cp" copied "$to" cp "$file" "$to"
	check "cp --sparse=always" copied "$to" cp --sparse=always "$file" "$to"
	check "dd conv=sparse" copied "$to" \
		dd if="$file" of="$to" bs=4K conv=sparse status=none
done
# shellcheck disable=SC2016 # for eval
check "who may not write does not truncate" eval '
	tally arena set t peer b access ro node a && ! eval ": > $b/r" &&
	tally arena set t peer b access rw node a'
check "nothing was lost" cmp "$file" "$a/r"
# shellcheck disable=SC2016 # for eval
check "where there is no size there is nothing to lose" eval ': > "$a/c" &&
	[ "$(cat "$a/c")" = 1 ]'

# A bind mount that is read-only.
ro=$lib_work/ro
# shellcheck disable=SC2016 # for eval
check "the arena, seen read-only" eval 'mkdir "$ro" && mount --bind "$a" "$ro" &&
	mount -o remount,bind,ro "$ro"'
defer umount "$ro"
check "shows all, and changes nothing" "$files" readonly "$ro" l
check "the lock is free" bounded 20 flock -n "$b/l" true
