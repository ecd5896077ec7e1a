#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 600
#
# Which nodes become peers and which do not: keys, names, versions, nonsense, and
# strangers that must not disturb a session.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
secret=0123456789abcdef0123456789abcdef
stranger=$LIB_DIR/stranger
withkey=$LIB_DIR/withkey

# Numbers of refusals on the wire, and their names in the statistics.
declare -A refusal=([version]=1 [unknown_peer]=2 [wrong_name]=3 [auth]=4
	[auth_mismatch]=5 [name_in_use]=6 [malformed]=9 [bad_tag]=10
	[stale_session]=11 [timeout]=12 [abi]=13)

keyed() {
	"$withkey" tally:test "$secret" "$@"
}

# refusal_is NODE PEER WORD
refusal_is() {
	[ "$(peer_field "$1" "$2" refusal)" = "$3" ]
}

# knock TEXT NODE ANSWER REASON ARGUMENT...: the stranger is answered so, and
# the refusal is counted under this name.
knock() {
	local text=$1 node=$2 answer=$3 reason=$4 before got

	shift 4
	before=$(stat_of "$node" "$reason")
	got=$(bounded 60 "$stranger" "$here" "$(port "$node")" "$@" 2>&1)
	case $got in
	"$answer" | "$answer ${refusal[$reason]-}") ;;
	*) check_equal "$text" "$answer $reason" "$got"; return ;;
	esac
	check "$text" wait_until 20 grew "$node" "$reason" "$before"
}

# told FIELD...: which of them are there.
told() {
	local text field list=()

	text=$(cat)
	for field; do
		[ -n "$(field "$field" <<< "$text")" ] && list+=(yes) || list+=(no)
	done
	echo "${list[*]}"
}

plan 49

check "two nodes without a key" eval 'add_node a && add_node b && join a b'
check_equal "it is said that nothing was proved" false \
	"$(peer_field a b auth)"
names=(session incarnation my_slot)
check "an administrator is told which session that is" [ \
	"$(tally -j peer show b node a | told "${names[@]}")" = "yes yes yes" ]
check_equal "and nobody else" "no no yes" \
	"$(as_nobody "$(command -v tally)" -j peer show b node a |
	told "${names[@]}")"
check "a node with a key" keyed \
	tally node add c port 7477 lease 20000 key tally:test nomount
check "and one with another" "$withkey" tally:test "another, long enough" \
	tally node add d port 7478 lease 20000 key tally:test nomount
check_fails "a key that is not there" 1 'no logon key' \
	tally node add e port 7479 key tally:none nomount
check_fails "a key that is too short" 1 'key' "$withkey" tally:test short \
	tally node add e port 7479 key tally:test nomount

add_peer a c
add_peer c a
check "a key on one side only: refused" \
	wait_until 30 refusal_is a c auth_mismatch
add_peer c d
add_peer d c
check "another key: refused, which both sides know, whoever connects" eval \
	'wait_until 30 refusal_is c d auth && wait_until 30 refusal_is d c auth'
check "and counted" eval 'grew c auth 0 || grew d auth 0'
check_equal "there is no session" " " \
	"$(peer_field a c session) $(peer_field c d session)"
tally node del d
wait_until 20 node_gone d
check "the right key" eval '
	keyed tally node add d port 7478 lease 20000 key tally:test nomount &&
	add_peer d c && wait_until 60 is_live c d'
check_equal "lets one in" true "$(peer_field c d auth)"
check "an unknown node is refused" eval '
	tally peer del d node c && wait_until 60 refusal_is d c unknown_peer'
check "and counted" grew c unknown_peer 0
add_peer c d
wait_until 60 is_live c d
tally peer add x addr "$here" port 7476 node a
check "a name that is another's is refused" \
	wait_until 30 refusal_is a x wrong_name
tally peer del x node a

if [ ! -x "$stranger" ]; then
	for ((i = lib_done; i < lib_planned; i++)); do
		skip "strangers" "no headers of librdmacm and libcrypto"
	done
	exit
fi

# What runs all the while, and must not notice anything; but it leaves the
# processor to the strangers.
session=$(peer_field a b session)
tally arena add t access rw node a
tally counter add t/c node a
wait_until 20 test -e "$mnt/b/t/c"
begin until nice -n 19 "$load" until "$mnt/b/t/c"
loader=$begun
begun_says until ready

knock "no magic" a rejected malformed request magic
knock "another version" a rejected version request version
knock "neither control conn nor lane" a rejected malformed request kind
knock "reserved bytes" a rejected malformed request reserved
knock "connection data that are too short" a rejected malformed request short
knock "a lane of the live session, without its key" a rejected \
	stale_session lane "0x$session"
knock "a lane of no session" a rejected stale_session lane 0x1234
knock "garbage instead of HELLO" a closed bad_message raw garbage
knock "five bytes" a closed bad_message raw short
knock "an empty HELLO" a refused malformed raw empty
knock "a length that is a lie" a closed bad_message raw long
knock "flags" a closed bad_message raw flags
knock "something else than HELLO" a refused malformed raw type
knock "silence" a closed timeout raw silent
knock "a HELLO of another version" a refused version hello x a '' version
knock "of another byte order" a refused abi hello x a '' abi
knock "for another node" a refused wrong_name hello x a '' to
knock "with an impossible lease" a refused malformed hello x a '' lease
knock "of an unknown node" a refused unknown_peer hello x a
knock "of a node that is there already" a refused name_in_use hello b a
knock "with a key where there is none" a refused auth_mismatch \
	hello b a "$secret"
knock "without a key where there is one" c refused auth_mismatch hello d c
knock "with a wrong key" c refused auth hello d c "another key altogether"
knock "with a wrong proof" c refused auth hello d c "$secret" prove
knock "the proof of another connection" c refused auth \
	hello d c "$secret" twice
knock "with the right key, of a node that is there already" c refused \
	name_in_use hello d c "$secret"

tally peer add x addr "$here" port 7490 node c
check_equal "with the right key, of a node that may come" ready \
	"$("$stranger" "$here" 7477 hello x c "$secret" 2>&1)"

check_equal "the session is the same" "$session" "$(peer_field a b session)"
check_equal "and live" live "$(peer_state a b)"
check "the load went on" test -d "/proc/$loader"
tally counter del t/c node a
wait "$loader"
check "without any unknown outcome" begun_says until 'unknown 0 EIDRM'
check "and with some done" bash -c "! grep -q 'done 0 ' $lib_work/until"
