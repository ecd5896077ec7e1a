#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# The ends of sessions and links: leases, goodbyes, resumes, and what comes between
# two steps of them. a is the home. Needs a module that was built with
# TALLY_FAULTS=1.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
lease_of=$LIB_DIR/lease.py
plan 82

session() {
	peer_field "$1" "$2" session
}

# left NODE PEER: of the lease, in milliseconds.
left() {
	peer_field "$1" "$2" lease_left_ms
}

# lanes_are NUMBER: of the link of a and b, at both ends.
lanes_are() {
	is_live a b && is_live b a && [ "$(peer_field a b lanes)" = "$1" ] &&
		[ "$(peer_field b a lanes)" = "$1" ]
}

# left_below MILLISECONDS NODE PEER
left_below() {
	[ "$(left "$2" "$3")" -lt "$1" ]
}

# refuses NODE LOCK: does not get it, now.
refuses() {
	! bounded 20 tally -m "$mnt/$1" lock run "$2" try -- true
}

# time_of NAME WORD
time_of() {
	sed -n "s/^$2 //p" "$lib_work/$1"
}

stopped_for() {
	read -rt "$1" -u "$rig_never" _ || :
}

# A lease ends while its home cannot be heard.
lease=4000
check "nodes with a short lease" add_nodes a b c
check "a lock" bash -c '
	tally arena add t access rw node a && tally lock add t/x class external node a'
before=$(session b a)
lost=$(stat_of b lease_lost)
begin holder "$lease_of" hold "$mnt/b/t/x"
holder=$begun
check "b has it" begun_says holder held
stop_at renew 60000
begin next "$lease_of" take "$mnt/a/t/x"
next=$begun
check "renewals are not answered" stopped_at renew
check "b loses it" begun_says holder '^last' 20
check "and whoever polls is told" begun_says holder '^told' 5
check "what its home says comes too late" go_on renew
check "a gets it" begun_says next taken 20
check "after b had lost it" [ "$(time_of next taken)" -gt "$(time_of holder last)" ]
check "and had been told" [ "$(time_of next taken)" -gt "$(time_of holder told)" ]
check "all faces of b agreed" wait "$holder"
wait "$next"
check "the lease was lost" grew b lease_lost "$lost"
check "b comes back" wait_until 30 is_live b a
check "in another session" [ "$(session b a)" != "$before" ]
check "and has the lock again" of b lock run t/x timeout 20000 -- true
for node in a b c; do
	del_node $node
done

lease=20000
check "nodes" add_nodes a b c
# shellcheck disable=SC2016 # for another shell
check "locks" bash -c '
	tally arena add t access rw node a && tally counter add t/c node a &&
	for lock in x y z; do
		tally lock add t/$lock class external node a || exit
	done'

# READY alone extends nothing at the one that sent it.
# shellcheck disable=SC2016 # for eval
check "both ends of a lease are somewhat old" wait_until 40 eval '
	left_below 18800 a b && left_below 18800 b a'
a_left=$(left a b) b_left=$(left b a)
before=$(session a b)
stop_at ready
break_link a b
check "the link is opened again, READY was sent" stopped_at ready
responder=a left_before=$a_left
[ "$(peer_state a b)" = opening ] || responder=b left_before=$b_left
initiator=$([ $responder = a ] && echo b || echo a)
check_equal "by one that waits for lanes" opening "$(peer_state $responder "$initiator")"
check "its lease is no longer for that" \
	left_below "$left_before" $responder "$initiator"
go_on ready
check "the link comes up" wait_until 30 is_live $responder "$initiator"
check_equal "in the same session" "$before" "$(session a b)"
check "now the lease is longer" wait_until 20 eval "
	! left_below 18800 $responder $initiator"

# A link breaks before it has been told that it is up.
check "b has a lock" held one b t/x
one=$begun
stop_at link_live
stop_at active
break_link b a
check "the link comes up again, at one end" eval 'stopped_at active && stopped_at link_live'
# shellcheck disable=SC2046 # two words
set -- $(is_live a b && echo a b || echo b a)
break_link "$1" "$2"
break_link "$2" "$1"
go_on active
stopped_for 2
check_equal "and breaks, which that end does not know yet" broken "$(peer_state "$1" "$2")"
go_on link_live
check "then it comes up" wait_until 30 is_live b a
check_equal "in the same session" "$before" "$(session a b)"
check "b has the lock still" refuses c t/x
check_equal "as the home knows" b "$(show t/x holder)"
# shellcheck disable=SC2016 # for eval
check "and gives it to the next one" eval 'over one "$one" && held one c t/x'
over one "$begun"

# Processors come and go while the link is down.
for cpus in 3 1; do
	echo $cpus > /sys/module/tally/parameters/cpus
	break_link b a
	check "with $cpus processors the link has as many lanes" \
		wait_until 30 lanes_are $cpus
	check_equal "in the same session" "$before" "$(session a b)"
	check "and is used" of b counter inc t/c
done
echo 0 > /sys/module/tally/parameters/cpus

# A request is answered once, though it was sent on two links.
stop_at open
begin opener stat "$mnt/b/t/y"
opener=$begun
check "an open is being served" stopped_at open
stop_at request
bad=$(stat_of b bad_message)
break_link b a
check "it comes again by the next link" stopped_at request
go_on open
stopped_for 1
go_on request
check "the opener has its answer" wait_until 20 ended "$opener"
check "and others have theirs" of b counter read t/c
check "the session goes on" [ "$(session a b)" = "$before" ]
check_equal "nobody was accused" "$bad" "$(stat_of b bad_message)"

# Holders of a session that has ended are told, but have not been yet.
begin holder "$lease_of" hold "$mnt/c/t/x"
holder=$begun
check "c has a lock" begun_says holder held
stop_at lost
check "its home ends the session" tally peer del c node a
check "c is about to be told" stopped_at lost
check "and knows when it looks" begun_says holder '^last'
go_on lost
check "who polls is told" begun_says holder '^told'
check "all faces of c agreed" wait "$holder"
check "c comes back" eval 'add_peer a c && wait_until 60 is_live a c'

# The node that leaves takes no lock any more, and is out when the command ends.
exec 9<> "$mnt/b/t/z"
stop_at goodbye
begin deleter tally peer del a node b
deleter=$begun
check "b says goodbye" stopped_at goodbye
check "and is granted nothing" eval '! bounded 20 flock -w 2 9'
exec 9<&-
check_equal "its peer is listed, as deleted" deleted "$(peer_state b a)"
check "the command goes on" [ -d "/proc/$deleter" ]
go_on goodbye
check "it ends" wait "$deleter"
check_equal "when the peer is out" "" "$(session b a)"
check "another node has the lock at once" \
	of c lock run t/z timeout $((lease / 4)) -- true
check "the peer is added again" eval 'add_peer b a && wait_until 60 is_live b a'
check "with a lock" held one b t/x
one=$begun

# Before the machine sleeps, which it then cannot, holders are told.
before=$(session a c)
check "the machine is about to sleep" eval \
	'echo 1 > /sys/module/tally/parameters/try_sleep'
check "holders have lost what they had" begun_says one lost
check "and the sessions come again" wait_until 60 is_live a c
check "as others" [ "$(session a c)" != "$before" ]
check "and locks" of c lock run t/x timeout 20000 -- true

# It sleeps, and no notifier and no timer of it has said so: the clock of leases does.
sleeps() {
	local slept=/sys/module/tally/parameters/slept

	echo $(($(cat $slept) + $1)) > $slept
}
before=$(session a c)
lost=$(stat_of b lease_lost)
check "b has a lock" held one b t/x
one=$begun
check "the machine has slept for longer than a lease" sleeps $((2 * lease))
check "b has lost it" begun_says one lost $((lease / 2000 + 1))
check "as the lease has ended" grew b lease_lost "$lost"
# shellcheck disable=SC2016 # for eval
check "and so has that of others" wait_until 5 eval '[ "$(session a c)" != "$before" ]'
# shellcheck disable=SC2016 # for eval
check "all get what they ask for now" eval 'wait "$one"
	of c lock run t/x timeout 20000 -- true && of b lock run t/x timeout 20000 -- true'

# A node that is made in that time has no sessions either before the machine is awake.
stop_at sleep
begin sleeper eval 'echo 1 > /sys/module/tally/parameters/try_sleep'
sleeper=$begun
check "the machine is about to sleep again" stopped_at sleep
check "c is made anew, and d" eval 'del_node c && tally peer del c node a &&
	add_node c && add_node d && add_peer c d && add_peer d c'
check "they are not linked in that time" eval '! wait_until 5 is_live c d'
go_on sleep
check "the machine stays awake" wait "$sleeper"
check "now they are" wait_until 60 is_live c d

# A device that holds up the end of sessions does so once, not once for each.
check "c and a know each other" join a c
stop_at session_over 60000
start=$SECONDS
check "the machine is about to sleep, with such a device" eval \
	'echo 1 > /sys/module/tally/parameters/try_sleep'
check "all that is bounded" [ $((SECONDS - start)) -lt 20 ]
check "it was held up" stopped_at session_over
go_on session_over
check "sessions come again" eval 'wait_until 60 is_live a c && wait_until 60 is_live c d'
check "and b's" wait_until 60 is_live a b
