#!/bin/sh
# The kernel ladder of examples/: compares every rung with a sum in double on the emulator, for three chips and once
# with every access checked. If the real nvcc is installed, it compiles the ladder for every chip without spills and
# local memory.
#
#     sh tests/shown/t_ladder.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v g++ >/dev/null 2>&1 || { echo "skipped: g++ is missing"; exit 77; }
out=build/tests/t_ladder
mkdir -p "$out"
make -s emulator || exit 1
emulator=$PWD/build/emulator
. tests/lib/says.sh
passed=0 failed=0 skipped=0
good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAIL $1"
    cat "$out/log"
}

gcc -O2 -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes \
    -Werror examples/ladder.c -o "$out/ladder" -lm > "$out/log" 2>&1 || { bad "ladder.c does not compile"; exit 1; }

# climb EXPECTED_RUNGS SETTINGS...: these are right, the others skipped, and nothing is timed
climb() {
    rungs=$1
    shift
    env LD_LIBRARY_PATH="$emulator" "$@" timeout 120 "$out/ladder" examples/ladder.cu --small > "$out/log" 2>&1 &&
        [ "$(grep -c '^[1-7]  .* [0-9.]*e-0[45]$' "$out/log")" -eq "$rungs" ] &&
        [ "$(grep -c 'skipped: needs sm_[89]0' "$out/log")" -eq $((7 - rungs)) ] && ! grep -q 'TFLOP/s' "$out/log" &&
        shows 'where times mean nothing' "$out/log" && good && return
    bad "$*"
}
climb 5 REID_EMULATOR_ARCH=75
climb 6 REID_EMULATOR_ARCH=80
climb 7 REID_EMULATOR_ARCH=90
climb 6 REID_EMULATOR_ARCH=120
climb 7 REID_EMULATOR_CHECK=1

# says STATUS TEXT ARGUMENTS...
says() {
    status=$1 text=$2
    shift 2
    "$out/ladder" "$@" > "$out/log" 2>&1
    [ $? -eq "$status" ] && shows "$text" "$out/log" && good && return
    bad "ladder $*: not status $status with \"$text\""
}
says 2 '^usage: '
says 2 '^usage: ' a.cu b.cu
says 2 '^usage: ' a.cu --images 0
says 2 '^usage: ' a.cu --images 7x
says 2 '^usage: ' a.cu --images
LD_LIBRARY_PATH=$emulator
export LD_LIBRARY_PATH
says 1 '^ladder: nothere.cu: cannot be read' nothere.cu
echo 'nonsense' > "$out/nonsense.cu"
says 1 '^ladder: ladder.cu does not compile: .*nonsense' "$out/nonsense.cu"
# Broken kernels must be detected.
sed 's/^        __syncthreads(); \/\* slice s has arrived.*$//' examples/ladder.cu > "$out/broken.cu"
cmp -s examples/ladder.cu "$out/broken.cu" && bad "the missing barrier was not planted"
says 1 'cp.async, 4 stages.*WRONG' --small "$out/broken.cu"
planted() { # planted WHAT SED: a rung that begins with this is wrong
    sed "$2" examples/ladder.cu > "$out/broken.cu"
    cmp -s examples/ladder.cu "$out/broken.cu" && bad "not planted: $2"
    says 1 "$1.*WRONG" --small "$out/broken.cu"
}
sed '/^ladder_wgmma/,/^}/ s/^    end_products(sum);$//' examples/ladder.cu > "$out/broken.cu"
says 1 'ends before the wgmma.wait_group' --small "$out/broken.cu"
planted '^7' 's/^        end_products(sum);  .*$//'
planted '^7' 's/(at ^ row % 8) \* 16/at * 16/'
sed 's/p.x = m % SIDE - 1;/p.x = m % SIDE;/' examples/ladder.cu > "$out/broken.cu"
says 1 '^1 .*WRONG' --small "$out/broken.cu"
unset LD_LIBRARY_PATH

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
    for arch in 75 80 86 89 90a 100 120; do
        "$nvcc" -std=c++17 -arch="sm_$arch" -cubin -diag-suppress 177 -Werror all-warnings \
            -Xptxas -v,-warn-spills,-warn-lmem-usage -DSIDE=14 -DINPUTS=256 -DOUTPUTS=256 examples/ladder.cu \
            -o "$out/ladder.cubin" > "$out/log" 2>&1 && ! grep -q '[1-9][0-9]* bytes stack frame' "$out/log" &&
            good && continue
        bad "ladder.cu for sm_$arch"
    done
else
    skipped=1
    echo "skipped: nvcc is missing, nothing was compiled for a real GPU"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
