#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 120
#
# Locks by callbacks, for kernel code: answers, recalls, losses. The module with
# the checks (kmod/tests/lock_api.c) is built with TALLY_FAULTS=1.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
# Beside the module under test; by hand, say where.
test_ko=${TALLY_API_USER:-$(dirname "${MODULE:-.}")/tally_api_user.ko}
[ -e "$test_ko" ] || skip_all "no module tally_api_user"
lost=/sys/module/tally_api_user/parameters/lost
plan 7

lost_once() {
	[ "$(cat $lost)" = 1 ]
}

unload() {
	[ ! -e $lost ] || rmmod tally_api_user
}
defer unload

check "two nodes with a lock" eval 'add_nodes a b && tally arena add t access rw node a &&
	tally lock add t/l class region node a'
check "requests are answered as they should be" insmod "$test_ko" home=a node=b lock=t/l
check "a kernel user is shown" eval 'tally node show users b | grep -q kernel.*t/l'
check "the session with the home ends" tally peer del a node b
check "its holder is told" wait_until 30 lost_once
check "once, and all is given back" eval 'lost_once && rmmod tally_api_user'
check "others get the lock" tally -m "$mnt/a" lock run t/l timeout 20000 -- true
