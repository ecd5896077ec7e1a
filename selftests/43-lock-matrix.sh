#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 1500
#
# What each call says beside each other one, compared with an oracle: on the same
# file, in other processes, on the same node and on others, by programs and by kernel
# code, with locks that are kept and that are not; then random programs of four users. a
# is the home.
#
# MATRIX_CASES, MATRIX_PROGRAMS: so many at random for each lock (60 and 10; with SOAK=1
# all, 0, and 250); MATRIX_SEED (17083, which found a fault; with SOAK=1 any).
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
calls_ko=$(dirname "${MODULE:-.}")/tally_lock_calls.ko
[ -e "$calls_ko" ] || skip_all "no module tally_lock_calls"

unload() {
	[ ! -e /sys/module/tally_lock_calls ] || rmmod tally_lock_calls
}

programs=${MATRIX_PROGRAMS:-$(soak && echo 250 || echo 10)}
cases=${MATRIX_CASES:-$(soak && echo 0 || echo 60)}
seed=${MATRIX_SEED:-$(soak && echo $RANDOM || echo 17083)}
plan 12

check "nodes" add_nodes a b c
check "kernel code that calls" insmod "$calls_ko"
defer unload
for mode in nic cpu; do
	check "an arena in mode $mode" tally arena add $mode mode $mode access rw node a
	for cache in off on; do
		tally lock add $mode/$cache cache $cache node a
		files=("$mnt"/{a,b,c}"/$mode/$cache")
		check "calls beside other ones, seed $seed: $mode, cache $cache" \
			bounded 800 python3 "$LIB_DIR/matrix.py" table "$seed" "$cases" \
			"${files[@]}"
		check "$programs random programs, seed $seed: $mode, cache $cache" \
			bounded 800 python3 "$LIB_DIR/matrix.py" random "$seed" "$programs" \
			"${files[@]}"
	done
done
