#!/usr/bin/env bash
# From a bare Debian 12 to a running gateway: installs the packages that are missing, builds, and starts the
# gateway with its scripted model on 127.0.0.1:8080.
#   quickstart.sh                     until Ctrl-C
#   quickstart.sh --once              checks the hand-off with curl and the command-line client, then stops;
#                                     status 0 only if both saw it
#   quickstart.sh --listen ADDR:PORT  another address (loopback)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(dirname "$here")
once=false
listen=127.0.0.1:8080
work=
gateway=

usage() {
  sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

while [ $# -gt 0 ]; do
  case $1 in
    --once) once=true ;;
    --listen)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      listen=$2
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
host=${listen%:*}
host=${host#[}
host=${host%]}
port=${listen##*:}
if [ "$host" = "$listen" ] || [ -z "$host" ] || ! [[ $port =~ ^[0-9]+$ ]]; then
  echo "--listen takes ADDR:PORT, as 127.0.0.1:8080" >&2
  exit 2
fi

step() { printf '== %s\n' "$*"; }

clean_up() {
  if [ -n "$gateway" ] && kill -0 "$gateway" 2>/dev/null; then
    kill "$gateway" 2>/dev/null || true
    wait "$gateway" 2>/dev/null || true
  fi
  [ -z "$work" ] || rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

port_taken() {
  (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null
}

build() {
  local fresh=()
  # Tests and benchmarks are left out of a build folder that is new; one that has them keeps them.
  [ -f "$project/build/release/CMakeCache.txt" ] || fresh=(-DAGUI_TESTS=OFF -DAGUI_BENCH=OFF)
  (
    cd "$project"
    cmake --preset release "${fresh[@]}" >"$work/configure.log" 2>&1 || { tail -n 30 "$work/configure.log" >&2; exit 1; }
    cmake --build --preset release --target agui-gateway externaltool-client
  )
}

# The line that the README shows: a hand-off, streamed. Repeated with the same runId it shows the same run again.
curl_line() {
  cat <<LINE
curl -N -X POST http://$listen/agui -H 'content-type: application/json' -d '{
  "threadId": "t1", "runId": "r1", "protocolVersion": "1.1",
  "messages": [{"id": "m1", "role": "user", "content": "make the background blue"}],
  "tools": [{"name": "change_background", "description": "Changes the background colour of the page",
    "parameters": {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}}]}'
LINE
}

wait_until_ready() {
  local _
  for _ in $(seq 100); do
    if curl -fs -o /dev/null --max-time 2 "http://$listen/readyz" 2>/dev/null; then
      return 0
    fi
    kill -0 "$gateway" 2>/dev/null || break
    sleep 0.1
  done
  echo "The gateway did not become ready:" >&2
  tail -n 20 "$work/gateway.log" >&2
  return 1
}

refuse_taken_port() {
  port_taken || return 0
  echo "Something listens on $listen already. Stop it, or choose another port: --listen 127.0.0.1:8081" >&2
  exit 1
}

check_handoff() {
  local event
  step "The hand-off with curl"
  curl_line
  timeout 30 bash -c "$(curl_line) -sS" | tee "$work/stream"
  for event in RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END RUN_FINISHED; do
    grep -q "\"$event\"" "$work/stream" || { echo "The stream holds no $event." >&2; return 1; }
  done
  step "The whole hand-off with the command-line client"
  timeout 60 "$project/build/release/bin/externaltool-client" --url "http://$listen/agui" --color-file "$work/color"
  [ "$(cat "$work/color")" = blue ] || { echo "The client was not asked for blue." >&2; return 1; }
}

step "Packages"
# shellcheck source-path=SCRIPTDIR source=install-build-deps.sh
source "$here/install-build-deps.sh"
install_missing "${build_packages[@]}"

refuse_taken_port

work=$(mktemp -d)
step "Build (build/release; some minutes the first time)"
build
refuse_taken_port # A build takes minutes.

step "agui-gateway --demo on $listen"
if $once; then
  "$project/build/release/bin/agui-gateway" --demo --listen "$listen" >"$work/gateway.log" 2>&1 &
  gateway=$!
  wait_until_ready
  check_handoff
  kill -TERM "$gateway"
  status=0
  wait "$gateway" || status=$?
  gateway=
  [ "$status" -eq 0 ] || { echo "The gateway ended with status $status." >&2; tail -n 20 "$work/gateway.log" >&2; exit 1; }
  step "The hand-off was seen by both"
  exit 0
fi

cat <<TEXT

Open   http://$listen/     a chat with tools of the page and of the gateway
or try
$(curl_line)

Ctrl-C stops the gateway.

TEXT
rm -rf "$work"
work=
exec "$project/build/release/bin/agui-gateway" --demo --listen "$listen"
