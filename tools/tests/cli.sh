#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the tally command does without the module: words, numbers, exit status,
# JSON, and all of `lock run`, with fakefs.so in the place of the file system.
# Needs no root. Results in KTAP.

here=$(cd "$(dirname "$0")" && pwd)
tally=${TALLY:-$here/../tally}
fake=$here/fakefs.so
work=$(mktemp -d -t tally-cli-XXXXXX)
trap 'rm -rf "$work"' EXIT
number=0
failed=0

result() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		failed=1
	fi
}

# expect STATUS PATTERN WHAT ARGUMENT...: status and output of the tool.
expect() {
	local want=$1 pattern=$2 what=$3 output status=0

	shift 3
	output=$("$tally" "$@" 2>&1 < /dev/null) || status=$?
	if [ $status = "$want" ] && grep -qE -e "$pattern" <<< "$output"; then
		result 0 "$what"
	else
		result 1 "$what"
		printf '# status %s: %s\n' $status "$output" | head -5
	fi
}

# check WHAT COMMAND...
check() {
	local what=$1

	shift
	"$@" > /dev/null 2>&1
	result $? "$what"
}

# run STATUS WHAT ARGUMENT...: lock run of $work/m/a/l, output in $work/out.
run() {
	local want=$1 what=$2 status=0

	shift 2
	"${faked[@]}" lock run a/l "$@" > "$work/out" 2>&1 < /dev/null ||
		status=$?
	[ $status = "$want" ]
	result $? "$what"
	[ $status = "$want" ] || sed 's/^/# /' "$work/out"
}

wait_for() {
	local end=$((SECONDS + 10))

	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return
		sleep 0.02
	done
}

# shellcheck disable=SC2317 # called by its name
gone() {
	! kill -0 "$1" 2> /dev/null
}

mkdir -p "$work/m/a" "$work/empty"
: > "$work/m/a/l"
: > "$work/m/a/l2"
: > "$work/m/a/c"
faked=(env "LD_PRELOAD=$fake" "FAKE_MOUNT=$work/m" "FAKE_LOST=$work/lost"
	"$tally" -m "$work/m")

echo "KTAP version 1"
echo "1..161"

# Words.
expect 0 'OBJECT := \{ node' 'help' help
expect 2 'Usage: tally \[ OPTIONS' 'nothing at all'
expect 2 "unknown command 'nod'" 'no abbreviations' nod show
expect 2 "no command 'sho'" 'no abbreviated commands' node sho
expect 0 'tally arena set NAME' 'help of an object' arena help
expect 0 'Usage: tally counter cas' 'help of a command' counter cas help
expect 2 'tally node del NAME' 'an object without a command' node
expect 2 "invalid option" 'unknown option' -x node show
expect 0 'protocol 1' 'version' version
expect 0 'protocol 1' 'version as an option' -V
expect 2 "unknown word 'x'" 'too many words' version x
expect 2 "follows its key, as in 'to 5'" 'a value without its key' counter set a/c 5
expect 2 "follows its key, as in 'by -5'" 'and a negative one' counter inc a/c -5
expect 2 '^tally: option requires' 'an option without its value' -n
expect 2 'name of the node is missing' 'missing name' node add
expect 2 "node '.n': a name is" 'bad name' node add .n
expect 2 "node '': a name is" 'empty name' node add ''
expect 2 'a name is' 'name of 64' node add "$(printf %064d 0)"
expect 2 'this one has 70 char' 'name of 70 in a path' counter read "a/$(printf %070d 0)"
expect 2 "'port' needs a value" 'missing value' node add n port
expect 2 "'port' is given twice" 'key given twice' node add n port 1 port 2
expect 2 'a port is 1 to 65535' 'port too large' node add n port 65536
expect 2 'a port is' 'port 0' peer add p addr 1.2.3.4 port 0
expect 2 'not a number' 'no number' node add n lease 1s
expect 2 'not a number' 'negative number' node add n lease -1
expect 2 'too large' 'number too large' node add n lease 4294967296
expect 2 'write on or off' 'no switch' node add n atomics maybe
expect 2 "'addr' is missing" 'missing key' peer add p
expect 2 'leave one of them out' 'and differently' -n a counter show node b
expect 2 'leave one of them out' 'by the name of a node' -n a node del b
expect 2 'key or keyfile' 'two keys' node add n key a:b keyfile /dev/null
expect 1 'key has 16 to 64' 'a key that is too short' node add n keyfile /dev/null
expect 1 'key has 16 to 64' 'a key that is too long' node add n keyfile /dev/zero
expect 1 'No such file' 'no key' node add n keyfile "$work/none"
expect 2 'leave out either -n' 'nodes said twice' -n a bench nodes b
expect 2 'no IPv4 or IPv6' 'short address' peer add p addr 10.1
expect 2 'no IPv4 or IPv6' 'host name as address' peer add p addr localhost
expect 2 'auto, nic or cpu' 'bad mode' arena add a mode gpu
expect 2 'none, ro, rw or default' 'bad access' arena set a access w
expect 2 "'access' is missing" 'peer without access' arena set a peer p
expect 2 'in octal' 'bad perm' arena add a perm 888
expect 2 'in octal' 'perm beyond 0777' arena add a perm 1777
expect 2 'no such user' 'unknown user' arena add a owner no-such-user
expect 2 'K, M, G or T' 'bad size' region add a/r size 8X
expect 2 'too large' 'size too large' region add a/r size 17179869184G
expect 2 'larger than 0' 'size 0' region add a/r size 0
expect 2 "'size' is missing" 'region without size' region add a/r
expect 2 'write ARENA/NAME' 'path without slash' counter read a
expect 2 'a name is' 'path that climbs' counter read ../x
expect 2 'a name is' 'path with two slashes' counter read a/b/c
expect 2 'a name is' 'node of an arena is checked' counter read a@.n/c
expect 1 'home of the arena' 'adding elsewhere' counter add a@n/c
expect 2 "unknown word 'unknown'" 'lock run without --' lock run a/l unknown
expect 2 'COMMAND. is missing' 'lock run without a command' lock run a/l --
expect 1 'no tally file system' 'nothing mounted' -m "$work/empty" counter inc a/c
if [ ! -d /sys/module/tally ]; then
	expect 1 'does not know tally' 'module missing' node show
else
	result 0 'module missing # SKIP the module is loaded'
fi

expect 0 'tally lock run' 'help before the object' help lock
expect 0 'OBJECT := \{ node' 'help of help' help help
expect 0 'Usage: tally lock break' 'help before object and command' help lock break
expect 0 'Usage: tally lock break' 'help before the command' lock help break
expect 2 "no command 'nope'" 'help of no command' help lock nope
expect 2 'there are 9 to 99 rounds' 'too few rounds' bench rounds 5
expect 2 'there are 8 to 1000000 calls' 'too few calls' bench calls 3
expect 0 'OBJECT := ' 'the long option of help' --help
expect 0 'module' 'the long option of version' --version

# Completion: offers WANTED WORD..., the last of which is to be completed.
mkdir "$work/bin"
cat > "$work/bin/tally" << EOF
#!/bin/sh
case "\$*" in
'-j node show') echo '[{"name":"n1","port":7475},{"name":"n2","port":7476}]' ;;
'-j counter show') echo '[{"path":"a/c","arena":"a","name":"c","value":1}]' ;;
'-j lock show') echo '[{"path":"a/l","arena":"a","name":"l","waiters":0}]' ;;
*) exec "$tally" "\$@" ;;
esac
EOF
chmod 755 "$work/bin/tally"
# shellcheck source=tools/tally.bash-completion
. "$here/../tally.bash-completion"

# shellcheck disable=SC2034 # read by the completion
offers() {
	local wanted=$1 PATH=$work/bin:$PATH

	shift
	COMP_WORDS=(tally "$@")
	COMP_CWORD=$#
	_tally
	[ "${COMPREPLY[*]}" = "$wanted" ]
	result $? "completion of 'tally $*'"
	[ "${COMPREPLY[*]}" = "$wanted" ] || echo "# ${COMPREPLY[*]}"
}

offers 'node' no
offers 'add del show help' node ''
offers 'n1 n2 help' node del ''
offers 'n1 n2' -n ''
offers 'n1 n2' counter add a/c node ''
offers 'auto nic cpu' arena add a mode ''
offers 'none ro rw default' arena set a peer p access ''
offers 'shared' lock run a/l s
offers '' counter inc a/c by ''
offers 'n1 n2' bench nodes ''
offers 'n1,n1 n1,n2' bench nodes n1,
offers 'n1 n2' bench home ''
offers 'a/c' bench cpu ''
offers 'a/l' bench nodes n1,n2 cached ''
offers '' bench calls ''
offers "$(_tally_figures | paste -sd ' ')" bench figure ''
offers 'figure' bench nodes n1 fig

# Batches.
printf '# one\n\nversion\n  version "x y"\nversion\n' > "$work/batch"
expect 2 ':4: failed' 'a batch stops at an error' -b "$work/batch"
check 'a batch goes on with -f' test "$("$tally" -f -b "$work/batch" \
	2> /dev/null | wc -l)" = 2
expect 1 'No such file' 'no batch file' -b "$work/none"
expect 1 'Is a directory' 'a folder as a batch' -b "$work"
printf 'version\0 x\n' > "$work/batch"
expect 2 ':1: a NUL' 'a NUL in a batch' -b "$work/batch"
"$tally" -b - <&- > "$work/out" 2>&1
check 'a batch from nowhere fails' test $? = 1
"${faked[@]}" -b - > "$work/out" 2>&1 << EOF
lock run a/l -- cat
version
EOF
check 'a command in a batch does not read the batch' \
	grep -q '^tally .* protocol' "$work/out"

# The node chosen: its file system, wherever that is.
long=$(printf %064d 0)
expect 2 "-n '': a name is" 'a node without a name' -n '' node show
expect 2 'a name is' 'a node with a name of 64' -n "$long" node show
mkdir -p "$work/m2/a"
: > "$work/m2/a/c"
: > "$work/m2/a/l"
chosen=(env "LD_PRELOAD=$fake" "FAKE_MOUNTS=$work/mounts" "$tally")
mounted() {
	printf '%s 1 0:40 / %s rw,nosuid shared:1 - tally tally rw,node=%s\n' "$@" \
		> "$work/mounts"
}
mounted 41 "$work/m" n1 42 "$work/m2" n2
check 'another value there' \
	test "$("${chosen[@]}" -n n2 counter inc a/c by 3)" = 0
check 'counter read of a node' \
	test "$("${chosen[@]}" -n n2 counter read a/c)" = 3
check 'lock run of a node' "${chosen[@]}" -n n2 lock run a/l -- \
	flock -n "$work/m/a/l" true
check 'where it was said to be' \
	test "$("${chosen[@]}" -n n2 -m "$work/m2" counter read a/c)" = 3
ln -s "$work/m2" "$work/link"
for place in "$work/m2/" "$work/link" "$work/m/../m2"; do
	check "also as ${place##*/m}" \
		test "$("${chosen[@]}" -n n2 -m "$place" counter read a/c)" = 3
done
"${chosen[@]}" -n n2 -m "$work/m" counter inc a/c > "$work/out" 2>&1
check 'not where another node is' grep -q "of node n2 at $work/m" "$work/out"
"${chosen[@]}" -n n3 lock run a/l -- true > "$work/out" 2>&1
check 'nor instead of one that is not mounted' grep -q 'node=n3' "$work/out"
mounted 41 "$work/m" n1 42 "$work/m2" n2 43 "$work/m2" n1
"${chosen[@]}" -n n2 counter read a/c > "$work/out" 2>&1
check 'nor where another one is mounted over it' grep -q 'node=n2' "$work/out"
mkdir -p "$work/a b/a"
: > "$work/a b/a/c"
mounted 41 "$work/a\\040b" n2
check 'a place with a blank' \
	test "$("${chosen[@]}" -n n2 counter read a/c)" = 0
printf '41 1 0:40 / %s rw - tally x,node=n1 rw,node=n2\n' "$work/m2" > "$work/mounts"
check 'a source that looks like an option' \
	test "$("${chosen[@]}" -n n2 counter read a/c)" = 3
rm "$work/mounts"
expect 1 'no tally file system' 'a path that is too long' \
	-m "$(printf '/%.0s' {1..5000})" counter inc a/c

# JSON.
check 'JSON' python3 -m json.tool <("$tally" -j version)
check 'pretty JSON' python3 -m json.tool <("$tally" -p version)

# Counters.
check 'counter inc tells the old value' \
	test "$("${faked[@]}" counter inc a/c by 5)" = 0
check 'counter read, JSON' \
	test "$("${faked[@]}" -j counter read a/c)" = '{"value":5}'
check 'counter inc by a negative number' \
	test "$("${faked[@]}" counter inc a/c by -7)$("${faked[@]}" counter read a/c)" = \
	518446744073709551614
check 'counter cas' \
	test "$("${faked[@]}" -j counter cas a/c from -2 to 3)" = \
	'{"old":18446744073709551614,"swapped":true}'
"${faked[@]}" counter cas a/c from 9 to 1 > /dev/null 2>&1
check 'counter cas of another value fails' test $? = 1

# Exit status.
for pair in EREMOTEIO:121:3 ETIMEDOUT:110:4 EWOULDBLOCK:11:5 EIDRM:43:1; do
	IFS=: read -r name errno want <<< "$pair"
	FAKE_ERRNO=$errno "${faked[@]}" counter inc a/c > /dev/null 2>&1
	check "$name ends with $want" test $? = "$want"
done

# lock run.
# shellcheck disable=SC2016 # for the command's shell
run 7 'status and token' -- sh -c 'echo $TALLY_TOKEN; exit 7'
check 'the token is exported' grep -qx 1125899906842631 "$work/out"
# shellcheck disable=SC2016
run 143 'death by a signal' -- sh -c 'kill -TERM $$'
run 127 'command not found' -- "$work/none"
run 126 'command not runnable' -- "$work/batch"
run 0 'descriptors' -- ls /proc/self/fd
check 'no descriptor leaks' cmp "$work/out" <(ls /proc/self/fd)
printf 'lock run a/l -- echo %s\n' 'one two three' 'one two' one |
	"${faked[@]}" -b - > "$work/out" 2>&1
check 'a command in a batch has its own words and no others' \
	cmp "$work/out" <(printf '%s\n' 'one two three' 'one two' one)
flock "$work/m/a/l" "${faked[@]}" lock run a/l try -- true > /dev/null 2>&1
check 'try ends with 125 when it is held' test $? = 125
flock "$work/m/a/l" "${faked[@]}" lock run a/l timeout 1 -- true > /dev/null 2>&1
check 'timeout ends with 124' test $? = 124

# Started in the background, a shell would ignore INT; TERM is forwarded.
"${faked[@]}" lock run a/l -- sh -c "trap 'exit 9' TERM; : > $work/up
	while :; do sleep 0.1; done" &
pid=$!
wait_for test -e "$work/up"
kill -TERM $pid
wait $pid
check 'signals are forwarded' test $? = 9

# Loss: TERM, then KILL.
rm "$work/up"
"${faked[@]}" lock run a/l -- sh -c "trap ': > $work/term' TERM; : > $work/up
	while :; do sleep 0.1; done" > /dev/null 2>&1 &
pid=$!
wait_for test -e "$work/up"
: > "$work/lost"
wait $pid
[ $? = 121 ] && [ -e "$work/term" ]
result $? 'a lost lock ends the command with 121'
rm "$work/lost" "$work/up"

# The front is stopped, and the lease ends: TERM before that, KILL at its end.
rm -f "$work/up" "$work/term"
export FAKE_LEASE=$work/lease
"${faked[@]}" lock run a/l -- bash -c "trap ': > $work/term' TERM
	echo \$\$ > $work/up; while :; do sleep 0.02; : > $work/alive; done" \
	> "$work/out" 2>&1 &
pid=$!
wait_for test -s "$work/up"
command=$(cat "$work/up")
kill -STOP $pid
: > "$work/lease"
wait_for gone "$command"
[ -e "$work/term" ] && [ $(($(date -r "$work/alive" +%s%N) - $(date -r "$work/lease" +%s%N))) -lt 2000000000 ]
result $? 'a tool that is stopped: ended before the lease is over'
kill -CONT $pid
wait $pid
check 'which is told, with 121' test $? = 121
check 'and why' grep -q 'lease ends; bash is stopped' "$work/out"
unset FAKE_LEASE
rm -f "$work/lease"

# What its parent has set up for its children.
status=0
env --ignore-signal=CHLD timeout 20 "${faked[@]}" lock run a/l -- \
	sh -c 'exit 7' || status=$?
check 'SIGCHLD ignored by the parent' test $status = 7
check 'and by the command, then' grep -q '^SigIgn:.*1....$' <(
	env --ignore-signal=CHLD "${faked[@]}" lock run a/l -- cat /proc/self/status)
# shellcheck disable=SC2016 # for the command's shell
check 'signals blocked by the parent' test 143 = "$(
	env --block-signal=CHLD timeout 20 "${faked[@]}" lock run a/l -- \
	sh -c 'kill -TERM $$' > /dev/null 2>&1; echo $?)"
check 'closed descriptors' test 7 = "$(
	timeout 20 "${faked[@]}" lock run a/l -- sh -c 'exit 7' <&- 2>&-; echo $?)"
check 'are so for the command' test 0 = "$("${faked[@]}" lock run a/l -- \
	sh -c 'if [ -e /proc/self/fd/0 ]; then echo open; else echo 0; fi' <&-)"

# On a terminal, the command reads from it, control-C reaches it, and a shell
# with job control stops and continues it.
check 'lock run on a terminal' timeout 60 python3 "$here/terminal.py" \
	"${faked[@]}" lock run a/l --

# killed WHAT WHOM COMMAND...: the command, which tells its number in $work/up and
# does not heed TERM, is gone before another has the lock.
killed() {
	local what=$1 whom=$2 pid command

	shift 2
	rm -f "$work/up"
	"${faked[@]}" lock run a/l -- "$@" > "$work/out" 2>&1 &
	pid=$!
	disown $pid
	wait_for test -s "$work/up"
	command=$(cat "$work/up")
	[ "$whom" = tool ] || pid=$(pgrep -x -P $pid lock-run-guard)
	[ "$whom" != both ] || kill -KILL "$(ps -o ppid= -p "$pid" | tr -d ' ')" "$pid"
	kill -KILL "$pid" 2> /dev/null
	wait_for gone "$pid"
	[ "$whom" != both ] || wait_for gone "$command"
	[ "$whom" != tool ] || ! flock -n "$work/m/a/l" true
	flock "$work/m/a/l" true
	gone "$command"
	result $? "$whom killed: $what is gone before the lock is free"
}

cat > "$work/stubborn" << EOF
trap '' TERM
echo \$\$ > "$work/up"
while :; do sleep 0.1; done
EOF
for whom in tool guard; do
	killed 'the command' $whom bash "$work/stubborn"
	killed 'a group of its own' $whom \
		sh -c "timeout 60 bash $work/stubborn; true"
	killed 'a session of its own, without a parent' $whom \
		sh -c "setsid bash $work/stubborn & sleep 60"
	killed 'what a lock run in it runs' $whom \
		"${faked[@]}" lock run a/l2 -- bash "$work/stubborn"
	for name in $'two\nlines' lock-run-guard; do
		{ echo '#!/bin/bash'; cat "$work/stubborn"; } > "$work/$name"
		chmod 755 "$work/$name"
		killed "what is named ${name/$'\n'/ }" $whom \
			sh -c "setsid '$work/$name' & sleep 60"
	done
done
killed 'the command' both bash "$work/stubborn"
"${faked[@]}" lock run a/l -- sh -c "setsid sleep 60 > /dev/null 2>&1 & echo \$! > $work/up"
check 'what the command leaves behind goes on' kill "$(cat "$work/up")"
flock "$work/m/a/l" "${faked[@]}" lock run a/l timeout 0 -- true > /dev/null 2>&1
check 'timeout 0 is try' test $? = 125
check 'timeout none is none' "${faked[@]}" lock run a/l timeout none -- true
expect 2 'or none' 'timeout 0 of a counter' counter inc a/c timeout 0

# Output that fails.
"$tally" version > /dev/full 2> "$work/out"
check 'a full disk is told' test "$?$(grep -c 'No space' "$work/out")" = 11
for words in -V --help help 'node help'; do
	# shellcheck disable=SC2086 # words
	"$tally" $words > /dev/full 2> /dev/null
	check "of $words, too" test $? = 1
done
"$tally" version >&- 2> "$work/out"
check 'no output is told' test "$?$(grep -c 'Bad file' "$work/out")" = 11
printf 'version\nversion\nlock run a/l -- touch %s\n' "$work/ran" |
	"${faked[@]}" -b - > /dev/full 2> "$work/out"
check 'a batch ends when its output fails' test "$?$(grep -c 'No space' "$work/out")" = 11
check 'at once' test ! -e "$work/ran"
exit $failed
