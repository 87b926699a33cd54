#!/usr/bin/env bash
# A full disk, and a journal that somebody truncates, on a file system that copies on write (btrfs, in an image that is
# mounted): the gateway answers store_unavailable, goes on when there is room again, and loses nothing that was acknowledged.
#   full_disk.sh [--bin FOLDER]    needs root, loop devices, mkfs.btrfs (Debian: btrfs-progs) and curl
# The last line is `N passed, M failed`. Exit status 3: this machine cannot mount such an image.
set -u -o pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$here/../../build/release/bin
[ "${1:-}" != --bin ] || bin=$2
work=$(mktemp -d -t agui-full-disk.XXXXXX)
disk=$work/disk
pid=
port=$((20000 + RANDOM % 12000))
base=http://127.0.0.1:$port
passed=0
failed=0

clean_up() {
    [ -z "$pid" ] || { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
    umount "$disk" 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT

# check WHAT COMMAND...: whether the command succeeds.
check() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}

launch() {
    "$bin/agui-gateway" --demo --listen "127.0.0.1:$port" --set "session.store=sqlite:$disk/store.db" >>"$work/log" 2>&1 &
    pid=$!
    for _ in $(seq 100); do
        [ "$(curl -s -o /dev/null -w '%{http_code}' "$base/readyz")" = 200 ] && return 0
        sleep 0.1
    done
    return 1
}

is_alive() { kill -0 "$pid" 2>/dev/null; }

# run_on THREAD RUN: prints the stream of a run.
run_on() {
    curl -sN -m 30 -X POST "$base/agui" -H 'content-type: application/json' -d '{"threadId":"'"$1"'","runId":"'"$2"'",
        "protocolVersion":"1.1","messages":[{"id":"m'"$2"'","role":"user","content":"Hello, how are you?"}]}'
}

is_finished() { grep -q RUN_FINISHED "$1"; }
is_refused() { grep -q store_unavailable "$1"; }
# The stream of that run, read again, is the one in the file.
is_kept() { curl -s -m 30 "$base/agui/threads/$1/runs/$2/events" | cmp -s - "$3"; }
status_of() { curl -s -m 30 -o /dev/null -w '%{http_code}' "$1"; }
is_unready() { [ "$(status_of "$base/readyz")" = 503 ]; }
# Each question makes the store try again.
becomes_ready() {
    for _ in $(seq 50); do
        [ "$(status_of "$base/readyz")" != 200 ] || return 0
        sleep 0.1
    done
    return 1
}
is_served_or_gone() { [[ $(status_of "$base/agui/threads/$1/runs/$2/events") =~ ^(200|410)$ ]]; }

fill() {
    dd if=/dev/zero of="$disk/filling" bs=1M status=none 2>/dev/null
    dd if=/dev/zero of="$disk/filling2" bs=4k status=none 2>/dev/null
    sync
}

mkdir "$disk"
truncate -s 400M "$work/image"
if ! mkfs.btrfs -q "$work/image" >/dev/null 2>&1 || ! mount -o loop "$work/image" "$disk" 2>/dev/null; then
    echo "this machine cannot mount an image with btrfs"
    exit 3
fi

check "starts" launch
run_on kept r1 >"$work/r1"
check "a run ends" is_finished "$work/r1"

# The disk fills up while runs are under way.
for i in 1 2 3 4 5; do run_on "during$i" r1 >"$work/during$i" & done
sleep 0.3
fill
wait $(jobs -p | grep -v "^$pid$")
check "the process survives a disk that fills up" is_alive
for i in 1 2 3 4 5; do
    check "a run has an end" grep -qE 'RUN_FINISHED|RUN_ERROR|store_unavailable' "$work/during$i"
done
run_on refused r1 >"$work/refused"
check "a new run is refused" is_refused "$work/refused"
check "it is not ready" is_unready
check "it is still not ready after a try" is_unready
check "the process survives a full disk" is_alive
check "what was stored can be read" is_kept kept r1 "$work/r1"

rm -f "$disk/filling" "$disk/filling2"
sync
check "with room again it is ready" becomes_ready
run_on after r1 >"$work/after"
check "with room again runs end" is_finished "$work/after"
check "what was stored before is there" is_kept kept r1 "$work/r1"

# Somebody truncates the journal while runs are under way.
for i in 1 2 3 4 5; do run_on "cut$i" r1 >"$work/cut$i" & done
sleep 0.3
for file in "$disk"/store.db-log.*; do truncate -s 0 "$file"; done
wait $(jobs -p | grep -v "^$pid$")
check "the process survives a truncated journal" is_alive
for i in 1 2 3 4 5; do check "a run goes on to its end" is_finished "$work/cut$i"; done

# And once more, before the process is killed.
for i in 6 7 8 9; do run_on "cut$i" r1 >"$work/cut$i" & done
sleep 0.3
for file in "$disk"/store.db-log.*; do truncate -s 0 "$file"; done
kill -KILL "$pid"
wait 2>/dev/null
check "the store opens" launch
for i in 6 7 8 9; do check "a run is served or said to be gone" is_served_or_gone "cut$i" r1; done
for i in 1 2 3 4 5; do check "an ended run is there" is_kept "cut$i" r1 "$work/cut$i"; done
check "the first run is there" is_kept kept r1 "$work/r1"
run_on last r1 >"$work/last"
check "a run ends" is_finished "$work/last"
kill -TERM "$pid"
wait "$pid"
check "it shuts down" [ $? -eq 0 ]
pid=

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
