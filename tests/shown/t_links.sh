#!/bin/sh
# t_links.sh: everything that the pages (*.md) name exists: links and headings, files and rooms in tools/README.md, the
# options of every `reid` command in a text or block. Every block of commands is run by a test, or says why not. Each
# rule is shown to work by breaking a page.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
. tests/lib/pages.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
${MAKE:-make} -s build/reid || exit 1

# A rule takes the name of a page and its text, which may be a changed copy, and prints the mistakes.

has_heading() { # has_heading FILE ANCHOR: an anchor as GitHub makes it from a heading
    sed -n 's/^#\{1,6\} //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' | grep -qx -e "$2"
}
links() {
    awk '/^```/ { on = !on } !on' "$2" | grep -o '](\([^)]*\))' | sed 's/](\(.*\))/\1/' | while read -r link; do
        file=${link%%#*}
        case $link in
        http*) continue ;;
        '#'*) file=$2 ;;
        *) file=$(dirname "$1")/$file ;;
        esac
        [ -e "$file" ] || { echo "$1: $link does not exist"; continue; }
        case $link in *'#'*) has_heading "$file" "${link#*#}" || echo "$1: $link: no such heading" ;; esac
    done
}

run_or_not() {
    case " $(echo $pages_run $pages_run_elsewhere) " in *" $1 "*) return ;; esac
    [ -z "$(blocks sh "$2")" ] || echo "$1: no test runs its commands, and no line says why: <!-- not run: WHY -->"
}

# The commands on a page: in blocks, and between back quotes in its text, which may continue on the next line.
commands_shown() {
    awk '/^```/ { inside = !inside; next }
        inside { sub(/ #.*/, ""); print; next }
        { rest = rest " " $0 }
        /^$/ { show() }
        END { show() }
        function show(  i, n, part) {
            n = split(rest, part, "`")
            for (i = 2; i <= n; i += 2) print part[i]
            rest = ""
        }' "$1" | sed -nE 's/^(.*[|] *)?(build\/)?reid ([a-z]+)( .*|$)/\3\4/p'
}
help_of() { # help_of COMMAND: once for all pages
    [ -f "$work/help.$1" ] || build/reid help "$1" > "$work/help.$1" 2>&1 || : > "$work/help.$1"
    cat "$work/help.$1"
}
manual() { build/reid help --man | sed 's/\\-/-/g'; } # which has the options of help itself
options_exist() {
    case $1 in CHANGELOG.md | CONTRIBUTING.md | tools/results/* | tools/README.md) return ;; esac
    commands_shown "$2" | while read -r command words; do
        options_of=$command
        [ "$command" != help ] || [ -z "$words" ] || command=${words# } # a command, or a topic, and help's options
        command=${command%% *}
        [ -n "$(help_of "${command%% *}")" ] || { echo "$1: reid $command: no such command"; continue; }
        for option in $(echo "$words" | grep -oE -e '(^| )--[a-z0-9-]+'); do
            if [ "$options_of" = help ]; then manual; else help_of "$command"; fi |
                grep -oE -e '--[a-z0-9-]+' | grep -qx -e "$option" ||
                echo "$1: reid $options_of has no option $option"
        done
    done
}

# tools/README.md: the order of the rooms, and the files to start with in each.
eval "$(grep '^rooms=' tests/tools/t_rooms.sh)"
map() {
    [ "$1" = tools/README.md ] || return 0
    order=$(tr '\n' ' ' < "$2" | sed 's/.*may use each other: \([^.]*\)\..*/\1/; s/,//g')
    [ "$order" = "$rooms" ] || echo "$1: the order of rooms is not that of t_rooms.sh: $order"
    drawing=$(awk '/^```/ { on = !on } on' "$2")
    for room in $rooms; do
        echo "$drawing" | grep -qE "^[ |+-]*$room  +[a-z]" || echo "$1: $room is not in the drawing"
    done
    sed -n 's/^| \([a-z_]*\) | \(`.*\) | .*/\1 \2/p' "$2" | while read -r room files; do
        for file in $(echo "$files" | grep -oE '`[a-z_]+\.[a-z]+`' | tr -d '`'); do
            [ -e "tools/$room/$file" ] || echo "$1: $room has no $file"
        done
    done
}

size() {
    [ "$1" != README.md ] || [ "$(wc -l < "$2")" -le 150 ] || echo "$1: more than 150 lines"
}

all_rules() { links "$@" && run_or_not "$@" && options_exist "$@" && map "$@" && size "$@"; }

all_pages > "$work/pages"
while read -r page; do
    found=$(all_rules "$page" "$page")
    if [ -z "$found" ]; then good; else bad "$found"; fi
done < "$work/pages"
[ "$passed" -gt 15 ] && good || bad 'the pages were read'
[ "$(commands_shown tools/gallery/README.md | wc -l)" -gt 12 ] && good || bad 'the commands were read'

# broken WANTED PAGE LINE: adding the line to the page breaks a rule
broken() {
    { cat "$2" && echo "$3"; } > "$work/text"
    all_rules "$2" "$work/text" | grep -qxF -e "$1" && good || bad "finds: $1"
}
broken 'README.md: none.md does not exist' README.md 'See [this](none.md).'
broken 'tools/heads/README.md: ../results/README.md#none: no such heading' tools/heads/README.md \
    '[a](../results/README.md#none)'
broken 'README.md: #none: no such heading' README.md '[a](#none)'
broken 'CHANGELOG.md: no test runs its commands, and no line says why: <!-- not run: WHY -->' CHANGELOG.md '```sh
make
```'
broken 'README.md: reid match has no option --template' README.md 'Use `build/reid match
--template x`.'
broken 'tools/heads/README.md: reid fit has no option --hold' tools/heads/README.md '```sh
build/reid fit x --hold 0.5   # --this is a comment
```'
broken 'README.md: reid hello: no such command' README.md '`reid hello`'
broken 'README.md: reid hallo: no such command' README.md '`reid help hallo`'
broken 'tools/README.md: base has no none.h' tools/README.md '| base | `text.h`, `none.h` | |'
broken 'README.md: more than 150 lines' README.md "$(seq 150)"
sed 's/^ base /  /; s/scores, evaluate/evaluate, scores/' tools/README.md > "$work/text"
[ "$(map tools/README.md "$work/text" | wc -l)" = 2 ] && good || bad 'the order and the drawing are compared'

while read -r page; do
    sed -n "s|^<!-- not run: \(.*\) -->|not run: $page: \1|p" "$page"
done < "$work/pages"
finish
