#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: machines
# Seconds: 900
#
# Three machines: links that break for less than the lease and for more, a
# machine that dies, and one that takes another's name.
. "$(dirname "$0")/lib.sh"
need_machines 3
need_tally
# shellcheck source=selftests/machines.sh
. "$LIB_DIR/machines.sh"
# Long enough for an emulated machine on a busy host to notice and to come back.
lease=40000
# shellcheck disable=SC2016 # for another shell
tell='echo held $TALLY_TOKEN'
plan 62

# breaking LOCK: it is being taken away.
breaking() {
	[ "$(tally -j lock show "$1" | field state)" = breaking ]
}

check "a node on each machine" on_each tally node add nN lease $lease clean
check "all are peers" eval 'peers 1 && peers 2 && peers 3'
for pair in '1 2' '1 3' '2 3'; do
	# shellcheck disable=SC2086 # two words
	check "linked: $pair" wait_until 60 is_live $pair
done
check "objects on machine 1" bash -c '
	tally arena add t mode nic access rw && tally arena add m mode cpu access rw &&
	tally counter add t/c && tally counter add m/c && tally lock add t/l'

check "another n3, on machine 2" on 2 tally node add n3 port 7480 nomount
on 2 tally peer add n1 addr "$(address 1)" node n3
check "is refused, as the name is in use" \
	wait_until 60 grew 1 name_in_use 0
check_equal "and hears it" name_in_use "$(on 2 tally -j peer show n1 node n3 |
	field refusal)"
on 2 tally peer show n1 node n3 > "$lib_work/refused"
check "both addresses are in the reason" grep -q \
	"$(address 3).*$(address 2)" "$lib_work/refused"
check "the true one is not disturbed" is_live 1 3
on 2 tally node del n3

# Shorter than the lease.
session=$(peer_field 1 3 session)
resumed=$(stat_of 3 session_resumed)
begin 3 nic "$load" for 60 /dev/tally/t/c
begin 3 cpu "$load" for 60 /dev/tally/m/c
check "load on machine 3" eval 'says 30 nic ready && says 30 cpu ready'
check "and a held lock" hold 3 short
rig_cut 3
check "the link breaks" wait_until 30 is_not_live 3 1
rig_join 3
check "and comes back" wait_until 60 is_live 3 1
check_equal "as the same session" "$session" "$(peer_field 1 3 session)"
check "resumed" grew 3 session_resumed "$resumed"
check "the load goes on to its end" eval \
	'says 120 nic "^done" && says 120 cpu "^done"'
check "nic: nothing is lost or done twice" counted nic t/c
check "cpu: nothing is lost or done twice" counted cpu m/c
check "cpu: and nothing is unknown" grep -q 'unknown 0 ' /out/cpu
check_fails "the lock is held still" 125 'holds it' tally lock run t/l try -- true
: > /out/short.go
check "and was all the while" says 30 short 'let go'
check_equal "as the command's status says" 0 "$(
	wait_until 20 test -s /out/short.status && cat /out/short.status)"

# Longer than the lease. What machine 3 could still aim at is not used anew.
seq -f 'counter add w/%.0f' 400 > "$lib_work/fill"
check "an arena with a small table of words" bash -c '
	tally arena add w words 4K && tally counter add w/x'
check_fails "which is filled" 1 'word table is full' tally -b "$lib_work/fill"
begin 3 aims "$load" until /dev/tally/w/x
check "machine 3 uses a word of it" says 60 aims ready
check "a lock is held again" hold 3 long
begin 2 second tally lock run t/l -- sh -c "$tell"
begin 3 lost "$load" until /dev/tally/t/c
check "load" says 30 lost ready
rig_cut 3
check "its object is deleted" tally counter del w/x
check_fails "the word is not given away" 1 'word table is full' \
	tally counter add w/y
check "the lease ends: the command of the holder is stopped" \
	says 90 long stopped
check "the lock goes to machine 2" says 120 second held
check "with a higher token" higher second long
check "now the word is" wait_until 20 tally counter add w/y
check "operations fail for want of a session" \
	says 120 lost 'ENOTCONN|ESTALE'
check "also on what was deleted" says 120 aims 'ENOTCONN|ESTALE|EIDRM'
check_equal "what has the word now was not changed" 0 \
	"$(tally counter read w/y)"
rig_join 3
check "a new session comes" wait_until 90 is_live 1 3
check "which is another" [ "$(peer_field 1 3 session)" != "$session" ]
check "machine 3 counts again" wait_until 60 on 3 tally counter inc t/c
check "and locks again" on 3 tally lock run t/l timeout 90000 -- true

# Taken away from a machine that does not answer.
check "a lock that is given on as soon as its holder is fenced" \
	tally lock add t/r class region
check "machine 3 holds it" hold 3 broken t/r
check "and another one, which goes away" eval '
	tally lock add t/d class region && hold 3 deleted t/d'
session=$(peer_field 1 3 session)
rig_cut 3
begin 1 taken tally lock break t/d
check "that one is being taken away" wait_until 20 breaking t/d
# shellcheck disable=SC2016 # for eval
check "meanwhile others may come to netlink, and go" eval '
	bounded $((lease / 5000)) modprobe team && rmmod team'
check "and this is so still" [ ! -e /out/taken.status ]
check "it is deleted" tally lock del t/d
check "the command that takes it away hears that" says 20 taken 'it was deleted meanwhile'
check_equal "and fences no session" "$session" "$(peer_field 1 3 session)"
check_equal "a command that waits for the end of a break can be ended" 137 \
	"$(timeout -s KILL 2 tally lock break t/r > /dev/null 2>&1; echo $?)"
check "the break goes on without it" breaking t/r
check "another one waits for it, while machine 3 cannot answer" \
	bounded $((lease / 2000)) tally lock break t/r
check "machine 2 has it before the lease is over" \
	on 2 timeout $((lease / 2000)) tally lock run t/r -- true
check "the command on machine 3 is stopped" says 90 broken stopped
rig_join 3
check "machine 3 comes back" wait_until 90 is_live 1 3
check "in another session" [ "$(peer_field 1 3 session)" != "$session" ]

# Death.
check "machine 3 holds the lock" hold 3 dead
begin 2 heir tally lock run t/l -- sh -c "$tell"
started=$SECONDS
rig_kill 3
check "it dies, and machine 2 gets the lock" says 90 heir held
check "within the lease and a little" \
	[ $((SECONDS - started)) -le $((lease / 1000 + 8)) ]
check "with a higher token" higher heir dead
