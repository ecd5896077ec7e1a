#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 240
#
# Rights change between two steps of a node that uses the arena. a is the home.
# Needs a module that was built with TALLY_FAULTS=1.
# shellcheck disable=SC2016,SC2154 # for eval
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
hostile=$LIB_DIR/hostile
[ -x "$hostile" ] || skip_all "no headers of librdmacm and libcrypto"
plan 105

# access RIGHT: of b.
access() {
	tally arena set t peer b access "$1" node a
}

session() {
	peer_field b a session
}

check "nodes" add_nodes a b c d
# Of mode cpu, where each tenure may be handed over.
check "an arena" eval 'tally arena add t mode cpu node a && tally lock add t/l node a &&
	tally counter add t/c initial 7 node a && tally counter add t/x node a'

# A lock is handed over to a node whose rights go and come before it hears of that, and
# which waits anew then, behind another one.  First: nothing is handed over to it once
# that was so in its session.
before=$(session)
check "c has a lock" eval 'held one c t/l && one=$begun'
check "b is to be next" eval 'waits two b t/l && two=$begun'
stop_at handover
check "c gives it away" over one "$one"
check "to b, which does not know" stopped_at handover
check "b's rights go and come" eval 'access ro && wait_until 20 ended "$two" &&
	access rw'
# What it kept of the arena goes with the last that uses it, and the mount.
check "b has nothing of the arena any more" eval 'wait "$two"
	wait_until 20 umount "$mnt/b" && mount -t tally -o node=b none "$mnt/b"'
check "d has the lock" eval 'held three d t/l && three=$begun'
check "and b waits" eval 'waits four b t/l && four=$begun'
go_on handover
check_fails "d has it alone" 1 '' begun_says four held 2
check "and then b has it" eval 'over three "$three" && begun_says four held &&
	over four "$four"'
check_equal "in the same session" "$before" "$(session)"

# They change after the home has attached b, before b knows.
stop_at attached
begin reader of b counter read t/c
reader=$begun
check "b is being attached" stopped_at attached
check "read only meanwhile" access ro
go_on attached
check "the reader ends" wait_until 20 ended "$reader"
check_equal "with what it asked for" 7 "$(cat "$lib_work/reader")"
check_fails "but it does not write" 1 'rights' of b counter inc t/c
check "write" access rw
check "it does" of b counter inc t/c
stop_at attached
begin reader of b counter read t/x
reader=$begun
check "b looks for another object" stopped_at attached
check "nothing at all" access none
go_on attached
check "b ends" wait_until 20 ended "$reader"
check "write again" access rw
check "and again" of b counter inc t/c
check_equal "in the same session" "$before" "$(session)"

# They change after an object was opened, before b knows.
stop_at opened
begin reader of b counter read t/x
reader=$begun
check "b is opening a counter" stopped_at opened
check "read only meanwhile, again" access ro
go_on opened
check "the reader gets its answer" wait_until 20 ended "$reader"
check_equal "which is none of the change" 0 "$(cat "$lib_work/reader")"
check_equal "still in the same session" "$before" "$(session)"

# A peer asks anew for what it has, as its rights change and it has answered: by then the
# key that it would be told is no more.
check "an arena and a peer" eval 'tally arena add n mode nic access rw node a &&
	tally peer add evil addr "$here" port 7999 node a'
stop_at attach_again
begin hostile "$hostile" "$here" "$(port a)" evil a again
attacker=$begun
check "it asks for the arena again" stopped_at attach_again
check "what it may changes" tally arena set n peer evil access ro node a
check "and it gives up what it had" wait_until 10 eval '
	[ "$(tally -j arena show n node a | field attached)" = 0 ]'
go_on attach_again
check "it is told to try again" begun_says hostile '^again 11$'
kill "$attacker"
wait "$attacker" 2> /dev/null
tally peer del evil node a

check "write once more" access rw

# What b says before it knows is no fault, however far the home has come with it.
for access in ro none; do
	before=$(session)
	bad=$(stat_of a bad_message)
	stop_at message
	begin two of b lock run t/l timeout 10000 -- true
	two=$begun
	check "b wants a lock" stopped_at message
	check "$access meanwhile" access $access
	go_on message
	check "b ends" wait_until 20 ended "$two"
	check_equal "in the same session, and nothing is held against it" \
		"$before $bad" "$(session) $(stat_of a bad_message)"
	access rw
done

# later SECONDS: after a while in which something would have happened.
later() {
	local end=$((SECONDS + $1))

	wait_until $(($1 + 10)) eval "[ \$SECONDS -ge $end ]"
}

# One that got more has nothing that it may not have: it has time to answer.
before=$(session)
check "read only" access ro
stop_at opened
begin reader of b counter read t/x
reader=$begun
check "b opens a counter" stopped_at opened
check "and write, before it has" access rw
check "more than a quarter of the lease goes by" later 8
go_on opened
check "the reader ends, by its own time" wait_until 20 ended "$reader"
check_equal "the next one gets its answer" 0 "$(of b counter read t/x)"
check_equal "and the session is the same" "$before" "$(session)"

# A transfer that waits for whatever it may be does not keep the answer back.
check "a region" tally region add t/r size 4M node a
check "that b can write" dd if=/dev/zero of="$mnt/b/t/r" bs=64 count=1 conv=notrunc
stop_at xfer 1000
begin writer python3 -c '
import os
f = os.open(os.sys.argv[1], os.O_WRONLY)
data = b"x" * (4 << 20)
n = os.pwrite(f, data, 0)
print("wrote", n)
os.sys.stdout.flush()
try:
	os.pwrite(f, data, n)
except PermissionError:
	print("denied")' "$mnt/b/t/r"
writer=$begun
check "it writes all of it, slowly" wait_until 30 grep -qE '^xfer [0-9]* ([2-9]|[1-9][0-9])' $delays
stop_at xfer
check "and is held in the middle" stopped_at xfer
check "read only, then" access ro
check "b has answered, as it could attach again" of b counter read t/c
check "a quarter of the lease is over" later 6
check_equal "b was not fenced" "$before" "$(session)"
go_on xfer
check "the writer ends" wait_until 20 ended "$writer"
check "it may not go on" begun_says writer denied 1
check "what it wrote is there, and no more" eval '
	n=$(sed -n "s/^wrote //p" "$lib_work/writer") && [ "$n" -lt 4194304 ] &&
	[ "$(tr -d "\\0" < "$mnt/a/t/r" | wc -c)" = "$n" ]'
check "write, for the last" access rw
before=$(session)

# One that was away when its time was over has as much again on the next link, from when
# it is told on that.
stop_at opened
begin reader of b counter read t/x
reader=$begun
check "b is opening a counter, and stops" stopped_at opened
check "read only" access ro
stop_at link_live
check "its link breaks" break_link a b
check "and is up again, and nobody knows" stopped_at link_live
check "more than a quarter of the lease goes by" later 7
go_on link_live
go_on opened
check "the reader ends" wait_until 20 ended "$reader"
check_equal "the next one gets its answer" 0 "$(of b counter read t/x)"
check_equal "and the session is the same" "$before" "$(session)"
access rw

# A node that does not answer is fenced after a quarter of the lease.
stop_at opened
begin reader of b counter read t/x
check "b opens a counter, and stops at that" stopped_at opened
check "nothing at all for b" access none
fenced() {
	[ "$(session)" != "$before" ]
}
check "b's session ends before its lease" wait_until 12 fenced
go_on opened

# A peer that is deleted and has not gone yet gets nothing of what others may.
check "all may use what d may not, or may only read" eval '
	tally arena add u mode cpu node a && tally counter add u/c node a &&
	tally arena set u peer d access none node a &&
	tally arena set t peer d access ro node a && of d counter read t/c'
value=$(of a counter read t/c)
stop_at goodbye
begin deleter tally peer del d node a
deleter=$begun
check "d is being deleted" stopped_at goodbye
check_equal "its rights are gone" "b none" "$(tally -j arena show node a | python3 -c '
import json, sys
print(*(r["peer"] + " " + r["access"]
	for a in json.load(sys.stdin) for r in a.get("rights", [])))')"
check "rights are set" tally arena set t perm 755 node a
check_fails "d does not use the one arena" 4 '' \
	bounded 10 tally -m "$mnt/d" counter inc u/c timeout 2000
check_fails "nor more of the other" 4 '' \
	bounded 10 tally -m "$mnt/d" counter inc t/c timeout 2000
check_fails "nor less" 4 '' \
	bounded 10 tally -m "$mnt/d" counter read t/c timeout 2000
go_on goodbye
check "d is deleted" wait "$deleter"
check_equal "it has changed nothing" "0 $value" \
	"$(of a counter read u/c) $(of a counter read t/c)"
check "and is no peer" eval '! tally peer show d node a'

# What one home says of rights is nothing to what is attached to at another.
check "a counter of a" eval 'tally arena add v mode cpu node a && tally counter add v/c node a'
begin evil "$hostile" "$here" "$(port c)" evil c withdraws
evil=$begun
forgotten() {
	[ "$(grep -c forgotten "$lib_work/evil")" -gt $(($1 + 2)) ]
}
check "c has a peer that says all the time that rights change" eval '
	tally peer add evil addr "$here" port 7999 node c && wait_until 30 forgotten 0'
stop_at attached
begin reader of c counter read v/c
reader=$begun
check "c is being attached to that arena" stopped_at attached
before=$(grep -c forgotten "$lib_work/evil")
check "and hears the other one meanwhile" wait_until 10 forgotten "$before"
stop_at attached
check "it is attached by then, and does not ask again" wait_until 10 ended "$reader"
go_on attached
kill "$evil"
wait "$evil" 2> /dev/null

# One that goes on with what it had, and says nothing to that it has lost it.
begin evil "$hostile" "$here" "$(port a)" evil a lists
evil=$begun
check "a has a peer that lists what there is, again and again" eval '
	tally peer add evil addr "$here" port 7999 node a &&
	begun_says evil "^status 0 names [1-9]" 30'
check "nothing at all for that" tally arena set t peer evil access none node a
check "it is told no name any more, long before it is fenced" \
	begun_says evil "^status 13 names 0" 4
kill "$evil"
wait "$evil" 2> /dev/null
tally peer del evil node a

# What the home does for a peer that posts no atomics ends with its right, and with
# its session.
check "such a peer" eval 'tally peer del a node d && del_node d &&
	add_node d atomics off && join a d'
check "may count" eval 'tally arena add w mode nic node a && tally counter add w/c node a &&
	of d counter inc w/c'
# With that a looks for it nowhere else, while it does not hear d.
exec 9< "$mnt/a/w/c"

# overtaken: d sets the counter, and one of a comes before that.
overtaken() {
	stop_at counter_set
	begin setter tally -m "$mnt/d" counter set w/c to 100
	setter=$begun
	stopped_at counter_set && of a counter inc w/c &&
		stop_at counter_set && stopped_at counter_set
}
check "it sets a counter, and is not fast enough" overtaken
check "it may only read by then" tally arena set w peer d access ro node a
go_on counter_set
check "it ends" wait_until 20 ended "$setter"
check_equal "and has not set it" 2 "$(of a counter read w/c)"
check "write" tally arena set w peer d access rw node a
check "it sets it again, and is not fast enough" overtaken
kill -KILL "$setter"
wait "$setter" 2> /dev/null
check "it is gone by then, as a process and as a node" eval '
	wait_until 20 umount "$mnt/d" && tally node del d && wait_until 20 eval "! is_live a d"'
check "its session has not ended" [ "$(peer_state a d)" = ending ]
go_on counter_set
check "it ends" wait_until 20 eval '[ -z "$(peer_field a d session)" ]'
check_equal "and has not set it" 3 "$(of a counter read w/c)"
exec 9<&-
