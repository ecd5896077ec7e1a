#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 300
#
# Everything comes and goes at once, under users of it all: objects, arenas, peers, a
# node, the device; and all is looked at meanwhile.  Nobody waits for ever, in the
# end all works, and the kernel finds nothing to complain about.
#
# STRESS_SECONDS: for so long (20; with SOAK=1 60).
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma

time=${STRESS_SECONDS:-$(soak && echo 60 || echo 20)}
stress=$LIB_DIR/stress.py
users=(roams_a roams_b roams_c counts)
others=(looks listens objects_go arena_goes peer_goes node_goes device_goes mount_goes)
plan 18

going() {
	[ -e "$lib_work/on" ]
}

roams_a() {
	"$stress" roam "$mnt/a" "$lib_work/on"
}

roams_b() {
	"$stress" roam "$mnt/b" "$lib_work/on"
}

roams_c() {
	"$stress" roam "$mnt/c" "$lib_work/on"
}

# counts: in threads that share an open file.
counts() {
	"$load" for "$time" "$mnt/b/keep/c"
	# What was not done or is unknown is no failure here.
	[ $? -le 1 ]
}

# tries COMMAND...: its failure is the others' doing; that it does not end is not.
tries() {
	bounded 40 "$@" > /dev/null 2>&1
	[ $? -lt 124 ] || { echo "does not end: $*"; return 1; }
}

# looks: at all there is to see.
looks() {
	local what n=0

	while going; do
		for what in 'node show all' 'node show users a' 'peer show node a' \
			'peer show node b' 'arena show node a' 'lock show node a' \
			'counter show node a' 'region show node a' \
			'stats all node b' 'doctor'; do
			# shellcheck disable=SC2086 # words
			tries tally -j $what || return
		done
		tries ls -lR "$mnt" || return
		n=$((n + 1))
	done
	echo "$n looks"
	[ $n -gt 0 ]
}

# listens: one that follows the events, ended in the middle of them.
listens() {
	while going; do
		timeout 2 tally monitor > /dev/null
		[ $? -ge 124 ] || return
	done
}

# make_arena NAME
make_arena() {
	tally arena add "$1" access rw node a && tally counter add "$1/c" node a &&
		tally lock add "$1/l" class region node a &&
		tally region add "$1/r" size 20000 node a
}

objects_go() {
	local n=0

	while going; do
		tally counter add keep/c2 node a && tally lock add keep/l2 node a &&
			tally region add keep/r2 size 9000 node a || return
		sleep 0.2
		tally counter del keep/c2 node a && tally lock del keep/l2 node a &&
			tally region del keep/r2 node a || return
		n=$((n + 1))
	done
	echo "$n times"
	[ $n -gt 0 ]
}

arena_goes() {
	local n=0

	while going; do
		make_arena go || return
		sleep 0.7
		tally arena del go node a || return
		n=$((n + 1))
	done
	echo "$n times"
	[ $n -gt 0 ]
}

peer_goes() {
	while going; do
		sleep 1.5
		tally peer del b node a && add_peer a b || return
	done
}

node_goes() {
	local peer n=0

	while going; do
		sleep 2
		umount -l "$mnt/c"
		tally node del c && wait_until 40 node_gone c || return
		for peer in a b; do
			tally peer del c node $peer
		done
		add_node c || return
		for peer in a b; do
			add_peer $peer c && add_peer c $peer || return
		done
		n=$((n + 1))
	done
	echo "$n times"
	[ $n -gt 0 ]
}

device_goes() {
	while going; do
		sleep 3
		bounded 40 rdma link del rxe0 && rig_rxe_up || return
	done
}

mount_goes() {
	mkdir -p "$mnt/more"
	while going; do
		mount -t tally -o node=b none "$mnt/more" || return
		ls "$mnt/more" > /dev/null
		umount -l "$mnt/more" || return
	done
}

declare -A running
all_at_once() {
	local what

	: > "$lib_work/on"
	for what in "${users[@]}" "${others[@]}"; do
		begin "$what" "$what"
		running[$what]=$begun
	done
}

# ends NAME: well, once the time is up.
ends() {
	wait_until 90 ended "${running[$1]}" && wait "${running[$1]}" && return
	tail -n 5 "$lib_work/$1"
	return 1
}

all_live() {
	is_live a b && is_live a c && is_live b c
}

works() {
	tally -m "$mnt/$1" counter inc keep/c timeout 5000 &&
		tally -m "$mnt/$1" lock run keep/l timeout 5000 -- true
}

all_work() {
	works a && works b && works c
}

# log_is_clean: since the test began.
log_is_clean() {
	dmesg | sed -n "/$mark/,\$p" > "$lib_work/log"
	[ -s "$lib_work/log" ] && "$LIB_DIR/rig/logcheck" "$lib_work/log"
}

mark="comings $$ begin"
echo "$mark" > /dev/kmsg
check "nodes" add_nodes a b c
check "an arena that stays" make_arena keep
check "all at once" all_at_once
sleep "$time"
rm "$lib_work/on"
for what in "${users[@]}" "${others[@]}"; do
	check "$what" ends "$what"
	tail -n 1 "$lib_work/$what" | diag
done
check "all nodes are linked" wait_until 60 all_live
check "all works" wait_until 60 all_work
check "the kernel log is clean" log_is_clean
