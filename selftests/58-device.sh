#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# A device goes between two steps of what begins or ends on it: nothing of that is
# left, and all is there again when the device is. Needs a module that was built
# with TALLY_FAULTS=1, and the rig, whose device it is.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
[ -n "${RIG_LANE-}" ] || skip_all "only in the rig, whose device it is"
plan 24

# lose_at POINT: the device goes while a task is held there.
lose_at() {
	stopped_at "$1" || return
	begin remover rdma link del rxe0
	remover=$begun
	# It waits for what is held, or has gone.
	wait_until 10 no_peer_lives
	go_on "$1"
	wait_until 30 ended "$remover"
}

no_peer_lives() {
	! is_live a b && ! is_live b a
}

# comes_back: and both nodes with it.
comes_back() {
	rig_rxe_up && wait_until 60 is_live a b && wait_until 60 is_live b a &&
		wait_until 30 tally -m "$mnt/b" counter inc t/c timeout 2000
}

# anew: both nodes lose their session, and connect.
anew() {
	tally peer del b node a && wait_until 20 eval '! is_live b a' &&
		add_peer a b
}

check "two nodes" add_nodes a b
# shellcheck disable=SC2016 # for eval
check "a counter" eval 'tally arena add t access rw node a &&
	tally counter add t/c node a && wait_until 20 test -e "$mnt/b/t/c"'

for point in session_start accept hello; do
	stop_at $point
	check "$point: both connect" anew
	check "the device goes" lose_at $point
	check "and comes back, with all" comes_back
done

# Its users are told one after the other.
stop_at session_over
begin remover rdma link del rxe0
remover=$begun
check "session_over: the device goes" stopped_at session_over
check "the peer is shown meanwhile" tally peer show node a
check "and the other one" tally peer show node b
go_on session_over
check "it has gone" wait_until 30 ended "$remover"
check "and comes back, with all" comes_back

# A device that is new is asked once.
check "the device is another one" eval 'rdma link del rxe0 && stop_at probe &&
	rig_rxe_up'
begin adder tally arena add p access rw mode nic node a
adder=$begun
check "probe: it is asked" stopped_at probe
begin remover rdma link del rxe0
remover=$begun
check_fails "the device does not go before the answer" 124 '' \
	timeout 1 tail --pid "$remover" -f /dev/null
go_on probe
check "it goes then" wait_until 30 ended "$remover"
wait "$adder"
check "and comes back, with all" comes_back
check "the arena that asked can be deleted" tally arena del p node a
check "so can all else" eval 'tally arena del t node a'
check "no session was left" eval 'tally peer del b node a && add_peer a b &&
	wait_until 30 is_live a b'
