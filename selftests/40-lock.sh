#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 600
#
# Locks from their home and from peers: by the device (nic), by messages (cpu),
# and by proxy for c, which posts no atomics.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 57

threads=3
times=$(scaled 5 40)

of() {
	tally -m "$mnt/$1" "${@:2}"
}

# state LOCK [HOME]
state() {
	tally -j lock show "$1" node "${2-a}" | field state
}

is_free() {
	[ "$(state "$1")" = free ]
}

# hold NAME NODE LOCK [shared]: until $lib_work/NAME.go; its number is in $begun.
hold() {
	rm -f "$lib_work/$1.go"
	begin "$1" tally -m "$mnt/$2" lock run "$3" ${4+"$4"} -- bash -c "
		echo held \$TALLY_TOKEN; until [ -e $lib_work/$1.go ]; do
			sleep 0.1; done"
	begun_says "$1" held
}

let_go() {
	: > "$lib_work/$1.go"
}

# shown LOCK FIELD...: as one look shows it.
shown() {
	local field list=()

	tally -j lock show "$1" node a > "$lib_work/shown" || return
	for field in "${@:2}"; do
		list+=("$(field "$field" < "$lib_work/shown")")
	done
	(IFS=,; echo "${list[*]}")
}

# between FIELD LOW HIGH: in the last look.
between() {
	local n

	n=$(field "$1" < "$lib_work/shown")
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}

waiters() {
	tally -j lock show "$1" node a | field waiters
}

# is_waiting LOCK N: are so many nodes waiting?
is_waiting() {
	[ "$(waiters "$1")" = "$2" ]
}

# waiter NAME NODE LOCK: one that waits; its number is in $begun.
waiter() {
	local n

	n=$(waiters "$3")
	begin "$1" tally -m "$mnt/$2" lock run "$3" -- echo granted
	wait_until 20 is_waiting "$3" $((n + 1))
}

# all_at_once ARENA: threads on each of 3 nodes change a record under the lock.
all_at_once() {
	local node jobs=() status=0

	for node in a b c; do
		begin "$1-$node" "$load" lock "$mnt/$node/$1/l" \
			"$mnt/$node/$1/r" $threads "$times"
		jobs+=("$begun")
	done
	for node in "${jobs[@]}"; do
		wait "$node" || status=1
	done
	cat "$lib_work/$1"-?
	return $status
}

record() {
	od -An -td8 -j8 -N8 "$mnt/a/$1/r" | tr -d ' '
}

# token NODE LOCK
token() {
	# shellcheck disable=SC2016 # for the command
	of "$1" lock run "$2" -- sh -c 'echo $TALLY_TOKEN'
}

# A home that does not know what was held before it started.
check "a node whose last stop was not clean" \
	tally node add d port 7478 lease 500 grace 5000 nomount
mkdir -p "$mnt/d"
mount -t tally -o node=d none "$mnt/d"
check "its locks" bash -c "
	tally arena add g node d && tally lock add g/l node d &&
	tally lock add g/in class region node d"
check_equal "wait for one lease" grace "$(state g/l d)"
check_fails "during which they are not granted" 125 'holds it|grace' \
	of d lock run g/l try -- true
check "but if all they protect is a region" of d lock run g/in try -- true
check "then they are" of d lock run g/l timeout 20000 -- true
check "and the node goes" del_node d

check "nodes, c without atomics" eval \
	"add_node a && add_node b && add_node c atomics off"
check "they are joined" eval 'join a b && join a c && join b c'
for mode in nic cpu; do
	check "an arena in mode $mode" bash -c "
		tally arena add $mode mode $mode access rw node a &&
		tally lock add $mode/l node a &&
		tally lock add $mode/in class region node a &&
		tally region add $mode/r size 4096 node a"
	check "$mode: exclusion and order of tokens" all_at_once $mode
	check_equal "$mode: no update is lost" $((3 * threads * times)) \
		"$(record $mode)"
	check "$mode: then it is free" wait_until 20 is_free $mode/l

	since=$SECONDS
	hold asked b $mode/l
	one=$begun
	check_equal "$mode: which process of the other node holds it is shown" \
		"b,$one,tally,exclusive" "$(shown $mode/l holder pid comm mode)"
	check "$mode: since when" between age_ms 0 \
		$(((SECONDS - since + 1) * 1000))
	check "$mode: and what is left of its lease" between lease_ms 1 20000
	check "$mode: also in the text" bash -c "tally lock show $mode/l node a |
		grep -E ' holder b .* pid $one comm tally lease [0-9]+m?s for [0-9]'"
	let_go asked
	wait "$one"
done

# One that goes by proxy, and reads.
hold reader c nic/l shared
one=$begun
check_equal "a process of a node without atomics, a reader" \
	"c,$one,tally,shared" "$(shown nic/l holder pid comm mode)"
let_go reader
wait "$one"

one=$(token a nic/l)
two=$(token b nic/l)
check "TALLY_TOKEN grows" [ "$two" -gt "$one" ]
check "for a node that goes by proxy too" [ "$(token c nic/l)" -gt "$two" ]

hold holder b nic/l
holder=$begun
check_fails "try: it would have to wait" 125 'holds it' \
	of a lock run nic/l try -- true
check_fails "try, from a node that goes by proxy" 125 'holds it' \
	of c lock run nic/l try -- true
check_fails "a time limit" 124 'timed out; nothing was done' \
	of c lock run nic/l timeout 300 -- true
check_fails "flock(1) without waiting" 1 '' flock -n "$mnt/c/nic/l" true
check_equal "the holder is shown" b \
	"$(tally -j lock show nic/l node a | field holder)"
waiter first a nic/l
one=$begun
waiter second c nic/l
two=$begun
check_equal "waiters are shown in their order" "['a', 'c']" \
	"$(tally -j lock show nic/l node a | json 'j[0]["waiting_nodes"]')"
kill -KILL $one
check "a killed waiter leaves the queue" wait_until 20 is_waiting nic/l 1
check_equal "the one that is inside is shown while others wait" "b,$holder" \
	"$(shown nic/l holder pid)"
let_go holder
check "the next one is granted" begun_says second granted
wait $two
check "and it is free afterwards" wait_until 20 is_free nic/l

for node in a b c; do
	other=b
	[ $node != b ] || other=a
	hold killed $node nic/l
	one=$begun
	waiter next $other nic/l
	two=$begun
	kill -KILL "$one"
	check "$node: killing the holder's process frees" \
		begun_says next granted 30
	wait $two
done
check "and leaves it free" wait_until 20 is_free nic/l

check_fails "lock run: the command's exit status" 7 '' \
	of b lock run nic/l -- sh -c 'exit 7'
check_fails "lock run: a signal" 143 '' of b lock run nic/l -- \
	sh -c 'kill -TERM $$'
check_fails "lock run: not found" 127 'no-such-command' \
	of b lock run nic/l -- no-such-command
check_fails "lock run: no such lock" 121 'no object' \
	of b lock run nic/none -- true
hold held b nic/l
check_fails "flock(1) with a time limit" 1 '' bounded 30 \
	flock -w 1 "$mnt/c/nic/l" true
let_go held
check "flock(1) runs a command" bounded 20 flock "$mnt/b/nic/l" true
check "flock(1): others wait meanwhile" bounded 30 flock "$mnt/b/nic/l" \
	bash -c "! flock -n $mnt/c/nic/l true"

check "class region" of b lock run nic/in -- true
check "its class is shown" bash -c \
	'tally -j lock show nic/in node a | grep -q region'

one=$(token b nic/l)
hold gone b nic/l
two=$begun
check "a held lock is deleted" tally lock del nic/l node a
check "its holder's command is ended" wait_until 30 ended $two
check "the lock is created again" tally lock add nic/l node a
check "its token is higher than any before" eval \
	"wait_until 20 of c lock run nic/l timeout 10000 -- true &&
	 [ \$(token b nic/l) -gt $one ]"
check "and cpu the same" bash -c "
	tally lock del cpu/l node a && tally lock add cpu/l node a"
check "which works" of b lock run cpu/l timeout 10000 -- true
