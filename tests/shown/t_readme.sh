#!/bin/sh
# Runs what README.md shows: the C program compiles and gives an embedding, every command of the sh blocks works, every
# link leads somewhere. The two commands at its top have tests of their own (t_demo.sh, tests/run itself).
#     sh tests/shown/t_readme.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
dir=$(mktemp -d) || exit 1
server=
pg_host='' # of tests/lib/postgres.sh
trap '[ -z "$server" ] || kill -9 $server; [ -z "$pg_host" ] || stop_postgres QUIT; rm -rf "$dir"' EXIT
passed=0 failed=0
has_heading() { # has_heading FILE.md ANCHOR: as GitHub makes one of it
    sed -n 's/^#\{1,6\} //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' | grep -qx -e "$2"
}
check() { # check WHAT COMMAND...
    what=$1
    shift
    if "$@" > "$dir/log" 2>&1; then passed=$((passed + 1)); return 0; fi
    failed=$((failed + 1))
    echo "FAIL $what"
    tail -n 20 "$dir/log"
}
block() { # block LANGUAGE: the fenced blocks of one language
    awk -v open="\`\`\`$1" '$0 == open { on = 1; next } $0 == "```" { on = 0 } on' README.md
}

# A folder as README's reader has it: weights, a gallery, a query, and the repository around it.
check "make" make -s build/reid build/seeded build/demo_images build/demo_video
. tools/setup.sh
(need_packages ffmpeg:ffmpeg) > /dev/null 2>&1 || echo "skipped: what needs ffmpeg, which is not here"
mkdir "$dir/user"
cd "$dir/user" || exit 1
ln -s "$top/build" "$top/models" "$top/tools" .
check "seeded weights" build/seeded --net resnet50 -o resnet50.safetensors
check "pictures" build/demo_images gallery
first=$(find gallery -name '*.png' | LC_ALL=C sort | head -n 1)
cp "$first" query.jpg

cd "$top" || exit 1
block c > "$dir/twelve.c"
cat >> "$dir/twelve.c" <<'END'
#include <stdio.h>
int main(void) {
    static unsigned char rgb[64 * 48 * 3];
    static float embedding[2048];
    double length = 0;
    for (int i = 0; i < (int)sizeof rgb; i++) rgb[i] = (unsigned char)(i * 7);
    if (embed(rgb, 64, 48, embedding)) return 1;
    for (int i = 0; i < 2048; i++) length += embedding[i] * embedding[i];
    return !(length > 0.999 && length < 1.001);
}
END
check "the C program has twelve lines" test "$(block c | grep -c '[^ ]')" = 12
check "the C program compiles" gcc -std=c99 -O2 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I. "$dir/twelve.c" \
    -o "$dir/user/twelve" -lm -lpthread
cd "$dir/user" || exit 1
check "the C program runs" ./twelve

# A server of its own for what names a database; psql's variables say where it is. Subshells end with 77 without one.
. "$top/tests/lib/python.sh"
. "$top/tests/lib/postgres.sh"
shared=0
if (cd "$top" && need_postgres) > "$dir/log" 2>&1; then
    here=$PWD
    cd "$top" && need_postgres && cd "$here" || exit 1
    chmod 755 "$dir"
    start_postgres "$dir/pg" && shared=1
    PGHOST=$pg_host PGUSER=postgres PATH=$PATH:$pg_programs
    export PGHOST PGUSER PATH
else
    echo "$(cat "$dir/log"), what needs PostgreSQL is left out"
fi

block_sh=$(cd "$top" && block sh | sed 's/ *#.*//' | grep -v '^$')
echo "$block_sh" > "$dir/commands"
while read -r command; do
    case $command in
    "sh tools/demo" | "sh tests/run") continue ;; # the test and the runner
    make*) continue ;;                            # run above
    createdb* | *postgresql:*) [ $shared = 1 ] || continue ;;
    *walk* | *tracks*) command -v ffmpeg > /dev/null || continue ;;
    *' &')
        sh -c "exec ${command% &}" > "$dir/server.log" 2>&1 &
        server=$!
        continue
        ;;
    'kill %1')
        check "the server can be told to end" kill $server
        check "and ends well: $(tail -n 1 "$dir/server.log")" wait $server
        server=
        continue
        ;;
    esac
    case $command in *'reid doctor '*) command="$command || [ \$? = 1 ]" ;; esac # something could be better here
    check "$command" sh -c "$command"
done < "$dir/commands"
check "embeddings.npy is there" test -s embeddings.npy
check "the commands were found" test "$(grep -c . "$dir/commands")" -ge 6

cd "$top" || exit 1
for link in $(grep -o '](\([^)]*\))' README.md | sed 's/](\(.*\))/\1/'); do
    case $link in http*) continue ;; esac
    check "link $link" test -e "${link%%#*}"
    case $link in
    *#*) check "heading of $link" has_heading "${link%%#*}" "${link#*#}" ;;
    esac
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
