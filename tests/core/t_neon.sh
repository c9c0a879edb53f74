#!/bin/sh
# NEON's kernels, compiled for 64-bit ARM by Debian's cross compiler and run by qemu: t_ops, t_search, t_resize, INT8's
# desc.fallback, and embeddings against PyTorch's; operations and embeddings have the bits of AVX2, which
# tests/golden/bits.txt holds. With planted bugs, which t_ops must notice. And REID_WARN_SCALAR on a processor for which
# there are no fast kernels.
#     sh tests/core/t_neon.sh [--write]      --write: makes bits.txt on a CPU with AVX2
set -u
cd "$(dirname "$0")/../.." || exit 1
bits=$PWD/tests/golden/bits.txt
operations='test_conv_1x1 test_conv_windows test_depthwise test_fused test_linear test_maxpool test_pool'
operations="$operations test_silu test_squeeze test_stem test_winograd"
out=build/tests/t_neon
mkdir -p "$out" || exit 1
. tests/lib/check.sh

build() { # build COMPILER FOLDER OPTION...: t_ops and t_golden; they see no GPU
    compiler=$1 folder=$2
    shift 2
    for test in t_ops t_golden; do
        source=tests/core/$test.c
        [ $test = t_ops ] || source="$source $folder/impl.o"
        # shellcheck disable=SC2086 # a list of files
        "$compiler" "$@" -w -D_GNU_SOURCE -DREID_NO_CUDA -Itests/lib/cmocka_small -I. $source -o "$folder/$test" \
            -lm -lpthread || exit 1
    done
}
library() { # library COMPILER FOLDER OPTION...: impl.o, with every warning
    compiler=$1 folder=$2
    shift 2
    # shellcheck disable=SC2046 # several options
    "$compiler" "$@" $(sed -n 's/^WARNINGS = //p' Makefile) -Werror -D_GNU_SOURCE -DREID_NO_CUDA -I. \
        -c tests/lib/test_impl.c -o "$folder/impl.o" || exit 1
}
all_bits() { # all_bits PREFIX FOLDER: of operations and of embeddings of small pictures
    OPS_BITS=1 OPS_EVERY=5 $1 "$2/t_ops" "$operations" > "$2/ops.log" 2>&1 || return
    $1 "$2/t_golden" 8100 > "$2/golden.log" 2>&1 || return
    sed -n 's/^BITS //p' "$2/ops.log" "$2/golden.log"
}

native() { # native FILE: the bits of this CPU
    mkdir -p "$out/native"
    library gcc "$out/native" -std=c99 -O1
    build gcc "$out/native" -std=c99 -O1
    all_bits env "$out/native" > "$1" && [ -s "$1" ]
}
if [ "${1-}" = --write ]; then
    native "$bits"
    exit
fi

cc=aarch64-linux-gnu-gcc qemu=qemu-aarch64-static log=$out/log
(. tools/setup.sh && need_packages $cc:gcc-aarch64-linux-gnu $qemu:qemu-user-static &&
    CC=$cc need_packages gnu/stubs-lp64.h:libc6-dev-arm64-cross) || {
    echo 'skipped: no compiler or no emulator for ARM, and they could not be installed'
    exit 77
}
arm() { # arm PROGRAM OPTION...
    program=$1
    shift
    $cc -static -w -D_GNU_SOURCE -DREID_NO_CUDA -Itests/lib/cmocka_small "$@" -I. -o "$program" -lm -lpthread || exit 1
}
passes() { # passes WHAT COMMAND...
    what=$1
    shift
    if timeout 900 "$@" > "$log" 2>&1; then good; else bad "$what"; fi
}

# gnu99 lets a compiler contract products and sums, which must not change the bits either.
library $cc "$out" -std=gnu99 -O1
build $cc "$out" -static -std=gnu99 -O1
if all_bits $qemu "$out" > "$out/bits"; then good; else log=$out/ops.log bad "t_ops or t_golden: see $out"; fi
if cmp "$bits" "$out/bits"; then good; else bad "the bits are not AVX2's: diff $bits $out/bits"; fi
if grep -q 'neon .*ok' "$out/golden.log"; then good; else bad 't_golden has not tried NEON'; fi
for test in t_search t_determinism; do arm "$out/$test" -std=c99 tests/core/$test.c "$out/impl.o"; done
passes 't_search' $qemu "$out/t_search" 'test_close test_halves test_extremes test_threads'
arm "$out/t_int8" -std=c99 -O1 tests/core/t_int8.c # INT8 is plain C there, what desc.fallback computes is not
passes 't_int8' $qemu "$out/t_int8" test_beyond_once
if all; then every=4; else every=40; fi
arm "$out/t_resize" -std=c99 -O1 -DEVERY=$every tests/core/t_resize.c
passes 't_resize' $qemu "$out/t_resize"

bug() { # bug WHAT TEST SED_SCRIPT: t_ops must notice
    plant_in reid.h "$out/bug/reid.h" "$3" || bad "$1: the pattern matches nothing in reid.h"
    my_turn || return
    arm "$out/bug/t_ops" -std=c99 -O1 "-I$out/bug" tests/core/t_ops.c
    if OPS_EVERY=5 timeout 300 $qemu "$out/bug/t_ops" "$2" > "$log" 2>&1; then bad "$1: $2 passes"; else good; fi
}
bug 'products are subtracted' test_conv_1x1 's/{ return vfmaq_f32(c, a, b)/{ return vfmsq_f32(c, a, b)/'
bug 'a smaller number is the larger' test_maxpool 's/vbslq_f32(vcgtq_f32(a, b), a, b)/vbslq_f32(vcgtq_f32(a, b), b, a)/'
bug 'four eighths are looked up, not eight' test_silu 's/vandq_s32(i, vdupq_n_s32(7))/vandq_s32(i, vdupq_n_s32(3))/'
bug 'exponents are shifted by a bit less' test_silu 's/vshlq_s32(a, vdupq_n_s32(n))/vshlq_s32(a, vdupq_n_s32(n - 1))/'
bug 'an input is that of its neighbour' test_winograd 's/^    float x = \*p;/    float x = p[1];/'
bug 'large numbers are not cut off before e^-x' test_silu 's/vminq_f32(limit, vmaxq_f32(vnegq_f32(limit), x))/(x)/'

# A processor of 2008, without AVX2: the log has REID_WARN_SCALAR, and inspect shows it beside the device.
if command -v qemu-x86_64-static > /dev/null && [ "$(uname -m)" = x86_64 ]; then
    make -s build/reid build/seeded > "$log" 2>&1 || bad 'no command'
    build/seeded --net efficientnet_b0 -o "$out/w.safetensors"
    qemu-x86_64-static -cpu Nehalem build/reid inspect --device cpu "$out/w.safetensors" > "$log" 2>&1
    if grep -q 'no fast kernels for this CPU' "$log" && grep -q 'scalar.*NO VECTOR INSTRUCTIONS' "$log"; then good
    else bad 'nobody is told that plain C computes'; fi
    REID_CPU_ISA=scalar build/reid inspect --device cpu "$out/w.safetensors" > "$log" 2>&1
    if grep -q 'no fast kernels' "$log"; then bad 'who asked for scalar is told so'; else good; fi
else
    skip 'no other processor to emulate'
fi

if all; then
    passes 'all of t_ops' $qemu "$out/t_ops"
    passes 'all of t_search' $qemu "$out/t_search"
    passes 't_golden, to 101x193' $qemu "$out/t_golden" 19493
    passes 't_determinism' $qemu "$out/t_determinism" test_environment
    if ! grep -qw avx2 /proc/cpuinfo; then skip 'no AVX2 here, whose bits could be computed again'
    elif native "$out/native_bits" && cmp "$bits" "$out/native_bits"; then good
    else bad 'bits.txt is not what AVX2 computes: t_neon.sh --write'; fi
    if command -v clang > /dev/null; then
        # shellcheck disable=SC2046 # several options
        passes 'clang, with every warning' clang --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include \
            -std=c99 -O1 $(sed -n 's/^WARNINGS = //p' Makefile) -Werror -D_GNU_SOURCE -I. -c tools/reid_impl.c \
            -o "$out/clang.o"
    else
        skip 'no clang'
    fi
fi
say_left_out bugs
finish
