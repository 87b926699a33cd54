#!/usr/bin/env bash
# A PostgreSQL server for the tests, of its own: Debian's PostgreSQL 15 on a socket in FOLDER, no port.
#   postgres.sh start FOLDER     starts it on a new data folder; prints the URL for AGUI_TEST_POSTGRES
#   postgres.sh restart FOLDER   ends it as a crash would, and starts it again
#   postgres.sh halt FOLDER      only ends it so
#   postgres.sh resume FOLDER    starts it again
#   postgres.sh stop FOLDER      ends it, by its process id, and removes FOLDER
#   postgres.sh standby FOLDER PRIMARY   starts a standby of the server in the folder PRIMARY; prints its URL
#   postgres.sh promote FOLDER   makes the standby a server that is written to
#   postgres.sh kill FOLDER      kills it and all its processes at once, and removes FOLDER: it cannot come back
# The server refuses to run as root: root runs it as the user postgres, or nobody. AGUI_POSTGRES_BIN names another folder
# with its programs. fsync stays on, so what the tests see of durability is real where FOLDER is on a disk.
set -eu -o pipefail

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2; exit 2; }
[ $# -eq 2 ] || { [ $# -eq 3 ] && [ "$1" = standby ]; } || usage
command=$1 folder=$2 primary=${3:-}
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

# Its own, which its user may enter.
make_folder() {
    [ -x "$programs/postgres" ] || { echo "there is no PostgreSQL server in $programs (apt install postgresql-15)" >&2; exit 1; }
    mkdir -p "$folder"
    chmod 755 "$folder"
    [ "$(id -u)" -ne 0 ] || chown "$owner" "$folder"
    folder=$(cd "$folder" && pwd)
}

# Stopped first, so that it starts no other process meanwhile; one that is left could go on to answer. The seventh line of
# its file names the shared memory that nobody else removes then.
kill_all() {
    local server memory all each
    server=$(sed -n 1p "$folder/data/postmaster.pid")
    memory=$(sed -n 7p "$folder/data/postmaster.pid" | awk '{ print $2 }')
    kill -STOP "$server"
    read -r -a all < <(cat "/proc/$server/task/$server/children"; echo "$server")
    kill -KILL "${all[@]}"
    for each in "${all[@]}"; do # Gone, or not yet asked for by its parent.
        while grep -q '^State:.[^ZX]' "/proc/$each/status" 2>/dev/null; do sleep 0.01; done
    done
    ipcrm --shmem-id "$memory"
    rm -rf "$folder"
}

case $command in
start)
    make_folder
    run initdb --pgdata "$folder/data" --username agui --auth trust --encoding UTF8 --locale C --no-sync >/dev/null
    cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$folder'
unix_socket_permissions = 0777
max_connections = 200
max_prepared_transactions = 0
shared_buffers = 64MB
autovacuum_naptime = 5min
dynamic_shared_memory_type = mmap
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
standby)
    make_folder
    run pg_basebackup --pgdata "$folder/data" --dbname "host=$primary user=agui" --write-recovery-conf --checkpoint fast --no-sync
    echo "unix_socket_directories = '$folder'" >>"$folder/data/postgresql.conf"
    start
    echo "postgresql:///postgres?host=$folder&user=agui"
    ;;
promote) run pg_ctl --pgdata "$folder/data" --wait --timeout 60 promote >/dev/null ;;
kill) kill_all ;;
*) usage ;;
esac
