#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 300
#
# A peer that has the key, and takes all that it can have: lanes, sessions, memory.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
hostile=$LIB_DIR/hostile
[ -x "$hostile" ] || skip_all "no headers of librdmacm and libcrypto"
plan 35
export TALLY_SECRET=0123456789abcdef0123456789abcdef

keyed() {
	"$LIB_DIR/withkey" tally:test "$TALLY_SECRET" "$@"
}

# strike CASE [ARGUMENT]...
strike() {
	begin hostile "$hostile" "$here" "$(port a)" evil a "$@"
	attacker=$begun
}

retreat() {
	kill "$attacker"
	wait "$attacker" 2> /dev/null
	wait_until 60 eval '! is_live a evil'
}

# said PATTERN TIMES: by the peer.
said() {
	[ "$(grep -cE "$1" "$lib_work/hostile")" -ge "$2" ]
}

mem_used() {
	tally -j node show a | field mem_used
}

mem_is() {
	[ "$(mem_used)" = "$1" ]
}

mem_is_not() {
	[ "$(mem_used)" != "$1" ]
}

# It ends sixteen sessions before the first of them has lost what it held.
lease=$(scaled 8000 2000)

# add_keyed NAME
add_keyed() {
	mkdir -p "$mnt/$1" && keyed tally node add "$1" port "$(port "$1")" \
		lease "$lease" clean key tally:test nomount &&
		mount -t tally -o "node=$1" none "$mnt/$1"
}

# other_session THAN: it has another one, or none.
other_session() {
	[ "$(peer_field a evil session)" != "$1" ]
}

# no_session: what it had has been taken back.
no_session() {
	[ -z "$(peer_field a evil session)" ]
}

check "two nodes with a key" eval 'add_keyed a && add_keyed b && join a b'
session=$(peer_field a b session)
check "and a peer that has it" tally peer add evil addr "$here" port 7999 node a
# shellcheck disable=SC2016 # for eval
check "arenas and objects" eval 'tally arena add t access rw node a &&
	tally region add t/r size 4M node a &&
	for i in {a..z}; do tally lock add t/w$i node a || exit; done'
full=$(mem_used)

before=$(stat_of a session_resumed)
check_equal "the key and the id of a session of others are not enough for it" \
	"refused 6" "$(bounded 60 "$LIB_DIR/stranger" "$here" "$(port a)" steal b a \
	"$(port b)" "$session" "$TALLY_SECRET" 2>&1)"
# shellcheck disable=SC2016 # for eval
check "which goes on" eval 'is_live a b && [ "$(peer_field a b session)" = "$session" ]'
check_equal "without a break" "$before" "$(stat_of a session_resumed)"

strike lanes 20
check "it opens a lane again and again" wait_until 60 ended "$attacker"
check_equal "and has it once" 1 "$(grep -c '^lane' "$lib_work/hostile")"
check_equal "with each proof" 20 "$(grep -c 'rejected 11' "$lib_work/hostile")"
check_equal "and not with the proof of another queue pair" 1 \
	"$(grep -c 'rejected 10' "$lib_work/hostile")"
check "nothing is left of that" wait_until 20 no_session

strike hoard
check "it has a region" begun_says hostile '^open' 60
check "which is deleted" tally region del t/r node a
check "but not forgotten" mem_is "$full"
check "it is asked on another link" wait_until $((lease / 250 + 20)) said '^live' 2
check "and does not answer" mem_is "$full"
check "its memory comes back" wait_until $((lease / 200 + 20)) mem_is_not "$full"
retreat

# It is not there when the answer is due, and comes back: long before that, and just
# before.  Its lease goes on all the time.
# Away at each look, which are a lease apart.
strike evade $((lease - 1300)) 1500
check "another one comes and goes" eval 'tally region add t/r size 4M node a &&
	begun_says hostile "^open" 60'
full=$(mem_used)
check "it is told that its region is deleted" eval '
	tally region del t/r node a && begun_says hostile "^told"'
check "its memory comes back as soon" wait_until $((lease / 200 + 10)) mem_is_not "$full"
retreat

for ms in 0 $((lease / 5)); do
	# shellcheck disable=SC2016 # for eval
	check "it has a region again" eval 'tally region add t/r size 4K node a &&
		strike evade "$ms" && begun_says hostile "^open" 60'
	before=$(peer_field a evil session)
	check "which is no business of its any more" tally arena set t peer evil \
		access none node a
	check "it loses its session: it has broken off after $ms ms each time" \
		wait_until $((lease / 500 + 6)) other_session "$before"
	check_equal "for that" "the peer did not give up what it has lost the right to" \
		"$(peer_field a evil ended)"
	retreat
	tally arena set t peer evil access rw node a
	tally region del t/r node a
done

strike sessions
check "it takes a lock in each of its sessions" wait_until 60 said '^granted' 3
check "until it is refused" wait_until 60 said 'refused 8' 3
check "after not too many" [ "$(grep -c '^granted' "$lib_work/hostile")" -le 24 ]
check "the others have their session" [ "$(peer_field a b session)" = "$session" ]
# shellcheck disable=SC2016 # for eval
check "and all that it held comes back" eval 'retreat;
	tally -m "$mnt/b" lock run t/wa timeout 20000 -- true &&
	tally -m "$mnt/b" lock run t/wf timeout 20000 -- true'
check "it may come again" eval 'strike home && wait_until 60 is_live a evil'
check "with a low slot" [ "$(peer_field a evil peer_slot)" -le 6 ]
retreat
