#!/usr/bin/env bash
# The programs need neither libpq nor SQLite, not even through a library. Use: database_free.sh PROGRAM...
set -u
wrong=0
for program in "$@"; do
    needed=$(ldd "$program") || { echo "$program: its libraries cannot be listed"; wrong=1; continue; }
    if grep -E 'libpq|libsqlite3' <<<"$needed"; then echo "$program needs a database"; wrong=1; fi
done
exit $wrong
