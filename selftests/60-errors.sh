#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# Bad input gets a sentence that names the object and the reason, a status that
# is not 0, and changes nothing; what is said in JSON is JSON.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 51

# everything: all that can be configured, without what changes by itself.
everything() {
	local what

	for what in node arena counter lock region; do
		tally -j "$what" show
	done | sed -E 's/"(age_ms|mem_used|users|nodes)": ?[0-9]+//g'
	tally -j peer show | json '[(p["name"], p["addr"]) for p in j]'
}

# wrong TEXT PATTERN COMMAND...: fails with 1.
wrong() {
	check_fails "$1" 1 "tally: $2" tally "${@:3}"
}

# bad TEXT PATTERN COMMAND...: fails with 2, usage.
bad() {
	check_fails "$1" 2 "$2" tally "${@:3}"
}

is_json() {
	"$@" | python3 -m json.tool > /dev/null
}

wrong "no node at all" 'arena add t: .*no node' arena add t
check "a node with objects" bash -c '
	tally node add a mem 1M clean nomount && tally arena add t node a &&
	tally counter add t/c node a && tally lock add t/l node a &&
	tally region add t/r size 4096 node a'
before=$(everything)

wrong "a node that is not there" 'node del x: .*no node' node del x
wrong "an arena on it" 'arena add u: .*no node' arena add u node x
wrong "an arena that is not there" 'arena del u: .*no arena' arena del u
wrong "rights in it" 'arena set u: .*no arena' arena set u access rw
wrong "a counter in it" 'counter add u/c: .*no arena' counter add u/c
wrong "a counter that is not there" 'counter del t/x: ' counter del t/x
wrong "a counter as a lock" 'lock del t/c: ' lock del t/c
wrong "an object elsewhere" 'counter add t@b/c: .*home' counter add t@b/c
wrong "a peer that is not there" 'peer del x: .*no peer' peer del x
wrong "a peer with a senseless address" 'peer add x: .*address' \
	peer add x addr 0.0.0.0
wrong "a link-local address without interface" 'peer add x: .*interface' \
	peer add x addr fe80::1
wrong "a node that is its own peer" 'peer add a: ' \
	peer add a addr "$here"
wrong "more words than a table has" 'arena add u: ' arena add u words 1G
wrong "a region above the limit" 'region add t/x: .*limit' \
	region add t/x size 2M
wrong "a region without end" 'region add t/x: ' region add t/x size 1000T
wrong "a lease that is too short" 'node add b: ' \
	node add b port 7480 lease 10 nomount
wrong "a lease that is too long" 'node add b: ' \
	node add b port 7480 lease 999999999 nomount
wrong "an epoch that is too high" 'node add b: ' \
	node add b port 7480 epoch 16384 nomount
wrong "a read without a mount" '(no tally file system|counter read t/c)' \
	-m /proc counter read t/c

bad "no object" 'Usage' bogus
bad "no command" 'Usage' node bogus
bad "a word too many" 'unknown word' node add b bogus
bad "a word twice" . node add b port 1 port 2
bad "a number that is none" 'not a number' node add b port seven
bad "a port that is none" 'port is 1 to 65535' node add b port 70000
bad "a mode that is none" 'auto, nic or cpu' arena add u mode fast
bad "rights that are none" 'none, ro or rw' arena add u access all
bad "bits that are none" 'octal' counter add t/x perm 888
bad "a region without size" "'?size'?" region add t/x
bad "a user that is not there" 'no such user' \
	counter add t/x owner nobody-at-all
bad "an abbreviation" 'no command' counter sh

check_equal "all that changed nothing" "$before" "$(everything)"

# Without a limit, the machine's memory is one.
check "a node that may take all memory" bash -c '
	tally node add m port 7477 clean nomount && tally arena add m node m'
wrong "a region larger than memory" 'region add m/x: .*memory' \
	region add m/x size 64G node m
wrong "a region larger than any memory" 'region add m/x: ' \
	region add m/x size 1000T node m
check_equal "nothing of them stays" 0 "$(tally -j node show m | field mem_used)"
check "a small one fits" tally region add m/x size 1M node m
check "and the node goes" tally node del m

for what in node peer arena counter lock region; do
	check "$what show is JSON" is_json tally -j $what show
done
check "so are statistics" is_json tally -j stats all
check "and users" is_json tally -j node show users
check "and the versions" is_json tally -j version
check "what is made is told in JSON too" is_json tally -j counter add t/j
# shellcheck disable=SC2016 # for another shell
check "help for all, for objects and commands" bash -c '
	tally help > /dev/null || exit
	for object in node peer arena counter lock region stats bench \
		monitor version; do
		tally $object help | grep -q Usage || exit
	done
	for command in add del show; do
		for object in node peer arena counter lock region; do
			tally $object $command help | grep -q Usage || exit
		done
	done'
