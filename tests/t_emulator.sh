#!/bin/sh
# t_emulator.sh: builds the emulator (CUDA on a CPU) and runs its own tests: plain, with every access checked, and under
# AddressSanitizer. Usage: sh tests/t_emulator.sh, from anywhere. Exit code 77: not possible here.
cd "$(dirname "$0")/.." || exit 1
CC=${CC:-gcc}
CXX=${REID_EMULATOR_CXX:-g++}
for need in "$CC" "$CXX" make; do
    command -v "$need" >/dev/null 2>&1 && continue
    echo "t_emulator: skipped, $need is not installed"
    exit 77
done
[ "$(uname -m)" = x86_64 ] || { echo "t_emulator: skipped, the emulator needs x86-64"; exit 77; }
grep -q ' fma .* avx2 \| avx2 .* fma ' /proc/cpuinfo || { echo "t_emulator: skipped, no AVX2 and FMA here"; exit 77; }

here=tests/emulator
out=${EMULATOR_OUT:-build/emulator}
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
passed=0 failed=0 skipped=0

# count NAME STATUS: one line in the sum, and the output if it went wrong
count() {
    case $2 in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)); echo "skipped: $1" ;;
    *) failed=$((failed + 1)); echo "FAILED: $1"; cat "$TMPDIR/said" ;;
    esac
}
# run NAME COMMAND...
run() {
    name=$1
    shift
    timeout 120 "$@" >"$TMPDIR/said" 2>&1
    count "$name" $?
}

make -s -f $here/emulator.mk EMULATOR_OUT="$out" EMULATOR_CC="$CC" emulator emulator-asan >"$TMPDIR/said" 2>&1
count "build without a warning" $?
[ -s "$TMPDIR/said" ] && count "build without a warning" 1
flags="-std=c99 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes
       -Wmissing-prototypes -Werror"
build() { # NAME FOLDER FLAGS...
    name=$1 folder=$2
    shift 2
    $CC $flags "$@" $here/$name.c -o "$folder/$name" -L"$folder" -l:libcuda.so.1 -l:libnvrtc.so.13 -lm -lpthread -ldl \
        >"$TMPDIR/said" 2>&1 || count "build $name" 1
}
for test in gemm units numbers api streams graphs faults nvrtc bugs; do
    build test_$test "$out" &
    build test_$test "$out/asan" -fsanitize=address &
    wait
done
$CC $flags $here/test_dlopen.c -o "$out/test_dlopen" -ldl >"$TMPDIR/said" 2>&1 || count "build test_dlopen" 1
$CC $flags $here/test_real_nvrtc.c -o "$out/test_real_nvrtc" -ldl >"$TMPDIR/said" 2>&1 || count "build test_real_nvrtc" 1

# The contract's other compilers.
for cxx in g++ clang++; do
    command -v $cxx >/dev/null 2>&1 || { : >"$TMPDIR/said"; count "sample.cu under $cxx" 77; continue; }
    run "sample.cu under $cxx" $cxx -std=gnu++17 -O1 -mfma -mf16c -Wall -Wextra -Werror -Wno-unknown-pragmas \
        -include $here/prelude.h -x c++ -c $here/sample.cu -o "$TMPDIR/sample.o"
done

# NVIDIA's headers, where they are: our declarations are the same.
headers=${CUDA_PATH:-/usr/local/cuda}/include
if [ -f "$headers/cudaTypedefs.h" ] && [ -f "$headers/nvrtc.h" ]; then
    sed -n 's/^ *\(CU[A-Z0-9_]*\|NVRTC[A-Z_]*\) = \([0-9]*\),\{0,1\}.*/X(\1, \2)/p' $here/cuda_api.h | grep -v JIT |
        tr '\n' ' ' | sed 's/^/#define NUMBERS /' >"$TMPDIR/numbers.h"
    run "declarations as in NVIDIA's headers" $CC -std=gnu99 -Werror -DREID_EMULATOR_REAL_HEADERS -I"$headers" \
        -include "$TMPDIR/numbers.h" -c $here/check_api.c -o "$TMPDIR/check_api.o"
else
    count "declarations as in NVIDIA's headers (none here)" 77
fi

for test in gemm units numbers api streams graphs faults nvrtc bugs; do
    argument=$here
    for mode in plain check asan; do
        library=$out
        [ $mode = asan ] && library=$out/asan
        check=0
        [ $mode = check ] && check=1
        [ $test = gemm ] && argument=$here/sample.cu
        LD_LIBRARY_PATH=$library REID_EMULATOR_CHECK=$check run "test_$test, $mode" "$library/test_$test" $argument
    done
done
export LD_LIBRARY_PATH="$out"
for arch in 75 80 120; do
    REID_EMULATOR_ARCH=$arch run "test_gemm, sm_$arch" "$out/test_gemm" $here/sample.cu
    REID_EMULATOR_ARCH=$arch run "test_units, sm_$arch" "$out/test_units" $here
done
for seed in 0 2 3; do
    REID_EMULATOR_SEED=$seed run "test_bugs, seed $seed" "$out/test_bugs" $here
    REID_EMULATOR_SEED=$seed run "test_gemm, seed $seed" "$out/test_gemm" $here/sample.cu
done
REID_EMULATOR_THREADS=2 run "test_gemm, two OS threads" "$out/test_gemm" $here/sample.cu
REID_EMULATOR_EAGER=1 run "test_gemm, eager" "$out/test_gemm" $here/sample.cu
REID_EMULATOR_DEBUG=1 run "test_gemm, for a debugger" "$out/test_gemm" $here/sample.cu
if command -v clang++ >/dev/null 2>&1; then
    REID_EMULATOR_CXX=clang++ run "test_gemm, clang++" "$out/test_gemm" $here/sample.cu
    REID_EMULATOR_CXX=clang++ REID_EMULATOR_CHECK=1 run "test_units, clang++, check" "$out/test_units" $here
fi
run "test_dlopen" "$out/test_dlopen"
unset LD_LIBRARY_PATH
run "test_real_nvrtc" "$out/test_real_nvrtc" $here

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
