#!/usr/bin/env bash
# The layers of the project: session <- runner <- translator <- gateway. Fails, naming them, if an include points
# upward, or if the translator, which is pure, includes Asio or a clock. Use: layers.sh PROJECT
set -u
cd "${1:?the folder of the project}" || exit 2
wrong=0

# forbid FOLDER PATTERN: no file of the folder includes what matches.
forbid() {
    [ -d "$1" ] || { echo "there is no folder $1"; wrong=1; return; }
    if grep -rnE --include='*.?pp' "^ *# *include *[<\"]($2)" "$1"; then wrong=1; fi
}

forbid session 'runner/|translator/|gateway/|proto-fixtures/|tests/|examples/'
forbid runner 'translator/|gateway/|proto-fixtures/|tests/|examples/'
forbid translator 'gateway/|proto-fixtures/|tests/|examples/|boost/asio|boost/beast|chrono>'
forbid gateway 'proto-fixtures/|tests/|examples/'
exit $wrong
