#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# What nodes tell of themselves: events, the kernel's log, and what "peer show" keeps.
# shellcheck disable=SC2016,SC2154 # for eval
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
plan 34

# logs PATTERN: the kernel has said so.
logs() {
	wait_until 10 eval "dmesg | grep -qE 'tally: node $1'"
}

# The monitor says when it listens: what is done then, it tells.
check "nodes" add_nodes a b
begin monitor tally monitor
monitor=$begun
check "the monitor listens" begun_says monitor 'Z listening$'
begin json tally -j monitor
kills=$begun
check "also for programs" begun_says json '"event":"listening"'
kill "$kills"
check "an arena" eval 'tally arena add t node a && tally lock add t/l node a'
check "is told" begun_says monitor ' a arena_add t'
check "a lock is set" tally lock set t/l budget 3 node a
check "which is told" begun_says monitor ' a object_set t l'
check_fails "an arena is set to nothing" 2 'nothing' tally arena set t node a

# A lock that is taken away.
check "a lock is taken away" eval 'held one b t/l && one=$begun &&
	tally lock break t/l node a'
check "which is told" begun_says monitor ' a lock_broken t/l 0'
check "and logged" logs 'a: lock_broken t/l'
: > "$lib_work/one.go"

# Sessions that come and go, for some reason.
check "that b came is logged" logs 'a: up b: new'
check "b goes" del_node b
check "a is told so, with the reason" begun_says monitor ' a over b the peer said goodbye'
check "and logs it" logs 'a: over b: the peer said goodbye'
check "and keeps it" eval '[ "$(peer_field a b ended)" = "the peer said goodbye" ]'
check "that it does not come is told once" eval 'begun_says monitor " a failed b " &&
	[ "$(grep -c " a failed b " "$lib_work/monitor")" = 1 ]'
check "b comes again" eval 'add_node b && add_peer b a &&
	wait_until 60 is_live a b'
check "one that leaves on its own side says so, too" eval 'tally peer del a node b &&
	begun_says monitor " b over a this node said goodbye"'
check "b knows a no more, and turns it away" begun_says monitor \
	' b refused \? no peer of that name'
check "which a is told" begun_says monitor ' a failed b no peer of that name'
check_equal "and shows" unknown_peer "$(peer_field a b refusal)"
check "a peer at an address that no device leads to" \
	tally peer add x addr 203.0.113.1 node a
no_way() {
	peer_field a x text | grep -q 'rdma link add' ||
		[ "$(peer_field a x error)" = "Network is unreachable" ]
}
check "names the cure" wait_until 20 no_way
# peer_has NODE PEER FIELD
peer_has() {
	tally -j peer show "$2" node "$1" | grep -q "\"$3\":"
}
check_fails "and no refusal that there was not" 1 '' peer_has a x refusal
check "it is forgotten" tally peer del x node a

# From another address than the one that was configured.
check "another address of this machine" ip addr add 198.18.0.77/32 dev lo
defer ip addr del 198.18.0.77/32 dev lo
check "a peer that is configured with it" eval 'tally peer del b node a &&
	tally peer add b addr 198.18.0.77 port 1 node a && add_peer b a &&
	wait_until 60 is_live a b'
check_equal "and connects from its own" "$here" "$(peer_field a b from)"

# A module that goes takes its monitors along.
del_node a
del_node b
check "the module goes" eval 'wait_until 20 nodes_gone && rmmod tally'
check "the monitor ends" wait_until 10 ended "$monitor"
check "and says why" begun_says monitor 'module was unloaded' 1
check "the module comes" load_tally
check "and has a monitor" eval 'begin monitor tally monitor &&
	begun_says monitor listening && kill "$begun"'
