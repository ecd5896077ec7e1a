#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 240
#
# What comes between two steps of a session. a is the home. Needs a module that was
# built with TALLY_FAULTS=1.
# shellcheck disable=SC2016 # for eval
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
plan 24

# peer_is STATE: that which is no node of ours.
peer_is() {
	[ "$(peer_state a evil)" = "$1" ]
}

mem_used() {
	tally -j node show a | field mem_used
}

# anew: a session begins.
anew() {
	tally peer del a node b && wait_until 20 eval "! is_live a b" && add_peer b a &&
		wait_until 60 is_live b a && wait_until 60 is_live a b
}

# In one piece, so that none of it is done when that is not known of all.
write='import os
data = bytes(128 * 1024)
print("writes", flush=True)
while True: os.pwrite(9, data, 0)'

# doubts: until b writes as a session ends, and does not know what became of it.
doubts() {
	anew || return
	for _ in {1..10}; do
		wait_until 20 dd if=/dev/zero of=/dev/fd/9 bs=64 count=1 conv=notrunc
		begin writes python3 -c "$write"
		begun_says writes writes && anew && ends "$begun" || return
		! grep "Remote I/O" "$lib_work/writes" || return 0
	done
	cat "$lib_work/writes"
	return 1
}

# listed PEER NODE
listed() {
	tally peer show "$1" node "$2"
}

ends() {
	wait_until 20 ended "$1"
}

check "nodes" add_nodes a b
check "an arena, a counter, a region" eval '
	tally arena add t mode cpu access rw node a && tally counter add t/c node a &&
	tally region add t/r size 8M node a && wait_until 20 test -e "$mnt/b/t/r"'

# A link breaks while a message that came by it is looked at.
check "b counts" tally -m "$mnt/b" counter inc t/c
before=$(stat_of a bad_message)
session=$(peer_field a b session)
stop_at link_message
begin counts tally -m "$mnt/b" counter inc t/c
check "and counts" stopped_at link_message
check "the link breaks" break_link a b
go_on link_message
check "that is done all the same" eval 'wait "$begun"'
check_equal "once" 2 "$(tally -m "$mnt/b" counter read t/c)"
check_equal "in the same session" "$session" "$(peer_field a b session)"
check_equal "and is nobody's fault" "$before" "$(stat_of a bad_message)"

# A peer breaks its link when it is up and nobody has heard that it is, and connects again:
# those above hear that it is down before there is another.
hostile=$LIB_DIR/hostile
if [ -x "$hostile" ]; then
	check "a peer" tally peer add evil addr "$here" port 7999 node a
	stop_at link_live
	begin hostile "$hostile" "$here" "$(port a)" evil a moves 2
	attacker=$begun
	check "it is up" stopped_at link_live
	check "and breaks off" wait_until 20 peer_is broken
	check_fails "there is no other link" 1 'in vain' wait_until 3 peer_is opening
	go_on link_live
	check "until it is known" wait_until 20 eval '
		[ "$(grep -c "^live" "$lib_work/hostile")" -gt 1 ]'
	kill "$attacker"
	wait "$attacker" 2> /dev/null
	tally peer del evil node a
else
	for what in peer up breaks other known; do
		skip "$what" "no headers of librdmacm and libcrypto"
	done
fi

# What is not known of one session keeps nothing that is of the next one, on the first
# link of each.
exec 9<> "$mnt/b/t/r"
check "they begin anew, and b writes until that ends, too" doubts
check "b writes on" wait_until 20 dd if=/dev/zero of=/dev/fd/9 bs=64 count=1 conv=notrunc
# shellcheck disable=SC2034 # for eval
used=$(mem_used)
check "what it writes to is deleted" tally region del t/r node a
check "and forgotten at once" wait_until 8 eval '[ "$(mem_used)" -lt "$used" ]'
exec 9<&-

# A peer is out while the end of its node looks at all.
check "a node with a peer" eval 'tally node add d port 7478 lease 20000 clean nomount &&
	tally peer add x addr "$here" port 7490 node d'
stop_at peer_stop
begin deleter tally peer del x node d
deleter=$begun
check "that is deleted, and almost gone" stopped_at peer_stop
stop_at peers_stop
begin stopper tally node del d
stopper=$begun
check "as the node ends" stopped_at peers_stop
go_on peer_stop
check_fails "it does not go before its time" 1 'in vain' wait_until 3 eval '! listed x d'
go_on peers_stop
check "it goes then" ends "$stopper"
check "and the node" wait_until 20 node_gone d
wait "$deleter" 2> /dev/null
