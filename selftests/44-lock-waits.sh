#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# Who waits for a lock waits on behind all that does not end it: a stop, a freezer, a
# signal whose handler restarts the call, a release of what is being upgraded.  Who
# does not want to wait is not told to by others like it, and readers do not wait for
# readers.  a is the home.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
plan 33

# state PID LETTERS: it is in one of these states.
state() {
	grep -q "^State:.[$2]" "/proc/$1/status"
}

# heard PID: no signal is on its way to it.
heard() {
	! grep -q '^S[hi][dg]Pnd:.*[1-9a-f]' "/proc/$1/status"
}

# waiter NAME HOW FILE
waiter() {
	begin "$1" python3 "$LIB_DIR/waits.py" "$2" "$3"
	begun_says "$1" waits && wait_until 20 state "$begun" S &&
		wait_until 20 eval "[ \"\$(show t/l waiters)\" != '' ]"
}

check "nodes and locks" eval 'add_nodes a b c && tally arena add t access rw node a &&
	tally lock add t/l node a && tally lock add t/try node a &&
	tally arena add cpu mode cpu access rw node a && tally lock add cpu/try node a'

check "a has it" held holder a t/l
holder=$begun
check "a command waits" waits command b t/l
command=$(pgrep -xf "tally -m $mnt/b lock run .*")
first=$begun
check "flock(2) waits" waiter flock flock "$mnt/c/t/l"
flock=$begun
check "so it does with a handler that restarts it" waiter restart restart "$mnt/c/t/l"
restart=$begun
check "and with one that ends it" waiter ended ended "$mnt/c/t/l"
ended=$begun
check "a call with a timeout waits" waiter timed timed "$mnt/c/t/l"
timed=$begun

kill -STOP "$command" "$flock"
check "two are stopped" eval "wait_until 20 state $command T && wait_until 20 state $flock T"
kill -CONT "$command" "$flock"
check "and go on" eval "wait_until 20 state $command S && wait_until 20 state $flock S"

kill -USR1 "$restart" "$ended" "$timed"
check "a signal ends the wait it is to end" wait "$ended"
check "one with a timeout says what is left of it" wait "$timed"
check "the handler that restarts has run" eval "wait_until 20 heard $restart &&
	wait_until 20 state $restart S"

cgroup=$lib_work/cgroup
mkdir "$cgroup"
if mount -t cgroup2 none "$cgroup" && mkdir "$cgroup/frozen"; then
	defer umount "$cgroup"
	echo "$command" > "$cgroup/frozen/cgroup.procs"
	echo 1 > "$cgroup/frozen/cgroup.freeze"
	check "the command is frozen" \
		wait_until 20 grep -q 'frozen 1' "$cgroup/frozen/cgroup.events"
	echo 0 > "$cgroup/frozen/cgroup.freeze"
	check "and thawed" wait_until 20 state "$command" S
else
	skip "the command is frozen" "no cgroup2"
	skip "and thawed" "no cgroup2"
fi
for name in command flock restart; do
	check_fails "$name waits on" 1 '' ended "${!name}"
done
over holder "$holder"
check "the command has it then" begun_says command held
over command "$first"
check "flock(2) had it" wait "$flock"
check "and so had the one with the handler" wait "$restart"

check "an upgrade that meets a release ends" \
	bounded 120 python3 "$LIB_DIR/waits.py" upgrade "$mnt/b/t/l"

# The process that asked is gone when the lock is looked at.
exec 9> "$mnt/b/t/l"
check "flock(1) takes a lock for a shell" flock 9
check_equal "the shell is the holder that is shown" $$ "$(show t/l pid)"
check "and so is the user of the node" eval "tally node show users b | grep -q 't/l.*pid $$ '"
exec 9>&-

# Four that only try, and only shared: nobody is in anybody's way.
tries() {
	local pids=() node pid

	for node; do
		python3 "$LIB_DIR/waits.py" tries "$node" & pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || return
	done
}
for node in a b; do
	for lock in t/try cpu/try; do
		file=$mnt/$node/$lock
		check "tries do not fail beside tries at $node, $lock" \
			bounded 120 bash -c "$(declare -f tries)
				LIB_DIR=$LIB_DIR tries $file $file $file $file"
	done
done
check "nor beside those of other nodes" bounded 120 bash -c "$(declare -f tries)
	LIB_DIR=$LIB_DIR tries $mnt/{a,b,c}/cpu/try"

check "a reader stays, 300 others come and go" \
	bounded 60 python3 "$LIB_DIR/waits.py" readers "$mnt/b/t/l"

# b keeps the lock as a writer had it; a reader comes in without a word of the home.
check "the lock is cached" tally lock set t/l cache on node a
token b t/l > /dev/null
check "a reader of the node that keeps it" held reader b t/l shared
reader=$begun
check "does not exclude a reader that tries" of c lock run t/l shared try -- true
over reader "$reader"
