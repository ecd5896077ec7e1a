# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of locks among nodes of one kernel (nodes.sh), whose home is a.

# of NODE ARGUMENT...: the command, on the node's mount.
of() {
	# shellcheck disable=SC2154 # nodes.sh
	tally -m "$mnt/$1" "${@:2}"
}

# show LOCK FIELD
show() {
	tally -j lock show "$1" node a | field "$2"
}

# shows LOCK FIELD VALUE
shows() {
	[ "$(show "$1" "$2")" = "$3" ]
}

# hold NAME NODE LOCK [shared]: until let_go; its number is in $begun.
hold() {
	# shellcheck disable=SC2154 # lib.sh
	rm -f "$lib_work/$1.go"
	begin "$1" tally -m "$mnt/$2" lock run "$3" ${4+"$4"} -- bash -c "
		echo held \$TALLY_TOKEN; until [ -e $lib_work/$1.go ]; do
			sleep 0.1; done"
}

# held NAME NODE LOCK [shared]: and it has it.
held() {
	hold "$@"
	begun_says "$1" held
}

# waits NAME NODE LOCK [shared]: until it stands in the queue at the home.
waits() {
	local n

	n=$(show "$3" waiters)
	hold "$@"
	wait_until 20 shows "$3" waiters $((n + 1))
}

# over NAME PID: it lets go, and its process is gone.
over() {
	: > "$lib_work/$1.go"
	wait "$2"
}

# token NODE LOCK: the token of a tenure that ends at once.
token() {
	# shellcheck disable=SC2016 # for the command
	of "$1" lock run "$2" -- sh -c 'echo $TALLY_TOKEN'
}

# token_of NAME: of one that has, or had, the lock.
token_of() {
	sed -n 's/^held //p' "$lib_work/$1"
}

# posted NODE...: how many operations on words each has posted.
posted() {
	local node all

	for node; do
		all=$(tally -j stats all node "$node")
		echo -n "$(($(field post_faa <<< "$all") +
			$(field post_cas <<< "$all"))) "
	done
}
