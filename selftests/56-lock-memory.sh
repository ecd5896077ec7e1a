#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: one
# Seconds: 300
#
# Locks that two users on each of three nodes take in turns, while every
# allocation of tally's own code fails, for longer than a lease: grants, recalls,
# handovers and releases go on, nothing is lost, and the users exclude each other.
# Needs a module that was built with TALLY_FAULTS=1.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
need_tally
need_rdma
faults=/sys/module/tally/parameters/faults
[ -e $faults ] || skip_all "the module was built without TALLY_FAULTS=1"
lease=2000
[ "${RIG_LANE-}" != uml ] || lease=20000
plan 11

# turns LOCK MODE: says what each node was granted meanwhile, three numbers, and
# how many were recorded but for the exclusion.
turns() {
	python3 - "$mnt" "$1" "$2" $faults $lease <<-'PYTHON'
	import fcntl, mmap, os, struct, sys, time
	mnt, lock, mode, faults, lease = sys.argv[1:]
	shared = mmap.mmap(-1, 4096)
	nodes = "abc"

	def get(i):
	    return struct.unpack_from("Q", shared, 8 * i)[0]

	def put(i, value):
	    struct.pack_into("Q", shared, 8 * i, value)

	STOP, INSIDE, BROKEN, COUNT = 0, 1, 2, 8

	def user(n, who):
	    fd = os.open(f"{mnt}/{nodes[n]}/{lock}", os.O_RDWR)
	    while not get(STOP):
	        fcntl.flock(fd, fcntl.LOCK_EX)
	        if get(INSIDE):
	            put(BROKEN, 1)
	        put(INSIDE, who + 1)
	        put(COUNT + who, get(COUNT + who) + 1)
	        if get(INSIDE) != who + 1:
	            put(BROKEN, 1)
	        put(INSIDE, 0)
	        if mode == "down":
	            fcntl.flock(fd, fcntl.LOCK_SH)
	        fcntl.flock(fd, fcntl.LOCK_UN)
	        time.sleep(0.001)
	    os._exit(0)

	def counts():
	    return [get(COUNT + 2 * n) + get(COUNT + 2 * n + 1) for n in range(3)]

	def each_has(before, more):
	    deadline = time.monotonic() + 60
	    while time.monotonic() < deadline:
	        if all(c >= b + more for b, c in zip(before, counts())):
	            return True
	        time.sleep(0.05)
	    return False

	children = []
	for who in range(6):
	    pid = os.fork()
	    if not pid:
	        user(who // 2, who)
	    children.append(pid)
	ok = each_has([0, 0, 0], 10)
	# Each has its file open by then.
	while not all(get(COUNT + who) for who in range(6)):
	    time.sleep(0.05)
	with open(faults, "w") as f:
	    f.write("all")
	before = counts()
	end = time.monotonic() + 1.5 * int(lease) / 1000
	while time.monotonic() < end:
	    time.sleep(0.1)
	    # KASAN keeps all that is freed until a task that may sleep allocates.
	    with open("/proc/stat") as f:
	        f.read()
	ok = each_has(before, 10) and ok
	print(*[c - b for b, c in zip(before, counts())])
	with open(faults, "w") as f:
	    f.write("off")
	put(STOP, 1)
	ok = all([os.waitpid(pid, 0)[1] == 0 for pid in children]) and ok
	if get(BROKEN):
	    print("two were inside")
	sys.exit(not ok or get(BROKEN))
	PYTHON
}

# of_all COUNTER: of the three nodes together.
of_all() {
	local node all=0

	for node in a b c; do
		all=$((all + $(stat_of $node "$1")))
	done
	echo $all
}

check "three nodes, linked" add_nodes a b c
check "an arena with words, one without" eval "
	tally arena add nic access rw node a &&
	tally arena add cpu mode cpu access rw node a &&
	tally lock add nic/l class region node a &&
	tally lock add cpu/l class external node a"
check "they see the locks" wait_until 20 test -e "$mnt/c/nic/l" \
	-a -e "$mnt/c/cpu/l"
before=$(of_all lock_handed)
for lock in nic/l cpu/l; do
	for mode in plain down; do
		check "$lock goes round without memory: $mode" turns $lock $mode
	done
done
check "it was handed over, too" [ "$(of_all lock_handed)" -gt "$before" ]
check_equal "none was lost" 0 "$(of_all lock_lost)"
check "links are as they were" eval "is_live a b && is_live b c && is_live c a"
check "and with memory it goes on" bounded 20 flock "$mnt/b/nic/l" true
