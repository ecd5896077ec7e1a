#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 400
#
# "tally bench" measures what it was told to, one at a time, and leaves nothing;
# what it measured here is of no interest.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
# Beside the module under test; by hand, say where.
bench_ko=${TALLY_BENCH_KO:-$(dirname "${MODULE:-.}")/kmod/bench/tally_bench.ko}
[ -e "$bench_ko" ] || skip_all "no module tally_bench"
control=/sys/kernel/debug/tally_bench
grep -q debugfs /proc/mounts || skip_all "no debugfs"
stranger=$LIB_DIR/stranger
plan 28

# What "tally bench" calls to have the module.
mkdir "$lib_work/bin"
printf '#!/bin/sh\nshift\nexec insmod %s "$@"\n' "$bench_ko" > "$lib_work/bin/modprobe"
chmod 755 "$lib_work/bin/modprobe"
PATH=$lib_work/bin:$PATH

# bench WORD...: as little as possible. On a busy machine the A/A row alone may
# make it fail.
bench() {
	local status=0

	tally -j "${as[@]}" bench rounds 9 calls 8 "$@" > "$lib_work/rows" \
		2> "$lib_work/said" || status=$?
	cat "$lib_work/said" >&2
	[ $status = 0 ] || { [ $status = 1 ] && grep -q 'an A/A row' "$lib_work/said"; }
}
as=()

# value ROW
value() {
	json "[r['value'] for r in j if r['name'] == '$1']" < "$lib_work/rows"
}

is_loaded() {
	[ -d /sys/module/tally_bench ]
}

not_loaded() {
	! is_loaded
}

unload() {
	! is_loaded || rmmod tally_bench
}
defer unload

run() {
	echo "$*" > $control/run
}

# Several times, for what is left running may be over by chance.
unload_at_once() {
	local i

	for i in 1 2 3 4 5; do
		insmod "$bench_ko" nodes=b,c counter=t/c lock=t/l &&
			run count lock.contended2.goodput 20 && rmmod tally_bench || return
	done
}

measures() {
	[ -n "$(cat $control/progress)" ]
}

check "three nodes with objects" eval 'add_nodes a b c &&
	tally arena add t access rw node a && tally counter add t/c node a &&
	tally lock add t/l class region node a'

check "the module is loaded, used and unloaded" bench nodes b,c counter t/c \
	figure counter.add.latency
check "nothing of it stays" not_loaded
check_equal "each call was one atomic of the first of these nodes" "[1]" \
	"$(value counter.add.atomics)"
check_fails "nodes are said once" 2 'leave out either -n' \
	tally -n c bench nodes b,c counter t/c
as=(-n c)
check "the node of -n is measured" bench counter t/c figure counter.add.latency
as=()
check_equal "and its wire" "[1]" "$(value counter.add.atomics)"

begin killed tally bench nodes b,c counter t/c figure counter.add
check "one begins" wait_until 60 measures
# As "killall tally" would; its child is to unload the module.
# shellcheck disable=SC2046 # a list of numbers
kill -TERM $(grep -lsx "PPid:.$begun" /proc/[0-9]*/status | cut -d / -f 3)
kill -KILL "$begun"
wait "$begun" 2> /dev/null
check "when it is killed its module is unloaded, too" wait_until 60 not_loaded

check "threads have ended when the module is unloaded" unload_at_once

insmod "$bench_ko" nodes=b,c counter=t/c
check "with a loaded module, what is left out is as it has it" bench \
	figure counter.add.latency
check_equal "its first node's wire, too" "[1]" "$(value counter.add.atomics)"
check "the same words may be said" bench nodes b,c counter t/c figure raw.faa
check_fails "others are refused: another counter" 1 \
	"loaded with counter 't/c', not 't/d'" tally bench counter t/d
check_fails "one that it does not have" 1 "with lock '', not 't/l'" \
	tally bench lock t/l
check_fails "a target on another machine" 1 "with far '', not '10.0.0.1:7600'" \
	tally bench far 10.0.0.1:7600
check_fails "other nodes" 1 "with nodes 'b,c', not 'b'" tally -n b bench
exec 5> $control/run
check_fails "only one may measure" 1 'measuring for another process' \
	tally bench rounds 99 figure raw.faa
check_equal "who may not changes nothing for who does" 9 \
	"$(cat /sys/module/tally_bench/parameters/rounds)"
check_fails "nor may others by hand" 1 'busy' bash -c "echo aa > $control/run"
check_fails "the module is in use then" 1 'in use' rmmod tally_bench
exec 5>&-
check "then the next one may" bench figure raw.faa
rmmod tally_bench

# A machine can be its own target.
insmod "$bench_ko" listen=7600 "far=$here:7600"
check "verbs alone go to a target that listens" bench figure raw.send
check_equal "and come back" 1 "$(value raw.send.rtt | grep -c '[1-9]')"
if [ -x "$stranger" ]; then
	check_equal "more targets than there is room for take the oldest one's" \
		"70 accepted, the first: RDMA_CM_EVENT_DISCONNECTED" \
		"$("$stranger" "$here" 7600 targets 70 2>&1)"
else
	skip "too many targets" "no headers of librdmacm"
fi
check "others find a target as before" bench figure raw.send
check "the module is unloaded with its targets" rmmod tally_bench
check "nodes are as they were" tally -m "$mnt/b" counter inc t/c
