#!/usr/bin/env bash
# JSON is parsed in session/base/parse_json.cpp and json_events.hpp alone, where texts are bounded and counted and objects
# get a hash with a key; texts are hashed by keyed_hash.hpp. Fails, naming the places, if another file of the
# product uses a parser of Boost.JSON, or a standard hash of texts. Use: one_parser.sh PROJECT
set -u
cd "${1:?the folder of the project}" || exit 2
wrong=0

# only PATTERN FILE...: no other file has what matches.
only() {
    local pattern=$1 found file
    shift
    found=$(grep -rnE --include='*.?pp' "$pattern" session runner translator gateway)
    for file in "$@"; do
        [ -f "$file" ] || { echo "there is no file $file"; wrong=1; }
        found=$(grep -v "^$file:" <<<"$found")
    done
    [ -z "$found" ] || { echo "$found"; wrong=1; }
}

only 'json::(parse(_into)?\b|(basic_|stream_)?parser\b)|boost/json\.hpp|json/(parse|parse_into|parser|stream_parser|basic_parser|basic_parser_impl|src)\.hpp' \
    session/base/parse_json.hpp session/base/parse_json.cpp session/base/json_events.hpp
only 'unordered_(multi)?(map|set)<(const )?std::(string|string_view|pair|tuple)\b' session/base/text_map.hpp
only 'std::hash<(const )?std::(string|string_view)\b'
exit $wrong
