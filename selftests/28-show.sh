#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
#
# "show" of an arena tells the same from any node that may use it. a is the home.
# shellcheck disable=SC2016,SC2154 # for eval
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
plan 24

# plain: what was shown, without what passes with the time.
plain() {
	sed 's/"\(age\|lease\)_ms": *[0-9]*,\?//g; s/ \(for\|lease\) [0-9.]* *m\?s//g'
}

# same WHAT...: "show" of it says the same at b as at home, in both forms.
same() {
	local form

	for form in -p -j; do
		diff <(tally $form "$@" node a | plain) \
			<(tally -m "$mnt/b" $form "$@" node b | plain) || return
	done
}

check "nodes" add_nodes a b c
check "an arena with all there is" eval '
	tally arena add t node a && tally lock add t/l node a && tally lock add t/m node a &&
	tally counter add t/c initial 7 node a && tally region add t/r size 8K node a &&
	tally arena set t peer c access ro node a'
check "b uses it" of b counter inc t/c
check "and has a lock that a waits for" eval 'held one b t/l && one=$begun &&
	waits two a t/l && two=$begun'
check "the arena" same arena show t
check "a counter" same counter show t/c
check "a region" same region show t/r
# What a holder says of itself is shown for a few seconds.
check "all locks in it" wait_until 20 same lock show t
check "with those that wait" eval '
	tally -m "$mnt/b" -j lock show t/l node b | grep -q "waiting_nodes.*\"a\""'
check "also for one that only reads" eval '
	tally -m "$mnt/c" lock show t/l node c | grep -q "holder b"'
check "by the name of its home, too" eval '
	tally -m "$mnt/b" lock show t@a/l node b | grep -q "holder b"'
check "with all in it" eval 'tally -m "$mnt/b" lock show t@a node b | grep -q t/m'
check "and the arena" eval 'tally -m "$mnt/b" -j arena show t@a node b | grep -q attached_nodes'
check "away" eval 'over one "$one"; over two "$two"'
check_fails "what is not there" 1 'no object of that name' \
	tally -m "$mnt/b" lock show t/none node b
check_fails "nor of that type" 1 'not a lock' \
	tally -m "$mnt/b" lock show t/c node b
check_fails "nor such an arena" 1 'no node that this one reaches has an arena none' \
	tally -m "$mnt/b" arena show none node b
check_fails "nor at home" 1 'no node that this one reaches has an arena none' \
	tally -m "$mnt/a" arena show none node a
check_fails "nor an object there" 1 'no such object' \
	tally lock show t/none node a
check_fails "an ordinary user does not see values this way" 1 '' \
	as_nobody "$(command -v tally)" -m "$mnt/b" counter show t/c node b
check "no rights for c" tally arena set t peer c access none node a
check_fails "who sees nothing then" 1 'rights|no node that this one reaches' \
	tally -m "$mnt/c" arena show t node c
check "an arena with more objects than one answer takes" eval '
	for i in {1..30}; do echo "counter add t/n$i node a"; done | tally -b -'
check "all are listed" eval '[ "$(tally -m "$mnt/b" -j counter show t node b |
	grep -o "\"path\"" | wc -l)" = 31 ]'
