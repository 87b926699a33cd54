#!/usr/bin/env bash
# Every file of tests/e2e is run by run.sh and described in tests/README.md. Use: all_run.sh PROJECT
set -u
cd "${1:?the folder of the project}/tests" || exit 2
wrong=0
for file in e2e/*.test.mjs; do
    name=${file#e2e/}
    grep -qE "(^| )${name//./\\.}( |\"|\$)" run.sh || { echo "run.sh does not run $file"; wrong=1; }
    grep -q "\`$file\`" README.md || { echo "README.md does not describe $file"; wrong=1; }
done
exit $wrong
