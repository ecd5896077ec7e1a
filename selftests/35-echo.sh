#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 60
#
# A type of objects that only kmod/tests/echo/ knows: by netlink, as a file, by a
# message of its own, from its home and from another node.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/two-nodes.sh"
need_tally
need_rdma
[ -e /sys/module/tally/parameters/faults ] ||
	skip_all "the module was built without TALLY_FAULTS=1"
plan 16

echo_nl() {
	python3 "$LIB_DIR/echo.py" "$@"
}

defer end_nodes

check "two nodes" start_nodes
check "an arena" tally arena add t perm 755 access rw node home
check_equal "an echo by netlink, whose answer tells the value" 7 \
	"$(echo_nl add t e 7)"
check_fails "what the type has not is refused" 1 'refused: 22' \
	echo_nl add t x 7 size
check_fails "a second of that name, too" 1 'refused: 17' echo_nl add t e 0
check_equal "the far node reads it" "7 0" "$(xargs < "$far/t/e")"
exec 5<> "$far/t/e"
check "the far node writes" bash -c "echo moin > $far/t/e"
check_equal "the home reads that" "8 0 moin" "$(cat "$home/t/e")"
check "the home writes" bash -c "echo hello > $home/t/e"
check_equal "the far node reads that, and what it said itself" "9 1 hello" \
	"$(cat "$far/t/e")"
check_equal "netlink tells the count" 9 "$(echo_nl show t e)"
check_fails "too long a text is refused" 1 'Invalid argument' \
	bash -c "printf '%0100d' 0 > $far/t/e"
check "it is deleted while it is open" rm "$home/t/e"
check_fails "the open file says so" 1 'Identifier removed' cat <&5
exec 5>&-
check "one of the same name" echo_nl add t e 1
check_equal "is another" "1 0" "$(xargs < "$far/t/e")"
