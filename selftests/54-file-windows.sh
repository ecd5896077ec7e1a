#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
#
# Between two steps of what files do. a is the home. Needs a module that was built
# with TALLY_FAULTS=1.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
plan 38

# For FORGET a peer has a lease, at least 5 s.
lease=5000

check "nodes" add_nodes a b
check "a region" eval 'tally arena add t node a && tally region add t/r size 64K node a'

# One that flushes what others wrote is held before it has asked.
exec 9<> "$mnt/b/t/r"
echo something >&9
stop_at region_sync
begin one sync "$mnt/b/t/r"
one=$begun
check "what was written is being flushed" stopped_at region_sync
check_fails "nobody else is told that it was" 124 '' \
	bounded 2 sync "$mnt/b/t/r"
go_on region_sync
check "the first one ends" wait_until 20 ended "$one"
check "the next one, too" bounded 20 sync "$mnt/b/t/r"
exec 9<&-
check_equal "it was written" something "$(head -n 1 "$mnt/a/t/r" | head -c 9)"

# Of two regions that are deleted, the second is used a while longer. It is not older
# because the first was deleted long before.
check "two more" eval 'tally region add t/one size 64K node a &&
	tally region add t/two size 64K node a'
resumed=$(stat_of b session_resumed)
exec 9< "$mnt/b/t/one"
stop_at opened
begin reader head -c 1 "$mnt/b/t/two"
reader=$begun
check "one is being opened" stopped_at opened
check "another one is deleted" tally region del t/one node a
check "then this one" tally region del t/two node a
# shellcheck disable=SC2034 # for eval
look=$((SECONDS + 7))
# shellcheck disable=SC2016 # for eval
check "the home looks for what is not forgotten" wait_until 20 eval \
	'[ $SECONDS -ge $look ]'
check_equal "and the link is not broken" "$resumed" "$(stat_of b session_resumed)"
go_on opened
check "the reader ends" wait_until 20 ended "$reader"
exec 9<&-
# shellcheck disable=SC2016 # for eval
check "both are forgotten" wait_until 20 eval \
	'[ "$(tally -j node show a | field mem_used)" = 65536 ]'

# A home that makes a region zero for one node does so for another, too.
# shellcheck disable=SC2016 # for eval
check "a large region and a small one" eval '
	tally region add t/large size 4M node a && tally region add t/small size 64K node a &&
	tr "\\0" x < /dev/zero | head -c 4M | dd of="$mnt/b/t/large" bs=1M conv=notrunc &&
	echo something | dd of="$mnt/a/t/small" conv=notrunc'
stop_at region_zero
begin one dd if=/dev/null of="$mnt/b/t/large"
one=$begun
check "one is made zero, slowly" stopped_at region_zero
check "a node more" eval 'add_node c && join a c'
check "for that another one is, meanwhile" bounded 10 dd if=/dev/null of="$mnt/c/t/small"
go_on region_zero
check "then the first one, too" wait "$one"
# shellcheck disable=SC2016 # for eval
check "both are zero to their ends" eval '
	cmp "$mnt/a/t/large" <(head -c 4M /dev/zero) &&
	cmp "$mnt/a/t/small" <(head -c 64K /dev/zero)'

# One that is killed meanwhile gives its lock back when nothing of it is under way any more.
check "a lock" tally lock add t/l node a
stop_at region_zero
begin one bash -c "exec 8<> $mnt/b/t/l && flock -x 8 && : > $mnt/b/t/large"
one=$begun
check "a holder makes it zero" stopped_at region_zero
begin two bash -c "exec 8<> $mnt/a/t/l && flock -x 8 &&
	printf data | dd of=$mnt/a/t/large seek=3 bs=1M conv=notrunc"
two=$begun
kill -KILL "$one"
check_fails "it is killed, and has the lock yet" 1 '' wait_until 3 ended "$two"
go_on region_zero
check "then another one has it, and writes" wait "$two"
check_equal "what is not made zero behind it" data \
	"$(tail -c +3145729 "$mnt/a/t/large" | head -c 4)"
wait "$one" 2> /dev/null

# A list of many names does not wait for each where their home does not answer.
names() {
	local name began=$SECONDS

	for name in {1..6}; do
		bounded 30 stat -c %n "$mnt/b/t/$name" 2>&1 | grep -q 'timed out' || return
	done
	[ $((SECONDS - began)) -lt 12 ]
}

# As a program that lists it does.
exec 7< "$mnt/b/t"
check "b has the directory open" stat "$mnt/b/t"
stop_at stat
check "its home does not say whose it is: that is waited for once" names
check "it was asked" stopped_at stat
go_on stat
check "it answers again" wait_until 20 stat "$mnt/b/t"
exec 7<&-
# shellcheck disable=SC2016 # for eval
check "and at once what was not there" eval \
	'! stat "$mnt/b/t/1" && stat "$mnt/b/t/small"'

# The owner is about to set a mode, as another one is made the owner.
# shellcheck disable=SC2016 # for eval
check "a user's counter" eval 'tally counter add t/c node a && chown 65534 "$mnt/a/t/c" &&
	chmod 600 "$mnt/a/t/c" && chmod 755 "$mnt/a/t"'
# shellcheck disable=SC2016 # for eval
check "another mount" eval 'mkdir "$mnt/other" &&
	mount -t tally -o node=a none "$mnt/other"'
stop_at set_owner
begin user as_nobody chmod 666 "$mnt/a/t/c"
user=$begun
check "the user is about to share it" stopped_at set_owner
begin root chown 0 "$mnt/other/t/c"
root=$begun
check_fails "what root may do is not looked at before that is done" 1 '' \
	wait_until 2 grep -q '^set_owner [0-9]* 2' "$delays"
go_on set_owner
check "the user's chmod ends" wait_until 20 ended "$user"
check "then it is taken" wait_until 20 ended "$root"
check_equal "with the mode that it had by then" "0 666" \
	"$(stat -c '%u %a' "$mnt/other/t/c")"
umount "$mnt/other"
