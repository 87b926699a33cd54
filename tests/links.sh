#!/usr/bin/env bash
# Every relative link of every Markdown file leads to a file or folder that exists, and its #anchor to a heading of it.
# Links and images, the src, srcset and href of HTML in Markdown; code is not read. Use: links.sh PROJECT
set -u
cd "${1:?the folder of the project}" || exit 2
wrong=0

files() { find . \( -name build -o -name node_modules -o -name .git -o -name .venv \) -prune -o -name '*.md' -printf '%P\n' | sort; }

# The lines of a file outside of its code blocks.
prose() { awk '/^ *(```|~~~)/ { code = !code; next } !code' "$1"; }

# The anchors of a file, as GitHub makes them of its headings: no punctuation, and a number where one comes again.
anchors() {
    prose "$1" | sed -nE 's/^#{1,6} +(.*[^ #]) *#* *$/\1/p' | sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' | LC_ALL=C awk '{
        anchor = tolower($0)
        gsub(/[^a-z0-9_ -]/, "", anchor)
        gsub(/ /, "-", anchor)
        print anchor (seen[anchor]++ ? "-" (seen[anchor] - 1) : "")
    }'
}

# The addresses in a file, one a line.
links() {
    prose "$1" | sed -E 's/`[^`]*`//g' | grep -oE '\]\([^()[:space:]]+( "[^"]*")?\)|(src|srcset|href)="[^"]+"|^\[[^]]+\]: +[^[:space:]]+' |
        sed -E 's/^\]\(//; s/( "[^"]*")?\)$//; s/^(src|srcset|href)="//; s/"$//; s/^\[[^]]+\]: +//'
}

while IFS= read -r file; do
    while IFS= read -r link; do
        [[ $link =~ ^[a-z]+: ]] && continue
        path=${link%%#*}
        target=$file
        [ -z "$path" ] || target=$(dirname "$file")/$path
        if [ ! -e "$target" ]; then
            echo "$file: $link leads nowhere"
            wrong=1
        elif [[ $link == *'#'* && $target == *.md ]] && ! grep -qxF -- "${link#*#}" <(anchors "$target"); then
            echo "$file: $link leads to no heading"
            wrong=1
        fi
    done < <(links "$file")
done < <(files)
exit $wrong
