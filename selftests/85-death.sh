#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: machines
# Seconds: 1200
#
# A machine loses its power in the middle of each kind of work: as a peer that
# joins, counts, changes a record under a lock, writes a region, reads one, and
# as a home.  The others go on, and every value is right.
. "$(dirname "$0")/lib.sh"
need_machines 3
need_tally
# shellcheck source=selftests/machines.sh
. "$LIB_DIR/machines.sh"
lease=10000
# What a lock may take that a dead machine held, and some for emulation.
after=$((lease / 1000 + 20))
plan 44

# start NODE: a machine that was killed, with the module and its node.
start() {
	local dep

	rm -f "/out/ready-$1"
	rig_boot "$1" && wait_for "/out/ready-$1" 120 || return
	for dep in $(modinfo -F depends "$MODULE" | tr , ' '); do
		on "$1" modprobe "$dep" || return
	done
	on "$1" insmod "$MODULE" &&
		on "$1" tally node add "n$1" lease $lease clean && peers "$1"
}

# back NODE: it is started, and the others take it for what it is.
back() {
	local other

	start "$1" || return
	for other in 1 2 3; do
		[ "$other" = "$1" ] || wait_until 90 is_live "$other" "$1" ||
			return
	done
}

# nobodys_peer NODE: it is no node's live peer, within the lease, or soon.
nobodys_peer() {
	local other

	for other in 1 2 3; do
		[ "$other" = "$1" ] || wait_until $after is_not_live "$other" "$1" ||
			return
	done
}

# dies NODE: at once; the others notice.
dies() {
	rig_kill "$1" && nobodys_peer "$1"
}

value() {
	tally counter read "$1"
}

# count_of NAME: distinct old values in /out/NAME.
count_of() {
	grep -xE '[0-9]+' "/out/$1" | sort -nu | wc -l
}

# at_least N COMMAND...: its output is a number not lower than that.
at_least() {
	[ "$("${@:2}")" -ge "$1" ]
}

record() {
	od -An -td8 -j8 -N8 /dev/tally/t/r | tr -d ' '
}

# status_of NAME SECONDS: of a command that has ended by then.
status_of() {
	wait_until "$2" test -s "/out/$1.status" || return
	cat "/out/$1.status"
}

# copied NODE: what that machine writes into the region is there, and what it
# reads is what is there.
copied() {
	# shellcheck disable=SC2016 # for another shell
	on "$1" bash -c '
		head -c 1048576 /dev/urandom > /tmp/data &&
		dd if=/tmp/data of=/dev/tally/t/big bs=256K conv=notrunc,fsync &&
		cmp -n 1048576 /tmp/data /dev/tally/t/big' &&
		[ "$(on "$1" sha256sum /tmp/data | cut -c1-64)" = \
		  "$(head -c 1048576 /dev/tally/t/big | sha256sum | cut -c1-64)" ]
}

# waits_at NODE LOCK: one node waits for a lock of that machine.
waits_at() {
	[ "$(on "$1" tally -j lock show "$2" | field waiters)" = 1 ]
}

check "nodes" on_each tally node add nN lease $lease clean
check "1 and 2 are peers of all" eval 'peers 1 && peers 2'
check "and linked" wait_until 60 is_live 1 2
check "objects" bash -c '
	tally arena add t && tally counter add t/c && tally lock add t/l &&
	tally region add t/r size 4096 && tally region add t/big size 4M'

peers 3
check "joining: machine 3 dies" rig_kill 3
check "the others stay joined" is_live 1 2
check "and does not become one of them" nobodys_peer 3
check "nothing of it is left" tally counter inc t/c
check "it comes back" back 3

begin 2 two "$load" counter /dev/tally/t/c 2 2000
begin 3 three "$load" until /dev/tally/t/c
says 60 three ready
check "counting: machine 3 dies" dies 3
check_equal "machine 2 counts on" 0 "$(status_of two 200)"
check_equal "each of its values is another" 4000 "$(count_of two)"
check "none is lost" at_least 4001 value t/c
check "it comes back" back 3
before=$(value t/c)
check_equal "and counts where others left off" "$before" \
	"$(on 3 tally counter inc t/c)"

begin 2 two "$load" lock /dev/tally/t/l /dev/tally/t/r 1 60
begin 3 three "$load" lock /dev/tally/t/l /dev/tally/t/r 1 1000000
check "both change a record under the lock" wait_until 60 at_least 10 record
check "changing: machine 3 dies" dies 3
check_equal "machine 2 goes on, its tokens grow" 0 "$(status_of two 200)"
check "none of its changes is lost" at_least 60 record
check "the lock is free" on 2 tally lock run t/l timeout 60000 -- true
check "it comes back" back 3
before=$(record)
begin 3 three "$load" lock /dev/tally/t/l /dev/tally/t/r 1 10
check_equal "and changes it, too" 0 "$(status_of three 120)"
check_equal "from what it was" $((before + 10)) "$(record)"

begin 3 three bash -c 'echo ready
	while :; do dd if=/dev/zero of=/dev/tally/t/big bs=1M count=4 conv=notrunc
	done'
says 60 three 'copied'
check "writing: machine 3 dies" dies 3
check "machine 2 writes and reads" copied 2
check "it comes back" back 3
check "and does so, too" copied 3

begin 3 three bash -c 'while :; do dd if=/dev/tally/t/big of=/dev/null bs=1M
	done'
says 60 three 'copied'
check "reading: machine 3 dies" dies 3
check "machine 2 writes and reads" copied 2
check "its region can be deleted" tally region del t/big
check "and its memory is free" wait_until $after bash -c \
	"tally -j node show | grep -q '\"mem_used\":4096'"
check "it comes back" back 3

# The home of the others' objects.
check "objects on machine 3" on 3 bash -c '
	tally arena add h && tally counter add h/c && tally lock add h/l &&
	tally region add h/r size 1M'
wait_until 30 test -e /dev/tally/h/c
begin 2 counts "$load" until /dev/tally/h/c
says 60 counts ready
begin 2 holder tally lock run h/l -- bash -c "echo held
	trap 'echo stopped; exit 1' TERM
	while :; do sleep 0.2; done"
says 60 holder held
begin 1 waiter tally lock run h/l -- echo granted
check "one holds its lock, one waits for it" wait_until 60 waits_at 3 h/l
check "serving: machine 3 dies" dies 3
check "the counting process hears it" says 60 counts 'ENOTCONN|ESTALE'
check "the holder of a lock there is stopped" says 60 holder stopped
check "the waiter is refused" says 60 waiter 'no session|lost|gone|not conn'
check_fails "its objects cannot be reached" 1 'h/c' tally counter read h/c
check "those of others can" tally counter inc t/c
check "it comes back" back 3
check_fails "without its objects" 1 'h/c' tally counter read h/c
check "which can be made again" on 3 bash -c \
	'tally arena add h && tally counter add h/c initial 7'
check_equal "and used" 7 "$(wait_until 30 test -e /dev/tally/h/c; value h/c)"
