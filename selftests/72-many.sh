#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# A process of one node has as many objects open as its home may have said more of than
# a link takes at once, and the home deletes them all, while others go on asking.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
count=20000
# With the checkers of the debug kernel, and on emulated processors, each takes longer.
if [ -e /sys/kernel/debug/kmemleak ] || [ "${RIG_LANE-}" != uml ]; then
	count=1000
fi
plan 10

cat > "$lib_work/many.py" <<-'PYTHON'
	import fcntl, os, resource, struct, sys, time
	CREATE = struct.Struct("=IIQII64s")
	IOC_CREATE = 1 << 30 | CREATE.size << 16 | ord("Y") << 8 | 0x20
	how, place, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
	names = [f"{place}/o{i}" for i in range(count)]
	if how == "make":
	    arena = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
	    for i in range(count):
	        fcntl.ioctl(arena, IOC_CREATE,
	                    CREATE.pack(1, 0, 0, 0o666, 0, b"o%d" % i))
	elif how == "open":
	    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, count + 100))
	    files = [os.open(name, os.O_RDWR) for name in names]
	    print("opened", flush=True)
	    while not os.path.exists(sys.argv[4]):
	        time.sleep(0.1)
	else:
	    while not os.path.exists(sys.argv[4]):
	        for name in names[::97]:
	            try:
	                os.close(os.open(name, os.O_RDWR))
	            except OSError:
	                pass
PYTHON
go=$lib_work/go

unused() {
	! tally node show users b | grep -q t/o
}

check "nodes" add_nodes a b
check "an arena" tally arena add t access rw words 1M perm 777 node a
check "with many objects" bounded 250 python3 "$lib_work/many.py" make "$mnt/a/t" \
	$count
before=$(peer_field b a session)
resumed=$(stat_of a session_resumed)
begin holder python3 "$lib_work/many.py" open "$mnt/b/t" $count "$go"
holder=$begun
check "all are open elsewhere" begun_says holder opened 120
begin asker python3 "$lib_work/many.py" ask "$mnt/b/t" $count "$go"
asker=$begun
check "the arena is deleted" bounded 60 tally arena del t node a
: > "$go"
check "its holder ends" wait_until 60 ended "$holder"
check "and those that ask" wait_until 60 ended "$asker"
check "nothing is in use any more" wait_until 60 unused
check_equal "in the same session" "$before" "$(peer_field b a session)"
check_equal "on the same link" "$resumed" "$(stat_of a session_resumed)"
