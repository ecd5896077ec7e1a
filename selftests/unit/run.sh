#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs the named tests in bin/ and prints their results as one KTAP tree.  A
# test passes if it exits 0, met its plan and printed no "not ok".

failed=0
nr=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

echo "KTAP version 1"
echo "1..$#"
for test in "$@"; do
	nr=$((nr + 1))
	"bin/$test" >"$out" 2>&1
	status=$?
	sed 's/^/  /' "$out"
	plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$out")
	done=$(grep -c '^ok ' "$out")
	if [ "$status" = 0 ] && [ "$done" = "$plan" ] &&
	   ! grep -q '^not ok' "$out"; then
		echo "ok $nr $test"
	else
		echo "not ok $nr $test # exit $status, $done of $plan passed"
		failed=$((failed + 1))
	fi
done
echo "# $((nr - failed)) passed, $failed failed"
[ "$failed" = 0 ]
