#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# An arena whose device comes late, or never.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
[ -n "${RIG_LANE-}" ] || skip_all "only in the rig"
plan 10

# arena NAME FIELD
arena() {
	tally -j arena show "$1" node a | field "$2"
}

is_nic() {
	[ "$(arena late mode)" = nic ]
}

check "a node" add_node a
check "its device goes" rig_rxe_down
check "arenas all the same" eval 'tally arena add late node a &&
	tally counter add late/c node a &&
	tally arena add other device nothere node a &&
	tally arena add plain mode cpu node a && tally counter add plain/c node a'
check_fails "an arena is of no use yet" 4 'timed out' \
	bounded 30 tally -m "$mnt/a" counter read late/c
check_equal "which is said" "starting an RDMA device" \
	"$(arena late state) $(arena late waits_for)"
check_equal "one in mode cpu is" 0 "$(tally -m "$mnt/a" counter read plain/c)"
check "the device comes" rig_rxe_up
check "it decides the mode" wait_until 60 is_nic
check_equal "the arena is used" 0 "$(tally -m "$mnt/a" counter inc late/c)"
check_equal "one of another device still waits" \
	"starting that device nothere" \
	"$(arena other state) $(arena other waits_for) $(arena other device)"
