#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# Rights of nodes in an arena (none, ro, rw), and of users on its files.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 37

# of NODE COMMAND...: as seen from there.
of() {
	tally -m "$mnt/$1" "${@:2}"
}

check "nodes" add_nodes a b c
check "an arena that peers may not use, but b may read" bash -c '
	tally arena add t access none perm 755 node a &&
	tally arena set t peer b access ro node a &&
	tally counter add t/c initial 7 perm 666 node a &&
	tally lock add t/l perm 666 node a &&
	tally region add t/r size 8192 perm 666 node a'
check_fails "the mode of an object is the home's alone" 1 'remote|home' \
	chmod 600 "$mnt/b/t/c"

check_equal "ro: a counter is read" 7 "$(of b counter read t/c)"
check_fails "ro: it is not changed" 1 'rights' of b counter inc t/c
check_fails "ro: not set" 1 'rights' of b counter set t/c to 1
check_fails "ro: a lock is not taken" 121 'rights' \
	of b lock run t/l try -- true
printf 'from a' | dd of="$mnt/a/t/r" status=none
exec 9< "$mnt/b/t/r"
check_equal "ro: a region is read" "from a" "$(head -c 6 <&9)"
check_fails "ro: it is not written" 1 'ermission denied' \
	dd if=/dev/zero of="$mnt/b/t/r" bs=100 count=1
check_equal "nothing was changed" "7 from a" \
	"$(of a counter read t/c) $(head -c 6 "$mnt/a/t/r")"

check "more rights for one that keeps keys for less" \
	tally arena set t peer b access rw node a
check "then the region is written" bash -c "printf 'from b' > $mnt/b/t/r"
check_equal "the home sees what b wrote" "from b" "$(head -c 6 "$mnt/a/t/r")"
exec 9<&-

check_fails "none: the arena cannot be used" 1 't/c: .*rights' \
	of c counter read t/c
check_equal "nor listed" "" "$(ls "$mnt/c")"

check "more rights" tally arena set t peer c access rw node a
check "rw: a counter is changed" wait_until 20 of c counter inc t/c
check "rw: so is a region" bash -c "printf 'from c' > $mnt/c/t/r"
check_equal "the home sees it" "8 from c" \
	"$(of a counter read t/c) $(head -c 6 "$mnt/a/t/r")"
check "rw: a lock is taken" of c lock run t/l -- true

check "the rights of a peer are shown" bash -c \
	"tally -j arena show t node a | python3 -m json.tool | grep -q '\"c\"'"
check_fails "no right is given without saying which" 2 'access' \
	tally arena set t peer b node a
check_fails "nor without saying anything" 2 'nothing' tally arena set t node a
# rights: of peers that have some of their own.
rights() {
	tally -j arena show t node a | python3 -c '
import json, sys
print(*(r["peer"] + " " + r["access"] for r in json.load(sys.stdin)[0]["rights"]))'
}
check_equal "two have rights of their own" "b rw c rw" "$(rights)"
check "that of one is taken back" tally arena set t peer b access default node a
check_equal "which leaves one" "c rw" "$(rights)"
check_fails "it has that of all others" 1 'rights' of b counter read t/c
check "a peer is deleted" eval 'add_node d && join a d &&
	tally arena set t peer d access rw node a && tally peer del d node a'
check_equal "and its right with it" "c rw" "$(rights)"

check "an ordinary user counts where the mode allows it" \
	as_nobody "$(command -v tally)" -m "$mnt/c" counter inc t/c
check "mode 0600 for the counter" chmod 600 "$mnt/a/t/c"
check_fails "then an ordinary user does not, at home" 1 'forbid' \
	as_nobody "$(command -v tally)" -m "$mnt/a" counter inc t/c
check_fails "nor elsewhere" 1 'forbid' \
	as_nobody "$(command -v tally)" -m "$mnt/c" counter inc t/c
check "the owner does" bash -c "
	chown 65534 $mnt/a/t/c &&
	setpriv --reuid 65534 --clear-groups $(command -v tally) -m $mnt/c \
		counter inc t/c"
check "mode 0700 of the arena keeps others out" bash -c "
	chmod 700 $mnt/a/t &&
	! setpriv --reuid 65534 --clear-groups $(command -v tally) -m $mnt/c \
		counter read t/c"
check_fails "an ordinary user configures nothing" 1 'CAP_NET_ADMIN' \
	as_nobody "$(command -v tally)" arena add x node a
check_equal "all in all" 10 "$(of a counter read t/c)"
