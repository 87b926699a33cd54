#!/usr/bin/env bash
# A text shows a program as it is, and the program is short. Use: shown_program.sh TEXT PROGRAM LINES
set -u
text=$(<"${1:?a text}") program=$(<"${2:?a program}")
lines=$(grep -c . "$2")
[ "$lines" -le "${3:?a number of lines}" ] || { echo "$2 has $lines lines, more than $3"; exit 1; }
[[ $text == *"$program"* ]] || { echo "$1 does not show $2"; exit 1; }
