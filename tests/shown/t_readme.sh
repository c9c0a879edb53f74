#!/bin/sh
# Runs what the pages show: the C program compiles and gives an embedding, and the commands of the sh blocks work one
# after another in one folder. The line before a block that cannot run here says why: <!-- not run: needs a GPU -->. The
# two commands at the top have separate tests (t_demo.sh, tests/run itself); t_links.sh checks links and options.
#
#     sh tests/shown/t_readme.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
dir=$(mktemp -d) || exit 1
server=
pg_host='' # for tests/lib/postgres.sh
trap '[ -z "$server" ] || kill -9 $server; [ -z "$pg_host" ] || stop_postgres QUIT; rm -rf "$dir"' EXIT
passed=0 failed=0
check() { # check WHAT COMMAND...
    what=$1
    shift
    if "$@" > "$dir/log" 2>&1; then passed=$((passed + 1)); return 0; fi
    failed=$((failed + 1))
    echo "FAIL $what"
    tail -n 20 "$dir/log"
}
. tests/lib/pages.sh

# A folder like the reader's: weights, a gallery, a query, and the repository around it.
check "make" make -s build/reid build/seeded build/demo_images build/demo_video
. tools/setup.sh
(need_packages ffmpeg:ffmpeg) > /dev/null 2>&1 || echo "skipped: what needs ffmpeg, which is not here"
mkdir "$dir/user"
cd "$dir/user" || exit 1
ln -s "$top/build" "$top/models" "$top/tools" .
check "seeded weights" build/seeded --net resnet50 -o resnet50.safetensors
check "images" build/demo_images gallery
first=$(find gallery -name '*.png' | LC_ALL=C sort | head -n 1)
cp "$first" query.jpg

cd "$top" || exit 1
blocks c README.md > "$dir/twelve.c"
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
check "the C program has twelve lines" test "$(blocks c README.md | grep -c '[^ ]')" = 12
# Without the code for particular processors, which takes most of the time and is compiled by t_compile.sh.
check "the C program compiles" gcc -std=c99 -O2 -D_GNU_SOURCE -DREID_NO_VECTORS -Wall -Wextra -Wpedantic -Werror -I. \
    "$dir/twelve.c" -o "$dir/user/twelve" -lm -lpthread
cd "$dir/user" || exit 1
check "the C program runs" ./twelve
# The commands work alike with any network; this one takes a tenth of the time.
check "weights of a faster network" build/seeded --net efficientnet_b0 -o resnet50.safetensors

# A separate server for commands with a database; psql's variables say where it is. Without one, subshells end with 77.
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

run_line() { # run_line PAGE COMMAND
    command=$2
    case $command in
    "sh tools/demo" | "sh tests/run") return ;; # the test and the runner
    make*) return ;;                            # was run above
    createdb* | *postgresql:*) [ $shared = 1 ] || return ;;
    *walk* | *tracks*) command -v ffmpeg > /dev/null || return ;;
    *' &')
        sh -c "exec ${command% &}" > "$dir/server.log" 2>&1 &
        server=$!
        return
        ;;
    'kill %1')
        check "the server can be stopped" kill $server
        check "and it stops with status 0: $(tail -n 1 "$dir/server.log")" wait $server
        server=
        return
        ;;
    esac
    case $command in *'reid doctor '*) command="$command || [ \$? = 1 ]" ;; esac # it may find problems here
    check "$1: $command" sh -c "$command"
}
for page in $pages_run; do
    blocks sh "$top/$page" | sed 's/ *#.*//' | grep -v '^$' > "$dir/commands"
    check "$page has commands that run, or says why not" \
        sh -c "test -s '$dir/commands' || grep -q '^<!-- not run: ' '$top/$page'"
    while read -r line; do run_line "$page" "$line" < /dev/null; done < "$dir/commands"
done
check "embeddings.npy was written" test -s embeddings.npy
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
