#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# Between two steps of what files do. a is the home. Needs a module that was built
# with TALLY_FAULTS=1.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
plan 7

check "nodes" add_nodes a b
check "a region" eval 'tally arena add t node a && tally region add t/r size 64K node a'

# One that flushes what others wrote is held before it has asked.
exec 9<> "$mnt/b/t/r"
echo something >&9
stop_at region_sync
begin one sync "$mnt/b/t/r"
one=$begun
check "what was written is being flushed" stopped_at region_sync
check_fails "nobody else is told that it was" 124 '' \
	bounded 2 sync "$mnt/b/t/r"
go_on region_sync
check "the first one ends" wait_until 20 ended "$one"
check "the next one, too" bounded 20 sync "$mnt/b/t/r"
exec 9<&-
check_equal "it was written" something "$(head -n 1 "$mnt/a/t/r" | head -c 9)"
