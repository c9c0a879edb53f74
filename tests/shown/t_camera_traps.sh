#!/bin/sh
# examples/camera_traps as a biologist uses it: the drawn photos, which are the same from the same seed and whose boxes
# and times are those that are written; tables, pages and messages that agree in every number; the same through
# tools/demo with photos of one's own; a valid Camtrap DP package from the folder; and everything that is refused.
set -u
cd "$(dirname "$0")/../.." || exit 1
repository=$PWD
REID_NO_INSTALL=1
export REID_NO_INSTALL
. tests/lib/python.sh
. tests/lib/check.sh
. tests/lib/says.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
command -v python3 > /dev/null 2>&1 || { echo 'no python3 here'; exit 77; }

check() { # check WHAT COMMAND...
    what=$1
    shift
    if holds "$@" > "$dir/check" 2>&1; then good; else bad "$what"; tail -n 5 "$dir/check"; fi
}
run() { # run STATUS COMMAND...: its output goes to $dir/out and $dir/err
    want=$1
    shift
    "$@" > "$dir/out" 2> "$dir/err"
    status=$?
    check "exit status $want (was $status): $*" [ $status -eq "$want" ]
    [ $status -eq "$want" ] || tail -n 5 "$dir/err"
}
