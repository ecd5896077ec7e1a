#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 180
#
# Where the file system of a node is mounted, as node add and node del and all that
# use it see it; the nodes that -n says; keys that are in files.
# shellcheck disable=SC2016,SC2119 # for eval; no parameters
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 33

place=$lib_work/place
mkdir "$place"

# add NAME [KEY VALUE]...: a node at $place, with a counter t/c.
add() {
	tally -m "$place" node add "$1" port "$(port "$1")" clean "${@:2}" &&
		tally arena add t node "$1" && tally counter add t/c node "$1"
}

# mounts: how many are there?
mounts() {
	grep -c " $place .* - tally " /proc/self/mountinfo
}

# Another file system over ours is not ours to unmount.
check "a node" add a
mount -t tmpfs none "$place"
: > "$place/file"
check_fails "another file system is mounted over it: node del says so" 0 \
	'another file system' tally node del a
check "and leaves that one alone" test -e "$place/file"
check "the node is gone" node_gone a
umount "$place"
check "what is left of ours is seen for what it is" add a
check_equal "and gave its place up" 1 "$(mounts)"
check "it is used" tally -m "$place" counter inc t/c

# Somebody stands in what the node leaves.
(cd "$place/t" && echo "$BASHPID" > "$lib_work/in" && exec sleep 300) &
wait_until 10 test -s "$lib_work/in"
in=$(cat "$lib_work/in")
check_fails "it cannot be unmounted while somebody is in it" 0 \
	'stays mounted.*fuser' tally node del a
check_fails "what is left says that the node was stopped" 1 'stopped' \
	tally -m "$place" counter inc t/c
check "who keeps it is told" eval \
	'tally node show users a | grep "^mount.*of stopped node a"'
check "in JSON" eval 'tally -j node show users a | json "j[0][\"stopped\"]"'
check "the same node anew" eval 'add a 2> "$lib_work/said"'
check "says what it found" grep -q 'detached' "$lib_work/said"
check "and works" tally -m "$place" counter inc t/c
check "its users are not those of the former" eval \
	'[ $(tally node show users a | grep -c "^mount") = 2 ]'
kill "$in"
wait "$in"
check "which goes with the last of them" wait_until 20 eval \
	'[ $(tally node show users a | grep -c "^mount") = 1 ]'

# A private namespace.
unshare -m sh -c "echo \$\$ > $lib_work/in; exec sleep 300" &
wait_until 10 sh -c "[ \"\$(cat $lib_work/in)\" != $in ]"
in=$(cat "$lib_work/in")
check "a node whose file system is in a private namespace, too" tally node del a
check "is named, after it is gone" eval \
	'tally node show users | grep "^mount.*of stopped node a"'
kill "$in"
wait "$in"
check "until that namespace is" wait_until 20 eval \
	'! tally node show users 2> /dev/null | grep mount'

# The same place by other names.
ln -s "$place" "$lib_work/link"
check "a node again" add a
for other in "$place/" "$lib_work/link" "$lib_work/./place"; do
	tally -m "$other" node add b port "$(port b)" clean 2> "$lib_work/said"
	tally node del b
	check "as ${other#"$lib_work"} it has one already" \
		grep -q 'shows another node' "$lib_work/said"
done
(cd "$lib_work" && tally -m place node add b port "$(port b)" clean)
check_equal "by a relative path, too" 1 "$(mounts)"

# -n
check "the second node has t/c" bash -c '
	tally arena add t node b && tally counter add t/c node b'
check_fails "-n b without its file system" 1 'node=b' tally -n b counter inc t/c
mkdir -p "$mnt/b"
mount -t tally -o node=b none "$mnt/b"
check "-n b uses that of b" tally -n b counter inc t/c by 5
check_equal "and not a's" "0 5" \
	"$(tally -m "$place" counter read t/c) $(tally -n b counter read t/c)"
printf '%s\n' 'arena show none node a' 'counter inc t/c' > "$lib_work/batch"
tally -m "$mnt/b" -f -b "$lib_work/batch" > "$lib_work/said" 2>&1
check_equal "the node of a line in a batch is not that of the next ones" 5 \
	"$(tail -1 "$lib_work/said")"
check_fails "a node that is not there" 1 'node=nobody' tally -n nobody counter inc t/c
check_fails "-n and node that differ" 2 'leave one' tally -n a counter show node b
del_node b
tally node del a

# Keys.
head -c 32 /dev/urandom > "$lib_work/key"
chmod 600 "$lib_work/key"
for one in a b; do
	add_node $one keyfile "$lib_work/key"
done
check "nodes with the key in a file join" join a b
check_equal "and prove that they have it" true "$(peer_field a b auth)"
