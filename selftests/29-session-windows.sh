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
plan 19

# words: of the table that are in use.
words() {
	tally -j arena show n node a | field words_used
}

# anew: a session begins.
anew() {
	tally peer del a node b && wait_until 20 eval "! is_live a b" && add_peer b a &&
		wait_until 60 is_live b a && wait_until 60 is_live a b
}

# doubts: until b counts as a session ends, and does not know about the last one.
doubts() {
	anew || return
	for _ in {1..10}; do
		wait_until 20 tally -m "$mnt/b" counter inc n/c
		begin counts "$load" until "$mnt/b/n/c"
		begun_says counts ready && anew && ends "$begun" || return
		! grep "unknown [1-9]" "$lib_work/counts" || return 0
	done
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
check "arenas, one of them for messages, and counters" eval '
	tally arena add t mode cpu access rw node a && tally counter add t/c node a &&
	tally arena add n mode nic access rw node a && tally counter add n/c node a &&
	wait_until 20 test -e "$mnt/b/n/c"'

# A link breaks while a message that came by it is looked at.
check "b counts" tally -m "$mnt/b" counter inc t/c
before=$(stat_of a bad_message)
session=$(peer_field a b session)
stop_at message
begin counts tally -m "$mnt/b" counter inc t/c
check "and counts" stopped_at message
check "the link breaks" break_link a b
go_on message
check "that is done all the same" eval 'wait "$begun"'
check_equal "once" 2 "$(tally -m "$mnt/b" counter read t/c)"
check_equal "in the same session" "$session" "$(peer_field a b session)"
check_equal "and is nobody's fault" "$before" "$(stat_of a bad_message)"

# What is not known of one session keeps nothing that is of the next one, on the first
# link of each.
exec 9<> "$mnt/b/n/c"
check "they begin anew, and b counts until that ends, too" doubts
check "b counts on" wait_until 20 tally -m "$mnt/b" counter inc n/c
# shellcheck disable=SC2034 # for eval
used=$(words)
check "the counter is deleted" tally counter del n/c node a
check "and forgotten at once" wait_until 8 eval '[ "$(words)" -lt "$used" ]'
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
