# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# How the demo's machines join; sourced in them, not run.

# shellcheck source=selftests/rig/guest.sh
. "$RIG_TREE/selftests/rig/guest.sh"
PATH=$RIG_TREE/tools:$RIG_TREE/build/demo:$PATH

all_live() {
	[ "$(tally peer show | grep -c ' live ')" = $((NODES - 1)) ]
}

arena_ready() {
	tally arena show train | grep -q ' ready'
}

# join_others: as a node with the cluster key, a peer of all others.  At its first
# start nobody can hold a lock of it: no lease has to pass before it grants any.
join_others() {
	local peer clean=

	[ "$RIG_BOOT" != 1 ] || clean=clean

	# An own keyring for this script: the node takes its key from it.
	worker key tally:demo "$RIG_TREE/build/demo/key"
	tally node add "n$NODE" lease 5000 epoch "$RIG_BOOT" key tally:demo $clean
	for peer in $(seq "$NODES"); do
		[ "$peer" = "$NODE" ] ||
			tally peer add "n$peer" addr "192.168.77.$peer"
	done
}
