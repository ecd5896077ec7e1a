# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of what several machines show: node nN on machine N, each a peer of
# the others; commands run there by "on" (lib.sh), and leave their output in
# /out, which all machines share.

# shellcheck disable=SC2034 # the tests
load=$LIB_DIR/load

# on_each COMMAND...: with "N" in it replaced by the machine's number.
on_each() {
	local node

	for node in 1 2 3; do
		on "$node" "${@//N/$node}" || return
	done
}

end_nodes() {
	local node

	for node in 2 3 1; do
		[ -e "/out/dead-$node" ] || on "$node" tally node del "n$node"
	done
}
defer end_nodes

# peers NODE: of this machine's node.
peers() {
	local other

	for other in 1 2 3; do
		[ "$other" = "$1" ] || on "$1" tally peer add "n$other" \
			addr "$(address "$other")" || return
	done
}

# peer_field NODE PEER FIELD
peer_field() {
	on "$1" tally -j peer show "n$2" | field "$3"
}

is_live() {
	[ "$(peer_field "$1" "$2" state)" = live ]
}

is_not_live() {
	! is_live "$1" "$2"
}

stat_of() {
	on "$1" tally -j stats all | field "$2"
}

# begin NODE NAME COMMAND...: in the background, output in /out/NAME, and its
# status in /out/NAME.status.
begin() {
	local node=$1 name=$2

	shift 2
	rm -f "/out/$name" "/out/$name.status"
	on "$node" bash -c "$(printf '%q ' "$@") > /out/$name 2>&1
		echo \$? > /out/$name.status" &
}

says() {
	wait_until "$1" grep -qE -e "$3" "/out/$2"
}

# hold NODE NAME [LOCK]: until /out/NAME.go is there.
hold() {
	rm -f "/out/$2.go"
	begin "$1" "$2" tally lock run "${3-t/l}" -- bash -c "echo held \$TALLY_TOKEN
		trap 'echo stopped; exit 1' TERM
		until [ -e /out/$2.go ]; do sleep 0.2; done; echo let go"
	says 30 "$2" held
}

token_in() {
	sed -n 's/^held //p' "/out/$1"
}

# counted NAME COUNTER: what was done is in the counter, what is unknown may be.
counted() {
	local value sure unknown

	value=$(tally counter read "$2")
	read -r _ sure _ unknown _ < <(grep "^done" "/out/$1")
	echo "value $value, done $sure, unknown $unknown"
	[ "$value" -ge "$sure" ] && [ "$value" -le $((sure + unknown)) ]
}

# higher NAME OTHER: its token is higher than the other's.
higher() {
	echo "$(token_in "$1") after $(token_in "$2")"
	[ "$(token_in "$1")" -gt "$(token_in "$2")" ]
}
