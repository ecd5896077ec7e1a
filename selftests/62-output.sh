#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# Output that fails ends a command, and is told; a monitor ends with what it listens
# to. Batches that cannot be read.
# shellcheck disable=SC2016,SC2119 # for eval; no parameters
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 22

# ends PID: with one more event, this process does.
ends() {
	tally arena set t perm 755 && ended "$1"
}

check "a node with an arena" eval 'add_node a && tally arena add t'
tally monitor > /dev/full 2> "$lib_work/said" &
monitor=$!
check "a monitor whose disk is full ends" wait_until 20 ends $monitor
wait $monitor
check_equal "with status 1" 1 $?
check "and says why" grep -q 'No space' "$lib_work/said"

mkfifo "$lib_work/pipe"
(trap '' PIPE; exec tally monitor) > "$lib_work/pipe" 2> "$lib_work/said" &
monitor=$!
exec 5< "$lib_work/pipe"
check "one that is read" wait_until 20 eval \
	'tally arena set t perm 755 && read -rt 1 -u 5 _'
exec 5<&-
check "ends when its reader leaves, without an event" wait_until 20 ended $monitor
check "and says why" grep -q 'Broken pipe' "$lib_work/said"

for words in 'node show' '-j peer show' 'arena show' '-j arena set t perm 700' \
	'-j counter show' '-j lock show' 'stats' 'version' 'help' '--help'; do
	# shellcheck disable=SC2086 # words
	check_fails "a full disk: $words" 1 'No space' \
		bash -c "tally $words > /dev/full"
done

check_fails "a batch that cannot be read to its end" 1 'error|fault|address' \
	tally -b /proc/self/mem
check_fails "or has no standard input" 1 'descriptor' bash -c 'tally -b - <&-'

begin monitor tally monitor
check "a monitor listens" wait_until 20 eval \
	'tally arena set t perm 755 && grep -q arena_set "$lib_work/monitor"'
umount "$mnt/a"
tally node del a
if [ -n "$(module_path)" ]; then
	wait_until 20 rmmod tally
	check "and ends with the module" wait_until 20 ended "$begun"
	check "and says why" grep -q 'was unloaded' "$lib_work/monitor"
	load_tally
else
	skip "and ends with the module" "it is not ours to unload"
	skip "and says why" "it is not ours to unload"
fi
