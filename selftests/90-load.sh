#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 400
#
# All at once for a while: counters, locks, regions, objects that come and go,
# looks at everything. In the end all sums have to be right.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 9

times=$(scaled 30 300)

# churn NODE FILE: until the file is gone; objects of arena t at that node.
churn() {
	local i=0

	while [ -e "$2" ]; do
		i=$((i + 1))
		tally counter add "t/x$i" initial $i node a || return
		[ "$(tally -m "$mnt/$1" counter inc "t/x$i")" = $i ] || return
		tally region add "t/y$i" size 20000 node a || return
		echo $i > "$mnt/$1/t/y$i" || return
		[ "$(head -c ${#i} "$mnt/a/t/y$i")" = $i ] || return
		tally counter del "t/x$i" node a || return
		tally region del "t/y$i" node a || return
	done
	echo "$i objects came and went"
	[ $i -gt 1 ]
}

# look FILE: at everything, until the file is gone.
look() {
	local what

	while [ -e "$1" ]; do
		for what in node peer arena counter lock region; do
			tally -j $what show > /dev/null || return
		done
		tally -j node show users > /dev/null || return
		# What it finds may be gone when it looks closer.
		ls -lR "$mnt" > /dev/null || :
	done
}

begin_all() {
	local node

	: > "$lib_work/on"
	jobs=()
	for node in a b c; do
		begin "count-$node" "$load" counter "$mnt/$node/t/c" 4 "$times"
		jobs+=("$begun")
		begin "lock-$node" "$load" lock "$mnt/$node/t/l" \
			"$mnt/$node/t/r" 2 $((times / 3))
		jobs+=("$begun")
		begin "copy-$node" "$files" region "$mnt/$node/t/of-$node" \
			"$mnt/a/t/of-$node"
		jobs+=("$begun")
	done
	begin churn churn b "$lib_work/on"
	others=("$begun")
	begin look look "$lib_work/on"
	others+=("$begun")
}

end_jobs() {
	local job status=0

	for job; do
		wait "$job" || status=1
	done
	[ $status = 0 ] || cat "$lib_work"/{lock,copy}-? "$lib_work"/{churn,look}
	return $status
}

check "nodes, c without atomics" eval \
	"add_node a && add_node b && add_node c atomics off"
check "they are joined" eval 'join a b && join a c && join b c'
# shellcheck disable=SC2016 # for another shell
check "objects" bash -c '
	tally arena add t access rw node a && tally counter add t/c node a &&
	tally lock add t/l node a && tally region add t/r size 4096 node a &&
	for node in a b c; do
		tally region add t/of-$node size 1M node a || exit
	done'
wait_until 20 test -e "$mnt/c/t/c"
begin_all
check "counters, locks and copies" end_jobs "${jobs[@]}"
rm "$lib_work/on"
check "objects that come and go, and looks" end_jobs "${others[@]}"
check_equal "old values are distinct" "$((12 * times)) $((12 * times - 1))" \
	"$(sum count-a count-b count-c)"
check_equal "nothing is lost" $((12 * times)) \
	"$(tally -m "$mnt/b" counter read t/c)"
check_equal "no update under the lock is lost" $((6 * (times / 3))) \
	"$(od -An -td8 -j8 -N8 "$mnt/a/t/r" | tr -d ' ')"
check_equal "no outcome was unknown" "0 0 0" "$(stat_of a unknown_outcome
	) $(stat_of b unknown_outcome) $(stat_of c unknown_outcome)"
