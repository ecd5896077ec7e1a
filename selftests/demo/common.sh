# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the demo and the place to play begin with; sourced, not run.  $tree is the
# source tree, $kver the kernel of the machines.

# shellcheck disable=SC2154 # both are set by the script that sources this
# shellcheck source=selftests/rig/common.sh
. "$tree/selftests/rig/common.sh"

# prepare: the module, the tools, the worker and a cluster key; $module is set.
prepare() {
	local given=$tree/build/demo

	# shellcheck disable=SC2034 # the scripts that source this
	module=$tree/build/demo-$kver/tally.ko
	echo "Building tally for Linux $kver." >&2
	"$tree/selftests/rig/module" -b "demo-$kver" -t "$kver"
	make -s --no-print-directory -C "$tree/tools"
	rm -rf "$given"
	mkdir -p "$given/man/man8"
	ln -s "$tree/tools/tally.8" "$given/man/man8/"
	gcc -O2 -Wall -Wextra -I "$tree/uapi" -o "$given/worker" \
		"$tree/selftests/demo/worker.c"
	head -c 32 /dev/urandom > "$given/key"
}
