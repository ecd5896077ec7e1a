#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# What becomes of open files, mappings, locks and transfers when processes are
# killed, the device goes or a node is stopped.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/two-nodes.sh"
need_tally
need_rdma
plan 22

# load NAME FILE [HOW]: a process that writes and reads, in the background.
load() {
	"$files" load "${@:2}" > "$lib_work/$1" 2>&1 &
	wait_until 60 grep -q ready "$lib_work/$1"
}

kill_loads() {
	local i

	for i in 1 2 3 4 5 6 7 8; do
		load "load-$i" "$far/t/r" || return
		kill -KILL $!
		wait $!
		[ $? = 137 ] || return
	done
}

# hold NAME CASE FILE [ARGUMENT]: a process that keeps something open.
hold() {
	"$files" "$2" "$3" "$lib_work/$1.ready" "${@:4}" > "$lib_work/$1" 2>&1 &
	wait_until 60 test -e "$lib_work/$1.ready"
}

# said NAME PATTERN: let it go, and see what it says.
said() {
	rm -f "$lib_work/$1.ready"
	wait_until 60 test -s "$lib_work/$1"
	cat "$lib_work/$1"
	grep -qE "$2" "$lib_work/$1"
}

copies() {
	local from

	for from in "$home" "$far"; do
		cp "$from/t/r" "$lib_work/copy" &&
			cmp "$home/t/r" "$lib_work/copy" || return
	done
}

no_files() {
	! tally node show users "$1" | grep -q file
}

check "two nodes and two mounts" start_nodes
check "objects" make_objects

check "processes are killed in the middle of transfers" kill_loads
check "they leave no open file" wait_until 30 no_files far
check "the region works as before" "$files" region "$far/t/r" "$home/t/r"
check "cp takes a region for the file it is" copies
check "a region that was written is deleted" rm "$home/t/r"
check "its memory is free again" \
	wait_until 20 tally region add t/r size 12M node home
check "and cannot be had twice" \
	bash -c "! tally region add t/more size 12M node home"

if [ -n "${RIG_LANE-}" ]; then
	load gone "$far/t/s" until-error
	loader=$!
	check "the device is removed under load" rig_rxe_down
	check "the transfer ends" wait_until 60 test ! -d /proc/$loader
	check "and says why" grep -qE 'EREMOTEIO|ENOTCONN|ENETDOWN' \
		"$lib_work/gone"
	check "the device is added again" rig_rxe_up
	check "the nodes find each other again" wait_until 60 peer_live far
	check "the open region goes on" wait_until 90 "$files" region "$far/t/s" \
		"$home/t/s"
else
	for i in 1 2 3 4 5 6; do
		skip "device removal $i" "only in the rig"
	done
fi

hold lock hold "$far/t/l" lock
hold file hold "$home/t/c"
hold map hold_map "$home/t/s"
check "the users of a node are shown" bash -c \
	"tally node show users home | grep -q mount &&
	 tally node show users home | grep -q t/c"
check_fails "the module is in use" 1 'in use' rmmod tally
check "the node is stopped in spite of that" bounded 15 tally node del home
wait_until 20 node_gone home
check "a holder elsewhere hears that the lock is lost" \
	wait_until 60 grep -q lost "$lib_work/lock"
check "an open file is dead" said file 'ESHUTDOWN|EIDRM'
check "a mapping is gone" said map SIGBUS
check_fails "names are gone" 2 'transport endpoint shutdown' ls "$home/t"
