#!/bin/sh
# AMX's code for the CPU, on any CPU with AVX512_BF16 and AVX512_VNNI: a copy of reid.h with AMX's instructions in C
# (amx_tiles.h) is tested like the other code, by t_ops and t_int8, and with planted bugs, which they must notice.
#     sh tests/core/t_amx.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_amx
for feature in avx512_bf16 avx512_vnni; do
    grep -qw $feature /proc/cpuinfo 2>/dev/null || { echo "skipped: this CPU has no $feature"; exit 77; }
done
mkdir -p "$out" || exit 1
. tests/lib/check.sh

sed -e 's/__asm__ volatile("tileloadd .*/amx_load(tile, from, stride)/' \
    -e 's/__asm__ volatile("tilestored .*/amx_store(tile, to, stride)/' \
    -e 's/__asm__ volatile("tilezero .*/amx_zero(tile)/' \
    -e 's/__asm__ volatile("tdpbf16ps .*/amx_dot_bf16(sums, a, b)/' \
    -e 's/__asm__ volatile("tdpbusd .*/amx_dot_bytes(sums, a, b)/' \
    -e 's/__asm__ volatile("ldtilecfg .*/amx_configure(\&shape);/' \
    -e 's/__asm__ volatile("tilerelease" .*/amx_release();/' \
    -e 's/reid__cpu_has(7, 0, 3, 2[25]) && reid__amx_allowed()/1/' reid.h > "$out/reid.h"
changed=$(diff reid.h "$out/reid.h" | grep -c '^>')
if [ "$changed" -eq 9 ]; then good; else bad "of nine lines of reid.h with AMX's instructions $changed were found"; fi

test_function() { # test_function PROGRAM FUNCTION: passes
    if "$out/$1" "$2" > "$out/log" 2>&1; then good; else log=$out/log bad "$1 $2"; fi
}

notices() { # notices PROGRAM FUNCTION: passes, and fails with a wrong product
    test_function "$@"
    if AMX_WRONG=1 "$out/$1" "$2" > "$out/log" 2>&1; then bad "$1 $2 passes with a wrong product"; else good; fi
}

build() { # build PROGRAM FOLDER OPTION: with the reid.h that is there
    gcc -std=c99 -D_GNU_SOURCE "$3" -DREID_NO_CUDA -w -include tests/lib/amx_tiles.h "-I$2" -I. "tests/core/$1.c" \
        -o "$2/$1" -lcmocka -lm -lpthread > "$out/log" 2>&1 || { cat "$out/log"; exit 1; }
}

bug() { # bug WHAT FUNCTION SED_SCRIPT: t_ops must notice
    plant_in "$out/reid.h" "$out/bug/reid.h" "$3" || bad "$1: the pattern matches nothing in reid.h"
    my_turn || return
    build t_ops "$out/bug" -O0
    if CMOCKA_TEST_ABORT=1 timeout 60 "$out/bug/t_ops" "$2" > "$out/log" 2>&1; then bad "$1: $2 passes"; else good; fi
}

build t_ops "$out" -O0
build t_int8 "$out" -O0
notices t_ops test_conv_1x1
notices t_ops test_conv_windows
notices t_ops test_grid
test_function t_ops test_fused # compares AMX with AMX, cut otherwise
notices t_int8 test_definition

bug 'a place past the line becomes a pixel' test_grid 's/t->grid - 1 - \*x % t->grid/t->grid - *x % t->grid/'
bug 'an image ends with a line in vain that counts' test_grid 's/last = t->places - t->grid;/last = t->places;/'
bug 'no zero behind the last line' test_grid 's/^    memset(block + stride .*//'
bug 'a copy begins a line too late' test_grid 's/at \* stride + phase \/ stride - 1/at * stride + phase \/ stride/'
bug 'the second half of the rows is the first' test_conv_1x1 's/a + REID__AMX_ROWS \* t->row/a/'
bug 'registers are not set up' test_conv_1x1 's/amx_configure(&shape);//'
bug 'a register is read before it is written' test_conv_1x1 's/^    REID__AMX_ZERO(0);//'

say_left_out bugs
finish
