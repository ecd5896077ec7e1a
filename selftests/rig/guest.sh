# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Helpers for scripts that run in machines of the rig; source it from
# "$RIG_TREE/selftests/rig/guest.sh".  Set there: NODE (1 to NODES), NODES,
# RIG_TREE (the source tree), RIG_OUT (a directory that all machines of a run
# and the host share), RIG_NETDEV, RIG_LANE (machine or uml).
#
# Node N has the address 192.168.77.N (and fd77::N) and the RDMA device rxe0.

# rig_nap: a short pause between two looks.  Starting "sleep" for it would keep
# an emulated processor busy.
exec {rig_never}<> <(:)
rig_nap() {
	read -rt 0.1 -u "$rig_never" _ || :
}

# rig_failed: has another machine failed?  Then waiting for it is of no use.
rig_failed() {
	compgen -G '/out/failed-*' > /dev/null
}

# rig_until SECONDS COMMAND...: until the command succeeds.
rig_until() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		if [ $SECONDS -ge $end ] || rig_failed; then
			echo "waited in vain for: $*" >&2
			return 1
		fi
		rig_nap
	done
}

# wait_for FILE [SECONDS]: until the file exists, at most SECONDS (60).
wait_for() {
	rig_until "${2:-60}" [ -e "$1" ]
}

# wait_gone FILE [SECONDS]: until the file is gone.
wait_gone() {
	rig_until "${2:-60}" [ ! -e "$1" ]
}

# rig_barrier NAME [NODE...]: until these nodes (all that live) have come here.
rig_barrier() {
	local name=$1 node

	shift
	# shellcheck disable=SC2046 # a list of numbers
	[ $# -gt 0 ] || set -- $(seq "$NODES")
	# shellcheck disable=SC2153 # NODE is the machine's own number
	: > "/out/barrier-$name-$NODE"
	for node; do
		[ -e "/out/dead-$node" ] ||
			wait_for "/out/barrier-$name-$node" 120 || return
	done
}

# rig_ask WORD: ask the host for something, and wait until it is done.  It may
# answer before a file that is made in place is open.
rig_ask() {
	: > "/out/ask-$NODE"
	mv "/out/ask-$NODE" "/out/$1"
	wait_gone "/out/$1" 30
}

# rig_kill NODE: end a machine at once, as a power cut would.
rig_kill() {
	rig_ask "kill-$1"
}

# rig_boot NODE: start a machine again that was killed; its script sees
# RIG_BOOT count up.
rig_boot() {
	rig_ask "boot-$1"
}

# rig_cut NODE, rig_join NODE: lose all packets from and to a machine without
# its noticing; and end that.
rig_cut() {
	rig_ask "link-$1-down"
}

rig_join() {
	rig_ask "link-$1-up"
}

# rig_unplug NODE, rig_plug NODE: take the carrier from a machine's interface,
# which soft RoCE on 6.12 survives only with rig_rxe_down and rig_rxe_up.
rig_unplug() {
	rig_ask "carrier-$1-down"
}

rig_plug() {
	rig_ask "carrier-$1-up"
}

rig_rxe_down() {
	rdma link del rxe0
}

rig_rxe_up() {
	rdma link add rxe0 type rxe netdev "$RIG_NETDEV" &&
		rig_until 20 grep -qs ACTIVE \
			/sys/class/infiniband/rxe0/ports/1/state
}
