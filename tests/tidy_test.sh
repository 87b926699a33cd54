#!/usr/bin/env bash
# Tests tidy.sh with a stand-in for clang-tidy, in a small repository of its own: a file passes only if clang-tidy has
# read it to its end and found nothing.
set -u
script=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/tidy.sh
work=$(mktemp -d -t agui-tidy.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/bin" "$work/tests" "$work/build"
cp "$script" "$work/tests/"
touch "$work/clean.cpp" "$work/finding.cpp" "$work/crash.cpp"
cat >"$work/bin/clang-tidy-19" <<'STAND_IN'
#!/usr/bin/env bash
case ${!#} in
finding.cpp) echo "$PWD/finding.cpp:1:2: warning: a finding [bugprone-x]" ;;
crash.cpp) echo "PLEASE submit a bug report" && kill -SEGV $$ ;;
*) echo "/usr/include/library.hpp:1:2: warning: the library's [bugprone-x]" ;;
esac
STAND_IN
chmod +x "$work/bin/clang-tidy-19"
for file in clean finding crash; do
    printf '{"file": "%s/%s.cpp"}\n' "$work" $file
done >"$work/build/compile_commands.json"
git -C "$work" init -q && git -C "$work" add '*.cpp' || exit 2

failed=0
# NAME STATUS PRINTED: what `tidy.sh --all` must say about the files that are in the index.
expect() {
    local printed status
    printed=$(PATH=$work/bin:$PATH BUILD=$work/build bash "$work/tests/tidy.sh" --all 2>&1)
    status=$?
    if [ $status -ne "$2" ] || [ "$printed" != "$3" ]; then
        printf 'FAIL %s: status %s, printed:\n%s\nexpected status %s:\n%s\n' "$1" $status "$printed" "$2" "$3"
        failed=1
    fi
}

expect "findings and crashes" 1 "crash.cpp: clang-tidy ended with status 139: PLEASE submit a bug report
finding.cpp:1:2: warning: a finding [bugprone-x]
1 passed, 2 failed"
git -C "$work" rm -q --cached finding.cpp
expect "a crash alone" 1 "crash.cpp: clang-tidy ended with status 139: PLEASE submit a bug report
1 passed, 1 failed"
git -C "$work" rm -q --cached crash.cpp
expect "a clean file" 0 "1 passed, 0 failed"
exit $failed
