#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 600
#
# A peer that proved its identity, has a live session, and then does what no peer
# should: the node refuses, counts it, goes on, and has lost nothing.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
hostile=$LIB_DIR/hostile
[ -x "$hostile" ] || skip_all "no headers of librdmacm and libcrypto"
plan 87

# strike NODE CASE [ARGUMENT]...: until it says that it is live, which may be
# over before anybody looks.
strike() {
	begin hostile "$hostile" "$here" "$(port "$1")" evil "$@"
	attacker=$begun
	begun_says hostile live 30
}

# attack_node NODE CASE [ARGUMENT]...: until live.
attack_node() {
	strike "$@" && wait_until 30 is_live "$1" evil
}

attack() {
	attack_node a "$@"
}

# attack_home CASE [ARGUMENT]...: and until it answers.
attack_home() {
	attack "$@" && bounded 10 ls "$mnt/a/e" > /dev/null
}

# That session has to be over before another such peer may come.
retreat() {
	kill "$attacker"
	wait "$attacker" 2> /dev/null
	wait_until 60 not_live
}

not_live() {
	! is_live a evil
}

# The session ended, and not because the peer wanted that.
thrown_out() {
	begun_says hostile '^closed' "${1:-60}"
}

came_back() {
	[ "$(grep -c '^live' "$lib_work/hostile")" -gt 1 ]
}

# While the old session ends it is only "not connected".
region_is_refused() {
	read_region 2>&1 | grep -q 'Protocol error'
}

# read_region: its beginning, in a file that stays open as number 5.
read_region() {
	bounded 20 dd bs=4096 count=1 of=/dev/null <&5
}

# waits_for N: so many nodes wait for the lock that others want to forge.
waits_for() {
	[ "$(tally -j lock show f/w node a | field waiters)" = "$1" ]
}

no_answer() {
	bounded 20 dd if="$mnt/a/e/r" of=/dev/null bs=4096 count=1 2>&1 |
		grep -qE 'not connected|Unknown error|I/O error|Remote'
}

opened() {
	exec 5< "$mnt/a/e/r"
}

# holds NUMBER...: it has a lock of ours, and answers WHO with so many bytes.
holds() {
	attack who "$@" && begun_says hostile granted 60
}

# shown FIELD...: of the lock that it has, soon.
shown() {
	local field list=()

	bounded 5 tally -j lock show t/w node a > "$lib_work/shown" || return
	for field; do
		list+=("$(field "$field" < "$lib_work/shown")")
	done
	(IFS=,; echo "${list[*]}")
}

is_free() {
	[ "$(shown state)" = free ]
}

# lists NODE: a process that waits until all homes have said what they have.
lists() {
	local before

	before=$(stat_of "$1" rpc_sent)
	begin listed ls -U "$mnt/$1"
	lister=$begun
	wait_until 4 grew "$1" rpc_sent "$before" && ! ended "$lister"
}

# use: what a peer may use, from time to time when there is no session.
use() {
	local file

	while [ -d "/proc/$1" ]; do
		for file in e/c e/l e/r t/c t/r; do
			timeout 2 dd if="$mnt/a/$file" of=/dev/null bs=4096
		done
		timeout 2 dd if=/dev/zero of="$mnt/a/e/r" bs=4096 count=16
		for file in e t; do
			tally -m "$mnt/a" counter inc $file/c timeout 500
			tally -m "$mnt/a" lock run $file/l timeout 500 -- true
		done
		ls -l "$mnt/a" "$mnt/a/e"
		tally -j lock show
		tally lock del t/l && tally lock add t/l perm 666
	done > /dev/null 2>&1
}

check "a node with objects" eval 'add_node a && tally arena add t access rw &&
	tally counter add t/c && tally lock add t/l &&
	tally region add t/r size 64K'
check "and a peer" tally peer add evil addr "$here" port 7999 node a

check "it is a good home" attack_home home
check "of counters" tally -m "$mnt/a" counter inc e/c
check "of locks" tally -m "$mnt/a" lock run e/l -- true
check "of regions" dd if=/dev/zero of="$mnt/a/e/r" bs=4096 count=16
retreat

# EIOCBQUEUED: only the kernel knows it.
before=$(stat_of a bad_message)
check "it answers with an errno that is none" attack_home status 529
check "that is no answer" wait_until 60 no_answer
check "and counted" wait_until 20 grew a bad_message "$before"
retreat

before=$(stat_of a bad_message)
check "its region changes while it is open" attack_home layout
check "one of its regions is opened" wait_until 60 opened
read_region > /dev/null 2>&1
check "it is a peer again" eval 'wait_until 60 came_back &&
	wait_until 30 is_live a evil'
check "a region of no parts is not read" wait_until 30 region_is_refused
check "and that is counted" wait_until 20 grew a bad_message "$before"
exec 5<&-
retreat

for slot in 0 4096 3; do
	check "it has node slot $slot, or another than a moment ago" eval \
		"strike a slot $slot && thrown_out"
	retreat
done

before=$(stat_of a bad_message)
check "it resumes its session, in another slot" strike a moves 3
check "which is counted" wait_until 20 grew a bad_message "$before"
check_equal "and does not make it live" 1 "$(grep -c '^live' "$lib_work/hostile")"
retreat

# Not by the end of the lease, which its silence brings, too.
# shellcheck disable=SC2016 # for eval
check "another node, with a long lease" eval '
	tally node add b port "$(port b)" lease 600000 clean nomount &&
	tally peer add evil addr "$here" port 7999 node b'
check "it asks and takes no answer" eval 'attack_node b flood &&
	thrown_out 200'
check "and that is counted" wait_until 10 grew b quota_refused 0
retreat
check "that node is not held up" del_node b

check "it deletes without end what is being opened" attack early
begin opening bounded 100 cat "$mnt/a/e/c"
check "and is thrown out" thrown_out 90
retreat

check "it lists names without end" attack endless
check_fails "but they are listed to an end" 2 'too large|timed out' \
	bounded 100 bash -c "ls -U $mnt/a/e > /dev/null"
retreat

check "it has an arena" attack_home home
kill "$attacker"
check "and breaks down" wait_until 20 eval '! is_live a evil'
check_fails "which is out of reach then, and not gone" 1 'not connected' \
	stat "$mnt/a/e"
retreat
# shellcheck disable=SC2016 # for eval
check "until its lease is over" wait_until 60 eval \
	'stat "$mnt/a/e" 2>&1 | grep -q "No such file"'

check "a lock for it" tally lock add t/w class region node a
check "it takes that" holds 48 8 47
check_equal "a list asks no other node" "0 1" \
	"$(python3 "$LIB_DIR/dump.py" t w "$lib_work/hostile" '^asked')"
check_equal "what it says of itself is shown, but no escape sequence" \
	'evil,4711,e?[31mvil,7000' "$(shown holder pid comm lease_ms)"
check "and for how long" [ "$(field age_ms < "$lib_work/shown")" -ge 5000 ]
check_equal "it does not know: nothing is shown but what we know" 'evil,,' \
	"$(shown holder pid comm)"
check "and that is no fault" is_live a evil
before=$(stat_of a bad_message)
check_equal "an answer of a wrong length is none" 'evil,,' \
	"$(shown holder pid comm)"
check "but is counted" grew a bad_message "$before"
check "and it is thrown out" thrown_out
retreat

check "it takes that again" holds 0
check_equal "it is silent: it is shown all the same, and soon" 'evil,,' \
	"$(shown holder pid comm)"
for _ in 1 2 3 4 5; do
	shown holder
done > /dev/null
check_equal "questions do not pile up" 4 "$(grep -c asked "$lib_work/hostile")"
check "nor is it a fault" is_live a evil
retreat
check_equal "it is gone, its lease is not: it is shown, too" 'evil,' \
	"$(shown holder pid)"
wait_until 60 is_free

check "its settings were changed" tally lock set t/w budget 7 node a
check "it says without end that it has listed all" eval 'attack resync 50 &&
	begun_says hostile heard 60'
check_equal "and is told the settings no more often than it should" 0 \
	"$(grep -c ^set "$lib_work/hostile")"
retreat
wait_until 60 is_free

# A lock that is held, and another node waits for it. What a third one says changes
# nothing: not that it has it, nor that it hands it over.
# shellcheck disable=SC2016 # for eval
check "a lock by message, its holder, a node that waits" eval '
	tally arena add f mode cpu access rw && tally lock add f/w class region &&
	add_node b && join a b && tally peer add evil addr "$here" port 7999 node b &&
	mkfifo "$lib_work/held" && begin holder tally -m "$mnt/a" lock run f/w -- \
		sh -c "echo \$TALLY_TOKEN; cat $lib_work/held" &&
	holder=$begun && begun_says holder "^[0-9]" &&
	begin waiter tally -m "$mnt/b" lock run f/w -- sh -c "echo \$TALLY_TOKEN" &&
	waiter=$begun && wait_until 20 waits_for 1'
gen=$(($(cat "$lib_work/holder") >> 8))
# shellcheck disable=SC2034 # for eval
ids=("$(tally -j arena show f node a | field id)"
	"$(tally -j lock show f/w node a | field id)")
before=$(stat_of b bad_message)
# shellcheck disable=SC2016 # for eval
check "it hands the lock over" eval 'attack_node b forge 33 "${ids[@]}" \
	$((gen + 1)) "$(peer_field b a session)" && begun_says hostile said'
check "which is counted" wait_until 20 grew b bad_message "$before"
check "and believed by nobody" [ ! -s "$lib_work/waiter" ]
check "nor is it cut off: its home may have told it so" is_live b evil
retreat
for type in 3 6; do
	before=$(stat_of a bad_message)
	# shellcheck disable=SC2016 # for eval
	check "it says $type of a lock that it has not opened" eval '
		attack forge $type "${ids[@]}" $gen 0 && begun_says hostile said'
	check "which is counted" wait_until 20 grew a bad_message "$before"
	retreat
done
for type in 3 6; do
	before=$(stat_of a bad_message)
	# The other one is the first that waits, it the second.
	# shellcheck disable=SC2016 # for eval
	check "it waits, and says $type of what it is announced for" eval '
		attack forge $type $((gen + 2)) && begun_says hostile said'
	check "which is counted" wait_until 20 grew a bad_message "$before"
	gen=$((gen + 1))
	retreat
	wait_until 60 waits_for 1
done
# shellcheck disable=SC2016 # for eval
check "the lock is held by the one that had it, the other waits" eval \
	'waits_for 1 && [ ! -s "$lib_work/waiter" ] && ! ended "$holder"'
: > "$lib_work/held"
# shellcheck disable=SC2016 # for eval
check "and gets it" eval 'wait "$holder" && wait "$waiter"'
check "nothing is left of that" eval 'tally peer del evil node b &&
	tally peer del b node a && del_node b && tally arena del f'

# Homes that answer nothing, asked before one that does: looking for an arena, and
# listing them, takes 5 s, not 5 s for each of them, and does not fail.
# shellcheck disable=SC2016 # for eval
check "two peers that answer nothing" eval '
	attack mute && tally peer add evil2 addr "$here" port 7998 node a &&
	begin mute "$hostile" "$here" "$(port a)" evil2 a mute &&
	wait_until 30 is_live a evil2'
mute=$begun
check_fails "a timeout is for finding the arena, too" 4 'timed out' \
	bounded 4 tally -m "$mnt/a" counter read e/c timeout 1000
check "and behind them a node with an arena" eval 'add_node b && join a b &&
	tally arena add h access rw node b && tally counter add h/c node b'
check_equal "which is found, when one of them would have had its time" 0 \
	"$(bounded 9 tally -m "$mnt/a" counter read h/c)"
check_equal "and listed, in the order of the homes" "t h" \
	"$(bounded 9 ls -U "$mnt/a" | paste -sd ' ')"
check "the asking node lists them" lists a
# shellcheck disable=SC2016 # for eval
check "and is killed does not wait for them" eval \
	'kill -KILL "$lister" && wait_until 3 ended "$lister"'
wait "$lister" 2> /dev/null
check "the asking node lists them" lists a
check "sees one of them go" tally peer del evil2 node a
check_equal "and what there is all the same" "t h" \
	"$(wait_until 9 ended "$lister" && paste -sd ' ' "$lib_work/listed")"
kill "$mute"
check "they are forgotten" eval 'tally peer del b node a && del_node b'
retreat

# shellcheck disable=SC2016 # for eval
check "a node with a peer that answers nothing" eval 'add_node c &&
	tally peer add evil addr "$here" port 7999 node c && attack_node c mute'
check "the asking node lists what it sees" lists c
check "does not hold up its own end" bounded 15 tally node del c
check "and goes on" wait_until 3 ended "$lister"
check "nothing is left of it" wait_until 20 node_gone c
kill "$attacker"
wait "$attacker" 2> /dev/null

begin fuzz "$hostile" "$here" "$(port a)" evil a fuzz "${SEED:-1}" \
	"$(scaled 40 60)"
use "$begun"
check "it says all it can think of" begun_says fuzz '^sessions'
diag < "$lib_work/fuzz"
check "counters are none the worse" tally -m "$mnt/a" counter inc t/c
check "nor locks" tally -m "$mnt/a" lock run t/l timeout 45000 -- true
check "it is forgotten" tally peer del evil node a
check "nothing is kept for it" del_node a
