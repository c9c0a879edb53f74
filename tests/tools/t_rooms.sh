#!/bin/sh
# t_rooms.sh: tools/ is a row of rooms (tools/README.md). The files themselves show that they keep to it: includes go
# upward only, no two files need each other, and below the commands nothing ends the process or reads the command's
# options. Each rule is shown to hold by breaking it in a copy.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh

rooms='base cli pictures weights embedding tracks gallery scores evaluate journal groups heads machine report server review'
rooms="$rooms demo_program commands"
alone='gpu load peers results'                  # not part of the command
top='reid.c reid_impl.c demo demo.png gpu_check lint setup.sh README.md'
top="$top reid.pc.in reid-config.cmake.in reid-config-version.cmake.in"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

has() { case " $2 " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

# Every file lies in a room or is one of the few at the top.
misplaced() {
    for path in *; do
        if [ -d "$path" ]; then has "$path" "$rooms $alone" || echo "$path: no room of the drawing"
        else has "$path" "$top" || echo "$path: lies in no room"; fi
    done
}

# "FILE ROOM INCLUDED" for every include of a file of the command's own; a path without a slash is one in no room.
includes() {
    for room in $rooms; do
        [ ! -d "$room" ] || ls "$room"/*.[ch]
    done | xargs grep -H '^ *# *include *"' |
        sed -n 's/^\([^/]*\)\(\/[^:]*\):[^"]*"\([^"]*\)".*/\1\2 \1 \3/p' |
        grep -v ' reid\.h$'
}

# A file includes its own room or rooms before it.
downward() {
    includes | awk -v rooms="$rooms" 'BEGIN { n = split(rooms, r, " "); for (i = 1; i <= n; i++) place[r[i]] = i }
        { split($3, part, "/")
          if ($3 ~ /\.bytes$/) next
          if (!(part[1] in place)) print $1 ": includes " $3 ", which is in no room"
          else if (place[part[1]] > place[$2]) print $1 ": includes " $3 " of a room below it" }'
}

# No two files need each other: a header and its .c file count as one.
cycles() {
    includes | awk '{ sub(/\.[ch]$/, "", $1); sub(/\.[ch]$/, "", $3); if ($1 != $3) print $1, $3 }' |
        tsort 2>&1 >/dev/null | sed 's/^tsort: //; s/^-: .*/files that need each other:/'
}

# Below the commands nothing ends the process, and nothing but cli/ knows the options. Comments and texts do not count.
# child.c alone ends one: the copy that should have become another program and has not.
ends_or_reads() {
    for room in $rooms; do
        has "$room" 'commands demo_program' || [ ! -d "$room" ] || ls "$room"/*.[ch] # the demo is a program of its own
    done | grep -v '^base/child\.c$' | xargs awk '
        function told(what) { print FILENAME ": " what " in line " FNR }
        FNR == 1 { inside = 0; split(FILENAME, part, "/"); room = part[1] }
        /^ *# *include "cli\// && room != "cli" { told("reads the options") }
        {
            gsub(/\\"/, ""); gsub(/"[^"]*"/, "")
            if (inside && !sub(/^.*\*\//, "")) next
            inside = 0
            gsub(/\/\*[^*]*\*\//, "")
            if (sub(/\/\*.*$/, "")) inside = 1
            line = " " $0
        }
        line ~ /[^A-Za-z0-9_](exit|_exit|_Exit|quick_exit|abort|raise|die) *\(/ { told("ends the process") }
        line ~ /[^A-Za-z0-9_](options|model_options) +[*A-Za-z_]/ && room != "cli" { told("reads the options") }'
}

all_rules() { misplaced; downward; cycles; ends_or_reads; }

# Rules in the tree as it is.
found=$(cd tools && all_rules)
if [ -z "$found" ]; then good
else
    echo "$found" | sed 's/^/    /'
    bad 'tools/ keeps to its rooms'
fi
[ "$(cd tools && includes | wc -l)" -gt 200 ] && good || bad 'the includes were read'

# broken WANTED COMMAND: the same in a copy that COMMAND has changed finds WANTED.
broken() {
    rm -rf "$work/tools"
    cp -R tools "$work/tools"
    (cd "$work/tools" && { eval "$2"; all_rules; }) > "$work/found" 2>&1
    if grep -q -e "$1" "$work/found"; then good; else bad "finds: $1 ($2)"; fi
}
broken 'pictures/new.c: includes embedding/models.h of a room below' \
    "echo '#include \"embedding/models.h\"' > pictures/new.c"
broken 'base/text.h: includes cli/options.h' "echo '#include \"cli/options.h\"' >> base/text.h"
broken 'includes picture.h, which is in no room' "echo '#include \"picture.h\"' >> pictures/exif.c"
broken 'files that need each other' "echo '#include \"base/say.h\"' >> base/text.c"
broken 'new.c: lies in no room' 'touch new.c'
broken 'attic: no room' 'mkdir attic'
broken 'scores/scores.c: ends the process' "echo 'static void f(void) { exit (2); }' >> scores/scores.c"
broken 'weights/zip.c: ends the process' "echo 'static void f(void) { abort(); }' >> weights/zip.c"
broken 'cli/help.c: ends the process' "echo 'static void f(void) { _exit(1); }' >> cli/help.c"
broken 'gallery/gallery.c: reads the options' "echo 'int f(const options *o);' >> gallery/gallery.c"
broken 'report/eval_report.h: reads the options' "echo 'int f(options o);' >> report/eval_report.h"
finish
