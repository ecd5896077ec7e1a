# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What tally's shell tests share; a test begins with
#
#	#!/bin/bash
#	# SPDX-License-Identifier: GPL-2.0
#	# Lane: both
#	. "$(dirname "$0")/lib.sh"
#	plan 3
#
# The lane says where selftests/run runs it: "one" (in one machine: the debug
# kernel and stock kernels), "uml" (the debug kernel only), "machines" (needs
# several) or "both" (as "one", but uses other machines where there are any).  A
# test says what it does in KTAP, and exits with 0 (all good), 1 (something failed)
# or 4 (skipped).
#
# What takes long and is not needed each time is done only with SOAK=1 (see soak()).
#
# By hand, as root, on a machine that may crash: ./NN-topic.sh; tally.ko has to
# be loaded or TALLY_KO to name it.

KSFT_PASS=0
KSFT_FAIL=1
KSFT_SKIP=4

LIB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$LIB_DIR/../tools:$PATH:/usr/sbin:/sbin
NODE=${NODE:-1}
NODES=${NODES:-1}

lib_planned=0
lib_done=0
lib_failed=0
lib_deferred=()
lib_work=$(mktemp -d -t tally-test-XXXXXX)

# shellcheck source=selftests/rig/guest.sh
. "$LIB_DIR/rig/guest.sh"

# soak: is there time for everything ("make soak")?
soak() {
	[ -n "${SOAK-}" ]
}

# plan N: how many results this test will report.
plan() {
	lib_planned=$1
	echo "KTAP version 1"
	echo "1..$1"
}

# skip_all REASON: this test cannot run here.
skip_all() {
	echo "KTAP version 1"
	echo "1..0 # SKIP $*"
	lib_planned=0
	lib_done=0
	exit $KSFT_SKIP
}

ok() {
	lib_done=$((lib_done + 1))
	echo "ok $lib_done $*"
}

not_ok() {
	lib_done=$((lib_done + 1))
	lib_failed=$((lib_failed + 1))
	echo "not ok $lib_done $*"
}

skip() {
	lib_done=$((lib_done + 1))
	echo "ok $lib_done $1 # SKIP $2"
}

# diag: standard input, as diagnostics.
diag() {
	sed 's/^/# /'
}

# check DESCRIPTION COMMAND...: a result; the command's output is shown when it
# fails.
check() {
	local what=$1 status=0

	shift
	"$@" > "$lib_work/output" 2>&1 || status=$?
	if [ $status = 0 ]; then
		ok "$what"
		return
	fi
	echo "# $* ended with $status:"
	diag < "$lib_work/output"
	not_ok "$what"
	return 1
}

# check_fails DESCRIPTION STATUS PATTERN COMMAND...: the command has to end with
# this status, and to say something that matches the pattern.
check_fails() {
	local what=$1 want=$2 pattern=$3 status=0

	shift 3
	"$@" > "$lib_work/output" 2>&1 || status=$?
	echo >> "$lib_work/output"
	if [ $status = "$want" ] && grep -qE -e "$pattern" "$lib_work/output"; then
		ok "$what"
		return
	fi
	echo "# $* ended with $status, not $want and '$pattern':"
	diag < "$lib_work/output"
	not_ok "$what"
	return 1
}

# check_equal DESCRIPTION WANTED GOT
check_equal() {
	if [ "$2" = "$3" ]; then
		ok "$1"
		return
	fi
	echo "# wanted: $2" | head -c 400
	echo
	echo "# got:    $3" | head -c 400
	echo
	not_ok "$1"
	return 1
}

# wait_until SECONDS COMMAND...: until the command succeeds.  To look takes the
# processor from what is waited for: less often the longer it takes.
wait_until() {
	local end=$((SECONDS + $1)) tenths=1

	shift
	until "$@" > /dev/null 2>&1; do
		if [ $SECONDS -ge $end ]; then
			echo "waited in vain until: $*" >&2
			return 1
		fi
		read -rt "0.$tenths" -u "$rig_never" _ || :
		[ $tenths = 5 ] || tenths=$((tenths + 1))
	done
}

# bounded SECONDS COMMAND...: the command, killed when it takes longer; then
# the status is 124.
bounded() {
	timeout -k 5 "$@"
}

# defer COMMAND...: run when the test ends, however it ends, last one first.
defer() {
	lib_deferred+=("$(printf '%q ' "$@")")
}

lib_end() {
	local status=$? i

	trap - EXIT INT TERM HUP
	for ((i = ${#lib_deferred[@]} - 1; i >= 0; i--)); do
		eval "${lib_deferred[i]}" > /dev/null 2>&1
	done
	rm -rf "$lib_work"
	[ $status != $KSFT_SKIP ] || exit $KSFT_SKIP
	if [ $lib_done != "$lib_planned" ]; then
		echo "# $lib_done results, $lib_planned planned (status $status)"
		exit $KSFT_FAIL
	fi
	[ $lib_failed = 0 ] && [ $status = 0 ] || exit $KSFT_FAIL
	exit $KSFT_PASS
}
trap lib_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# on NODE COMMAND...: run a command on a machine and have its output and
# status.  Functions of the test are not known there: use "on N bash -c ...".
# Status 255: the machine died or was not there.
on() {
	local node=$1 base

	shift
	if [ "$node" = "$NODE" ]; then
		"$@"
		return
	fi
	base=$(mktemp -u "/out/agent-$node/XXXXXXXX") || return 255
	printf '%q ' "$@" > "$base.new"
	mv "$base.new" "$base.run"
	until [ -e "$base.status" ]; do
		[ ! -e "/out/dead-$node" ] || return 255
		rig_nap
	done
	cat "$base.output"
	return "$(cat "$base.status")"
}

# address NODE: the address of a machine that soft RoCE is on.
address() {
	echo "192.168.77.$1"
}

need_root() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
}

need_machines() {
	[ "$NODES" -ge "$1" ] || skip_all "needs $1 machines"
}

# module_path: the file of the module, if we know it.
module_path() {
	[ -n "${MODULE-}" ] && echo "$MODULE" || echo "${TALLY_KO-}"
}

# load_tally [PARAMETER=VALUE]...: the module, after it was unloaded.
load_tally() {
	if [ -n "$(module_path)" ]; then
		insmod "$(module_path)" "$@"
	else
		modprobe tally "$@"
	fi
}

# need_tally: the module, loaded by us if TALLY_KO names it, and the tool.
need_tally() {
	need_root
	if [ ! -d /sys/module/tally ]; then
		if [ -n "${TALLY_KO-}" ]; then
			insmod "$TALLY_KO" || exit $KSFT_FAIL
		else
			modprobe -q tally || skip_all "tally is not loaded"
		fi
		defer rmmod tally
	fi
	command -v tally > /dev/null || skip_all "no tally tool"
}

# node_gone NAME
node_gone() {
	! tally -j node show | grep -q "\"$1\""
}

# grew NODE NAME FORMER: is this counter higher than it was?  What stat_of tells
# (nodes.sh, machines.sh).
grew() {
	[ "$(stat_of "$1" "$2")" -gt "$3" ]
}

as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# need_rdma: an RDMA device with the address of this node; the rig has one.
need_rdma() {
	[ -z "${RIG_LANE-}" ] || return 0
	modprobe -q rdma_rxe || skip_all "no soft RoCE"
	ip link add tallytest type dummy || exit $KSFT_FAIL
	defer ip link del tallytest
	ip link set tallytest mtu 9000 up
	ip addr add "$(address "$NODE")/24" dev tallytest
	rdma link add rxetally type rxe netdev tallytest || exit $KSFT_FAIL
	defer rdma link del rxetally
	wait_until 10 rdma_is_active rxetally || exit $KSFT_FAIL
}

rdma_is_active() {
	grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

# json FILTER: standard input through a Python expression on the parsed "j".
json() {
	python3 -c 'import json, sys
j = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1"
}

# field FIELD: its value in the JSON of one object, without Python, which takes
# long to start under emulation.
field() {
	sed -nE "s/.*[{,[]\"$1\": ?\"?([^\",}]*).*/\1/p"
}
