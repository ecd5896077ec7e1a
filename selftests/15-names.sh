#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
#
# What may be a name, and what becomes of names that are used twice.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 34

long=$(printf 'x%.0s' {1..63})

objects() {
	tally -j "$1" show | json 'len(j)'
}

check "nodes" add_nodes a b c
check "an arena" tally arena add t access rw node a

number=0
for name in .t -t 'a b' 'a/b/c' 'a@b' "${long}x" '' 'ä' $'a\nb'; do
	number=$((number + 1))
	check_fails "bad name $number of an arena" 2 "name" \
		tally arena add "$name" node a
	check_fails "bad name $number of a counter" 2 "name" \
		tally counter add "t/$name" node a
done
check_equal "they left nothing" "1 0" "$(objects arena) $(objects counter)"
check_equal "nor does the kernel take them past the command" 88 \
	"$(python3 "$LIB_DIR/names.py" t 2>&1)"
check "63 letters are a name" bash -c "
	tally arena add $long access rw node a &&
	tally counter add $long/$long perm 666 node a"
check_equal "elsewhere too" 0 \
	"$(tally -m "$mnt/b" counter read "$long/$long")"
check "all characters that are allowed" \
	tally counter add t/0aZ._-9 node a

check "a counter" tally counter add t/one perm 666 node a
check_fails "no second one of its name" 1 't/one: .*exist' \
	tally counter add t/one node a
check_fails "nor a lock" 1 't/one: .*exist' tally lock add t/one node a
check_fails "an object is not found under another type" 1 't/one' \
	tally lock del t/one node a
check_fails "no second arena" 1 'arena add t: .*exist' tally arena add t node a

tally arena add t access rw node c force
tally counter add t/one initial 42 perm 666 node c
check_fails "two homes with one arena: which is meant?" 1 \
	'two nodes have an arena.*ARENA@NODE' \
	tally -m "$mnt/b" counter read t/one
check_equal "t@a" 0 "$(tally -m "$mnt/b" counter read t@a/one)"
check_equal "t@c" 42 "$(tally -m "$mnt/b" counter read t@c/one)"
tally arena del t node c
check "one of them is enough again" \
	wait_until 20 tally -m "$mnt/b" counter read t/one
