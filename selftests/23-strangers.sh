#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 300
#
# Peers without a key: what they say in the names of others, and what they answer
# when a node connects to them. Sessions of others go on, links come back, and
# memory is as it was. With SOAK=1 the flood takes minutes.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
stranger=$LIB_DIR/stranger
[ -x "$stranger" ] || skip_all "no headers of librdmacm and libcrypto"
plan 52
flood=15
! soak || flood=180
secret=0123456789abcdef0123456789abcdef

# knock ARGUMENT...: how node a answers.
knock() {
	bounded 60 "$stranger" "$here" "$(port a)" "$@" 2>&1
}

# lie HOW: how node a takes it that the node it connects to lies.
lie() {
	begin liar bounded 60 "$stranger" "$here" "$(port a)" answer 7491 liar a "$1"
	tally peer add liar addr "$here" port 7491 node a
	wait "$begun"
	tally peer del liar node a
	wait_until 20 no_liar
	tail -n 1 "$lib_work/liar"
}

no_liar() {
	! tally -j peer show node a | grep -q '"liar"'
}

# tries PEER MORE THAN: connections that a began.
tries() {
	[ "$(peer_field a "$1" connects)" -gt "$2" ]
}

# memory: KiB that are free or could be.
memory() {
	awk '/^MemAvailable/ { print $2 }' /proc/meminfo
}

# near KIB: so much is free again, but for what the kernel may keep.
near() {
	echo 3 > /proc/sys/vm/drop_caches
	[ "$(memory)" -gt $(($1 - 16384)) ]
}

same_session() {
	[ "$(peer_field a b session)" = "$session" ] && is_live a b
}

check "two nodes" eval 'add_node a && add_node b && join a b'
session=$(peer_field a b session)

# Before so much comes to the log that it is cut.
begin refuser bounded 60 "$stranger" "$here" "$(port a)" answer 7491 liar a refuse
tally peer add liar addr "$here" port 7491 node a
check "why it refuses is told" wait_until 20 eval 'dmesg | grep -q "failed liar.*vil"'
# The log has such bytes as they are, or as dmesg(1) shows them.
check_equal "but no escape sequence" 'e?[31mvil??' \
	"$(dmesg | grep -m 1 -o 'e[^ ]*31mvil.*')"
kill "$begun"
wait "$begun" 2> /dev/null
tally peer del liar node a

check_equal "an epoch of more than 14 bits" "refused 9" \
	"$(knock hello x a '' epoch)"
check_equal "a HELLO that another queue pair signed" "refused 4" \
	"$(knock hello b a '' relay)"
check_equal "in the name of a live node, as the start that it is" "refused 6" \
	"$(knock steal b a "$(port b)")"
check "that has its session" same_session
before=$(stat_of a session_resumed)
check_equal "or with the id of its session" "refused 6" \
	"$(knock steal b a "$(port b)" "$session")"
check "that has it still" same_session
check_equal "without a break" "$before" "$(stat_of a session_resumed)"

check "a node that is not there" tally peer add x addr "$here" port 7490 node a
begin silent "$stranger" "$here" "$(port a)" silent x a 25
silent=$begun
check "somebody is silent in its name" begun_says silent challenged
before=$(peer_field a x connects)
check "it is connected to all the same" wait_until 20 tries x $((before + 4))
kill "$silent"
wait "$silent" 2> /dev/null
tally peer del x node a

# Each slot is the lowest that is free; b says that it leaves.
for _ in 1 2 3 4 5; do
	tally peer del a node b
	wait_until 20 eval '! tally -j peer show node b | grep -q \"a\"'
	add_peer b a
	wait_until 30 is_live b a
done
wait_until 30 is_live a b
check "slots are given again" [ "$(peer_field a b peer_slot)" -le 4 ]
session=$(peer_field a b session)

check_equal "a responder that tells the truth" lane "$(lie good)"
for how in epoch slot far lanes lease session; do
	check_equal "one that has a wrong $how" "refused 9" "$(lie $how)"
done
for how in relay mac; do
	check_equal "one that has a wrong $how" "refused 4" "$(lie $how)"
done
check_equal "one that resumes what is not there" closed "$(lie resumed)"
check_equal "one that has the id of another session" closed "$(lie "0x$session")"
check "which goes on" same_session

# A peer whose link is down, and another one at its address.
begin gone "$LIB_DIR/hostile" "$here" "$(port a)" gone a home
gone=$begun
# shellcheck disable=SC2016 # for eval
check "a peer has a session" eval 'tally peer add gone addr "$here" port 7491 node a &&
	wait_until 30 is_live a gone'
begin taker bounded 60 "$stranger" "$here" "$(port a)" answer 7491 gone a taken
taker=$begun
kill "$gone"
wait "$gone" "$taker" 2> /dev/null
check_equal "no other answers for it" "refused 4" "$(tail -n 1 "$lib_work/taker")"
tally peer del gone node a

# All at once.
tally arena add t access rw node a
tally counter add t/c node a
wait_until 20 test -e "$mnt/b/t/c"
session=$(peer_field a b session)
before=$(memory)
begin one "$stranger" "$here" "$(port a)" flood b a "$flood"
one=$begun
begin two "$stranger" "$here" "$(port a)" flood x a "$flood"
two=$begun
begin silent "$stranger" "$here" "$(port a)" silent b a "$flood"
silent=$begun
counted=0 least=$before
while ! ended "$one"; do
	bounded 20 tally -m "$mnt/b" counter inc t/c > /dev/null && counted=$((counted + 1))
	free=$(memory)
	[ "$free" -ge "$least" ] || least=$free
done
check "the session goes on in a flood" same_session
check "and is used" [ "$counted" -gt 5 ]
check "memory is bounded" [ $((before - least)) -lt 65536 ]
echo "# used $counted times; $((before - least)) KiB of memory"
tail -n 1 "$lib_work/one" | diag
wait "$one" "$two" "$silent"
check "and back at the end" wait_until 30 near "$before"

begin one "$stranger" "$here" "$(port a)" flood b a 20
one=$begun
begin silent "$stranger" "$here" "$(port a)" silent b a 20
silent=$begun
check "in another one it comes back" eval '
	tally peer del b node a && wait_until 20 eval "! is_live b a" &&
	add_peer a b && wait_until 20 is_live a b && wait_until 20 is_live b a'
kill "$one" "$silent"
wait "$one" "$silent" 2> /dev/null

# One that says in its requests that it is another host takes up its own room.
claim=/sys/module/tally/parameters/claim
far=192.168.78.1

has_gid() {
	grep -qi 'c0a8:4e01' /sys/class/infiniband/*/ports/1/gids/*
}

# crowd: as many half-open handshakes from there as one host may have.
crowd() {
	local i

	liars=()
	for i in 1 2 3 4; do
		begin "liar$i" "$stranger" "$far" "$(port a)" silent b a 3
		liars+=("$begun")
	done
	for i in 1 2 3 4; do
		begun_says "liar$i" challenged || return
	done
}

# shellcheck disable=SC2016 # for eval
check "a host with another address" eval 'ip addr add "$far/24" dev "$(ip -o addr |
	awk -v "a=$here/24" "\$4 == a { print \$2 }")" && wait_until 20 has_gid &&
	echo "$far $here" > "$claim"'
before=$(stat_of a busy)
begin silent "$stranger" "$here" "$(port a)" silent b a 3
silent=$begun
check "a handshake is under way" begun_says silent challenged
check "that host says it is the same, four times" crowd
check_equal "which puts out none" "$before" "$(stat_of a busy)"
kill "$silent" "${liars[@]}"
wait "$silent" "${liars[@]}" 2> /dev/null
echo "0.0.0.0 0.0.0.0" > "$claim"

# Keys of two nodes, beside that of the cluster.
keyed() {
	"$LIB_DIR/withkey" tally:test "$secret" "$@"
}

own() {
	"$LIB_DIR/withkey" tally:own "${secret}own" "$@"
}

hello() {
	bounded 60 "$stranger" "$here" 7477 hello x c "$@" 2>&1
}

check "a node with a key" keyed \
	tally node add c port 7477 lease 20000 clean key tally:test nomount
check_fails "a peer's key that is not there" 1 'no logon key' \
	tally peer add x addr "$here" port 7490 key tally:own node c
check_fails "or has no name" 2 'empty' \
	tally peer add x addr "$here" port 7490 key '' node c
check "a peer with a key of its own" own \
	tally peer add x addr "$here" port 7490 key tally:own node c
check_equal "which is shown by its name" tally:own "$(peer_field c x key)"
check_equal "the cluster's is not enough" "refused 4" "$(hello "$secret")"
check_equal "nor is none" "refused 5" "$(hello)"
check_equal "its own is" ready "$(hello "${secret}own")"
comes_often() {
	for _ in {1..20}; do
		[ "$(hello "${secret}own")" = ready ] || return
	done
}
# None of these had anything that a lease could be for.
check "as often as it likes, if nothing comes of it" comes_often
check "other peers have the cluster's" tally peer add y addr "$here" \
	port 7490 node c
check_equal "and not that one" "refused 4" "$(bounded 60 "$stranger" "$here" 7477 \
	hello y c "${secret}own" 2>&1)"
check_equal "with it they come in" ready "$(bounded 60 "$stranger" "$here" 7477 \
	hello y c "$secret" 2>&1)"
(umask 077 && printf %s "${secret}own" > "$lib_work/own")
check_fails "a key and a file are one too many" 2 'not both' tally peer add d \
	addr "$here" port 7478 key tally:own keyfile "$lib_work/own" node c
# shellcheck disable=SC2016 # for eval
check "two nodes with a key of their own" eval 'keyed tally node add d port 7478 \
	lease 20000 clean key tally:test nomount &&
	tally peer add d addr "$here" port 7478 keyfile "$lib_work/own" node c &&
	own tally peer add c addr "$here" port 7477 key tally:own node d &&
	wait_until 60 is_live c d'
check_equal "proved it" true "$(peer_field c d auth)"
