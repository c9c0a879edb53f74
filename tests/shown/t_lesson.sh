#!/bin/sh
# The lesson of examples/README.md as a reader follows it, in a copy of the sources: every command works, those marked
# "fails" fail, and the text's statements about them are true; gdb stops in the emulated kernel in the named thread.
#
#     sh tests/shown/t_lesson.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
out=$top/build/tests/t_lesson
. tests/lib/check.sh
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the emulator needs x86-64"; exit 77; }
. tools/setup.sh
(need_packages gcc:gcc g++:g++ make:make gdb:gdb git:git) > /dev/null 2>&1 || {
    echo "skipped: gcc, g++, make, git or gdb is missing"
    exit 77
}
rm -rf "$out"
mkdir -p "$out/copy"
make -s -j2 build/reid build/seeded emulator > "$out/log" 2>&1 || { cat "$out/log"; exit 1; }
git ls-files -z | xargs -0 cp -p --parents -t "$out/copy" || exit 1
ln -s "$top/build" "$out/copy/build"
cd "$out/copy" || exit 1
unset REID_CACHE_DIR

log=$out/said
awk '$0 == "```sh" { on = 1; next } $0 == "```" { on = 0 } on' examples/README.md > "$out/commands"
while read -r command; do
    case $command in
    *step.sh*) command="$command -batch -ex 'print threadIdx' -ex next -ex 'backtrace 1'" ;;
    *cuda_net\ small*) command="REID_CACHE_DIR=$out/cache $command" ;;
    esac
    wanted=0
    case $command in *'# fails') wanted=1 ;; esac
    sh -c "$command" > "$log" 2>&1 < /dev/null
    status=$?
    [ $((status != 0)) = $wanted ] && good || bad "status $status: $command"
    cp "$log" "$out/said_$((passed + failed))"
    case $command in
    *--plan)
        grep -q '^ *maxpool  *maxpool .*112x112x64 .*56x56x64 .*3x3.2' "$log" && good ||
            bad "operation 1 is not the max pool"
        ;;
    'build/lesson/plain '*fails)
        first=$(awk '$NF ~ /e[-+]/ && $NF + 0 > 1e-4 { print $1 " " $2; exit }' "$log")
        [ "$first" = "1 maxpool" ] && good || bad "the first that differs is \"$first\""
        ;;
    *step.sh*)
        grep -q '^\$1 = {x = 5, y = 0, z = 0}' "$log" && grep -q '#0  reid_maxpool (a=' "$log" && good ||
            bad "gdb did not stop in the thread"
        ;;
    *cuda_net\ small*)
        grep -q 'fp16: .*cosine 0.9999' "$log" && grep -q 'fp32: .*cosine 0.9[0-8]' "$log" && good ||
            bad "not FP32 alone is wrong"
        ;;
    esac
done < "$out/commands"
log=
cmp -s reid.h "$top/reid.h" && cmp -s reid_kernels.cu "$top/reid_kernels.cu" && good || bad "something stays changed"
[ $passed -ge 17 ] && good || bad "the lesson's commands were not found"
finish
