#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 600
#
# "lock break": an administrator takes a lock away from its holders. a is the
# home; b and c use the words of nic locks, in mode cpu all ask the home.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
hostile=$LIB_DIR/hostile
[ -x "$hostile" ] || skip_all "no headers of librdmacm and libcrypto"
plan 60

# held NAME NODE LOCK [shared]: until it is stopped; its number is in $begun.
held() {
	begin "$1" tally -m "$mnt/$2" lock run "$3" ${4+"$4"} -- bash -c "
		echo held \$TALLY_TOKEN; until false; do sleep 0.1; done"
	begun_says "$1" held
}

# waits NAME NODE LOCK: until it stands in the queue at the home.
waits() {
	begin "$1" tally -m "$mnt/$2" lock run "$3" -- bash -c "
		echo held \$TALLY_TOKEN"
	wait_until 20 shows "$3" waiters 1
}

# stopped NAME: its command was, as the lock was lost.
stopped() {
	begun_says "$1" 'it was lost; bash is stopped'
}

# break_it LOCK [FENCED]: and what it says of nodes that had to be fenced.
break_it() {
	bounded 20 tally lock break "$1" node a > "$lib_work/broken" &&
		grep -q "^ *fenced ${2-0 nodes}\$" "$lib_work/broken"
}

# silent_has N: a peer that answers whatever it is asked, but does not give a
# lock back, has it for the Nth time.
silent_has() {
	[ "$(grep -c granted "$lib_work/silent")" = "$1" ]
}

# fenced LOCK: as the other form of the answer says.
fenced() {
	bounded 20 tally -j lock break "$1" node a | field fenced
}

# free_words LOCK: it costs no message to have it.
free_words() {
	local before

	before=$(stat_of b lock_managed)
	of b lock run "$1" -- true && [ "$(stat_of b lock_managed)" = "$before" ]
}

check "nodes" add_nodes a b c
for mode in nic cpu; do
	check "an arena in mode $mode" bash -c "
		tally arena add $mode mode $mode access rw node a &&
		tally lock add $mode/l class region node a"
	lock=$mode/l
	check_fails "$mode: nobody has it" 1 'nobody has it' \
		tally lock break $lock node a

	check "$mode: b holds it" held one b $lock
	check "$mode: it is broken" break_it $lock
	check "$mode: its user hears that it is lost" stopped one
	check "$mode: nobody has it then" wait_until 20 shows $lock state free
	check "$mode: c has it next" held two c $lock
	check "$mode: with a higher token" [ "$(token_of two)" -gt "$(token_of one)" ]

	check "$mode: b waits for it" waits three b $lock
	check "$mode: it is broken while one waits" break_it $lock
	check "$mode: the holder hears that it is lost" stopped two
	check "$mode: the waiter has it" begun_says three held
	check "$mode: with a higher token" [ "$(token_of three)" -gt "$(token_of two)" ]
	check "$mode: and gives it back" wait_until 20 shows $lock state free

	check "$mode: b holds it shared" held one b $lock shared
	check "$mode: c, too" held two c $lock shared
	check "$mode: it is broken" break_it $lock
	check "$mode: both hear that it is lost" eval 'stopped one && stopped two'

	check "$mode: a user of the home holds it" held one a $lock
	check "$mode: it is broken" break_it $lock
	check "$mode: the holder hears that it is lost" stopped one
	check "$mode: no session was fenced" eval 'is_live a b && is_live a c'
done
check "nic: it is fast again" free_words nic/l

check "b keeps it after use" eval '
	tally lock set nic/l cache on node a && of b lock run nic/l -- true'
check "it is broken there" break_it nic/l
check "nobody has it" wait_until 20 shows nic/l state free

# shellcheck disable=SC2016 # for eval
check "a peer that does not give back what it has" eval '
	tally arena add t access rw node a &&
	tally lock add t/w class region node a &&
	tally peer add evil addr "$here" port 7999 node a'
begin silent "$hostile" "$here" "$(port a)" evil a who 48
check "has a lock" wait_until 60 silent_has 1
check "it is taken away, and that peer is fenced" break_it t/w '1 node'
check "which hears it, comes back, and has the lock again" \
	wait_until 60 silent_has 2
check_equal "as a number" 1 "$(fenced t/w)"
check "no other node is fenced" eval 'is_live a b && is_live a c'
kill "$begun"
check "that peer is forgotten" tally peer del evil node a

check_fails "what is no lock" 1 'it is not a lock' bash -c "
	tally counter add nic/count node a && tally lock break nic/count node a"
check_fails "what is not there" 1 'no object of that name' \
	tally lock break nic/none node a
check_fails "not without the capability" 1 'CAP_NET_ADMIN' \
	as_nobody "$(command -v tally)" lock break nic/l node a
check_fails "help" 2 'break ARENA/NAME' tally lock break
