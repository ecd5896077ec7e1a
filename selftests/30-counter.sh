#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# Counters from their home and from peers: by the device (nic), by messages
# (cpu), and by proxy for c, which posts no atomics.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 50

threads=8
times=$(scaled 10 100)
max=18446744073709551615

of() {
	tally -m "$mnt/$1" "${@:2}"
}

# old COMMAND...: the value before, by "tally counter".
old() {
	of "$1" counter "${@:2}"
}

# operations NODE ARENA: each operation, and the value before it.
operations() {
	local node=$1 c=$2/c

	check_equal "$2 from $1: set" "$3" "$(old "$node" set "$c" to 5)"
	check_equal "$2 from $1: add" 5 "$(old "$node" inc "$c" by 10)"
	check_equal "$2 from $1: add of a negative number" 15 \
		"$(old "$node" inc "$c" by -16)"
	check_equal "$2 from $1: below 0 it wraps around" $max \
		"$(old "$node" read "$c")"
	check_equal "$2 from $1: and above the highest" $max \
		"$(old "$node" inc "$c" by 3)"
	check "$2 from $1: cas that fits" old "$node" cas "$c" from 2 to 9
	check_fails "$2 from $1: cas that does not" 1 'it is 9, not 2' \
		old "$node" cas "$c" from 2 to 7
	check_equal "$2 from $1: the end" 9 "$(old "$node" read "$c")"
}

# all_at_once ARENA: 8 threads on each of 3 nodes.
all_at_once() {
	local node jobs=()

	for node in a b c; do
		begin "$1-$node" "$load" counter "$mnt/$node/$1/n" \
			$threads "$times"
		jobs+=("$begun")
	done
	for node in "${jobs[@]}"; do
		wait "$node" || cat "$lib_work/$1"-?
	done
}

expected="$((3 * threads * times)) $((3 * threads * times - 1))"

check "nodes, c without atomics" eval \
	"add_node a && add_node b && add_node c atomics off"
check "they are joined" eval 'join a b && join a c && join b c'
for mode in nic cpu; do
	check "an arena in mode $mode" bash -c "
		tally arena add $mode mode $mode access rw node a &&
		tally counter add $mode/c node a &&
		tally counter add $mode/n node a"
done

operations a nic 0
operations b nic 9
operations c nic 9
operations b cpu 0

posted=$(stat_of b post_faa)
proxied=$(stat_of c post_faa)
all_at_once nic
check_equal "nic: nothing is lost" $((3 * threads * times)) \
	"$(old a read nic/n)"
check_equal "nic: old values are distinct" "$expected" \
	"$(sum nic-a nic-b nic-c)"
check "b posts atomics" grew b post_faa "$posted"
check_equal "c posts none" "$proxied" "$(stat_of c post_faa)"
all_at_once cpu
check_equal "cpu: nothing is lost" $((3 * threads * times)) \
	"$(old a read cpu/n)"
check_equal "cpu: old values are distinct" "$expected" \
	"$(sum cpu-a cpu-b cpu-c)"

# A task that does not get to run, in the middle of an operation of its own, beside
# another one whose operations go the same way.
last=$(($(nproc) - 1))
begin idle chrt -i 0 taskset -c $last "$load" for 9 "$mnt/b/nic/n"
idle=$begun
check "an idle task adds" begun_says idle ready
begin busy taskset -c $last sh -c 'while :; do :; done'
busy=$begun
begin other "$load" for 5 "$mnt/b/nic/n"
wait "$begun"
kill "$busy"
longest=$(sed -n 's/.* longest //p' "$lib_work/other")
check "beside a busy one it holds up no other task" [ "${longest:-9999}" -lt 1000 ]
wait "$idle"
check "and goes on" begun_says idle '^done [1-9]'

exec 5<> "$mnt/b/nic/n" 6<> "$mnt/b/cpu/n"
check "counters in use are deleted" bash -c '
	tally counter del nic/n node a && tally counter del cpu/n node a'
check_fails "nic: the open file says so" 1 'Identifier removed' cat <&5
check_fails "cpu: the open file says so" 1 'Identifier removed' cat <&6
check "new ones get the name" bash -c '
	tally counter add nic/n initial 77 node a &&
	tally counter add cpu/n initial 78 node a'
check_equal "and are others" "77 78" \
	"$(old b read nic/n) $(old b read cpu/n)"
exec 5>&- 6>&-
