# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by the scripts of the rig; sourced, not run.

# shellcheck disable=SC2034 # used by the scripts that source this file
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/tally

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# usage FILE: print the comment at the head of FILE, without the licence.
usage() {
	sed -n '3,/^[^#]/{/^#/!q; s/^# \{0,1\}//; p}' "$1"
}

# empty_directory DIR: make DIR an empty directory; what stands there must be
# an earlier run's.
empty_directory() {
	if [ -d "$1" ] && [ -n "$(ls -A "$1")" ]; then
		[ -e "$1/.tally-rig" ] ||
			die "$1 is not empty and not from an earlier run"
		rm -rf "$1"
	fi
	mkdir -p "$1"
	: > "$1/.tally-rig"
}

# in_group COMMAND...: run it as a process group of its own, which ends when
# this script is told to.
in_group() {
	local pid status=0

	set -m
	"$@" < /dev/null &
	pid=$!
	set +m
	# shellcheck disable=SC2064 # this pid
	trap "kill -TERM -- -$pid; wait $pid; exit 143" INT TERM HUP
	wait "$pid" || status=$?
	trap - INT TERM HUP
	return "$status"
}

# beside COMMAND...: in the background, as $run. It ends with this script, however
# that ends: when it is told to, when no reader is left of what it says, or
# killed.
beside() {
	setpriv --pdeathsig TERM "$@" &
	run=$!
	# shellcheck disable=SC2154 # inside the trap
	trap 'for job in $(jobs -p); do kill "$job" 2> /dev/null || :; done; wait' EXIT
}

# A real file of at least 8 MiB, the smallest there is.
real_file() {
	find -L /usr/bin /usr/sbin /usr/lib/x86_64-linux-gnu -maxdepth 1 \
		-type f -size +8191k -size -32768k -printf '%s %p\n' 2> /dev/null |
		sort -n | awk '$1 >= 8388608 { print $2; exit }'
}
