#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 600
#
# Shared holders, fairness between readers and writers, caching, and locks that
# go straight from node to node.  a is the home; b and c use the words of nic
# locks, d posts no atomics and always asks the home.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
plan 58

check "nodes, d without atomics" eval 'add_node a && add_node b &&
	add_node c && add_node d atomics off'
check "they are joined" eval 'join a b && join a c && join a d &&
	join b c && join b d && join c d'
for mode in nic cpu; do
	check "an arena in mode $mode" bash -c "
		tally arena add $mode mode $mode access rw node a &&
		tally lock add $mode/l node a"
	lock=$mode/l

	held one b $lock shared
	one=$begun
	held two c $lock shared
	two=$begun
	held three d $lock shared
	three=$begun
	check "$mode: three nodes hold it shared" shows $lock holders 3
	check_equal "$mode: its mode is shown" shared "$(show $lock mode)"
	check_fails "$mode: try exclusive: readers are inside" 125 'holds it' \
		of a lock run $lock try -- true
	waits writer a $lock
	writer=$begun
	check "$mode: a writer waits" shows $lock waiters 1
	check_fails "$mode: no reader passes a waiting writer" 125 'holds it' \
		of b lock run $lock shared try -- true
	# b's own reader is inside still: the next one of b waits behind it.
	hold reader b $lock shared
	reader=$begun
	over one "$one"
	over two "$two"
	check "$mode: one reader is left, the writer waits, a reader behind it" \
		wait_until 20 shows $lock waiters 2
	over three "$three"
	check "$mode: then the writer is granted" begun_says writer held 30
	check "$mode: and the reader behind it waits" shows $lock waiters 1
	over writer "$writer"
	check "$mode: until the writer is gone" begun_says reader held 30
	over reader "$reader"
	check "$mode: then it is free" wait_until 20 shows $lock state free
done

held one b nic/l
one=$begun
check_fails "flock(1): shared, a writer is inside" 1 '' \
	flock -s -n "$mnt/c/nic/l" true
over one "$one"
check "flock(1): two shared at once" bounded 30 flock -s "$mnt/b/nic/l" \
	flock -s -n "$mnt/c/nic/l" true
check "flock(1): from exclusive to shared" bounded 30 bash -c "
	exec 9<> $mnt/b/nic/l && flock -x 9 &&
	! flock -s -n $mnt/c/nic/l true && flock -s 9 &&
	flock -s -n $mnt/c/nic/l true"
check "flock(1): from shared to exclusive, alone" bounded 30 bash -c "
	exec 9<> $mnt/b/nic/l && flock -s 9 && flock -x -n 9 &&
	! flock -s -n $mnt/c/nic/l true"
check "flock(1): not beside another reader" bounded 30 bash -c "
	exec 8<> $mnt/c/nic/l 9<> $mnt/b/nic/l && flock -s 8 && flock -s 9 &&
	! flock -x -n 9"
check "and nothing is left" wait_until 20 shows nic/l state free

# From holder to holder: c waits for b, then b for c.
before=$(stat_of c lock_handed)
held one b nic/l
one=$begun
waits two c nic/l
two=$begun
over one "$one"
begun_says two held
waits three b nic/l
three=$begun
over two "$two"
check "the next one is granted" begun_says three held 30
check "by the holder before it, not by the home" grew c lock_handed "$before"
over three "$three"
check "and it is free afterwards" wait_until 20 shows nic/l state free

check "caching is switched on" tally lock set nic/l cache on budget 2 node a
check_equal "which is shown" 'on 2' "$(show nic/l cache) $(show nic/l budget)"
one=$(token b nic/l)
check "b keeps it" shows nic/l holder b
check "the home knows that it merely keeps it" shows nic/l state cached
check_equal "and that nobody is inside" '' "$(show nic/l pid)"
words=$(posted b)
msgs=$(stat_of b lock_message)
two=$(token b nic/l)
check "taking it again costs no operation and no message" \
	[ "$(posted b)$(stat_of b lock_message)" = "$words$msgs" ]
check_equal "and gives the next token" $((one + 1)) "$two"
check "another node gets it by asking" bounded 20 \
	tally -m "$mnt/c" lock run nic/l -- true
token b nic/l > /dev/null
check "so does one that would not wait" \
	of a lock run nic/l try -- true
token b nic/l > /dev/null
check "or that goes by proxy" of d lock run nic/l try -- true
held one b nic/l
one=$begun
check_fails "but not while a user is inside" 125 'holds it' \
	of c lock run nic/l try -- true
over one "$one"
held one b nic/l shared
one=$begun
over one "$one"
check "it is cached shared, too, and recalled" of c lock run nic/l -- true
check "caching is switched off" tally lock set nic/l cache off node a
check "and nobody keeps it" wait_until 20 shows nic/l state free

check "cpu: caching" tally lock set cpu/l cache on node a
token b cpu/l > /dev/null
check "cpu: the home knows that b merely keeps it" shows cpu/l state cached
msgs=$(stat_of b lock_message)
token b cpu/l > /dev/null
check_equal "cpu: taking it again costs no message" "$msgs" \
	"$(stat_of b lock_message)"

for mode in nic cpu; do
	lock=$mode/own
	check "$mode: a lock with settings of its own" tally lock add $lock \
		cache on budget 3 within 250 node a
	check_equal "$mode: they are shown" 'on 3 250' \
		"$(show $lock cache) $(show $lock budget) $(show $lock budget_ms)"
	token b $lock > /dev/null
	wire="$(posted b)$(stat_of b lock_message)"
	token b $lock > /dev/null
	check_equal "$mode: taking it again costs no operation and no message" \
		"$wire" "$(posted b)$(stat_of b lock_message)"
done

# keep N: b keeps so many locks of an arena.
keep() {
	tally arena add many access rw node a &&
		seq -f 'lock add many/l%.0f cache on class region node a' "$1" |
		tally -b - &&
		seq -f 'lock run many/l%.0f -- true' "$1" | of b -b -
}

# More than one message of netlink holds.
check "b keeps many locks" keep 100
asked=$(stat_of a rpc_sent)
tally -j lock show many node a > "$lib_work/shown"
check_equal "b is asked about each once, and says that it keeps it" '100 100' \
	"$(grep -o '"state": *"cached"' "$lib_work/shown" | wc -l) $((
		$(stat_of a rpc_sent) - asked))"
