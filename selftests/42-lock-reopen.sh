#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 300
#
# A node uses ever new locks, more than its home keeps records for: those that it has
# not used for long it closes, and may open again, which nobody notices but by the
# time it takes. a is the home. Needs a module that was built with TALLY_FAULTS=1.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
quota=/sys/module/tally/parameters/quota
count=3000
room=65536
[ ! -e /sys/kernel/debug/kmemleak ] || count=1000
if soak; then
	count=100000
	room=1048576
fi
plan 55

cat > "$lib_work/use.py" <<-'PYTHON'
	import fcntl, os, struct, sys
	CREATE = struct.Struct("=IIQII64s")
	IOC_CREATE = 1 << 30 | CREATE.size << 16 | ord("Y") << 8 | 0x20
	LOCK, REGION = 2, 1
	how, place, first, last = *sys.argv[1:3], *map(int, sys.argv[3:5])
	if how == "make":
	    arena = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
	    for i in range(first, last):
	        fcntl.ioctl(arena, IOC_CREATE,
	                    CREATE.pack(LOCK, REGION, 0, 0o666, 0, b"n%d" % i))
	else:
	    for i in range(first, last):
	        fd = os.open(f"{place}/n{i}", os.O_RDWR)
	        fcntl.flock(fd, fcntl.LOCK_EX)
	        os.close(fd)
PYTHON

# uses NODE FIRST LAST: those locks, each once.
uses() {
	bounded 250 python3 "$lib_work/use.py" use "$mnt/$1/t" "$2" "$3"
}

# clients: locks that all nodes have open, or are about to.
clients() {
	awk '$1 == "tally_lock_client" { print $2 }' /proc/slabinfo
}

has_few() {
	[ "$(clients)" -le "$1" ]
}

drop() {
	echo 2 > /proc/sys/vm/drop_caches
}

dropped() {
	drop
	has_few "$1"
}

# file NODE LOCK: an open file, on which "turn" takes the lock, and lets it go.
file() {
	exec {fd}<> "$mnt/$1/$2"
}

turn() {
	flock $fd && flock -u $fd
}

# costs NODE COMMAND...: requests of the node and operations on words meanwhile.
costs() {
	local node=$1 requests words

	shift
	requests=$(stat_of "$node" rpc_sent)
	words=$(posted "$node")
	"$@" || return
	echo "$(($(stat_of "$node" rpc_sent) - requests))" \
		"$(($(posted "$node") - words))"
}

turns() {
	local i

	for ((i = 0; i < 20; i++)); do
		turn || return
	done
}

session() {
	peer_field "$1" a session
}

check "nodes" add_nodes a b c
check "an arena" tally arena add t access rw words 2M perm 777 node a
check "with many locks" bounded 250 python3 "$lib_work/use.py" make "$mnt/a/t" \
	0 $count
# shellcheck disable=SC2016 # for eval
check "and some more" eval 'for i in l m s; do
	tally lock add t/$i class region node a || exit; done'
check "one to ask each other by" eval 'tally arena add x access rw node b &&
	tally counter add x/c node b'
before=$(session b)
first=$(token b t/l)
check "it is used" test "$first" -gt 0
file b t/m
cost=$(costs b turns)
echo "# 20 turns on an open file: requests, operations: $cost"
check_equal "a turn on an open file asks nobody" 0 "${cost% *}"
held holder b t/s
holder=$begun
echo $room > $quota

# More than there is room for.
refused=$(stat_of a quota_refused)
check "it uses ever new ones" uses b 0 $count
check "and the home had no room" grew a quota_refused "$refused"
echo "# $(clients) of $count are open"
check "it has not many open" has_few $((room / 128))
check "again" uses b 0 $((count / 4))
check "while another does the same" eval "
	uses c 0 $((count / 2)) & one=\$!
	uses b $((count / 4)) $((count / 2)) && wait \$one"
check_equal "one that was open all the time costs what it did" "$cost" \
	"$(costs b turns)"
check "tokens go on" test "$(token b t/l)" -gt "$first"
check "what is held is still held" shows t/s state fast
check "and given back" over holder "$holder"
exec {fd}>&-
file b t/m
check_equal "as does one that was closed, and is open again" "$cost" \
	"$(costs b turns)"
exec {fd}>&-
check_equal "in the same session" "$before" "$(session b)"
check_equal "none was lost" 0 "$(stat_of b lock_lost)"

# When memory is short.
check "without memory they are closed" wait_until 30 dropped 40
check "and opened again" uses b 0 50

# The home takes its time to close one: until it has, the name is not opened again.
check "memory is short again" wait_until 30 dropped 40
check "one is used" token b t/l
stop_at close
# shellcheck disable=SC2016 # for eval
begin dropper eval 'until [ -e $lib_work/dropped ]; do drop; sleep 0.1; done'
dropper=$begun
check "it is being closed" stopped_at close
: > "$lib_work/dropped"
check "by us" wait_until 20 ended "$dropper"
hold six b t/l
six=$begun
check_fails "it is not had meanwhile" 1 'in vain' \
	wait_until 8 grep held "$lib_work/six"
check "who wants it does not wait for ever" wait_until 20 ended "$six"
hold seven b t/l
seven=$begun
go_on close
check "and then it is had" begun_says seven held
check "and given back" over seven "$seven"
check_equal "in the same session as before" "$before" "$(session b)"

# Its link with b breaks as b has many to close, and is not up again for a while: those
# of other homes are closed and opened meanwhile. Their arena is not looked for again,
# as that asks all homes.
echo $((64 << 20)) > $quota
check "many are open" uses b 0 $((count / 2))
check "and one of another home" eval 'tally arena add y access rw node c &&
	tally counter add y/c node c && wait_until 20 of b counter inc y/c'
exec 6< "$mnt/b/y"
stop_at close
stop_at active
# Those that were used since the last look are spared once.
drop
drop
check "they are being closed" stopped_at close
check "the link breaks" break_link b a
go_on close
check "and is not up again yet" stopped_at active
for n in {1..3}; do
	check "that of the other home is used, time $n" \
		bounded 4 cat "/proc/$$/fd/6/c"
	drop
done
go_on active
exec 6<&-
check "they are closed" wait_until 60 has_few 40

# c hands the lock over to b, which hears of that late: it has the lock by another
# way, gives it back, closes it and waits for it again.
echo 16384 > $quota
# What c has found it does not ask b for, which does not answer meanwhile.
file c t/m
held one b t/s
one=$begun
waits two c t/s
two=$begun
check "the first gives it back" over one "$one"
check "the second has it, from the home" begun_says two held
waits three b t/s
three=$begun
stop_at handover
check "it is handed over" over two "$two"
check "which has not arrived" stopped_at handover
check_fails "so it waits" 1 '' grep held "$lib_work/three"
check "the one that handed it over uses others" uses c 0 300
# Before the silence of the link does.
check "and closes it, which grants it again" begun_says three held 3
exec {fd}>&-
last=$(token_of three)
check "that gives it back" over three "$three"
check "uses others, and closes it, too" uses b 0 300
held four c t/s
four=$begun
waits five b t/s
five=$begun
go_on handover
check "what was handed over arrives" bounded 20 stat "$mnt/c/x/c"
check_fails "and is not believed" 1 '' grep held "$lib_work/five"
check "the one that has it gives it back" over four "$four"
check "then it is had" begun_says five held
check "with a higher token" test "$(token_of five)" -gt "$last"
check "and given back" over five "$five"
check_equal "in the same session still" "$before" "$(session b)"
