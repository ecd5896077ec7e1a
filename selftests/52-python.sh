#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# The program of the README runs, at the home and elsewhere.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
readme=$LIB_DIR/../README.md
[ -f "$readme" ] || skip_all "no README"
plan 6

# program NODE: what is indented, from its first line on.
program() {
	sed -n '/^    import /,/^[^ ]/s/^    //p' "$readme" |
		sed "s|/dev/tally|$mnt/$1|" > "$lib_work/$1.py"
}

# both ROUND: a number for each, and the same sum.
both() {
	begin far python3 "$lib_work/b.py" 1 2
	bounded 60 python3 "$lib_work/a.py" 0 2 > "$lib_work/home" &&
		wait "$begun" && cat "$lib_work/home" "$lib_work/far" | sort |
		paste -sd ' '
}

check "nodes with what it needs" eval 'add_nodes a b &&
	tally arena add train access rw node a &&
	tally counter add train/steps node a && tally counter add train/here node a &&
	tally lock add train/lock node a && tally region add train/grad size 1M node a'
program a
program b
check "there is a program" [ "$(wc -l < "$lib_work/a.py")" -gt 20 ]
check_equal "both have read what both wrote" \
	"step 0 sum 196608 step 1 sum 196608" "$(both)"
check_equal "in a second round, too" \
	"step 2 sum 196608 step 3 sum 196608" "$(both)"
check_equal "the lock is free" free \
	"$(tally -j lock show train/lock node a | field state)"
check_equal "all have come" 4 "$(cat "$mnt/b/train/here")"
