#!/usr/bin/env bash
# Search for what a driver does wrong: smoke in every way of running a case, and all of ci three times, in parts. A part that
# ended is not run again: a search that was stopped goes on with the part that it was in.
#
#   bash lab/reliability/find.sh FOLDER --driver swiftshader
#   bash tools/mesa25.sh bash lab/reliability/find.sh FOLDER
#
# FOLDER gets a report of each part (NN.json), and in bugs/ reproducers of the cases that failed and of what they were reduced
# to; failed.txt names the reports of parts in which a case failed. For another version of the driver take another folder. The
# exit code is 1 if a case failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PARTS=16 # of ci: two to ten minutes each
RESTRIDE=(.venv/bin/python -m restride)

if [ $# -eq 0 ]; then
    echo "usage: bash lab/reliability/find.sh FOLDER [OPTION OF restride test ...]" >&2
    exit 2
fi
folder="$1"
shift
options=("$@" --reduce --export "$folder/bugs" --force)
mkdir -p "$folder"

# part NAME CATALOGUE OPTION...: failed cases (exit code 1), crashes and hangs (6) are results like others.
part() {
    local report="$folder/$1.json" code=0
    shift
    if [ ! -e "$report" ]; then
        echo "restride test $*" >&2
        "${RESTRIDE[@]}" test "$@" "${options[@]}" --json "$report.new" || code=$?
        case $code in
        0) ;;
        1 | 6) grep -qsxF "$report" "$folder/failed.txt" || echo "$report" >>"$folder/failed.txt" ;;
        *) exit "$code" ;;
        esac
        mv "$report.new" "$report"
    fi
}

part groups smoke --groups
part runs smoke --repeat 3 --replay 5 --under-load --in-batch
for ((i = 1; i <= PARTS; i++)); do
    part "$(printf 'ci-%02d' "$i")" ci --repeat 3 --shard "$i/$PARTS"
done

if [ -e "$folder/failed.txt" ]; then
    echo "restride: parts with cases that failed:" >&2
    cat "$folder/failed.txt"
    exit 1
fi
