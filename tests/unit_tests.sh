#!/usr/bin/env bash
# Runs the programs with unit tests that a build has, 50 tests in a process: with a sanitizer, a process for each test
# takes longer to start than the test to run.
#   unit_tests.sh BUILD [JOBS]
# Prints the output of the processes in which something failed. The last line is `N passed, M failed`; a process that
# ends before its summary counts as one failure.
set -u -o pipefail

build=$(cd "${1:?the folder of a build}" && pwd) || exit 2
jobs=${2:-$(nproc)}
work=$(mktemp -d -t agui-unit-tests.XXXXXX)
trap 'rm -rf "$work"' EXIT

# shard PROGRAM COUNT INDEX: one process with its part of the tests.
shard() {
    local output=$work/$(basename "$1").$3
    GTEST_TOTAL_SHARDS=$2 GTEST_SHARD_INDEX=$3 timeout -k 10 900 "$1" --gtest_brief=1 >"$output" 2>&1
    echo $? >"$output.status"
}
export -f shard
export work

for program in "$build"/bin/*_tests; do
    [ -x "$program" ] || continue
    count=$(("$("$program" --gtest_list_tests | grep -c '^  ')" / 50 + 1))
    for ((index = 0; index < count; index++)); do echo "$program" "$count" "$index"; done
done | (cd "$build/tests" && xargs -r -L 1 -P "$jobs" bash -c 'shard "$@"' shard)

# number OUTPUT PATTERN: the number in the line of the summary that begins so; 0 without such a line.
number() { sed -n "s/^\\[  $2  \\] \\([0-9]\\+\\) test.*/\\1/p" "$1" | tail -n 1 | grep . || echo 0; }

passed=0
failed=0
for status in "$work"/*.status; do
    [ -e "$status" ] || continue
    output=${status%.status}
    good=$(number "$output" PASSED)
    bad=$(number "$output" FAILED)
    if [ "$(cat "$status")" -ne 0 ]; then
        echo "--- $(basename "$output"), status $(cat "$status")"
        tail -n 200 "$output"
        [ "$bad" -gt 0 ] || bad=1
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
