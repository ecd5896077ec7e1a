#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 1200
#
# Nodes whose slot has no bit in the words of locks: they ask the home, and take
# turns with those that use the word. First with lock_slots=2, where a, the home,
# and b use it, c and d do not; then, with SOAK=1, with a slot that no word has
# room for.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
parameter=/sys/module/tally/parameters/lock_slots
room=44
plan "$(soak && echo 70 || echo 57)"

# slot NODE: of its own at the home.
slot() {
	peer_field "$1" a my_slot
}

# take_turns NODE...: several threads on each change a record under the lock.
take_turns() {
	local node times jobs=() status=0

	times=$(scaled 5 40)
	before=$(record)
	for node; do
		begin "turns-$node" "$load" lock "$mnt/$node/t/l" \
			"$mnt/$node/t/r" 2 "$times"
		jobs+=("$begun")
	done
	for node in "${jobs[@]}"; do
		wait "$node" || status=1
	done
	cat "$lib_work"/turns-?
	wanted=$((before + $# * 2 * times))
	return $status
}

record() {
	od -An -td8 -j8 -N8 "$mnt/a/t/r" | tr -d ' '
}

# count_up NODE...: adds to a number in an ordinary file under the lock.
count_up() {
	local node i jobs=() status=0

	for node; do
		for i in 1 2; do
			begin "up-$node$i" bounded 200 bash -c "for i in 1 2 3; do
				flock $mnt/$node/t/l bash -c '
					read -r n < $lib_work/number
					echo \$((n + 1)) > $lib_work/number' ||
					exit; done"
			jobs+=("$begun")
		done
	done
	for node in "${jobs[@]}"; do
		wait "$node" || status=1
	done
	return $status
}

# rising NUMBER...: is each higher than the one before?
rising() {
	local last=0 n

	echo "$*"
	for n; do
		[ "$n" -gt "$last" ] || return
		last=$n
	done
}

# succeeds NAME OTHER: it gets the lock after that one, with a higher token.
succeeds() {
	begun_says "$1" held 30 && rising "$(token_of "$2")" "$(token_of "$1")"
}

# in_line NODE NEXT: "one" has the lock, on the one, and "two" waits on the next.
in_line() {
	held one "$1" t/l
	one=$begun
	waits two "$2" t/l
	two=$begun
}

# next TEXT: "two" gets it then, and lets it go.
next() {
	check "$1" succeeds two one
	over two "$two"
}

killed_holder() {
	in_line c b
	kill -KILL "$one"
	next "c's process is killed: b is next"
}

# moved NODE SLOT: it has a session with the home, and another slot than this;
# which is then in $at.
moved() {
	local now

	now=$(tally -j peer show a node "$1")
	[ "$(field state <<< "$now")" = live ] || return
	at=$(field my_slot <<< "$now")
	[ "$at" != "$2" ]
}

# past_the_word NODE: slots go round; until it has one without a bit.
past_the_word() {
	local at

	printf '%s\n' "peer del $1 node a" \
		"peer add $1 addr $here port $(port "$1") node a" \
		> "$lib_work/anew"
	at=$(slot "$1")
	while [ "$at" -le $room ]; do
		tally -b "$lib_work/anew" && wait_until 60 moved "$1" "$at" ||
			return
	done
	echo "# $1 has slot $at"
	[ "$at" -gt $room ] && wait_until 60 is_live a "$1"
}

objects() {
	tally arena add t mode nic access rw node a &&
		tally lock add t/l class region node a &&
		tally region add t/r size 4096 node a
}

check_equal "all nodes that a word has room for use it" $room \
	"$(cat $parameter)"
check_fails "that is said when the module is loaded, not later" 1 . \
	bash -c "echo 2 > $parameter"
check_equal "and stays" $room "$(cat $parameter)"
rmmod tally
check_fails "no word has more room" 1 . load_tally lock_slots=$((room + 1))
check_fails "a number that is none" 1 . load_tally lock_slots=-1
check "the module with lock_slots=2" load_tally lock_slots=2
check_equal "it is shown" 2 "$(cat $parameter)"

check "nodes" eval 'add_node a && add_node b && add_node c && add_node d'
check "they are joined" eval 'join a b && join a c && join a d &&
	join b c && join b d && join c d'
check_equal "slots of b, c and d at a" "2 3 4" "$(slot b) $(slot c) $(slot d)"
check "objects" objects

# One after another, all from a free lock.
tokens=()
for node in b c a d b; do
	tokens+=("$(token $node t/l)")
	wait_until 20 shows t/l state free
done
check "tokens grow from the one to the other" rising "${tokens[@]}"
check "b uses the word" eval "grew b lock_fast 0 && grew b post_cas 0"
check "so does the home" grew a lock_fast 0
check_equal "c and d do not" "0 0" \
	"$(stat_of c lock_fast) $(stat_of d lock_fast)"
check "but ask" eval 'grew c lock_message 0 && grew d lock_message 0'

check "exclusion and order of tokens, all at once" take_turns a b c d
check_equal "no update is lost" "$wanted" "$(record)"
echo 0 > "$lib_work/number"
check "flock(1) by all at once" count_up a b c d
check_equal "each counts" 24 "$(cat "$lib_work/number")"
check "then the lock is free" wait_until 20 shows t/l state free

# Exclusive: one inside, one that tries, one that waits.
for holder in b c; do
	for other in a b c d; do
		[ $other != $holder ] || continue
		held one $holder t/l
		one=$begun
		check_fails "$holder holds it: $other tries in vain" 125 \
			'holds it' of $other lock run t/l try -- true
		waits two $other t/l
		two=$begun
		over one "$one"
		check "$other waits, and has a higher token" succeeds two one
		over two "$two"
	done
done
check "tries work when it is free" eval 'wait_until 20 shows t/l state free &&
	of c lock run t/l try -- true && wait_until 20 shows t/l state free &&
	of d lock run t/l shared try -- true'

held one b t/l shared
one=$begun
held two c t/l shared
two=$begun
held three d t/l shared
three=$begun
check "b, c and d hold it shared" shows t/l holders 3
check_fails "nobody has it exclusively meanwhile" 125 'holds it' \
	of a lock run t/l try -- true
waits writer a t/l
writer=$begun
check_fails "b passes no writer that waits" 125 'holds it' \
	of b lock run t/l shared try -- true
over one "$one"
waits reader b t/l shared
reader=$begun
over two "$two"
over three "$three"
check "then the writer has it" begun_says writer held 30
over writer "$writer"
check "and then the reader behind it" begun_says reader held 30
over reader "$reader"
check "timeouts, modes and their changes, from c" bounded 100 \
	"$files" lock "$mnt/c/t/l" "$mnt/b/t/l"
check "and from b" bounded 100 "$files" lock "$mnt/b/t/l" "$mnt/d/t/l"

tally lock set t/l cache on node a > /dev/null
one=$(token c t/l)
msgs=$(stat_of c lock_message)
check "c can keep it: the next token" [ "$(token c t/l)" = $((one + 1)) ]
check_equal "costs no message" "$msgs" "$(stat_of c lock_message)"
check "b gets it by asking" bounded 20 tally -m "$mnt/b" lock run t/l -- true
tally lock set t/l cache off node a > /dev/null
wait_until 20 shows t/l state free
check_equal "c and d have posted nothing to any word" "0 0 " "$(posted c d)"

# Ends. The next one is b with the word, or d without.
killed_holder
in_line c d
tally peer del c node a
check "c's session ends: its command is ended" wait_until 30 ended "$one"
check "and told" begun_says one 'it was lost'
next "d is next, with a higher token"
add_peer a c
wait_until 60 is_live a c
if [ -n "${RIG_LANE-}" ]; then
	held one d t/l
	one=$begun
	rdma link del rxe0
	check "all links break: d's command is ended" wait_until 60 ended "$one"
	rig_rxe_up
	check "all come back" eval 'wait_until 60 is_live a b &&
		wait_until 60 is_live a c && wait_until 60 is_live a d'
	two=$(token b t/l)
	check "b gets the lock, with a higher token" \
		rising "$(token_of one)" "$two"
	check "so do the others" rising "$two" "$(token c t/l)" "$(token d t/l)"
else
	for i in 1 2 3 4; do
		skip "broken links $i" "only in the rig, whose device it is"
	done
fi
in_line d b
check "d's node ends" del_node d
check "its command, too" wait_until 30 ended "$one"
next "b is next, with a higher token"
check "and the lock is free" wait_until 20 shows t/l state free

soak || exit 0

# Without the parameter, and a slot that is really beyond the word.
end_nodes
rmmod tally
check "the module as it comes" load_tally
check "nodes and objects" eval 'add_nodes a b c && objects'
check "a node that comes again often enough" past_the_word c
check "tokens grow from the one to the other" rising "$(token b t/l)" \
	"$(token c t/l)" "$(token a t/l)" "$(token b t/l)"
check "exclusion and order of tokens" take_turns a b c
check_equal "no update is lost" "$wanted" "$(record)"
check_equal "c has posted nothing to a word" "0 0 " \
	"$(stat_of c lock_fast) $(posted c)"
check "b has" grew b lock_fast 0
killed_holder
check "tries work when it is free" eval 'wait_until 20 shows t/l state free &&
	of c lock run t/l try -- true'
in_line c b
check "c's node ends" del_node c
check "its command, too" wait_until 30 ended "$one"
next "b is next, with a higher token"
