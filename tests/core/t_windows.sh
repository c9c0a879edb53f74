#!/bin/sh
# The library for Windows, compiled by Debian's MinGW-w64 and run by wine: operations and embeddings have the bits of
# Linux (tests/golden/bits.txt) and PyTorch's values, threads read a file of weights at once, threads and the queue's
# deadlines work, and vectors work on a stack that is not aligned for them. With planted bugs.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/tests/t_windows
rm -rf "$out/tmp"
mkdir -p "$out/include" "$out/tmp" || exit 1
. tests/lib/check.sh

PATH=$PATH:/usr/lib/wine # where Debian's package has it
cc=x86_64-w64-mingw32-gcc log=$out/log
(. tools/setup.sh && need_packages $cc:gcc-mingw-w64-x86-64 wine64:wine64 stb/stb_image.h:libstb-dev) || {
    echo 'skipped: no compiler for Windows or no wine, and they could not be installed'
    exit 77
}
export TMPDIR="$out/tmp" # wine leaves a folder there when its server is ended
# Without a debugger, which would turn a crash into exit code 0.
export WINEPREFIX="$out/wine" WINEDEBUG=-all WINEDLLOVERRIDES='winemenubuilder.exe,winedbg.exe,mscoree,mshtml=d'
trap 'wineserver -k' EXIT # of this folder alone
wineserver -p             # it takes seconds to start, and a program must not find one that is about to end

build() { # build PROGRAM OPTION...
    program=$1
    shift
    $cc -static -w -std=c99 -O1 -D_GNU_SOURCE "$@" -Itests/lib/cmocka_small -Itests/lib/windows "-I$out/include" -I. \
        -o "$program" -lm -lpthread
}
passes() { # passes WHAT COMMAND...
    what=$1
    shift
    if "$@" > "$log" 2>&1; then good; else bad "$what"; fi
}
run() { timeout 500 wine64 "$@"; }

# Every warning.
# shellcheck disable=SC2046 # several options
warnings() { "$@" $(sed -n 's/^WARNINGS = //p' Makefile) -Werror -O1 -I.; }
passes 'gcc, with every warning' warnings $cc -std=c99 -c tests/lib/test_impl.c -o "$out/impl.o"
if [ ! -f "$out/impl.o" ]; then finish; fi
for test in t_golden t_determinism t_threads t_queue t_search t_badfiles t_oddfiles t_ops; do
    more=$(grep -q 'tests/lib/test_impl\.c' tests/core/$test.c && echo "$out/impl.o")
    # shellcheck disable=SC2086 # a file, or none
    passes "$test does not compile" build "$out/$test.exe" tests/core/$test.c $more
done

# The bits of the operations and of embeddings of small pictures.
operations='test_conv_1x1 test_conv_windows test_depthwise test_fused test_linear test_maxpool test_pool'
operations="$operations test_silu test_squeeze test_stem test_winograd"
export OPS_BITS=1 OPS_EVERY=5
passes 't_ops' run "$out/t_ops.exe" "$operations"
cp "$log" "$out/ops.log"
passes 't_golden' run "$out/t_golden.exe" 8100
sed -n 's/^BITS //p' "$out/ops.log" "$log" | tr -d '\r' > "$out/bits"
if ! grep -qw avx2 /proc/cpuinfo; then skip 'no AVX2 here, whose bits are kept'
elif cmp tests/golden/bits.txt "$out/bits"; then good
else bad "the bits are not Linux's: diff tests/golden/bits.txt $out/bits"; fi

passes 't_threads' run "$out/t_threads.exe"
passes 't_queue' run "$out/t_queue.exe" 'test_order test_deadlines test_delay test_many_threads test_drain'
passes 't_search' run "$out/t_search.exe" 'test_close test_halves test_extremes test_threads'
for test in t_badfiles t_oddfiles; do passes $test run "$out/$test.exe"; done
! all || passes 'all of t_ops' env OPS_EVERY=1 timeout 500 wine64 "$out/t_ops.exe"
! all || passes 't_determinism' run "$out/t_determinism.exe"

# A file of weights, and an image of its bytes.
ln -sfn "$(echo '#include <stb/stb_image.h>' | cc -E -x c - | sed -n 's|^# 1 "\(/.*/stb\)/stb_image.h".*|\1|p' |
    head -n 1)" "$out/include/stb"
make -s build/seeded > "$log" 2>&1 || bad 'no weights'
build/seeded --net efficientnet_b0 -o "$out/w.safetensors"
(printf 'P6\n40 60\n255\n' && tail -c 7200 "$out/w.safetensors") > "$out/p.ppm"
passes 'hello.c, here' cc -w -O0 -DREID_NO_CUDA -DREID_NO_VECTORS examples/hello.c -o "$out/hello" -lm -lpthread
passes 'hello.c' build "$out/hello.exe" -O0 -DREID_NO_VECTORS examples/hello.c
"$out/hello" "$out/w.safetensors" "$out/p.ppm" > "$out/hello.want"
same_hello() { # same_hello PROGRAM
    run "$1" "$out/w.safetensors" "$out/p.ppm" 2>&1 | tr -d '\r' | cmp -s - "$out/hello.want"
}
grep -q '^1280 numbers: ' "$out/hello.want" || bad 'hello.c says nothing here'
for _ in 1 2 3 4 5; do # threads read the weights
    if same_hello "$out/hello.exe"; then good; else bad 'hello.exe says something else'; fi
done

# Vectors at addresses that are not a multiple of 32, which Debian's compiler never produces, but others do.
cat > "$out/moves.c" <<'END'
#define REID_IMPLEMENTATION
#include "reid.h"
int main(void) {
    static char at[256];
    for (int i = 0; i < 64; i++) {
        __asm__ volatile("vmovaps %0, %%ymm0\n\tvmovaps %%ymm0, %1" : : "m"(at[i]), "m"(at[i + 99]) : "memory", "xmm0");
        __asm__ volatile("vmovapd %0, %%ymm0\n\tvmovdqa %%ymm0, %1" : : "m"(at[i]), "m"(at[i + 99]) : "memory", "xmm0");
    }
    if (!reid__kernels_for(REID_ISA_AVX512)) return 0;
    for (int i = 0; i < 64; i++)
        __asm__ volatile("vmovdqa32 %0, %%zmm0\n\tvmovdqa64 %%zmm0, %1\n\tkxnorw %%k1, %%k1, %%k1\n\t"
                         "vmovaps %0, %%zmm0%{%%k1%}%{z%}" : : "m"(at[i]), "m"(at[i + 99]) : "memory", "xmm0");
    return 0;
}
END
if grep -qw avx2 /proc/cpuinfo; then
    for level in 0 1 2 3; do # which decide where a compiler puts text for the assembler
        all || [ $level = 0 ] || continue
        build "$out/moves.exe" -O$level "$out/moves.c"
        passes "moves of vectors, -O$level" run "$out/moves.exe"
    done
fi

bug() { # bug WHAT SOURCE SED_SCRIPT COMMAND...: it has to fail with SOURCE built with that reid.h, as bug/program.exe
    what=$1 source=$2 script=$3
    shift 3
    plant_in reid.h "$out/bug/reid.h" "$script" || bad "$what: the pattern matches nothing in reid.h"
    my_turn || return
    sed 's|\.\./reid\.h|reid.h|; s|"\.\./lib|"tests/lib|' "$source" > "$out/bug/source.c"
    build "$out/bug/program.exe" -O0 "-I$out/bug" "$out/bug/source.c" || bad "$what: it does not compile"
    if "$@" > "$log" 2>&1; then bad "$what: nobody notices"; else good; fi
}
bug 'vectors have to be aligned' "$out/moves.c" '/^__asm__(".macro vmovaps/,/endm");$/d' run "$out/bug/program.exe"
bug 'a file is read from its start' examples/hello.c 's/place.Offset = (DWORD)at/place.Offset = 0/' \
    same_hello "$out/bug/program.exe"

if all && command -v x86_64-w64-mingw32-g++ > /dev/null; then
    for option in -DREID_STATIC -DREID_NO_VECTORS '-DREID_NO_NARROW -DREID_NO_QUEUE -DREID_NO_SEARCH'; do
        # shellcheck disable=SC2086 # several options
        passes "g++ $option" x86_64-w64-mingw32-g++ -std=c++11 -O1 -Wall -Wextra -Werror -I. $option -x c++ \
            -c tools/reid_impl.c -o "$out/more.o"
    done
fi
if all && command -v clang > /dev/null; then
    passes 'clang, with every warning' warnings clang --target=x86_64-w64-mingw32 -std=c99 -c tools/reid_impl.c \
        -o "$out/more.o"
fi
say_left_out bugs
finish
