#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# What comes between two steps of the module: each window was found by reading, and
# is held open here. a is the home. Needs a module that was built with
# TALLY_FAULTS=1.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
hostile=$LIB_DIR/hostile
[ -x "$hostile" ] || skip_all "no headers of librdmacm and libcrypto"
plan 90

# serves NODE: its session with the home carries requests: an object that was not
# looked up before is found. A command might wait for one that is held.
serves() {
	asked=$((asked + 1))
	bounded 10 stat "$mnt/$1/other/n$asked"
}
asked=0

session() {
	peer_field "$1" a session
}

# ends PID: that process does, soon.
ends() {
	wait_until 20 ended "$1"
}

check "nodes" add_nodes a b c
check "arenas" eval 'tally arena add t access rw node a &&
	tally arena add other access rw node a &&
	tally lock add other/held class region node a'
# shellcheck disable=SC2016 # for eval
check "objects to look for" eval 'for i in {1..9}; do
	tally counter add other/n$i node a || exit; done'

# A region is deleted while a client fetches its keys.
check "a region" tally region add t/r size 64K node a
before=$(session b)
stop_at region_map
begin reader head -c 1 "$mnt/b/t/r"
reader=$begun
check "its keys are fetched" stopped_at region_map
check "it is deleted meanwhile" tally region del t/r node a
check "the session serves others" serves b
go_on region_map
check "the reader ends" ends "$reader"
check_equal "in the same session" "$before" "$(session b)"

# A lock is deleted while a client has it.
check "a lock" tally lock add t/l class region node a
check "b has it" held one b t/l
check "and another one" held two b other/held
two=$begun
before=$(session b)
stop_at object_del
begin deleter tally lock del t/l node a
deleter=$begun
check "it is being deleted" stopped_at object_del
check "its holder hears that" begun_says one 'lost|deleted'
check "and has told the home" eval 'serves b && serves b && serves b'
go_on object_del
check "it is gone" ends "$deleter"
check_equal "no session was fenced" "$before" "$(session b)"
check "the other lock is held" shows other/held state fast
check "and given back" over two "$two"

# A lock is deleted and made anew, and its holder has not heard of that.
check "a lock" tally lock add t/l class region node a
check "b has it" held one b t/l
one=$begun
stop_at forget
check "it is deleted" tally lock del t/l node a
check "its holder is about to be told" stopped_at forget
check "it is made anew" tally lock add t/l class region node a
check "nobody gets it yet: another node waits" waits two c t/l
two=$begun
check "since that of before may be held" shows t/l state grace
check_fails "nor by a try" 125 'holds it' of a lock run t/l try -- true
go_on forget
check "the holder hears of it" begun_says one 'lost|deleted'
wait "$one" 2> /dev/null
check "and then the other has it" begun_says two held
check "and gives it back" over two "$two"
tally lock del t/l node a

# It goes on behind the tokens of the one before, which it may not know yet.
check "a lock" tally lock add t/l class region node a
for i in {1..5}; do
	before=$(token b t/l)
done
stop_at object_del
begin deleter tally lock del t/l node a
deleter=$begun
check "it is being deleted" stopped_at object_del
check "and made anew" tally lock add t/l class region node a
check "and may be held" shows t/l state grace
go_on object_del
check "it is gone" ends "$deleter"
after=$(token b t/l)
check "tokens go on" test "$after" -gt "$before"
tally lock del t/l node a

# It is made by two at a time: neither its name nor the lock is there for the second.
stop_at object_add
begin adder tally lock add t/l class region node a
adder=$begun
check "a lock is being made" stopped_at object_add
check_fails "nobody else makes it" 1 'exists' tally lock add t/l node a
check_fails "or deletes it" 1 'no object' tally lock del t/l node a
check_fails "or finds it" 1 '' test -e "$mnt/b/t/l"
check_fails "at its home either" 1 '' test -e "$mnt/a/t/l"
go_on object_add
check "it is made" ends "$adder"
check "and used" of b lock run t/l -- true
tally lock del t/l node a

# An arena with a lock is deleted and made anew, and its holder has not heard of that.
check "an arena with a lock" eval 'tally arena add again access rw node a &&
	tally lock add again/l class region node a'
for i in {1..5}; do
	before=$(token b again/l)
done
check "b has it" held one b again/l
one=$begun
before=$(token_of one)
stop_at forget
check "the arena is deleted" tally arena del again node a
check "its holder is about to be told" stopped_at forget
check "it is made anew" eval 'tally arena add again access rw force node a &&
	tally lock add again/l class region node a'
check "the lock may be held" shows again/l state grace
check "nobody gets it: another node waits" waits two c again/l
two=$begun
go_on forget
check "the holder hears of it" begun_says one 'lost|deleted'
wait "$one" 2> /dev/null
check "and then the other has it" begun_says two held
check "with a larger token" test "$(token_of two)" -gt "$before"
check "and gives it back" over two "$two"
tally arena del again node a

# A lock is deleted while a client is about to wait for it in its session.
check "a lock" tally lock add t/l class region node a
stop_at lock_bind
begin waiter flock "$mnt/b/t/l" true
waiter=$begun
check "it is about to be asked for" stopped_at lock_bind
check "it is deleted meanwhile" tally lock del t/l node a
check "which its node is told" serves b
go_on lock_bind
check "the waiter ends" ends "$waiter"

# A lock is set anew while a client opens it.
check "a lock" tally lock add t/l class region node a
stop_at opened
begin setter tally -m "$mnt/b" lock run t/l -- true
setter=$begun
check "it is being opened" stopped_at opened
check "its cache is set on meanwhile" tally lock set t/l cache on node a
go_on opened
check "it is used" ends "$setter"
check "and kept" wait_until 20 shows t/l state cached
tally lock del t/l node a

# A counter that is open goes while it is opened anew, and the opener is killed: what
# has its entry next is not touched.
cat > "$lib_work/add.py" <<-'PYTHON'
	import fcntl, struct, sys
	ADD = struct.Struct("=IIQQQQQ")
	call = bytearray(ADD.pack(2, 0, 5, 0, 0, 0, 0))
	fcntl.ioctl(int(sys.argv[1]), 3 << 30 | ADD.size << 16 | ord("Y") << 8 | 1, call)
PYTHON
# shellcheck disable=SC2016 # for eval
check "a counter in a small arena" eval 'tally arena add small access rw words 4096 \
	node a && tally counter add small/c node a && wait_until 20 test -e "$mnt/b/small/c"'
exec 9<> "$mnt/b/small/c"
check "the session ends, another one begins" eval 'tally peer del a node b &&
	wait_until 20 eval "! is_live a b" && add_peer b a && wait_until 60 is_live b a &&
	wait_until 60 is_live a b'
stop_at opened
begin opener python3 "$lib_work/add.py" 9
opener=$begun
check "it is opened again" stopped_at opened
check "the home speaks of something else" tally lock set other/held cache off node a
check "and deletes it" tally counter del small/c node a
kill -9 "$opener"
go_on opened
wait "$opener" 2> /dev/null
# shellcheck disable=SC2016 # for eval
check "its entry is given to others" eval 'for i in {1..255}; do
	tally counter add small/d$i node a || exit; done'
check_fails "the counter has gone" 1 OSError python3 "$lib_work/add.py" 9
check_equal "no other one has changed" 0 "$(tally -j counter show small node a |
	grep -oE '"value": *[1-9]' | wc -l)"
exec 9<&-
tally arena del small node a

# A node goes while a lock is opened for it.
check "a lock" tally lock add t/l class region node a
stop_at open
begin opener stat "$mnt/c/t/l"
opener=$begun
check "it is being opened" stopped_at open
tally node del c &
# shellcheck disable=SC2016 # for eval
check "its node goes" wait_until 20 eval '[ "$(peer_state a c)" != live ]'
go_on open
check "the opener ends" ends "$opener"
umount "$mnt/c"
check "the node has gone" wait_until 20 node_gone c
check "the home goes on" held one b t/l
over one "$begun"
check "the node comes back" eval 'add_node c && add_peer c a && add_peer c b &&
	wait_until 60 is_live c a'
check "and has the lock" held one c t/l
over one "$begun"

# A client closes a lock that it has, which is no end of it, and opens it again.
# shellcheck disable=SC2016 # for eval
check "a peer and a lock for it" eval '
	tally peer add evil addr "$here" port 7999 node a &&
	tally lock add t/w class region node a'
mkfifo "$lib_work/say"
begin hostile "$hostile" "$here" "$(port a)" evil a \
	reopen "$lib_work/say"
attacker=$begun
check "it has the lock" begun_says hostile granted 60
stop_at open
: > "$lib_work/say"
check "it opens it again" stopped_at open
check "is fenced as it closed it" begun_says hostile closed
go_on open
check "the next one has it" held one b t/w
over one "$begun"
kill "$attacker"
wait "$attacker" 2> /dev/null
check "it can be deleted" tally lock del t/w node a

# A peer comes back while its former session ends: what else comes in its name is not
# kept waiting, nor what carries its messages.
begin hostile "$hostile" "$here" "$(port a)" evil a home
attacker=$begun
check "it has a session again" wait_until 60 is_live a evil
stop_at session_over
kill "$attacker"
wait "$attacker" 2> /dev/null
begin comer "$LIB_DIR/stranger" "$here" "$(port a)" hello evil a
check "which ends as it comes again" stopped_at session_over
check_equal "once more at the same time" "refused 8" \
	"$(bounded 5 "$LIB_DIR/stranger" "$here" "$(port a)" hello evil a)"
go_on session_over
check "it is let in" begun_says comer ready
