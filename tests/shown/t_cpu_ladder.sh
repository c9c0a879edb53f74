#!/bin/sh
# The CPU's kernel ladder of examples/: compares every rung of every instruction set with a sum in double and with the
# bits of rung 1, on sizes with remainders. Broken kernels must be detected.
#
#     sh tests/shown/t_cpu_ladder.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_cpu_ladder
mkdir -p "$out"
warnings='-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes'
sanitizers='-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined'
. tests/lib/says.sh
passed=0 failed=0 skipped=0 isas=plain
good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    sed 's/^/    /' "$out/log"
}

# build PROGRAM SOURCE COMMAND...: with warnings as errors; not in the source's folder, because the source includes
# itself
build() {
    program=$1 source=$2
    shift 2
    # shellcheck disable=SC2086
    "$@" $warnings -Werror "$source" -o "$program" -lm > "$out/log" 2>&1 && good && return
    bad "$* $source does not compile"
    return 1
}

# says STATUS TEXT ARGUMENTS...: what $ladder prints
says() {
    status=$1 text=$2
    shift 2
    timeout 60 "$ladder" "$@" > "$out/log" 2>&1
    [ $? -eq "$status" ] && shows "$text" "$out/log" && good && return
    bad "$ladder $*: not status $status with \"$text\""
}

# climb RUNGS ARGUMENTS...: this many rungs are right, with equal bits and a time; the others are skipped
climb() {
    rungs=$1
    shift
    timeout 60 "$ladder" "$@" > "$out/log" 2>&1 &&
        [ "$(grep -c '^[1-6]  .* [0-9.]*e-0[78]  same .* %$' "$out/log")" -eq "$rungs" ] &&
        [ "$(grep -c ' skipped: needs AVX2' "$out/log")" -eq $((6 - rungs)) ] && good && return
    bad "$ladder $*: not $rungs rungs"
}

climb_all() {
    for isa in $isas; do
        case $isa in plain) rungs=4 ;; *) rungs=6 ;; esac
        climb "$rungs" --small --isa "$isa"
        climb "$rungs" --small --isa "$isa" --kernel 3
        climb "$rungs" --small --isa "$isa" --kernel 3 --side 2 --outputs 384
        climb "$rungs" --small --isa "$isa" --inputs 1 --side 13
    done
}

command -v gcc > /dev/null || { echo 'skipped: gcc is missing'; exit 77; }
ladder=$out/gcc
build "$ladder" examples/cpu_ladder.c gcc -O2 -ftree-vectorize || exit 1
for isa in avx2 avx512; do # the instruction sets of this CPU
    if "$ladder" --small --isa $isa > "$out/log" 2>&1; then isas="$isas $isa"
    elif grep -q '^cpu_ladder: .* or not supported by this CPU$' "$out/log"; then
        skipped=$((skipped + 1))
        echo "skipped: no $isa here"
    else bad "--isa $isa"; fi
done
climb_all
says 2 '^usage: ' --nonsense
says 2 '^usage: ' --kernel
says 2 '^usage: ' --kernel 2
says 2 '^usage: ' --side 1
says 2 '^usage: ' --side 14x
says 2 '^usage: ' --inputs 0
says 2 '^usage: ' --outputs 192
says 2 '^usage: ' --isa
says 1 '^cpu_ladder: sse9: ' --isa sse9
# shellcheck disable=SC2086
ladder=$out/sanitized && build "$ladder" examples/cpu_ladder.c gcc $sanitizers && climb_all
if command -v clang > /dev/null; then
    ladder=$out/clang && build "$ladder" examples/cpu_ladder.c clang -O2 -ftree-vectorize && climb_all
else
    skipped=$((skipped + 1))
    echo 'skipped: clang is missing'
fi

# plant NAME SCRIPT: builds the ladder with a bug that sed inserts
plant() {
    mkdir -p "$out/$1"
    sed "$2" examples/cpu_ladder.c > "$out/$1/cpu_ladder.c"
    if cmp -s examples/cpu_ladder.c "$out/$1/cpu_ladder.c"; then
        echo 'sed changed nothing' > "$out/log"
        bad "$1 was not planted"
    fi
    ladder=$out/$1/ladder
    build "$ladder" "$out/$1/cpu_ladder.c" gcc -O2 -ffp-contract=off
}
plant remainder 's/next < l->pixels; next += 4/next + 4 <= l->pixels; next += 4/' &&
    says 1 '^4 .*WRONG: an error of -*nan' --small
plant pointers 's/+ tap \/ l->kernel - l->kernel \/ 2,/+ tap \/ l->kernel,/' &&
    says 1 '^1 .*WRONG: an error of [0-9]' --small --kernel 3
plant panels 's/const float \*w = l->wide + n \* l->k;/const float *w = l->wide;/' &&
    says 1 '^3 .*WRONG: an error of [0-9]' --small --isa plain --outputs 256
if [ "$isas" != plain ]; then
    plant column 's/w1 = CONST_VEC(w + LANES);/w1 = CONST_VEC(w);/' &&
        says 1 '^6 .*WRONG: an error of [0-9]' --small
    plant rounded_twice 's/= FMA(SET1(a\[r\]\[k\]), CONST_VEC(w), sum\[r\]\[0\]);/+= SET1(a[r][k]) * CONST_VEC(w);/' &&
        says 1 '^4 .*WRONG: the bits differ from rung 1' --small
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
