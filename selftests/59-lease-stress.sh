#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lane: uml
# Seconds: 600
#
# Locks that are taken on three nodes, in all ways, while sessions end and begin:
# goodbyes, links that break, leases that end, locks that are deleted and made; and
# each of that with tasks held at one point of the module after the other.  Holders
# exclude whom they must, tokens grow, and no waiter is forgotten.  Needs a module
# that was built with TALLY_FAULTS=1.
#
# Without SOAK=1 a part of it: each point meets one kind of disturbance, which
# changes from run to run.  SEED: of that choice.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/nodes.sh"
. "$LIB_DIR/locks.sh"
need_tally
need_rdma
. "$LIB_DIR/delays.sh"
stress=$LIB_DIR/stress.py
seed=${SEED:-$RANDOM}
# Long beside what a loaded machine is late, short enough to be waited for.
lease=2500
locks=(nic/e cpu/e nic/r)
points=(none open opened object_del link_live lock_bind goodbye ready active renew request lost)
kinds=(leaves breaks lease_ends comes_and_goes)
if soak; then
	plan $((9 + ${#points[@]} * ${#kinds[@]}))
else
	plan $((9 + ${#points[@]}))
fi

pause() {
	read -rt "$1" -u "$rig_never" _ || :
}

# leaves: b, or c, says goodbye to the home, which may hold it up.
leaves() {
	local node=b

	[ $((RANDOM % 2)) = 0 ] || node=c
	bounded 30 tally peer del a node $node && add_peer $node a
}

# breaks: the links of b and c, some times.
breaks() {
	local n

	for n in 1 2 3; do
		break_link b a
		break_link a c
		pause 0.2
	done
	return 0
}

# lease_ends: of b or c, or of both.  Where another point is tried it opens and
# shuts beside this one.
lease_ends() {
	stop_at renew
	pause 3
	go_on renew
}

comes_and_goes() {
	local n

	for n in 1 2 3; do
		tally lock del nic/d node a &&
			tally lock add nic/d class external node a || return
		pause 0.2
	done
}

all_live() {
	is_live a b && is_live b a && is_live a c && is_live c a
}

# served NODE LOCK: who waits behind all others gets it.
served() {
	bounded 60 tally -m "$mnt/$1" lock run "$2" timeout 40000 -- true
}

all_served() {
	local node lock

	for lock in "${locks[@]}" nic/d; do
		for node in b c; do
			served $node "$lock" && continue
			# A session that ends while one waits ends the wait.
			wait_until 60 all_live && served $node "$lock" && continue
			tally lock show "$lock" node a
			return 1
		done
	done
}

# round POINT KIND
round() {
	local status=0

	[ "$1" = none ] || stop_at "$1" 700
	"$2" || status=$?
	pause 0.5
	[ "$1" = none ] || go_on "$1"
	wait_until 60 all_live && all_served && return $status
}

# uses LOCK: on every node.
uses() {
	local node name

	for node in a b c; do
		name=$node-uses-${1/\//-}
		begin "$name" "$stress" use "$mnt/$node/$1" "$lib_work/on"
		users[$name]=$begun
	done
}
declare -A users

users_end() {
	local name status=0

	for name in "${!users[@]}"; do
		wait_until 60 ended "${users[$name]}" &&
			wait "${users[$name]}" && continue
		echo "$name:"
		tail -n 5 "$lib_work/$name"
		status=1
	done
	return $status
}

judged() {
	"$stress" judge "$lib_work"/?-uses-"${1/\//-}"
}

echo "# SEED=$seed"
RANDOM=$seed
check "nodes" add_nodes a b c
# shellcheck disable=SC2016 # for another shell
check "locks" bash -c '
	tally arena add nic mode nic access rw node a &&
	tally arena add cpu mode cpu access rw node a &&
	for lock in nic/e cpu/e nic/d; do
		tally lock add $lock class external node a || exit
	done &&
	tally lock add nic/r class region node a'
: > "$lib_work/on"
for lock in "${locks[@]}"; do
	uses "$lock"
done
check "they are used" wait_until 60 grep -q '^[XS]' "$lib_work/b-uses-nic-e"
first=$((RANDOM % ${#kinds[@]}))
for i in "${!points[@]}"; do
	for k in "${!kinds[@]}"; do
		soak || [ "$k" = $(((first + i) % ${#kinds[@]})) ] || continue
		check "${kinds[k]} at ${points[i]}: nobody is forgotten" \
			round "${points[i]}" "${kinds[k]}"
	done
done
rm "$lib_work/on"
check "the users end" users_end
tail -qn 1 "$lib_work"/?-uses-* | diag
for lock in "${locks[@]}"; do
	check "$lock: holders excluded each other, tokens grew" judged "$lock"
done
check "all are linked" wait_until 60 all_live
check "and served" all_served
