# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of what one machine can show: two nodes in one kernel, "home" with
# the arena t and "far", each with a mount, in $home and $far.  What one writes
# the other reads by way of the device.

# shellcheck disable=SC2034 # the tests
files=$LIB_DIR/files.py
# shellcheck disable=SC2154 # lib.sh
home=$lib_work/home
far=$lib_work/far
size=$((3 * 1024 * 1024 + 12345))
chmod 755 "$lib_work"

# A program that was just ended may still have files open.
unmounted() {
	! mountpoint -q "$1" || umount "$1" 2> /dev/null
}

end_nodes() {
	wait_until 20 unmounted "$home"
	wait_until 20 unmounted "$far"
	tally node del home
	tally node del far
	wait_until 20 node_gone home
	wait_until 20 node_gone far
}

peer_live() {
	tally -j peer show node "$1" | grep -q '"live"'
}

start_nodes() {
	tally node add home port 7475 lease 20000 mem 16M clean nomount &&
		tally node add far port 7476 lease 20000 clean nomount &&
		tally peer add far addr "$(address "$NODE")" port 7476 node home &&
		tally peer add home addr "$(address "$NODE")" port 7475 node far &&
		wait_until 30 peer_live home && wait_until 30 peer_live far &&
		mkdir "$home" "$far" &&
		mount -t tally -o node=home none "$home" &&
		mount -t tally -o node=far none "$far"
}

make_objects() {
	tally arena add t perm 755 access rw node home &&
		tally counter add t/c perm 644 node home &&
		tally lock add t/l perm 666 node home &&
		tally region add t/r size "$size" node home &&
		tally region add t/s size "$size" node home
}

defer end_nodes
