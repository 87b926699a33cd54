#!/usr/bin/env bash
# Measures what one streamed token costs through nginx and through agui-gateway, compared with no proxy at all,
# or what it costs for each of many readers of one run, and prints a table. Installs nothing. README.md says
# what the figures mean.
set -u -o pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)

noise_limit=5 # Per cent of the two cores.

usage() {
    cat <<USAGE
usage: tests/bench/run.sh [options]
  --workload NAME   streams: many runs with one reader each (default); fanout: one run with many readers,
                    beside as many streams through nginx; history: as streams, each on a thread of 100
                    messages of 1 KB; long: 10 streams, each on a thread of 5000 of 128 bytes (both: memory, sqlite);
                    thread-4000: 10 runs of one token, each the second on a thread of 4000 messages of 200 bytes;
                    elsewhere: one run with 20 readers, at the gateway that has the run or at another one on the same
                    database (postgres, elsewhere); attach: runs that are each read by one more reader, at either
                    (postgres, elsewhere); pairs-5000: the same with 5 000 runs at once (elsewhere);
                    answers-1000, answers-4000: 10 streams of so many tokens, one every 5 ms (memory, chat, chat-full);
                    tokens-1000: 20 streams of 1000 tokens, one every 5 ms; runs-1000, runs-5000: so many streams of
                    100 tokens at once, 10 000 tokens a second in all; lockstep: as streams, but the tokens of all
                    streams come within the same millisecond, as from a server that batches; one-token: 3 000 runs of one token, 500 a second
                    (these: nginx, memory, sqlite, postgres)
  --rounds N        rounds, each with every target once in random order (7)
  --targets LIST    of direct,nginx,memory,anthropic,responses,sqlite,postgres,two,chat,chat-full,protobuf,
                    limited,limited-sqlite; anthropic, responses: as
                    memory, with a model that speaks Messages or Responses instead of Chat Completions; postgres: a PostgreSQL 15 of its own, on the
                    core of load and model, its data on the disk of the temporary folder; two: the same with two
                    gateways on one core, each of which has every second stream; chat: as memory, but read as
                    a chat stream in incremental mode, chat-full: in full mode; protobuf: as memory, but read
                    as protobuf; limited, limited-sqlite: as memory and sqlite, with [[quotas]] that are never reached (requests,
                    runs, tokens and money of the one principal), an audit and an access log (the first four; with
                    streams also chat and protobuf)
  --build DIR       build folder that holds bin/ (build/release)
  --json FILE       also keep the figures of every round, one line "ROUND TARGET JSON" each
  --quick           smoke run: 2 rounds of 50 streams or readers; its figures mean nothing
A round in which others took more than $noise_limit % of the two cores is repeated, with --rounds N at most N times in all.
Exit status: 0; 1 if a round was void or a target did not start; 2 for bad usage or a missing program.
USAGE
}

stop_usage() {
    echo "run.sh: $1" >&2
    exit 2
}

workload=streams
history=0
rounds=7
quick=
interval_ms=20
spread_ms=2000
lockstep=0
kind_of_load=
targets=
build=$repository/build/release
json_file=
server_core=0
harness_core=1

while [ $# -gt 0 ]; do
    case $1 in
    --workload | --rounds | --targets | --build | --json)
        [ $# -ge 2 ] || stop_usage "$1 needs a value"
        case $1 in
        --workload) workload=$2 ;;
        --rounds) rounds=$2 ;;
        --targets) targets=$2 ;;
        --build) build=$2 ;;
        --json) json_file=$2 ;;
        esac
        shift 2
        ;;
    --quick)
        quick=yes
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) stop_usage "unknown option $1 (--help lists them)" ;;
    esac
done

if [ -z "$targets" ]; then
    case $workload in
    history | long) targets=memory,sqlite ;;
    thread-4000) targets=memory,sqlite,postgres ;;
    elsewhere | attach) targets=postgres,elsewhere ;;
    pairs-5000) targets=elsewhere ;;
    answers-*) targets=memory,chat,chat-full ;;
    streams | lockstep) targets=direct,nginx,memory,sqlite,chat,protobuf ;;
    one-token) targets=memory,sqlite,postgres ;;
    tokens-1000 | runs-*) targets=direct,nginx,memory,sqlite ;;
    *) targets=direct,nginx,memory,sqlite ;;
    esac
fi
case $workload in
streams) streams=200 tokens=100 ;;
lockstep) streams=200 tokens=100 lockstep=1 ;;
fanout) streams=500 tokens=500 ;;
elsewhere) streams=21 tokens=500 ;;
attach) streams=4000 tokens=40 interval_ms=100 spread_ms=20000 kind_of_load=pairs ;;
pairs-5000) streams=10000 tokens=60 interval_ms=1000 spread_ms=50000 kind_of_load=pairs ;;
history) streams=200 tokens=100 history=100 history_bytes=1024 ;;
long) streams=10 tokens=100 history=5000 history_bytes=128 ;;
thread-4000) streams=10 tokens=1 history=4000 history_bytes=200 ;;
tokens-1000) streams=20 tokens=1000 interval_ms=5 ;;
runs-1000) streams=1000 tokens=100 interval_ms=100 spread_ms=5000 ;;
runs-5000) streams=5000 tokens=100 interval_ms=500 spread_ms=25000 ;;
one-token) streams=3000 tokens=1 spread_ms=6000 ;;
answers-1000 | answers-4000) streams=10 tokens=${workload#answers-} interval_ms=5 ;;
*) stop_usage "unknown workload '$workload': streams, fanout, elsewhere, attach, pairs-5000, history, long, thread-4000, answers-1000, answers-4000, tokens-1000, runs-1000, runs-5000, lockstep, one-token" ;;
esac
if [ -n "$quick" ]; then
    rounds=2 streams=50 spread_ms=500
    [ "$tokens" = 1 ] || tokens=100
fi
[[ $rounds =~ ^[1-9][0-9]?$ ]] || stop_usage "--rounds must be a number from 1 to 99"
IFS=, read -r -a target_list <<<"$targets"
for target in "${target_list[@]}"; do
    case $target in
    direct | nginx | memory | sqlite | postgres) ;;
    elsewhere) [ "$workload" = elsewhere ] || [ -n "$kind_of_load" ] || stop_usage "the target elsewhere is for the workloads elsewhere, attach and pairs-5000" ;;
    two) [ "$workload" != fanout ] && [ "$workload" != elsewhere ] && [ -z "$kind_of_load" ] && [ "$history" = 0 ] || stop_usage "the target two is not for the workload $workload" ;;
    anthropic | responses) [ "$workload" != fanout ] && [ "$history" = 0 ] || stop_usage "the target $target is not for the workload $workload" ;;
    chat | chat-full) [ "$workload" != fanout ] || stop_usage "no fanout of a chat stream is measured" ;;
    protobuf | limited | limited-sqlite) [ "$workload" != fanout ] && [ "$workload" != elsewhere ] && [ -z "$kind_of_load" ] || stop_usage "the target $target is not for the workload $workload" ;;
    *) stop_usage "unknown target '$target': direct, nginx, memory, anthropic, responses, sqlite, postgres, two, chat, chat-full, protobuf, limited, limited-sqlite" ;;
    esac
done

wants() { [[ ",$targets," == *",$1,"* ]]; }
wants_database() { wants postgres || wants two || wants elsewhere; }
on_database() { [ "$1" = postgres ] || [ "$1" = two ] || [ "$1" = elsewhere ]; }

load=$build/bin/bench-load
mock=$build/bin/bench-model-mock
gateway=$build/bin/agui-gateway
missing=()
command -v taskset >/dev/null || missing+=("taskset (Debian: util-linux)")
if wants nginx; then
    PATH=$PATH:/usr/sbin
    command -v nginx >/dev/null || missing+=("nginx (Debian: nginx-light)")
fi
[ -x "$load" ] && [ -x "$mock" ] ||
    missing+=("bench-load and bench-model-mock in $build/bin (cmake --preset release -DAGUI_BENCH=ON && cmake --build --preset release)")
if wants memory || wants anthropic || wants responses || wants sqlite || wants_database || wants chat || wants chat-full || wants protobuf || wants limited || wants limited-sqlite; then
    [ -x "$gateway" ] || missing+=("agui-gateway in $build/bin (cmake --build --preset release)")
fi
if wants_database; then
    psql=/usr/lib/postgresql/15/bin/psql
    [ -x "$psql" ] && [ -x "${psql%psql}postgres" ] || missing+=("PostgreSQL 15 (Debian: postgresql-15)")
fi
if [ ${#missing[@]} -gt 0 ]; then
    printf -v list '%s; ' "${missing[@]}"
    stop_usage "missing: ${list%; }"
fi
if [ $history -gt 0 ] && { wants nginx || wants direct; }; then
    stop_usage "--workload $workload is for --targets memory,sqlite"
fi
[ "$(nproc)" -ge 2 ] || stop_usage "two cores are needed: one for the server, one for load and model"

work=$(mktemp -d -t agui-bench.XXXXXX)
mock_pid=
target_pid=
other_pid=
database_pid=
database_url=
keep_store=
mark=

# Ends a process that this script started; kills it if it does not go within 10 s.
end_process() {
    local pid=$1 tries=0
    kill -TERM "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null && [ $tries -lt 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}

clean_up() {
    [ -n "$target_pid" ] && end_process "$target_pid"
    [ -n "$other_pid" ] && end_process "$other_pid"
    [ -n "$mock_pid" ] && end_process "$mock_pid"
    [ -z "$database_pid" ] || "$here/../postgres.sh" stop "$work/postgres"
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Prints a TCP port that nobody listens on, below the range of outgoing connections.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# Succeeds once GET /readyz on the port answers 200; fails after 10 s or when the process has ended.
wait_ready() {
    local port=$1 pid=$2 tries=0 line
    while [ $tries -lt 200 ] && kill -0 "$pid" 2>/dev/null; do
        line=$(
            exec 2>/dev/null
            exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 0
            printf 'GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$port" >&3
            read -r -t 2 line <&3 && printf '%s' "$line"
        )
        [[ $line == "HTTP/1.1 200"* ]] && return 0
        sleep 0.05
        tries=$((tries + 1))
    done
    return 1
}

start_mock() {
    local tries=0
    : >"$work/mock.log"
    taskset -c $harness_core "$mock" --port 0 >"$work/mock.log" 2>&1 &
    mock_pid=$!
    while ! grep -q '^listening on ' "$work/mock.log" && [ $tries -lt 100 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    mock_port=$(sed -n 's/^listening on .*://p' "$work/mock.log")
    [ -n "$mock_port" ] || {
        echo "run.sh: the model mock did not start: $(cat "$work/mock.log")" >&2
        exit 1
    }
}

write_nginx_config() {
    cat >"$work/nginx.conf" <<CONFIG
worker_processes 1;
daemon off;
pid $work/nginx.pid;
error_log $work/target.log warn;
events { worker_connections 4096; }
http {
    access_log off;
    client_body_temp_path $work/nginx-body;
    proxy_temp_path $work/nginx-proxy;
    fastcgi_temp_path $work/nginx-fastcgi;
    uwsgi_temp_path $work/nginx-uwsgi;
    scgi_temp_path $work/nginx-scgi;
    upstream model {
        server 127.0.0.1:$mock_port;
        keepalive 256;
    }
    server {
        listen 127.0.0.1:$1;
        location / {
            proxy_pass http://model;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }
    }
}
CONFIG
}

# write_gateway_config PORT STORE [PROVIDER]
write_gateway_config() {
    local provider=${3:-openai} version=/v1
    [ "$provider" != anthropic ] || version=
    cat >"$work/gateway.toml" <<CONFIG
[server]
listen = "127.0.0.1:$1"
threads = 1

[session]
store = "$2"

[models.main]
provider = "$provider"
base_url = "http://127.0.0.1:$mock_port$version"
model = "mock"

[[agents]]
id = "default"
models = ["main"]
CONFIG
}

add_limits() {
    cat >>"$work/gateway.toml" <<CONFIG

[[quotas]]
per = "principal"
requests_per_minute = 1000000
runs = 1000000
day = { input_tokens = 1000000000000, output_tokens = 1000000000000, cost = 1000000 }
month = { input_tokens = 1000000000000, output_tokens = 1000000000000, cost = 1000000 }

[audit]
file = "$work/audit"

[access_log]
file = "$work/access"
CONFIG
}

# Prints the pid of the one worker of an nginx master.
nginx_worker() {
    local stat fields
    for stat in /proc/[0-9]*/stat; do
        read -r -a fields <"$stat" 2>/dev/null || continue
        if [ "${fields[1]}" = "(nginx)" ] && [ "${fields[3]}" = "$1" ]; then
            echo "${fields[0]}"
            return 0
        fi
    done
    return 1
}

# Starts a fresh server. Sets target_pid (to end it), measured_pid, url and kind.
start_target() {
    local target=$1 port
    target_pid=
    : >"$work/target.log"
    if [ "$target" = direct ]; then
        # The mock stands in as the sampled process, so that the harness does the same work.
        measured_pid=$mock_pid url=http://127.0.0.1:$mock_port/v1/chat/completions kind=openai
        return 0
    fi
    port=$(free_port)
    case $target in
    nginx)
        write_nginx_config "$port"
        taskset -c $server_core nginx -e "$work/target.log" -c "$work/nginx.conf" >>"$work/target.log" 2>&1 &
        ;;
    memory | anthropic | responses | sqlite | postgres | two | elsewhere | chat | chat-full | protobuf | limited | limited-sqlite)
        [ -n "$keep_store" ] || rm -f "$work"/bench.db*
        if [ "$target" = sqlite ] || [ "$target" = limited-sqlite ]; then
            write_gateway_config "$port" "sqlite:$work/bench.db"
        elif on_database "$target"; then
            fresh_database || return 1
            write_gateway_config "$port" "${database_url/\/postgres\?/\/bench?}"
        elif [ "$target" = anthropic ] || [ "$target" = responses ]; then
            write_gateway_config "$port" memory: "$target"
        else
            write_gateway_config "$port" memory:
        fi
        case $target in limited*) add_limits ;; esac
        taskset -c $server_core "$gateway" --config "$work/gateway.toml" >>"$work/target.log" 2>&1 &
        ;;
    esac
    target_pid=$!
    wait_ready "$port" "$target_pid" || return 1
    if [ "$target" = elsewhere ] || [ "$target" = two ]; then
        other_port=$(free_port)
        sed "s/127.0.0.1:$port/127.0.0.1:$other_port/" "$work/gateway.toml" >"$work/other.toml"
        taskset -c $server_core "$gateway" --config "$work/other.toml" >>"$work/target.log" 2>&1 &
        other_pid=$!
        wait_ready "$other_port" "$other_pid" || return 1
    fi
    if [ "$target" = nginx ]; then
        url=http://127.0.0.1:$port/v1/chat/completions kind=openai
        measured_pid=$(nginx_worker "$target_pid") || return 1
    else
        url=http://127.0.0.1:$port/agui measured_pid=$target_pid
        if [ "$workload" = fanout ] || [ "$workload" = elsewhere ]; then kind=fanout; else kind=${kind_of_load:-agui}; fi
        case $target in
        chat | chat-full) url=http://127.0.0.1:$port/chat/stream kind=$target ;;
        protobuf) kind=$target ;;
        esac
    fi
}

start_database() {
    mkdir -p "$work/postgres" && chmod 755 "$work"
    database_url=$(taskset -c $harness_core "$here/../postgres.sh" start "$work/postgres") || exit 1
    database_pid=$(head -n 1 "$work/postgres/data/postmaster.pid")
}

sql() { "$psql" --quiet --tuples-only --no-align "$database_url" "$@"; }

fresh_database() {
    [ -n "$keep_store" ] && return 0
    sql -c 'DROP DATABASE IF EXISTS bench WITH (FORCE)' -c 'CREATE DATABASE bench' -c CHECKPOINT
}

# How many bytes the database server has written to its write-ahead log; 0: there is none.
wal_bytes() {
    if [ -n "$database_pid" ]; then sql -c "SELECT pg_current_wal_lsn() - '0/0'"; else echo 0; fi
}

stop_target() {
    [ -n "$target_pid" ] && end_process "$target_pid"
    [ -n "$other_pid" ] && end_process "$other_pid"
    target_pid= other_pid=
}

# Runs bench-load against the target: STREAMS TOKENS SPREAD_MS [OPTION...].
run_load() {
    local streams=$1 tokens=$2 spread_ms=$3 delay_ms=0
    shift 3
    # The readers of one run must all be there before its first token.
    [ "$kind" != fanout ] || delay_ms=$((spread_ms + 1000))
    taskset -c $harness_core "$load" --url "$url" --kind "$kind" --streams "$streams" --tokens "$tokens" \
        --interval-ms "$interval_ms" --spread-ms "$spread_ms" --delay-ms "$delay_ms" --lockstep "$lockstep" \
        --server-pid "$measured_pid" "$@"
}

# Gives each stream of the measurement its thread. A store on disk is opened again afterwards: memory that the
# writing left to the allocator would hide what the streams take.
write_history() {
    mark=history$RANDOM
    run_load "$streams" 1 $((streams * 20)) --mark "$mark" --history "$history" \
        --history-bytes "$history_bytes" >/dev/null || return 1
    [ "$1" = sqlite ] || return 0
    stop_target
    keep_store=yes
    start_target "$1"
    local started=$?
    keep_store=
    return $started
}

# Runs one target of one round: fresh server, warm-up, measurement. Appends to the results.
run_target() {
    local round=$1 target=$2 line before more=()
    if ! start_target "$target"; then
        echo "run.sh: $target did not start:" >&2
        tail -n 5 "$work/target.log" >&2
        stop_target
        return 1
    fi
    if [ $history -gt 0 ] && ! write_history "$target"; then
        echo "run.sh: the threads of $target could not be written" >&2
        stop_target
        return 1
    fi
    ! on_database "$target" || more=(--database-pid "$database_pid")
    [ "$target" != elsewhere ] || more+=(--reader-port "$other_port" --second-pid "$other_pid")
    [ "$target" != two ] || more+=(--second-port "$other_port" --second-pid "$other_pid")
    if [ "$workload" = thread-4000 ]; then
        run_load "$streams" 1 "$spread_ms" --mark "$mark" "${more[@]}" >/dev/null || return 1
    fi
    if run_load 20 20 200 "${more[@]}" >/dev/null && before=$(wal_bytes) &&
        line=$(run_load "$streams" "$tokens" "$spread_ms" --mark "$mark" --mock-pid "$mock_pid" \
            --cores $server_core,$harness_core "${more[@]}"); then
        [ ${#more[@]} -eq 0 ] || line="${line%\}},\"wal_bytes_per_token\":$(((
            $(wal_bytes) - before) / (streams * tokens)))}"
        printf '%s\t%s\t%s\n' "$round" "$target" "$line" >>"$work/round"
        stop_target
        return 0
    fi
    echo "run.sh: round $round of $target does not count" >&2
    tail -n 5 "$work/target.log" >&2
    stop_target
    return 1
}

start_mock
if wants_database; then start_database; fi
: >"$work/results"
failures=0
repeats_left=$rounds
[ -z "$quick" ] || repeats_left=0
for ((round = 1; round <= rounds; round++)); do
    order=$(printf '%s\n' "${target_list[@]}" | shuf | tr '\n' ' ')
    [ -t 2 ] && printf '\rround %d of %d: %s' "$round" "$rounds" "$order" >&2
    : >"$work/round"
    for target in $order; do
        run_target "$round" "$target" || failures=$((failures + 1))
    done
    noise=$(awk -v noise_limit=$noise_limit -v only_noise=1 -f "$here/report.awk" "$work/round")
    if [ -n "$noise" ] && [ $repeats_left -gt 0 ]; then
        repeats_left=$((repeats_left - 1))
        echo "run.sh: round $round is repeated: others took $noise % of the two cores" >&2
        round=$((round - 1))
        continue
    fi
    cat "$work/round" >>"$work/results"
done
[ -t 2 ] && printf '\r\033[K' >&2

[ -z "$json_file" ] || cp "$work/results" "$json_file"
model_name=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
echo "$(uname -sr), $(nproc) cores, ${model_name:-unknown CPU}; database on $(stat -f -c %T "$work")"
what="$streams streams of $tokens tokens"
[ "$workload" != fanout ] && [ "$workload" != elsewhere ] || what="one run of $tokens tokens with $streams readers (direct, nginx: $what)"
echo "$rounds rounds, $what, one token every $interval_ms ms, starts spread over $spread_ms ms"
[ $history -eq 0 ] || echo "each stream on a thread of $history messages of $history_bytes bytes"
[ -z "$quick" ] || echo "smoke run: too few rounds and streams for its figures to mean anything"
if grep -qsE '^(AGUI_SANITIZE:[A-Z]+=.+|AGUI_VERIFY_EVENTS:[A-Z]+=ON|CMAKE_BUILD_TYPE:[A-Z]+=Debug)$' "$build/CMakeCache.txt"; then
    echo "the build in $build is a debug or sanitizer build: its gateway is not what users run"
fi
echo
awk -v workload="$workload" -v tokens="$tokens" -v noise_limit=$noise_limit -f "$here/report.awk" "$work/results"
if [ $failures -gt 0 ]; then
    echo "$failures rounds were void or did not start" >&2
    exit 1
fi
