#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 900
#
# Locks that are taken by all nodes, in all ways, while an administrator takes
# them away, looks at them, changes them, and deletes locks and a node; users are
# killed, too.  Holders exclude whom they must, tokens grow, no user waits for
# ever, and the kernel finds nothing to complain about.
#
# STRESS_SECONDS: for so long (20; with SOAK=1 60).
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma

time=${STRESS_SECONDS:-$(soak && echo 60 || echo 20)}
stress=$LIB_DIR/stress.py
lasting=(nic/l cpu/l nic/e)
passing=(nic/m cpu/m)
locks=("${lasting[@]}" "${passing[@]}")
others=(breaks breaks_too looks settings killed node_goes comes_and_goes)
plan 31

going() {
	[ -e "$lib_work/on" ]
}

# users_of LOCK: the name of their output, with the node's name in front of it.
users_of() {
	echo "uses-${1/\//-}"
}

# breaks: takes the locks away, one after the other.
breaks() {
	local n=0 lock

	while going; do
		for lock in "${locks[@]}"; do
			if bounded 30 tally lock break "$lock" node a; then
				n=$((n + 1))
			elif [ $? -ge 124 ]; then
				echo "break of $lock does not end"
				return 1
			fi
		done
	done
	echo "$n broken"
	[ $n -gt 0 ]
}

# breaks_too: two administrators at one lock.
breaks_too() {
	while going; do
		bounded 30 tally lock break nic/l node a
		[ $? -lt 124 ] || return
	done
}

looks() {
	local n=0

	while going; do
		bounded 20 tally lock show node a > /dev/null || return
		bounded 20 tally -j lock show nic/l node a > /dev/null || return
		n=$((n + 1))
	done
	echo "$n looks"
}

settings() {
	local lock to

	while going; do
		for to in on off; do
			for lock in nic/l cpu/l; do
				tally lock set "$lock" cache $to node a ||
					return
			done
			sleep 0.3
		done
	done
}

# comes_and_goes: locks are deleted and come again.
comes_and_goes() {
	local lock n=0

	while going; do
		for lock in "${passing[@]}"; do
			tally lock del "$lock" node a &&
				tally lock add "$lock" class region node a ||
				return
			n=$((n + 1))
			sleep 0.7
		done
	done
	echo "$n times"
	[ $n -gt 0 ]
}

# is_inside PID NAME: or it has ended.
is_inside() {
	ended "$1" || grep -q held "$lib_work/$2"
}

# killed: while its command runs.  Not before: a user-mode kernel may not survive
# that a process is killed while it forks.
killed() {
	local n=0 last=$((SECONDS + time + 40))

	# On a slow machine none may come in before the others stop.
	while going || { [ $n = 0 ] && [ $SECONDS -lt $last ]; }; do
		begin victim of b lock run nic/l timeout 5000 -- \
			sh -c 'echo held; sleep 1'
		wait_until 10 is_inside "$begun" victim
		if grep -q held "$lib_work/victim"; then
			kill -9 "$begun"
			n=$((n + 1))
		fi
		wait "$begun"
	done
	echo "$n killed"
	[ $n -gt 0 ]
}

# node_goes: c is deleted and comes again.
node_goes() {
	local n=0 peer

	while going; do
		sleep 4
		umount -l "$mnt/c"
		tally node del c && wait_until 30 node_gone c || return
		for peer in a b; do
			tally peer del c node $peer
		done
		add_node c && join a c && join b c || return
		n=$((n + 1))
	done
	echo "$n times"
	[ $n -gt 0 ]
}

# run NAME COMMAND...: it has to end well by itself; "ends NAME" tells.
declare -A running
run() {
	begin "$@"
	running[$1]=$begun
}

# all_at_once: the users of the locks, and what disturbs them.
all_at_once() {
	local node lock what

	: > "$lib_work/on"
	for lock in "${locks[@]}"; do
		for node in a b c; do
			run "$node-$(users_of "$lock")" "$stress" use \
				"$mnt/$node/$lock" "$lib_work/on"
		done
	done
	for what in "${others[@]}"; do
		run "$what" "$what"
	done
}

# ends NAME...: all of these, and well, once the time is up.
ends() {
	local name status=0

	for name; do
		wait_until 60 ended "${running[$name]}" &&
			wait "${running[$name]}" && continue
		tail -n 5 "$lib_work/$name"
		status=1
	done
	return $status
}

# judged LOCK: what its users saw of each other; the highest token.
judged() {
	"$stress" judge "$lib_work"/?-"$(users_of "$1")"
}

# takes NODE LOCK: with a higher token than all before.
takes() {
	local token

	# shellcheck disable=SC2016 # for the command
	token=$(of "$1" lock run "$2" timeout 30000 -- sh -c 'echo $TALLY_TOKEN')
	[ "${token:-0}" -gt "$(judged "$2")" ]
}

all_live() {
	is_live a b && is_live a c && is_live b c
}

# log_is_clean: since the test began.
log_is_clean() {
	dmesg | sed -n "/$mark/,\$p" > "$lib_work/log"
	[ -s "$lib_work/log" ] && "$LIB_DIR/rig/logcheck" "$lib_work/log"
}

mark="lock stress $$ begins"
echo "$mark" > /dev/kmsg
check "nodes" add_nodes a b c
# shellcheck disable=SC2016 # for another shell
check "locks" bash -c '
	tally arena add nic mode nic access rw node a &&
	tally arena add cpu mode cpu access rw node a &&
	for lock in nic/l cpu/l nic/m cpu/m; do
		tally lock add $lock class region node a || exit
	done &&
	tally lock add nic/e class external node a'
check "all at once" all_at_once
sleep "$time"
rm "$lib_work/on"
for what in "${others[@]}"; do
	check "$what" ends "$what"
	tail -n 1 "$lib_work/$what" | diag
done
for lock in "${locks[@]}"; do
	name=$(users_of "$lock")
	check "$lock: its users end" ends a-"$name" b-"$name" c-"$name"
	tail -qn 1 "$lib_work"/?-"$name" | diag
	check "$lock: they excluded each other, and tokens grew" judged "$lock"
done
check "all nodes are linked" wait_until 60 all_live
for lock in "${lasting[@]}"; do
	for node in a b c; do
		check "$lock: $node takes it, with a higher token" \
			takes $node "$lock"
	done
done
check "the kernel log is clean" log_is_clean
