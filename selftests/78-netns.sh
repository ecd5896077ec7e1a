#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# A node keeps its network namespace, and what is in it, also when the namespace
# has lost its name: the administrator of the first one sees it and ends it.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
modprobe -q veth
ip link add tally0 type veth peer name tally1 2> /dev/null ||
	skip_all "no veth here"
defer ip link del tally0
plan 14

space=tally-test
# inside COMMAND...: in the namespace, while it has a name.
inside() {
	nsenter --net=/run/netns/$space "$@"
}

# names WORD...: of the nodes that "node show WORD..." has, with the namespace.
names() {
	tally -j node show "$@" | tr '{' '\n' |
		sed -nE 's/.*"name": ?"([^"]*)".*"netns": ?([0-9]+).*/\1 \2/p'
}

check "a node in the first namespace" add_node a
check "a second namespace" ip netns add $space
defer ip netns del $space
check "an interface moves there" ip link set tally1 netns $space
check "a node of the same name and port in there" \
	inside tally node add a port "$(port a)" nomount clean
check "and another" inside tally node add g port 7490 nomount clean
first=$(names a | cut -d ' ' -f 2)
there=$(stat -Lc %i /run/netns/$space)
check_equal "all are shown, with their namespace" \
	"a $first|a $there|g $there" "$(names all | sort | paste -sd '|')"
check_equal "unless all are wanted, those of one's own namespace" \
	"a $first" "$(names)"
check_fails "no command in there sees all" 1 'first network namespace' \
	inside tally node show all
check_fails "or ends one of another namespace" 1 'first network namespace' \
	inside tally node del a netns "$first"
check_fails "nothing ends in a namespace that is none" 1 'no node of that name' \
	tally node del g netns 7
check "the namespace loses its name" ip netns del $space
check_equal "the nodes and the interface stay" "a $there|g $there|tally0" \
	"$({ names all | sort | grep -v " $first"
	cd /sys/class/net && echo tally0*; } | paste -sd '|')"
check "they can be ended, and the namespace with its interface goes" eval '
	tally node del g netns '"$there"' && tally node del a netns '"$there"' &&
	wait_until 15 test ! -e /sys/class/net/tally0'
check_equal "the other node of that name goes on" "a $first" "$(names all)"
