#!/usr/bin/env bash
# Fails, naming the places, if a C++ file is not formatted as .clang-format says. Use: format.sh PROJECT [CLANG_FORMAT]
# To format everything: find gateway runner session translator -name '*.?pp' -exec clang-format-19 -i {} +
set -u
cd "${1:?the folder of the project}" || exit 2
mapfile -t files < <(find examples gateway proto-fixtures runner session tests translator \
    -name node_modules -prune -o -name '*.?pp' -print)
[ "${#files[@]}" -gt 100 ] || { echo "found ${#files[@]} files only"; exit 2; }
"${2:-clang-format-19}" --dry-run -Werror "${files[@]}"
