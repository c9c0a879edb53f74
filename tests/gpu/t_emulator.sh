#!/bin/sh
# t_emulator.sh: builds the emulator (CUDA on a CPU) and runs its own tests: plain, with every access checked, and under
# AddressSanitizer. Usage: sh tests/gpu/t_emulator.sh, from anywhere. Exit code 77: not possible here.
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-gcc}
for need in "$CC" g++ make; do
    command -v "$need" >/dev/null 2>&1 && continue
    echo "t_emulator: skipped, $need is not installed"
    exit 77
done
[ "$(uname -m)" = x86_64 ] || { echo "t_emulator: skipped, the emulator needs x86-64"; exit 77; }
for feature in avx2 fma f16c; do
    grep -qw $feature /proc/cpuinfo || { echo "t_emulator: skipped, this processor has no $feature"; exit 77; }
done

here=tests/emulator
out=${EMULATOR_OUT:-build/emulator}
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
passed=0 failed=0 skipped=0 jobs=0

# job NAME COMMAND...: in the background, two at a time; `collect` counts what has come out.
job() {
    jobs=$((jobs + 1))
    echo "$1" >"$TMPDIR/$jobs.name"
    shift
    (timeout 120 "$@" >"$TMPDIR/$jobs.said" 2>&1; echo $? >"$TMPDIR/$jobs.status") &
    [ $((jobs % 2)) -eq 0 ] && wait
}
collect() {
    wait
    for name in "$TMPDIR"/*.name; do
        [ -f "$name" ] || continue
        result=${name%.name}
        case $(cat "$result.status") in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)); echo "skipped: $(cat "$name")" ;;
        *) failed=$((failed + 1)); echo "FAILED: $(cat "$name")"; cat "$result.said" ;;
        esac
        rm -f "$name" "$result.status" "$result.said"
    done
}

# ---- build: no warnings ----
make_all() {
    said=$(make -s -j2 -f $here/emulator.mk EMULATOR_OUT="$out" EMULATOR_CC="$CC" emulator emulator-asan 2>&1) || exit 1
    [ -z "$said" ] || { echo "$said"; exit 1; }
}
make_all >"$TMPDIR/said" || { cat "$TMPDIR/said"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
flags="-std=c99 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes
       -Wmissing-prototypes -Werror"
tests="gemm units hopper tensor grid cluster numbers sums api streams graphs faults nvrtc bugs"
for test in $tests; do
    for folder in "$out" "$out/asan"; do
        sanitize=
        [ "$folder" = "$out" ] || sanitize=-fsanitize=address
        job "build test_$test in $folder" "$CC" $flags $sanitize $here/test_$test.c -o "$folder/test_$test" \
            -L"$folder" -l:libcuda.so.1 -l:libnvrtc.so.13 -lm -lpthread
    done
done
for test in dlopen real_nvrtc; do
    job "build test_$test" "$CC" $flags $here/test_$test.c -o "$out/test_$test" -ldl
done

# ---- the contract's other compilers; NVIDIA's headers and compiler where they are installed ----
for cxx in g++ clang++; do
    command -v $cxx >/dev/null 2>&1 || cxx="echo skip; exit 77"
    job "sample.cu under $cxx" sh -c "$cxx -std=gnu++17 -O1 -mfma -mf16c -Wall -Wextra -Werror -Wno-unknown-pragmas \
        -include $here/prelude.h -x c++ -c $here/sample.cu -o $TMPDIR/sample-${cxx%% *}.o"
done
headers=${CUDA_PATH:-/usr/local/cuda}/include
if [ -f "$headers/cudaTypedefs.h" ] && [ -f "$headers/nvrtc.h" ]; then
    sed -n 's/^ *\(CU[A-Z0-9_]*\|NVRTC[A-Z_]*\) = \([0-9]*\),\{0,1\}.*/X(\1, \2)/p' $here/cuda_api.h | grep -v JIT |
        tr '\n' ' ' | sed 's/^/#define NUMBERS /' >"$TMPDIR/numbers.h"
    job "declarations as in NVIDIA's headers" "$CC" -std=gnu99 -Werror -DREID_EMULATOR_REAL_HEADERS -I"$headers" \
        -include "$TMPDIR/numbers.h" -c $here/check_api.c -o "$TMPDIR/check_api.o"
else
    job "declarations as in NVIDIA's headers: they are not installed" sh -c "exit 77"
fi
collect
job "test_real_nvrtc" "$out/test_real_nvrtc" $here

# ---- the emulator's own tests ----
# try NAME FOLDER TEST SETTINGS...
try() {
    name=$1 folder=$2 test=$3 argument=$here
    shift 3
    [ $test = gemm ] && argument=$here/sample.cu
    job "test_$test: $name" env LD_LIBRARY_PATH="$folder" "$@" "$folder/test_$test" $argument
}
for test in $tests; do
    try plain "$out" $test REID_EMULATOR_CHECK=0
    try "every access checked" "$out" $test REID_EMULATOR_CHECK=1
    try AddressSanitizer "$out/asan" $test REID_EMULATOR_CHECK=0
done
for arch in 75 80 120; do
    try "sm_$arch" "$out" gemm REID_EMULATOR_ARCH=$arch
    try "sm_$arch" "$out" units REID_EMULATOR_ARCH=$arch
done
for seed in 0 2 3; do
    try "seed $seed" "$out" bugs REID_EMULATOR_SEED=$seed
    try "seed $seed" "$out" gemm REID_EMULATOR_SEED=$seed
    try "seed $seed" "$out" grid REID_EMULATOR_SEED=$seed
    try "seed $seed" "$out" cluster REID_EMULATOR_SEED=$seed
done
try "seed 3, every access checked" "$out" hopper REID_EMULATOR_SEED=3 REID_EMULATOR_CHECK=1
try "two OS threads" "$out" gemm REID_EMULATOR_THREADS=2
try "two OS threads" "$out" cluster REID_EMULATOR_THREADS=2
try "eager" "$out" gemm REID_EMULATOR_EAGER=1
try "for a debugger" "$out" gemm REID_EMULATOR_DEBUG=1
if command -v clang++ >/dev/null 2>&1; then
    try "clang++" "$out" gemm REID_EMULATOR_CXX=clang++
    try "clang++, every access checked" "$out" units REID_EMULATOR_CXX=clang++ REID_EMULATOR_CHECK=1
fi
job "test_dlopen" env LD_LIBRARY_PATH="$out" "$out/test_dlopen"
mkdir "$TMPDIR/own"
job "a file is left behind" sh -c "TMPDIR=$TMPDIR/own LD_LIBRARY_PATH=$out $out/test_dlopen killed
    [ \$? -eq 137 ] && rmdir $TMPDIR/own"
collect

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
