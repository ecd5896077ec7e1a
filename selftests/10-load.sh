#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# The module is loaded, nodes come and go, and what is in use stays.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 23

# users PATTERN: does a user of node a look like this?
users() {
	tally node show users a | grep -qE -e "$1"
}

no_users() {
	[ -z "$(tally node show users a)" ]
}

check_equal "no node at first" 0 "$(tally -j node show | json 'len(j)')"
check_equal "tool and module are of one release" \
	"$(tally -j version | field tool)" "$(tally -j version | field module)"
check "a node is added" tally node add a nomount
check_equal "it runs" running "$(tally -j node show a | json 'j[0]["state"]')"
check_fails "no second one of that name" 1 'node add a: .*(exist|name)' \
	tally node add a port 7480 nomount
check_fails "no second one on that port" 1 'node add b: .*(in use|port)' \
	tally node add b nomount
check_equal "which leaves nothing" 1 "$(tally -j node show | json 'len(j)')"
check "an arena and a counter" bash -c \
	'tally arena add t node a && tally counter add t/c node a'

mkdir -p "$mnt/a"
check "a mount" mount -t tally -o node=a none "$mnt/a"
check "is one of the users" users mount
exec 5< "$mnt/a/t/c"
check "so is an open file, with object and process" \
	users "t/c.*pid $$ .*bash"
check_fails "with both, the module is in use" 1 'in use' rmmod tally
check "the node is deleted in spite of them" bounded 20 tally node del a
wait_until 20 node_gone a
check_fails "they still keep the module" 1 'in use' rmmod tally
check_fails "the open file is dead" 1 . cat <&5
check "another node of that name can be added meanwhile" \
	tally node add a nomount
check "and has no users, but for those of the former" eval \
	'! tally node show users a | grep -v "of stopped node a"'
exec 5<&-
check "the mount can be ended" umount "$mnt/a"
wait_until 20 no_users
check "then the module can be unloaded, and its node ends" rmmod tally
check "and loaded" load_tally
check "with a node it works as before" bash -c \
	'tally node add a nomount && tally arena add t node a &&
	 tally counter add t/c initial 5 node a'
check_equal "from the beginning" 5 \
	"$(tally -j counter show t/c | json 'j[0]["value"]')"
# A lock that waits for a long lease must not keep it.
check "a node with a lock in its grace ends at once" eval '
	tally node add g port 7480 lease 600000 nomount &&
	tally arena add g node g && tally lock add g/l node g &&
	tally node del g && wait_until 10 node_gone g'
