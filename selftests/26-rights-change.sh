#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 240
#
# Rights of a node change while it uses the arena: they reach what it has open, what
# it may have no more is gone, and nothing else is: not its session, not its link,
# not what it has in other arenas. a is the home.
# shellcheck disable=SC2016,SC2154 # for eval
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
plan 49

# access RIGHT: of b in t.
access() {
	tally arena set t peer b access "$1" node a
}

# The session, and how many connections led to its link: a break costs another.
link() {
	echo "$(peer_field b a session) $(peer_field b a connects)" \
		"$(peer_field a b connects)"
}

# writes: b, where it has the region open.
writes() {
	dd if=/dev/zero of=/dev/fd/8 bs=64 count=1 conv=notrunc status=none
}

# reads NAME: parts of the region that has many, until it is told to stop.
reads() {
	until [ -e "$lib_work/$1.go" ]; do
		head -c 3M "$mnt/b/t/r" > /dev/null || return
	done
	echo read
}

check "nodes" add_nodes a b c
for mode in nic cpu; do
	check "$mode: arenas and objects" eval '
		tally arena add t mode $mode node a &&
		tally arena add u mode $mode node a &&
		tally lock add t/l node a && tally lock add u/l node a &&
		tally counter add t/c node a && tally region add t/r size 8M node a'
	check "$mode: b has a lock in each" eval '
		held other b u/l && other=$begun && held one b t/l && one=$begun'
	check "$mode: c waits for the one in t" eval 'waits three c t/l && three=$begun'
	exec 8<> "$mnt/b/t/r" 9< "$mnt/b/t/l"
	check "$mode: b writes" writes
	before=$(link)

	check "$mode: read only" access ro
	check "$mode: b hears that its lock there is lost" begun_says one 'lost'
	wait "$one"
	check "$mode: c gets it, before any lease has ended" begun_says three held 8
	check_fails "$mode: b writes no more where it has it open" 1 'denied' writes
	check "$mode: but reads" cmp -n 100 "$mnt/b/t/r" /dev/zero
	check_fails "$mode: nor counts" 1 'rights' of b counter inc t/c
	check "$mode: b has its lock in the other arena" eval '
		shows u/l holders 1 && ! ended "$other"'
	check "$mode: c is through with its own" over three "$three"

	check "$mode: write again" access rw
	check "$mode: b writes with what it had open" wait_until 10 writes
	check "$mode: and locks" flock -w 10 9
	exec 9<&-
	check "$mode: and counts" of b counter inc t/c

	begin reader reads reader
	reader=$begun
	check "$mode: there and back, while b reads and waits for locks" eval '
		for i in {1..10}; do
			access ro && access rw || break
			bounded 20 tally -m "$mnt/c" lock run t/l -- true || break
			bounded 20 tally -m "$mnt/b" lock run t/l -- true || break
		done; [ "$i" = 10 ]'
	: > "$lib_work/reader.go"
	wait "$reader"
	check "$mode: no read has failed" begun_says reader read 1

	check "$mode: nothing at all" access none
	check_fails "$mode: b does not even read" 1 'rights' of b counter read t/c
	check_fails "$mode: nor writes" 1 'denied' writes
	exec 8<&-
	check "$mode: b's lock in the other arena is its own all along" eval '
		shows u/l holders 1 && over other "$other"'
	check_equal "$mode: all in one session, on one link" "$before" "$(link)"
	check "$mode: it is taken away" eval '
		tally arena del t node a && tally arena del u node a'
done
