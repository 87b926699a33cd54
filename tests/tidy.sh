#!/usr/bin/env bash
# Fails, naming the places, if clang-tidy 19 finds something (.clang-tidy says what it looks for).
#   tidy.sh [COMMIT]   the C++ files that have changed since the commit; without one, since the branch left origin/main,
#                      or, on main itself, since the last commit
#   tidy.sh --all      all C++ files: half an hour on two cores
# Each file is read by itself, so an include that is missing is found too, and a name that hides another one.
# Environment: BUILD, a folder with compile_commands.json (build/tidy, which is made: the presets compile several files
# as one); JOBS, how many files at once (1); MOST, of changed files: with more of them it reads none, says so and exits
# with 3.
# The last line is `N passed, M failed`, counted in files.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
project=$PWD
tidy=$(command -v clang-tidy-19) || { echo "there is no clang-tidy-19"; exit 2; }

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

build=${BUILD:-build/tidy}
if [ -z "${BUILD:-}" ]; then
    configured=$(cmake --preset release -B "$build" -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
        -DAGUI_TESTS=ON -DAGUI_BENCH=ON 2>&1) || { echo "$configured"; exit 2; }
fi
[ -f "$build/compile_commands.json" ] || { echo "there is no compile_commands.json in $build"; exit 2; }

# The C++ files of the project, as git knows them, that differ from the commit.
changed_since() {
    { git diff --name-only --diff-filter=d "$1" && git ls-files --others --exclude-standard; } | grep -E '\.[ch]pp$'
}

# The commit that a branch is to be compared with.
base() {
    local from
    from=$(git merge-base HEAD origin/main 2>/dev/null) && [ "$from" != "$(git rev-parse HEAD)" ] || from=HEAD~1
    echo "$from"
}

# A header is read with a file that includes it: the one of its name, or the first.
sources_of() {
    local file
    while read -r file; do
        case $file in
        *.cpp) echo "$file" ;;
        *) if [ -f "${file%.hpp}.cpp" ]; then
            echo "${file%.hpp}.cpp"
        else
            git grep -lF "#include \"$file\"" -- '*.cpp' | head -n 1
        fi ;;
        esac
    done | sort -u
}

case ${1-} in
--all) files=$(git ls-files '*.cpp') ;;
-h | --help)
    usage
    exit 0
    ;;
-*)
    usage >&2
    exit 2
    ;;
*)
    since=$(git rev-parse --verify --quiet "${1:-$(base)}^{commit}") || { echo "no such commit"; exit 2; }
    files=$(changed_since "$since" | sources_of)
    ;;
esac

# A file that belongs to no program of that build cannot be checked.
check() {
    local file=$1 printed status found
    grep -qF "\"file\": \"$project/$file\"" "$build/compile_commands.json" || return 0
    # Findings within the libraries' headers are the libraries'. So are those of the analyzer that follow a coroutine
    # into Asio: it knows none. Findings alone leave the status 0.
    printed=$("$tidy" -p "$build" --quiet "$file" 2>&1)
    status=$?
    found=$(echo "$printed" | grep -E "^$project/[^:]+:[0-9:]+ (warning|error): |^error: " | sort -u)
    if [ -n "$found" ]; then
        echo "$found" | sed "s|^$project/|FAIL |"
    elif [ "$status" -ne 0 ]; then
        echo "FAIL $file: clang-tidy ended with status $status: $(echo "$printed" | tail -n 1)"
    else
        echo "pass $file"
    fi
}
export -f check
export project build tidy

count=$(echo "$files" | grep -c .)
if [ "${1-}" != --all ] && [ "$count" -gt "${MOST:-$count}" ]; then
    echo "$count files have changed, more than $MOST"
    exit 3
fi

results=$(echo "$files" | xargs -r -P "${JOBS:-1}" -I{} bash -c 'check "$1"' _ {})
echo "$results" | grep -vE '^(pass .*|)$' | sed 's/^FAIL //' | sort -u
failed=$(echo "$results" | grep -E '^(FAIL|error)' | sed 's/:.*//' | sort -u | wc -l)
echo "$(echo "$results" | grep -c '^pass ') passed, $failed failed"
[ "$failed" -eq 0 ]
