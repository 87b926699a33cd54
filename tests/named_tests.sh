#!/usr/bin/env bash
# The tests that a text names as `Suite.Test` exist. Use: named_tests.sh PROJECT FILE...
set -u
cd "${1:?the folder of the project}" || exit 2
shift
wrong=0
for file in "$@"; do
    # Of a name with parameters, `Cases/Suite.Test/One`, the middle.
    names=$(grep -oE '`([A-Z][A-Za-z]*/)?[A-Z][A-Za-z]*\.[A-Z][A-Za-z0-9]*(/[A-Za-z0-9]*)?`' "$file" | tr -d '`' |
        sed -E 's,^[A-Za-z]*/,,; s,/.*$,,' | sort -u)
    [ -n "$names" ] || { echo "$file names no test"; wrong=1; }
    for name in $names; do
        if ! grep -rqE --include='*.cpp' "^TEST(_F|_P)?\(${name%%.*}, ${name#*.}\)" tests; then
            echo "$file: there is no test $name"
            wrong=1
        fi
    done
done
exit $wrong
