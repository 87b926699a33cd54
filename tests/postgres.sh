#!/usr/bin/env bash
# A PostgreSQL server for the tests, of its own: Debian's PostgreSQL 15 on a socket in FOLDER, no port.
#   postgres.sh start FOLDER     starts it on a new data folder; prints the URL for AGUI_TEST_POSTGRES
#   postgres.sh restart FOLDER   ends it as a crash would, and starts it again
#   postgres.sh halt FOLDER      only ends it so
#   postgres.sh resume FOLDER    starts it again
#   postgres.sh stop FOLDER      ends it, by its process id, and removes FOLDER
# The server refuses to run as root: root runs it as the user postgres, or nobody. AGUI_POSTGRES_BIN names another folder
# with its programs. fsync stays on, so what the tests see of durability is real where FOLDER is on a disk.
set -eu -o pipefail

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2; exit 2; }
[ $# -eq 2 ] || usage
command=$1 folder=$2
programs=${AGUI_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}

as_server=()
owner=$(id -un)
if [ "$(id -u)" -eq 0 ]; then
    owner=nobody
    ! getent passwd postgres >/dev/null || owner=postgres
    as_server=(setpriv --reuid "$owner" --regid "$(id -gn "$owner")" --clear-groups env HOME="$folder")
fi
# From a folder that the server's user may enter.
run() { (cd / && "${as_server[@]}" "$programs/$1" "${@:2}"); }

start() {
    run pg_ctl --pgdata "$folder/data" --log "$folder/log" --wait --timeout 60 start >/dev/null || {
        tail -n 20 "$folder/log" >&2
        exit 1
    }
}

halt() { run pg_ctl --pgdata "$folder/data" --mode immediate --wait stop >/dev/null; }

case $command in
start)
    [ -x "$programs/postgres" ] || { echo "there is no PostgreSQL server in $programs (apt install postgresql-15)" >&2; exit 1; }
    mkdir -p "$folder"
    chmod 755 "$folder"
    [ "$(id -u)" -ne 0 ] || chown "$owner" "$folder"
    folder=$(cd "$folder" && pwd)
    run initdb --pgdata "$folder/data" --username agui --auth trust --encoding UTF8 --locale C --no-sync >/dev/null
    cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$folder'
unix_socket_permissions = 0777
max_connections = 200
max_prepared_transactions = 0
shared_buffers = 64MB
autovacuum_naptime = 5min
END
    start
    echo "postgresql:///postgres?host=$folder&user=agui"
    ;;
restart)
    halt
    start
    ;;
halt) halt ;;
resume) start ;;
stop)
    [ ! -s "$folder/data/postmaster.pid" ] || halt
    rm -rf "$folder"
    ;;
*) usage ;;
esac
