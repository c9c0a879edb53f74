#!/bin/sh
# What can go wrong with CUDA, on the emulator: drivers and compilers that are missing, too old or broken; kernel files,
# packs and caches that are damaged; every call failing once, memory running out, forks, threads. Each must end in an
# error that names the cause, or in the same bits, with nothing left behind.
#     sh tests/gpu/t_cuda_faults.sh                each driver function's first call fails, and a share of the rest
#     REID_ALL=1 sh tests/gpu/t_cuda_faults.sh     all: of the calls a dense sample, with three answers of the driver,
#                                                  and under AddressSanitizer
#     EVERY_CALL=1 ...                             with that: each call fails; half an hour
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/emulator/needs.sh
unset REID_NVRTC REID_CACHE_DIR XDG_CACHE_HOME CUDA_PATH CUDA_HOME VIRTUAL_ENV CONDA_PREFIX LD_LIBRARY_PATH REID_CPU_ISA
out=$PWD/build/tests/t_cuda_faults
mkdir -p "$out/tiny" "$out/asan"
make -s -j2 emulator emulator-asan || exit 1
emulator=$PWD/build/emulator
. tests/lib/check.sh

# ---- the programs, with a network that is a quarter as wide and deep, without the CPU's vectors, most of what is to be
# compiled, and the kernels as they are now ----
sed 's/^\( *REID__E("efficientnet_b0", *0,\) 1.0, 1.0, /\1 0.25, 0.25, /' reid.h > "$out/tiny/reid.h"
grep -q ' 0\.25, 0\.25, ' "$out/tiny/reid.h" || { echo "the tiny network was not made"; exit 1; }
cp reid_kernels.cu "$out/tiny"
export TEST_KERNELS="$out/tiny/reid_kernels.cu" TEST_OUT="$out"
build() { # build NAME PROGRAM OPTION...
    name=$1 to=$2
    shift 2
    gcc -std=c99 -D_GNU_SOURCE -DREID_ASSERT=assert -g1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
        -DREID_NO_VECTORS -I"$out/tiny" "$@" "tests/gpu/$name.c" -o "$to" -Wl,--wrap=glob -lm -ldl -lpthread
}
# Parts that take turns; under AddressSanitizer only with REID_ALL.
parts=
for part in memory host nvrtc context fork; do ! my_turn || parts="$parts $part"; done
my_turn && tsan=1 || tsan=
my_turn && packs=1 || packs=

rm -f "$out/cuda_faults" "$out/cuda_loader" "$out/cuda_cache" "$out/cuda_tsan" "$out/asan/cuda_faults"
! all || job "cuda_faults for AddressSanitizer does not compile" build cuda_faults \
    "$out/asan/cuda_faults" -O0 -Wl,--wrap=dlsym -fsanitize=address,undefined -fno-sanitize-recover=undefined
[ -z "$packs" ] || job "cuda_cache does not compile" build cuda_cache "$out/cuda_cache" -O1 \
    -Wl,--wrap=write,--wrap=fsync,--wrap=rename
job "cuda_faults does not compile" build cuda_faults "$out/cuda_faults" -O1 -Wl,--wrap=dlsym
job "cuda_loader does not compile" build cuda_loader "$out/cuda_loader" -O1
[ -z "$tsan" ] || job "cuda_faults for ThreadSanitizer does not compile" build cuda_faults "$out/cuda_tsan" -O0 \
    -Wl,--wrap=dlsym -fsanitize=thread
collect
[ $failed -eq 0 ] || finish

# ---- calls that fail, memory, forks, contexts, threads ----
plain() { # plain PART ARGUMENT...
    job "cuda_faults $*" env LD_LIBRARY_PATH="$emulator" "$out/cuda_faults" "$out/pack" "$@"
}
asan() {
    job "cuda_faults $*, AddressSanitizer" env LD_LIBRARY_PATH="$emulator/asan" "$out/asan/cuda_faults" \
        "$out/asan/pack" "$@"
}
rm -rf "$out/host_cache"
plain pack
! all || asan pack
collect
if all; then step=${EVERY_CALL:+1} step=${step:-8}; else step=64; fi
plain calls 0 $step
for code in 2 719; do ! my_turn || plain calls $code 64; done
! all || asan calls 0 64
for part in $parts; do
    if all; then asan "$part"; else plain "$part"; fi
done
plain queue
for part in limit small; do ! my_turn || plain $part; done
# Its shadow memory does not fit every random address layout.
fixed=
setarch -R true 2>/dev/null && fixed='setarch -R'
# shellcheck disable=SC2086 # two words or none
[ -z "$tsan" ] || job "cuda_faults threads, ThreadSanitizer" env LD_LIBRARY_PATH="$emulator" $fixed "$out/cuda_tsan" \
    "$out/pack" threads
# shellcheck disable=SC2086
[ -z "$tsan" ] || job "cuda_faults queue, ThreadSanitizer" env LD_LIBRARY_PATH="$emulator" $fixed "$out/cuda_tsan" \
    "$out/pack" queue

# ---- caches and packs ----
[ -z "$packs" ] || job "cuda_cache" env LD_LIBRARY_PATH="$emulator" "$out/cuda_cache"

# ---- drivers and compilers: folders with libraries that work, cannot be loaded, or lie ----
stubs=$out/stubs cache=$out/stub_cache
rm -rf "$stubs" "$cache"
mkdir -p "$stubs" && mkdir -m 700 "$cache"
folder() { # folder NAME NVRTC...: the emulator's driver, and its NVRTC under these names; no other NVRTC can be loaded
    mkdir -p "$stubs/$1"
    ln -s "$emulator/libcuda.so.1" "$stubs/$1/libcuda.so.1"
    for soname in libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2; do : > "$stubs/$1/$soname"; done
    at=$stubs/$1
    shift
    for soname; do cp "$emulator/libnvrtc.so.13" "$at/$soname.new" && mv "$at/$soname.new" "$at/$soname"; done
}
library() { # library PATH: of C from standard input
    rm -f "$1"
    gcc -shared -fPIC -x c - -o "$1" || exit 1
}
folder good libnvrtc.so.13
folder none
folder only12 libnvrtc.so.12
folder only11 libnvrtc.so.11.2
folder both libnvrtc.so.13 libnvrtc.so.12
folder broken
folder broken12 libnvrtc.so.12
folder no_driver libnvrtc.so.13
rm "$stubs/no_driver/libcuda.so.1"
: > "$stubs/no_driver/libcuda.so.1"

# Drivers without one of the functions.
functions=$(sed -n '/^#define REID__DRIVER(X)/,/[^\\]$/p' reid.h | grep -o '"cu[A-Za-z0-9_]*"' | tr -d '"')
[ "$(echo "$functions" | wc -l)" -gt 30 ] || { echo "the list of driver functions was not found"; exit 1; }
for lacks in cuInit cuCtxPushCurrent_v2 cuGraphInstantiateWithFlags cuGraphDestroy; do
    folder "no_$lacks" libnvrtc.so.13
    for f in $functions; do [ "$f" = $lacks ] || echo "int $f(void) { return 999; }"; done |
        library "$stubs/no_$lacks/libcuda.so.1"
done
# An NVRTC that loads but cannot compile, as without its builtins; builtins beside one are loaded.
for at in broken broken12; do
    library "$stubs/$at/libnvrtc.so.13" <<'END'
#include <string.h>
static const char text[] = "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.\n  Make sure that it is installed";
int nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 0; }
int nvrtcGetNumSupportedArchs(int *count) { return *count = 1, 0; }
int nvrtcGetSupportedArchs(int *archs) { return *archs = 90, 0; }
int nvrtcCreateProgram(void **p, const char *a, const char *b, int n, void *c, void *d) { return *p = (void *)text, 0; }
int nvrtcDestroyProgram(void **p) { return *p = 0, 0; }
int nvrtcCompileProgram(void *p, int count, void *options) { return 7; }
int nvrtcGetCUBINSize(void *p, unsigned long *size) { return 4; }
int nvrtcGetCUBIN(void *p, char *cubin) { return 4; }
int nvrtcGetPTXSize(void *p, unsigned long *size) { return 4; }
int nvrtcGetPTX(void *p, char *ptx) { return 4; }
int nvrtcGetProgramLogSize(void *p, unsigned long *size) { return *size = sizeof text, 0; }
int nvrtcGetProgramLog(void *p, char *log) { return memcpy(log, text, sizeof text), 0; }
const char *nvrtcGetErrorString(int error) { return error == 7 ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" : "?"; }
END
done
echo 'int builtins;' | library "$stubs/good/libnvrtc-builtins.so.13.0"
echo 'int nothing;' | library "$stubs/not_nvrtc.so"
root=$stubs/root
mkdir -p "$root/usr/local/cuda-12.4/lib64" "$root/usr/local/cuda-13.0/targets/x86_64-linux/lib" "$stubs/home/lib64" \
    "$stubs/conda/lib" "$stubs/venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib" \
    "$root/usr/local/lib/python3.11/dist-packages/nvidia/cu13/lib"
toolkit12=$root/usr/local/cuda-12.4/lib64/libnvrtc.so.12
toolkit13=$root/usr/local/cuda-13.0/targets/x86_64-linux/lib/libnvrtc.so.13
wheel12=$stubs/venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
wheel13=$root/usr/local/lib/python3.11/dist-packages/nvidia/cu13/lib/libnvrtc.so.13
for path in "$toolkit12" "$toolkit13" "$wheel12" "$wheel13" "$stubs/home/lib64/libnvrtc.so.13" \
    "$stubs/conda/lib/libnvrtc.so.12"; do cp "$emulator/libnvrtc.so.13" "$path"; done

# Kernel files.
mkdir "$stubs/folder"
: > "$stubs/empty.cu"
mkfifo "$stubs/fifo.cu"
head -c 5000000 /dev/zero | tr '\0' ' ' > "$stubs/large.cu"
{ cat reid_kernels.cu; echo 'this is no code;'; } > "$stubs/syntax.cu"
line=$(wc -l < "$stubs/syntax.cu")
echo 'extern "C" __global__ void other() {}' > "$stubs/other.cu"

# try NAME FOLDER ENVIRONMENT OPTIONS WHAT RESULT TEXT...: see cuda_loader.c. ENVIRONMENT and OPTIONS are words.
try() {
    name=$1 libraries=$stubs/$2 environment=$3 options=$4 mode=$5
    shift 5
    # shellcheck disable=SC2086 # words
    job "$name: $mode" env LD_LIBRARY_PATH="$libraries" $environment "$out/cuda_loader" "cache=$cache" \
        $options "$mode" "$@"
}
# refused NAME FOLDER ENVIRONMENT OPTIONS RESULT TEXT...: an error with CUDA; if something is missing, AUTO logs it
# and falls back to the CPU, and with AUTO and FP16 the error explains both.
refused() {
    what=$1 from=$2 set=$3 with=$4 result=$5
    shift 5
    try "$what" "$from" "$set" "$with" cuda "$result" "$@"
    case $what in
    "no "* | "a syntax error") # reasons from each step on the way to a GPU
        try "$what" "$from" "$set" "$with" auto REID_OK "$@"
        try "$what" "$from" "$set" "$with" fp16 REID_ERR_PRECISION "the CPU computes in FP32, bf16 or INT8" "$@"
        ;;
    esac
}
E=REID_EMULATOR

refused "no driver" no_driver '' '' REID_ERR_DEVICE "needs the NVIDIA driver, and none was found" libcuda.so.1 \
    /usr/lib/wsl/lib/libcuda.so.1
for lacks in cuInit cuCtxPushCurrent_v2 cuGraphInstantiateWithFlags cuGraphDestroy; do
    refused "a driver without $lacks" no_$lacks '' '' REID_ERR_DEVICE "too old" "lacks $lacks" "CUDA 11.4"
done
refused "an old driver" good ${E}_DRIVER_VERSION=11000 '' REID_ERR_DEVICE "the NVIDIA driver is for CUDA 11.0" "11.4"
refused "no GPU" good ${E}_DEVICES=0 '' REID_ERR_DEVICE "this process sees no GPU"
refused "GPU 1 of 1" good '' index=1 REID_ERR_DEVICE "there is no GPU 1; GPUs that this process sees: 1, numbered"
refused "GPU -1" good '' index=-1 REID_ERR_DEVICE "there is no GPU -1"
refused "an old GPU" good ${E}_ARCH=70 '' REID_ERR_DEVICE "is an sm_70; sm_75 (Turing) or later"
refused "cuInit" good ${E}_FAIL=cuInit:1 '' REID_ERR_DEVICE cuInit "(CUDA_ERROR_UNKNOWN, 999)"
refused "no memory for a context" good ${E}_FAIL=cuDevicePrimaryCtxRetain:1 '' REID_ERR_OUT_OF_MEMORY \
    "memory for the context"
refused "attributes" good ${E}_FAIL=cuDeviceGetAttribute:2 '' REID_ERR_GPU "GPU 0: reading the device's attributes"
try "no driver" no_driver '' '' query REID_ERR_DEVICE "none was found" "driver=0"
try "an old driver" good ${E}_DRIVER_VERSION=11000 '' query REID_ERR_DEVICE "driver=11000"
try "an old GPU" good ${E}_ARCH=70 '' query REID_ERR_DEVICE "arch=sm_70"

# The first start of each compiler fills the cache for the later ones.
try "the emulator" good '' mapped=libnvrtc-builtins.so.13.0 cuda REID_OK "compiling" "NVRTC 13.0"
my_turn && nvrtc12=1 || nvrtc12= # whose kernels would be compiled, for one more cache
[ -z "$nvrtc12" ] || try "the driver of 12.4 with NVRTC 12" both \
    "${E}_DRIVER_VERSION=12040 ${E}_NVRTC_VERSION=12.8" '' cuda REID_OK "NVRTC 12.8"
collect
try "GPU 1 of 2" good ${E}_DEVICES=2 index=1 cuda REID_OK "GPU 1" "!compiling"
try "NVRTC 12 only" only12 ${E}_NVRTC_VERSION=12.8 '' query REID_OK "path=$stubs/only12/libnvrtc.so.12"
try "NVRTC 11.2 only" only11 ${E}_NVRTC_VERSION=11.8 '' query REID_OK "path=$stubs/only11/libnvrtc.so.11.2" nvrtc=11080
[ -z "$nvrtc12" ] || try "the second compiler works" broken12 ${E}_NVRTC_VERSION=12.8 '' cuda REID_OK "!compiling"
! my_turn || try "a GPU newer than NVRTC" good "${E}_ARCH=120 ${E}_NVRTC_ARCHS=75,80,86" '' cuda REID_OK compiling
try "a GPU of a known generation" good "${E}_ARCH=89 ${E}_NVRTC_ARCHS=75,80,86" '' query REID_OK "arch=sm_89" \
    nvrtc=13000
try "REID_NVRTC" none "REID_NVRTC=$stubs/only12/libnvrtc.so.12 ${E}_NVRTC_VERSION=12.8" '' query REID_OK \
    "path=$stubs/only12/libnvrtc.so.12"
try "an empty REID_NVRTC" good REID_NVRTC= '' query REID_OK "path=$stubs/good/libnvrtc.so.13" nvrtc=13000
try "desc.nvrtc_path before REID_NVRTC" none REID_NVRTC=/none "nvrtc=$stubs/good/libnvrtc.so.13" query REID_OK \
    "path=$stubs/good/libnvrtc.so.13"
try "the newest first" both '' '' query REID_OK "path=$stubs/both/libnvrtc.so.13"
try "no newer than the driver" both "${E}_DRIVER_VERSION=12040 ${E}_NVRTC_VERSION=12.8" '' query REID_OK \
    "path=$stubs/both/libnvrtc.so.12" nvrtc=12080 driver=12040
try "CUDA_HOME" none "CUDA_HOME=$stubs/home" '' query REID_OK "path=$stubs/home/lib64/libnvrtc.so.13"
try "CUDA_PATH" none "CUDA_PATH=$stubs/home" '' query REID_OK "path=$stubs/home/lib64/libnvrtc.so.13"
try "a toolkit" none '' "folders=$root" query REID_OK "path=$toolkit13"
try "an older toolkit" none "${E}_DRIVER_VERSION=12040 ${E}_NVRTC_VERSION=12.4" "folders=$root" query REID_OK \
    "path=$toolkit12"
try "conda" none "CONDA_PREFIX=$stubs/conda ${E}_NVRTC_VERSION=12.4" '' query REID_OK \
    "path=$stubs/conda/lib/libnvrtc.so.12"
try "a wheel" none "VIRTUAL_ENV=$stubs/venv ${E}_NVRTC_VERSION=12.4" '' query REID_OK "path=$wheel12"
rm "$toolkit13"
try "a system's wheel" none '' "folders=$root" query REID_OK "path=$wheel13"

refused "no NVRTC" none '' '' REID_ERR_DEVICE "kernels must be compiled for sm_90, but no NVRTC can be used" \
    libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2
refused "NVRTC without its builtins" broken '' '' REID_ERR_DEVICE \
    "$stubs/broken/libnvrtc.so.13: a test compilation failed" NVRTC_ERROR_BUILTIN_OPERATION_FAILURE \
    "failed to open libnvrtc-builtins.so.13.0" libnvrtc.so.12
refused "NVRTC that knows only newer GPUs" good ${E}_NVRTC_ARCHS=100,120 '' REID_ERR_DEVICE \
    "libnvrtc.so.13: it does not know this GPU"
refused "NVRTC newer than the driver" good ${E}_DRIVER_VERSION=12040 '' REID_ERR_DEVICE "no NVRTC can be used" \
    "libnvrtc.so.13 would be newer than the driver" libnvrtc.so.12
refused "the same, by path" good ${E}_DRIVER_VERSION=12040 "nvrtc=$stubs/good/libnvrtc.so.13" REID_ERR_DEVICE \
    "libnvrtc.so.13: it is newer than the driver"
refused "the same, under another name" only12 ${E}_DRIVER_VERSION=12040 '' REID_ERR_DEVICE \
    "libnvrtc.so.12: it is newer than the driver"
! my_turn || try "PTX newer than the driver" only12 "${E}_ARCH=120 ${E}_NVRTC_ARCHS=75,80,86 ${E}_NVRTC_VERSION=12.8 \
    ${E}_DRIVER_VERSION=12040" '' cuda REID_ERR_GPU "(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)"
refused "desc.nvrtc_path of nothing" good '' nvrtc=/nonexistent/rtc REID_ERR_DEVICE "/nonexistent/rtc: cannot open" \
    "!libnvrtc.so.12"
refused "REID_NVRTC of nothing" good REID_NVRTC=/nonexistent/rtc '' REID_ERR_DEVICE "/nonexistent/rtc: cannot open"
refused "a text as NVRTC" good '' "nvrtc=$PWD/reid.h" REID_ERR_DEVICE "reid.h: invalid ELF header"
refused "a library that is not NVRTC" good '' "nvrtc=$stubs/not_nvrtc.so" REID_ERR_DEVICE \
    "not_nvrtc.so: it is not NVRTC 11.2"
try "no NVRTC" none '' '' query REID_ERR_DEVICE "no NVRTC can be used for sm_90" "nvrtc=0" "arch=sm_90" "kernels=desc"

refused "no kernel file" good '' path=/nonexistent/k.cu REID_ERR_FILE_OPEN "/nonexistent/k.cu: no such file (errno 2)"
refused "a folder of kernels" good '' "path=$stubs/folder" REID_ERR_FILE_OPEN \
    "$stubs/folder: it is a directory, not a regular file"
refused "a FIFO of kernels" good '' "path=$stubs/fifo.cu" REID_ERR_FILE_OPEN "fifo.cu: it is a pipe, not a regular file"
refused "5 MB of kernels" good '' "path=$stubs/large.cu" REID_ERR_FILE_READ "large.cu"
refused "an empty kernel file" good '' "path=$stubs/empty.cu" REID_ERR_NO_KERNELS "kernels_path"
refused "no kernel text" good '' src=none REID_ERR_NO_KERNELS "desc.kernels_src, desc.kernels_path"
refused "a syntax error" good '' "path=$stubs/syntax.cu" REID_ERR_KERNEL_COMPILE "reid_kernels.cu:$line:" \
    NVRTC_ERROR_COMPILATION "program -DREID_"
refused "another kernel file" good '' "path=$stubs/other.cu" REID_ERR_GPU reid_ "not found"
for device in cuda auto fp16; do
    try "two kernel texts" good '' src=both $device REID_ERR_INVALID_ARG "either desc.kernels_src or desc.kernels_path"
done
try "no kernel text" good '' src=none query REID_ERR_NO_KERNELS "kernels="
try "a kernel file" good '' path=reid_kernels.cu query REID_OK "kernels=file"
collect

say_left_out parts
finish
