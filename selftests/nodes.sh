# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of what one machine can show: nodes a, b and c in one kernel, each
# a peer of the others, each with a mount in $mnt/NAME.  What one does reaches
# the others by way of the device, as between machines.
#
# With "machines" these are nodes on machines 1, 2 and 3 instead.

# shellcheck disable=SC2154 # lib.sh
mnt=$lib_work/mnt
here=$(address "$NODE")
load=$LIB_DIR/load
# shellcheck disable=SC2034 # the tests
files=$LIB_DIR/files.py
chmod 755 "$lib_work"
[ -x "$load" ] || make -s -C "$LIB_DIR" > /dev/null 2>&1 ||
	skip_all "the helpers are not built: make -C selftests"

# scaled SMALL LARGE: how much to do; emulated processors are slow, and the
# sanitizers' kernel is slower.
scaled() {
	[ "${RIG_LANE-}" != uml ] && echo "$2" || echo "$1"
}

# port NAME
port() {
	case $1 in
	a) echo 7475 ;;
	b) echo 7476 ;;
	c) echo 7477 ;;
	*) echo 7478 ;;
	esac
}

# In milliseconds; long enough for an emulated machine on a busy host.
lease=20000

# add_node NAME [KEY VALUE]...: and a mount of it.
add_node() {
	local name=$1

	shift
	tally node add "$name" port "$(port "$name")" lease $lease clean nomount \
		"$@" &&
		mkdir -p "$mnt/$name" &&
		mount -t tally -o "node=$name" none "$mnt/$name"
}

# add_peer NODE PEER: at the same address.
add_peer() {
	tally peer add "$2" addr "$here" port "$(port "$2")" node "$1"
}

# peer_field NODE PEER FIELD
peer_field() {
	tally -j peer show "$2" node "$1" | field "$3"
}

peer_state() {
	peer_field "$1" "$2" state
}

is_live() {
	[ "$(peer_state "$1" "$2")" = live ]
}

# join NODE PEER: both ways, and wait until they are linked.
join() {
	add_peer "$1" "$2" && add_peer "$2" "$1" &&
		wait_until 60 is_live "$1" "$2" && wait_until 60 is_live "$2" "$1"
}

# add_nodes NAME...: all of them joined.
add_nodes() {
	local one two

	for one; do
		add_node "$one" || return
	done
	for one; do
		for two; do
			[[ ! $one < $two ]] || join "$one" "$two" || return
		done
	done
}

nodes_gone() {
	! tally -j node show | grep -q name
}

del_node() {
	umount -q "$mnt/$1"
	tally node del "$1" && wait_until 20 node_gone "$1"
}

node_names() {
	tally -j node show | grep -oE '"name": ?"[^"]*' | cut -d '"' -f 4
}

end_nodes() {
	local name

	for name in "$mnt"/*; do
		umount -q "$name"
	done
	for name in $(node_names); do
		tally node del "$name"
	done
	wait_until 20 nodes_gone
}
defer end_nodes

# stat_of NODE NAME: a counter, or a refusal, of "tally stats". What is none is
# never the same twice, so that no comparison is content with it.
stat_of() {
	local value

	value=$(tally -j stats all node "$1" | field "$2")
	echo "${value:-no $2: $RANDOM$RANDOM}"
}

# begin NAME COMMAND...: in the background, its output in $lib_work/NAME; its
# process number in $begun.
begin() {
	local name=$1

	shift
	# What an earlier one said must not be taken for what this one says.
	: > "$lib_work/$name"
	"$@" > "$lib_work/$name" 2>&1 &
	# shellcheck disable=SC2034 # the tests
	begun=$!
}

# begun_says NAME PATTERN [SECONDS]: until that output has this.
begun_says() {
	wait_until "${3:-20}" grep -qE -e "$2" "$lib_work/$1" && return
	tail -n 3 "$lib_work/$1"
	return 1
}

# ended PID
ended() {
	[ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"
}

# sum NAME...: distinct numbers in all these outputs, and the highest.
sum() {
	(cd "$lib_work" && sort -nu "$@" | awk 'END { print NR, $1 }')
}
