#!/bin/sh
# t_rooms.sh: the rules for the rooms of tools/ (tools/README.md), checked in files and objects: includes and calls go
# upward only, no two files need each other, every exported symbol is declared in the header of the same name and used
# by another file, and below the commands no code ends the process or reads the command's options. Each check is tested
# by breaking its rule in a copy.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh

rooms='base cli pictures weights embedding tracks gallery scores evaluate journal groups heads machine report'
rooms="$rooms server review demo_program commands"
alone='conan gpu load macos peers results wheel windows' # not part of the command
top='reid.c reid_impl.c demo demo.png gpu_check lint setup.sh README.md'
top="$top reid.pc.in reid-config.cmake.in reid-config-version.cmake.in"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

has() { case " $2 " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

# Every file is in a room or is one of the few at the top.
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
# Only child.c ends one: the forked copy when exec fails.
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

# base/ could serve any program.
library_in_base() { grep -ls '^ *# *include *"reid\.h"' base/*.[ch] | sed 's/$/: base knows nothing of reid.h/'; }

# --- what the objects show: with a repeated declaration or a pointer, code can be used without an include -------------

# "D SYMBOL FILE" for what the file's object defines for others, "U SYMBOL FILE" for what it uses; they are in $objects.
# They are read once, into $work/symbols.
read_symbols() {
    for room in $rooms; do ls "$room"/*.c; done | grep -v '^demo_program/' | sed 's/c$/o/' |
        (cd "$objects" && xargs nm -gA) | sed -n -e 's/^\([^:]*\)\.o: *U \([^ ]*\)$/U \2 \1/p' \
        -e 's/^\([^:]*\)\.o:[0-9a-f]* [A-TV-Z] \([^ ]*\)$/D \2 \1/p' | grep -v ' pictures/stb_image_impl$' \
        > "$work/symbols"
}

# "USER DEFINER SYMBOL" for what one object uses of another.
calls() {
    awk '$1 == "D" { home[$2] = $3 } { kind[NR] = $1; name[NR] = $2; file[NR] = $3 }
        END { for (i = 1; i <= NR; i++)
                  if (kind[i] == "U" && name[i] in home) print file[i], home[name[i]], name[i] }' \
        "$work/symbols"
}

downward_calls() {
    calls | awk -v rooms="$rooms" 'BEGIN { n = split(rooms, r, " "); for (i = 1; i <= n; i++) place[r[i]] = i }
        { split($1, from, "/"); split($2, to, "/")
          if (place[to[1]] > place[from[1]]) print $1 ": uses " $3 " of " $2 ", a room below it" }'
}

cycles_of_calls() {
    calls | awk '{ print $1, $2 }' | sort -u | tsort 2>&1 >/dev/null |
        sed 's/^tsort: //; s/^-: .*/files that call each other:/'
}

# A header of another name would hide dependencies. The entry points of the commands are declared together, next to
# their table.
own_headers() {
    grep -oHE '[A-Za-z_][A-Za-z_0-9]*' ./*/*.h | sed 's|^\./||; s|\.h:| |' | awk 'NR == FNR { declared[$0] = 1; next }
        $1 == "D" && !/_main commands\// && !($3 " " $2 in declared) {
            print $3 ".c: defines " $2 ", which " $3 ".h does not declare" }' - "$work/symbols"
}

# Symbols that only their own file uses must be static. Tests count as users, as do the demo and the programs that
# measure.
unused() {
    { grep '^U' "$work/symbols" | cut -d ' ' -f 2; cat "$users"; } | sort -u > "$work/used"
    grep '^D' "$work/symbols" | sort -k 2 | join -1 2 -2 1 -v 1 - "$work/used" | grep -v '_main D commands/' |
        sed 's/\([^ ]*\) D \(.*\)/\2.c: nothing else uses \1/'
}

all_rules() { misplaced; downward; cycles; ends_or_reads; library_in_base; }
all_rules_of_objects() { read_symbols; downward_calls; cycles_of_calls; own_headers; unused; }


# Rules in the tree as it is.
${MAKE:-make} -s build/reid || exit 1
objects=$PWD/build users=$work/users
cat tests/tools/*.c tests/tools/*/*.c tests/lib/*.h tests/fuzz/*.c tests/gpu/*.c tools/demo_program/*.c tools/load/*.c \
    tools/peers/*.c tools/reid.c | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u > "$users"
found=$(cd tools && all_rules && all_rules_of_objects)
if [ -z "$found" ]; then good
else
    echo "$found" | sed 's/^/    /'
    bad 'tools/ keeps to its rooms'
fi
[ "$(cd tools && includes | wc -l)" -gt 200 ] && good || bad 'the includes were read'

# broken WANTED COMMAND [RULES]: the same in a copy that COMMAND has changed finds WANTED.
broken() {
    rm -rf "$work/tools"
    cp -R tools "$work/tools"
    (cd "$work/tools" && { eval "$2"; ${3:-all_rules}; }) > "$work/found" 2>&1
    if grep -q -e "$1" "$work/found"; then good; else bad "finds: $1 ($2)"; fi
}
broken 'pictures/new.c: includes embedding/models.h of a room below' \
    "echo '#include \"embedding/models.h\"' > pictures/new.c"
broken 'base/text.h: includes cli/options.h' "echo '#include \"cli/options.h\"' >> base/text.h"
broken 'includes picture.h, which is in no room' "echo '#include \"picture.h\"' >> pictures/exif.c"
broken 'base/say.h: base knows nothing of reid.h' "echo '#include \"reid.h\"' >> base/say.h"
broken 'files that need each other' "echo '#include \"base/say.h\"' >> base/text.c"
broken 'new.c: lies in no room' 'touch new.c'
broken 'attic: no room' 'mkdir attic'
broken 'scores/scores.c: ends the process' "echo 'static void f(void) { exit (2); }' >> scores/scores.c"
broken 'weights/zip.c: ends the process' "echo 'static void f(void) { abort(); }' >> weights/zip.c"
broken 'cli/help.c: ends the process' "echo 'static void f(void) { _exit(1); }' >> cli/help.c"
broken 'gallery/gallery.c: reads the options' "echo 'int f(const options *o);' >> gallery/gallery.c"
broken 'report/eval_report.h: reads the options' "echo 'int f(options o);' >> report/eval_report.h"
# The walk through the command (tools/README.md) names functions, the files that define them, and by indentation who
# calls whom.
walk() { # walk FILE: prints what is wrong
    sed -n '/^## A walk/,/^## /p' "$1" |
        sed -n 's|^\( *\)\([a-z_]*\)  *\([a-z_/]*\.c\)\( .*\)*$|\1- \2 \3|p' > "$work/walk"
    awk '{ depth = index($0, "-"); file[depth] = $3; print $2, $3, (depth > 1 ? file[depth - 2] : "") }' "$work/walk" |
        while read -r name file from; do
            grep -qE "^[a-z].*\b$name\(" "tools/$file" || echo "the walk: $file does not define $name"
            [ -z "$from" ] || grep -qw "$name" "tools/$from" || echo "the walk: $from does not call $name"
        done
}
found=$(walk tools/README.md)
[ -z "$found" ] && good || bad "$found"
[ "$(wc -l < "$work/walk")" -ge 50 ] && good || bad 'the walk was read'
broken_walk() { # broken_walk WANTED SED_SCRIPT
    sed "$2" tools/README.md > "$work/README.md"
    [ "$(walk "$work/README.md")" = "$1" ] && good || bad "finds: $1"
}
broken_walk 'the walk: commands/embed.c does not define embed_mein' 's/^embed_main  /embed_mein  /'
broken_walk 'the walk: embedding/stream.c does not call claim' 's/^  claim  /          claim  /'

# Breaks a rule of the objects, with one file compiled again.
[ "$(cd tools && calls | wc -l)" -gt 1000 ] && good || bad 'the calls were read'
broken_object() { # broken_object WANTED FILE TEXT: with TEXT at the end of FILE.c
    objects=$work/objects
    rm -rf "$objects"
    mkdir "$objects"
    for room in $rooms; do
        [ ! -d "build/$room" ] || { mkdir "$objects/$room" && ln -s "$PWD/build/$room"/*.o "$objects/$room/"; }
    done
    rm "$objects/$2.o"
    { cat "tools/$2.c" && echo "$3"; } > "$work/changed.c"
    ${CC:-cc} -std=c99 -D_GNU_SOURCE -O1 -w -I. -Itools -c "$work/changed.c" -o "$objects/$2.o" || bad "compiles: $2.c"
    broken "$1" : all_rules_of_objects
}
broken_object 'pictures/exif: uses models_close of embedding/models, a room below it' pictures/exif \
    'void models_close(void); void exif_more(void); void exif_more(void) { models_close(); }'
broken_object 'files that call each other' base/text \
    'void say_error(const char *, ...); void text_more(void); void text_more(void) { say_error("x"); }'
broken_object 'base/text.c: defines text_more, which base/text.h does not declare' base/text \
    'void text_more(void); void text_more(void) {}'
broken_object 'base/text.c: nothing else uses text_more' base/text 'void text_more(void); void text_more(void) {}'
finish
