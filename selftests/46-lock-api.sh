#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 120
#
# Locks for kernel code: searches for them; answers, recalls and losses by callbacks. The
# module with the checks (kmod/tests/lock_api.c) is built with TALLY_FAULTS=1.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
# Beside the module under test; by hand, say where.
test_ko=${TALLY_API_USER:-$(dirname "${MODULE:-.}")/tally_api_user.ko}
[ -e "$test_ko" ] || skip_all "no module tally_api_user"
. "$LIB_DIR/delays.sh"
hostile=$LIB_DIR/hostile
[ -x "$hostile" ] || skip_all "no headers of librdmacm and libcrypto"
lost=/sys/module/tally_api_user/parameters/lost
plan 12

lost_once() {
	[ "$(cat $lost)" = 1 ]
}

unload() {
	[ ! -e $lost ] || rmmod tally_api_user
}
defer unload

check "two nodes with a lock" eval 'add_nodes a b && tally arena add t access rw node a &&
	tally lock add t/l class region node a &&
	tally lock set t/l budget 1 within 20000 node a'
stop_at lock_bind 3000
begin cancels insmod "$test_ko" home=a node=b lock=t/l crosses=1
cancels=$begun
check "a request is on its way into the lock" stopped_at lock_bind
check "it is cancelled before it is there, and not granted" wait "$cancels"
go_on lock_bind
check "the user of it has gone" unload
check "requests are answered as they should be" insmod "$test_ko" home=a node=b lock=t/l
check "a kernel user is shown" eval 'tally node show users b | grep -q kernel.*t/l'
check "the session with the home ends" tally peer del a node b
check "its holder is told" wait_until 30 lost_once
check "once, and all is given back" eval 'lost_once && rmmod tally_api_user'
check "others get the lock" tally -m "$mnt/a" lock run t/l timeout 20000 -- true
# shellcheck disable=SC2016 # for eval
check "a peer that answers nothing" eval '
	tally peer add evil addr "$here" port 7999 node b &&
	begin mute "$hostile" "$here" "$(port b)" evil b mute &&
	wait_until 30 is_live b evil'
mute=$begun
check_fails "does not keep a search for ever" 1 'timed out' \
	bounded 60 insmod "$test_ko" home=b node=b lock=none/l patient=1
kill "$mute"
