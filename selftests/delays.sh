# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests that open a window between two steps of the module: its points are in
# kmod/base/delay.h, and only a build with TALLY_FAULTS=1 has them.

delays=/sys/module/tally/parameters/delays
[ -e $delays ] || skip_all "the module was built without TALLY_FAULTS=1"

# stop_at POINT [MILLISECONDS]: each task that comes by is held there.
stop_at() {
	echo "$1 ${2-30000}" > $delays
}

# stopped_at POINT: one is.
stopped_at() {
	wait_until 20 grep -q "^$1 [0-9]* [1-9]" $delays
}

# go_on POINT
go_on() {
	echo "$1 0" > $delays
}

# break_link NODE PEER: as an error of the network would.
break_link() {
	echo "$1 $2" > /sys/module/tally/parameters/break_link
}
