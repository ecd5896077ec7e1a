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

# join_others: as a node with the cluster key, a peer of all others.
join_others() {
	local peer

	# An own keyring for this script: the node takes its key from it.
	worker key tally:demo "$RIG_TREE/build/demo/key"
	tally node add "node$NODE" lease 5000 epoch 1 key tally:demo
	for peer in $(seq "$NODES"); do
		[ "$peer" = "$NODE" ] ||
			tally peer add "node$peer" addr "192.168.77.$peer"
	done
}
