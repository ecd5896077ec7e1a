#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 240
#
# lock run: nothing of the command is left when another has the lock, whatever was
# killed, stopped or cut off; what its parent set up does not matter.
# shellcheck disable=SC2016,SC2119 # for eval; no parameters
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
plan 28

# Neither heeds TERM nor ends: tells its number, and when it was last alive.
stubborn=$lib_work/stubborn
cat > "$stubborn" << EOF
trap 'echo TERM >> $lib_work/heard' TERM
echo \$\$ > $lib_work/pid
while :; do : > $lib_work/alive; read -rt 0.05 -u 9 _; done 9<> <(:)
EOF

# outlived WHOM COMMAND...: is b's command there when a has the lock, as the tool, or
# the guard, was killed?
outlived() {
	local whom=$1

	shift
	rm -f "$lib_work/pid"
	begin job tally -m "$mnt/b" lock run t/l -- "$@"
	wait_until 20 test -s "$lib_work/pid"
	[ "$whom" = tool ] || begun=$(pgrep -x -P "$begun" lock-run-guard)
	kill -KILL "$begun"
	tally -m "$mnt/a" lock run t/l timeout 20000 -- \
		sh -c "! kill -0 $(cat "$lib_work/pid")"
}

# waits LOCK: somebody does.
waits() {
	[ "$(tally -j lock show "$1" node a | field waiters)" -gt 0 ]
}

check "nodes" add_nodes a b
check "locks" bash -c '
	tally arena add t node a && tally lock add t/l node a &&
	tally lock add t/m node a'
for whom in tool guard; do
	check "the $whom is killed: the command ends first" \
		outlived $whom bash "$stubborn"
	check "and what is in a group of its own" \
		outlived $whom sh -c "timeout 60 bash $stubborn; true"
	check "what lost its parent" \
		outlived $whom sh -c "setsid bash $stubborn & exec sleep 60"
	check "what another lock run runs" \
		outlived $whom tally -m "$mnt/b" lock run t/m -- bash "$stubborn"
done

check_fails "SIGCHLD ignored: the command's status" 7 '' bounded 20 \
	env --ignore-signal=CHLD tally -m "$mnt/b" lock run t/l -- sh -c 'exit 7'
check_fails "signals blocked" 7 '' bounded 20 env --block-signal=CHLD,TERM \
	tally -m "$mnt/b" lock run t/l -- sh -c 'exit 7'
check_fails "no standard descriptors" 7 '' bounded 20 bash -c "
	tally -m $mnt/b lock run t/l -- sh -c 'exit 7' <&- >&- 2>&-"
{ echo "lock run t/l -- cat"; seq -f 'counter add t/c%.0f' 100; } \
	> "$lib_work/batch"
check "a batch whose command reads standard input" \
	bash -c "tally -m $mnt/a -b - < $lib_work/batch > $lib_work/eaten"
check_equal "is carried out to its end" 100 \
	"$(tally -j counter show t | grep -o '"path"' | wc -l)"
check_fails "timeout 0 is try" 125 'holds it' bash -c "
	tally -m $mnt/b lock run t/l -- tally -m $mnt/a lock run t/l timeout 0 -- true"

# Broken by hand: the command has its two seconds.
rm -f "$lib_work/pid" "$lib_work/heard"
begin job tally -m "$mnt/b" lock run t/l -- bash "$stubborn"
wait_until 20 test -s "$lib_work/pid"
kill -STOP "$begun"
tally lock break t/l node a > /dev/null
check "a lock that was broken: the tool is stopped, the command ends" \
	wait_until 20 ended "$(cat "$lib_work/pid")"
check "it got TERM" grep -q TERM "$lib_work/heard"
kill -CONT "$begun"
wait "$begun"
check_equal "the status is that of a lost lock" 121 $?

# What an ordinary user may run by sudo, he may not kill.
install -m 4755 "$(command -v setpriv)" "$lib_work/become"
check "a lock for all" eval \
	'tally arena set t perm 755 node a && tally lock add t/u perm 666 node a'
begin job as_nobody "$(command -v tally)" -m "$mnt/b" lock run t/u -- \
	"$lib_work/become" --reuid 0 --clear-groups \
	sh -c 'echo "pid $$"; exec sleep 300'
wait_until 20 grep -q '^pid' "$lib_work/job"
root=$(sed -n 's/^pid //p' "$lib_work/job")
tally lock break t/u node a > /dev/null
check "a command that cannot be killed is told" begun_says job 'cannot be killed'
check "and waited for" kill "$root"
wait "$begun"
check_equal "with the status of a lost lock" 121 $?
check_equal "and told once" 1 "$(grep -c 'cannot be killed' "$lib_work/job")"

# Nothing comes from the home any more: renewals fail until the lease is over.
if [ -n "${RIG_LANE-}" ]; then
	del_node a
	del_node b
	lease=4000
	rm -f "$lib_work/pid" "$lib_work/heard"
	check "nodes with a short lease" eval 'add_nodes a b &&
		tally arena add t mode cpu node a && tally lock add t/l node a'
	begin job tally -m "$mnt/b" lock run t/l -- bash "$stubborn"
	holder=$begun
	wait_until 20 test -s "$lib_work/pid"
	begin next tally -m "$mnt/a" lock run t/l -- touch "$lib_work/granted"
	wait_until 20 waits t/l
	kill -STOP "$holder"
	rig_rxe_down
	check "the lease is over: another has the lock" \
		wait_until 30 test -e "$lib_work/granted"
	check "the command had ended before" \
		test "$lib_work/alive" -ot "$lib_work/granted"
	check "after it got TERM" grep -q TERM "$lib_work/heard"
	kill -CONT "$holder"
	rig_rxe_up
else
	for i in 1 2 3 4; do
		skip "the lease is over $i" "the device is not the rig's"
	done
fi
