#!/usr/bin/env bash
# The layers of the project: session <- runner <- translator <- gateway, and the rooms in them. Fails, naming them, if an
# include points upward, if a room includes one that it may not, or if the translator, which is pure, includes Asio or a
# clock. Use: layers.sh PROJECT
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

# Rooms, the sub-folders of a layer: each may include itself and the rooms of its layer that are named.
# allow LAYER ROOM [ROOM...]
allow() {
    local layer=$1 room=$2 file
    shift 2
    [ -d "$layer/$room" ] || { echo "there is no folder $layer/$room"; wrong=1; return; }
    local allowed="$layer/($room"
    for other in "$@"; do allowed+="|$other"; done
    allowed+=")/"
    if grep -rnE --include='*.?pp' "^ *# *include *\"$layer/" "$layer/$room" | grep -vE "\"$allowed"; then wrong=1; fi
}

allow session base
allow session prompt base
allow session conversation base
allow session history conversation base
allow session store conversation base
allow session sqlite store conversation base
allow session postgres store conversation base
allow runner base
allow runner http base
allow runner provider http base
allow runner openai provider http base
allow runner anthropic provider http base
allow runner responses provider http base
allow runner tools http base
allow runner mcp tools http base
allow runner hooks tools base
allow runner loop hooks tools base
allow runner chat loop hooks tools base
allow translator agui
allow translator input agui schema
allow translator chat_stream input agui
allow translator ui_message agui
allow translator schema
allow translator protobuf agui schema
allow translator verifier schema
allow gateway base
allow gateway auth base
allow gateway quota base
allow gateway audit auth base
allow gateway http auth quota audit base
allow gateway log base
allow gateway run log quota audit base
allow gateway replay run log base
allow gateway admission replay run log quota audit base
allow gateway queue admission replay run log base
allow gateway runs queue admission replay run log base
allow gateway routes http auth runs run log admission quota audit base
allow gateway copilotkit routes http auth runs audit base
allow gateway console http auth
allow gateway ai routes http auth runs log base
allow gateway peers http auth runs run log base
allow gateway control http auth runs audit base
allow gateway config http auth run quota audit base

# A room that is not named above has no rules.
for folder in session/*/ runner/*/ translator/*/ gateway/*/; do
    room=${folder%/}
    grep -qE "^allow ${room%/*} ${room#*/}( |$)" "$0" || { echo "$room has no rule in layers.sh"; wrong=1; }
done
exit $wrong
