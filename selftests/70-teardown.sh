#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 400
#
# Nodes, peers, arenas and the device go while all are used; everything ends in
# time, says why, and can begin again.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
# Some locks here are free again only when it has ended.
lease=10000
plan 39

# make_objects: at a, as often as needed.
make_objects() {
	tally arena add t access rw node a && tally counter add t/c node a &&
		tally lock add t/l node a &&
		tally region add t/r size 1M node a &&
		wait_until 20 test -e "$mnt/b/t/r"
}

# begin_load: counts, locks and copies at b, for ever.
begin_load() {
	begin count "$load" until "$mnt/b/t/c"
	count=$begun
	begin copy "$files" load "$mnt/b/t/r" until-error
	copy=$begun
	begin locks bash -c "while tally -m $mnt/b lock run t/l -- true; do
		echo again; done"
	locks=$begun
	begun_says count ready 60 && begun_says copy ready 60 &&
		begun_says locks again 60
}

# hold NAME: the lock, at b.
hold() {
	begin "$1" tally -m "$mnt/b" lock run t/l -- bash -c \
		'echo held; exec sleep 1000'
	holder=$begun
	begun_says "$1" held 60
}

# load_ends SECONDS
load_ends() {
	wait_until "$1" ended "$count" && wait_until "$1" ended "$copy" &&
		wait_until "$1" ended "$locks"
}

# A lock of class external that was held when its holder's session ended may be
# held for one lease more.
works() {
	wait_until 30 tally -m "$mnt/b" counter inc t/c timeout 2000 &&
		tally -m "$mnt/b" lock run t/l timeout 40000 -- true &&
		head -c 1000 /dev/urandom > "$lib_work/data" &&
		dd if="$lib_work/data" of="$mnt/b/t/r" conv=notrunc,fsync &&
		head -c 1000 "$mnt/a/t/r" | cmp - "$lib_work/data"
}

# within SECONDS COMMAND...
within() {
	local begin=$SECONDS limit=$1

	shift
	"$@" || return
	echo "took $((SECONDS - begin)) s"
	[ $((SECONDS - begin)) -le "$limit" ]
}

check "two nodes" add_nodes a b
check "objects" make_objects
check "load" begin_load
check "an arena is deleted under load" within 15 bounded 30 \
	tally arena del t node a
check "the load ends" load_ends 20
check "and says why" begun_says count 'EIDRM|ESHUTDOWN|ESTALE'
check "so does the copy" begun_says copy 'EIDRM|ESHUTDOWN|ESTALE'
check "its name can be used again" make_objects
check "and works" works

check "load" begin_load
check "a peer is deleted under load" within 15 bounded 30 \
	tally peer del b node a
check "the load ends" load_ends 30
check "and says why" begun_says count 'ENOTCONN'
check "so does the copy" begun_says copy 'ENOTCONN|EREMOTEIO'
check "the home goes on" tally -m "$mnt/a" counter inc t/c
check "its peer comes back" eval 'add_peer a b && wait_until 60 is_live a b'
check "and all works" works

if [ -n "${RIG_LANE-}" ]; then
	check "load" begin_load
	check "the device is removed under load" bounded 30 rdma link del rxe0
	check "the load ends" load_ends 30
	check "and says why" begun_says count 'ENOTCONN|ENETDOWN'
	check "the device is added again" rig_rxe_up
	check "the nodes find each other" wait_until 60 is_live a b
	check "and all works" works
else
	for i in 1 2 3 4 5 6 7; do
		skip "device removal $i" "only in the rig, whose device it is"
	done
fi

check "load" begin_load
hold holder
check "the peer's node is deleted under load" within 15 bounded 30 \
	tally node del b
check "the load ends" load_ends 30
check "and says why" begun_says count 'ESHUTDOWN'
check "a holder's command is ended" wait_until 30 ended "$holder"
check "its lock goes to others" tally -m "$mnt/a" lock run t/l \
	timeout 40000 -- true
umount -q "$mnt/b"
check "it is gone" wait_until 20 node_gone b
check "and comes back" eval 'add_node b && add_peer b a &&
	wait_until 60 is_live b a'

hold last
begin mapping "$files" hold_map "$mnt/a/t/r" "$lib_work/mapping.ready"
wait_until 30 test -e "$lib_work/mapping.ready"
begin file "$files" hold "$mnt/b/t/c" "$lib_work/file.ready"
wait_until 30 test -e "$lib_work/file.ready"
check "the home is deleted with a mapping, files and a held lock" \
	within 15 bounded 30 tally node del a
check "the holder's command is ended" wait_until 30 ended "$holder"
check_fails "the module is in use" 1 'in use' rmmod tally
rm -f "$lib_work/mapping.ready" "$lib_work/file.ready"
check "the mapping is gone" begun_says mapping SIGBUS
check "the file elsewhere says why" \
	begun_says file 'ESHUTDOWN|ESTALE|ENOTCONN|EIDRM'
wait_until 20 umount "$mnt/a"
del_node b
check "all is gone" wait_until 20 nodes_gone
check "nobody uses the module" wait_until 20 \
	grep -qx 0 /sys/module/tally/refcnt
