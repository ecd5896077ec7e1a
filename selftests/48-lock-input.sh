#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 400
#
# Bad input for locks: each gets a status and a sentence that names the lock and
# the reason, and changes nothing; what is lost or deleted says so.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
plan 82

# wrong TEXT STATUS PATTERN COMMAND...: fails so, with a sentence.
wrong() {
	check_fails "$1" "$2" "^tally: $3" tally "${@:4}"
}

# bad TEXT PATTERN COMMAND...: is not even tried; the usage follows.
bad() {
	check_fails "$1" 2 "^tally: $2" tally "${@:3}"
}

# ran: has a command run that should not have?
ran() {
	[ -e "$lib_work/ran" ]
}

# everything: state, token, holders and settings of all locks.
everything() {
	tally -j lock show node a | sed -E 's/"(nodes|lease_ms|age_ms)": ?[0-9]+//g'
}

# lost NAME STATUS: the command of that holder was ended, and why.
lost() {
	wait_until 30 ended "$begun" || return
	! wait "$begun" && begun_says "$1" '^tally: lock .*/.*: it was lost'
}

check "nodes" add_nodes a b
long=$(printf 'x%.0s' {1..64})
check "an arena for all, and one that b may only read" bash -c '
	tally arena add t access rw node a && tally lock add t/l node a &&
	tally lock add t/in class region node a &&
	tally counter add t/c node a && tally region add t/r size 4096 node a &&
	tally arena add ro access ro node a && tally lock add ro/l node a'
wait_until 20 test -e "$mnt/b/ro/l"
wait_until 20 test -e "$mnt/b/t/l"
token b t/l > /dev/null
token b t/in > /dev/null
wait_until 20 shows t/l state free
wait_until 20 shows t/in state free
before=$(everything)
run=(touch "$lib_work/ran")

# Settings.
bad "a switch that is none" "cache 'maybe': write on or off" \
	lock set t/l cache maybe node a
bad "a budget that is none" "budget 'many': .*not a number" \
	lock set t/l budget many node a
bad "a budget below zero" "budget '-1': .*not a number" \
	lock set t/l budget -1 node a
bad "a budget beyond any number" "budget '99999999999': .*too large" \
	lock set t/l budget 99999999999 node a
wrong "a budget that is too large" 1 \
	'lock set t/l: budget 70000: .*0 to 65535' lock set t/l budget 70000 node a
bad "a time below zero" "within '-1': .*not a number" \
	lock set t/l within -1 node a
wrong "for a new lock, too" 1 'lock add t/x: budget 70000: .*0 to 65535' \
	lock add t/x budget 70000 node a
wrong "a time that is too long" 1 'lock set t/l: within 65536: .*0 to 65535' \
	lock set t/l within 65536 node a
wrong "a good word beside a bad one" 1 'lock set t/l: within 65536: ' \
	lock set t/l cache on budget 5 within 65536 node a
bad "a word without its value" "'budget' needs a value" lock set t/l budget
bad "a word twice" "'cache' is given twice" \
	lock set t/l cache on cache off node a
bad "a word that is none" "unknown word 'lease'" lock set t/l lease 5 node a
bad "nothing to set" 'nothing to set: .*cache, budget or within' \
	lock set t/l node a
bad "a class that is none" "class 'none': write external or region" \
	lock add t/x class none node a
bad "a lock with a size" "unknown word 'size'" lock add t/x size 4096 node a
bad "a counter with a class" "unknown word 'class'" \
	counter add t/x class region node a

# Names.
bad "no name" 'ARENA/NAME is missing' lock set
bad "no lock" "'t': write ARENA/NAME" lock del t node a
for name in "t/$long" "$long/l" "t/" "/l" "t/a/b" "t/.l" "t/a b"; do
	bad "'${name:0:8}' is not added" "'$name': a name is 1 to 63" \
		lock add "$name" node a
	bad "nor locked" "'$name': a name is 1 to 63" \
		-m "$mnt/b" lock run "$name" -- "${run[@]}"
done
wrong "a lock that is there" 1 'lock add t/l: .*exists' lock add t/l node a
wrong "a lock that is not there: set" 1 'lock set t/x: .*no object' \
	lock set t/x cache on node a
wrong "del" 1 'lock del t/x: .*no object' lock del t/x node a
wrong "show" 1 'lock show t/x: .*no such object' lock show t/x node a
wrong "run" 121 'lock t/x: .*no object of that name' \
	-m "$mnt/b" lock run t/x -- "${run[@]}"
wrong "an arena that is not there: set" 1 'lock set x/l: .*no arena' \
	lock set x/l cache on node a
wrong "run" 121 'lock x/l: .*no node that this one reaches has an arena x' \
	-m "$mnt/b" lock run x/l -- "${run[@]}"
wrong "not at its home" 1 'lock set t@a/l: .*home' \
	lock set t@a/l cache on node b

# Other types.
for name in t/c t/r; do
	wrong "$name is no lock: set" 1 "lock set $name: it is not a lock" \
		lock set $name cache on node a
	wrong "del" 1 "lock del $name: it is not a lock" lock del $name node a
	wrong "show" 1 "lock show $name: .*of this type" lock show $name node a
	wrong "run" 121 "lock $name: .*another type" \
		-m "$mnt/b" lock run $name -- "${run[@]}"
done
wrong "no lock is counted" 1 'counter t/l: .*another type' \
	-m "$mnt/b" counter inc t/l

# lock run.
bad "no command" "'-- COMMAND' is missing" -m "$mnt/b" lock run t/l
bad "none behind --" "'-- COMMAND' is missing" -m "$mnt/b" lock run t/l --
bad "a mode that is none" "unknown word 'exclusive'" \
	-m "$mnt/b" lock run t/l exclusive -- "${run[@]}"
bad "a time that is none" "timeout 'soon': .*not a number" \
	-m "$mnt/b" lock run t/l timeout soon -- "${run[@]}"
bad "shared twice" "'shared' is given twice" \
	-m "$mnt/b" lock run t/l shared shared -- "${run[@]}"
wrong "no mount" 121 "no tally file system at /proc" \
	-m /proc lock run t/l -- "${run[@]}"
for mode in shared try; do
	wrong "a reader without more rights does not lock, $mode" 121 \
		'lock ro/l: .*rights in the arena' \
		-m "$mnt/b" lock run ro/l $mode -- "${run[@]}"
done
check_fails "nor with flock(1)" 65 'Permission denied' \
	flock -n "$mnt/b/ro/l" "${run[@]}"
check_fails "nor on a file for reading" 65 'Permission denied' bash -c "
	exec 9< $mnt/b/ro/l && flock -s -n 9"
check_fails "no command ran" 1 '' ran
check_equal "all that changed nothing" "$before" "$(everything)"

# Files.
check "ioctls, from a" bounded 100 "$files" lock-input "$mnt/a/t/l" "$mnt/b/t/l"
check "and from b" bounded 100 "$files" lock-input "$mnt/b/t/in" "$mnt/a/t/in"
check "then they are free" eval 'wait_until 20 shows t/l state free &&
	wait_until 20 shows t/in state free'

# Lost and deleted, at the home and elsewhere.
begin stale "$files" lost-lock "$mnt/b/t/in" "$lib_work/ready"
stale=$begun
wait_until 20 test -e "$lib_work/ready"
held holder b t/l
tally peer del b node a
check "the session is over: a holder is told" lost holder
wrong "without a session, no lock" 121 'lock t/l: ' \
	-m "$mnt/b" lock run t/l timeout 300 -- "${run[@]}"
add_peer a b
wait_until 60 is_live a b
rm "$lib_work/ready"
check "a lost lock says so until it is unlocked" wait "$stale"
check "others get it" of a lock run t/in timeout 20000 -- true
for node in a b; do
	tally lock add t/d class region node a
	wait_until 20 test -e "$mnt/$node/t/d"
	begin stale "$files" lost-lock "$mnt/$node/t/d" "$lib_work/ready" EIDRM
	stale=$begun
	wait_until 20 test -e "$lib_work/ready"
	tally lock del t/d node a
	check "$node: a deleted lock is lost, and deleted" wait "$stale"
	rm "$lib_work/ready"
	wrong "$node: and cannot be run with" 121 'lock t/d: .*no object' \
		-m "$mnt/$node" lock run t/d -- "${run[@]}"
	wrong "$node: nor deleted again" 1 'lock del t/d: .*no object' \
		lock del t/d node a
	tally arena add gone access rw node a
	tally lock add gone/l class region node a
	wait_until 20 test -e "$mnt/$node/gone/l"
	held holder $node gone/l
	tally arena del gone node a
	check "$node: a holder in a deleted arena is told" lost holder
	wrong "$node: the lock is gone with it" 121 'lock gone/l: .*no node.*arena' \
		-m "$mnt/$node" lock run gone/l -- "${run[@]}"
done
wrong "no setting of a lock whose arena is gone" 1 'lock set gone/l: .*no arena' \
	lock set gone/l cache on node a
check_fails "no command ran" 1 '' ran
