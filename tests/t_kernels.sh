#!/bin/sh
# Every kernel of reid_kernels.cu against its definition: on the emulator for several chips, once checking every access;
# and compiled for every chip by the real nvcc where there is one, without spills and local memory.
#     sh tests/t_kernels.sh
set -u
cd "$(dirname "$0")/.." || exit 1
command -v g++ >/dev/null 2>&1 || { echo "skipped: g++ is missing"; exit 77; }
out=build/tests/t_kernels
mkdir -p "$out"
make -s -f tests/emulator/emulator.mk EMULATOR_OUT="$out" emulator || exit 1
passed=0 failed=0 skipped=0
good() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $1"; }

for part in conv rest; do
    gcc -O2 -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Itests/emulator \
        "tests/kernels_$part.c" -o "$out/kernels_$part" "$out/libcuda.so.1" "$out/libnvrtc.so.13" \
        -Wl,-rpath,"$PWD/$out" -lm || { bad "kernels_$part does not compile"; continue; }
    for arch in 75 80 90; do
        REID_EMULATOR_ARCH=$arch "$out/kernels_$part" > "$out/log" 2>&1 && good && continue
        bad "kernels_$part on sm_$arch"
        cat "$out/log"
    done
    REID_EMULATOR_CHECK=1 "$out/kernels_$part" > "$out/log" 2>&1 && good && continue
    bad "kernels_$part: checking every access"
    cat "$out/log"
done

# A broken kernel must be seen: without this barrier slices are read before they have arrived.
sed 's/^        __syncthreads(); \/\* slice s is there.*$//' reid_kernels.cu > "$out/reid_kernels.cu"
cmp -s reid_kernels.cu "$out/reid_kernels.cu" && bad "the planted bug was not planted"
(cd "$out" && ./kernels_conv > log 2>&1) && bad "a missing barrier was not seen" || good

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
shape="-DIH=14 -DIW=14 -DIC=96 -DOH=14 -DOW=14 -DOC=96 -DOC_PADDED=96 -DOUT_STRIDE=96 -DCHANNEL=0 -DKH=3 -DKW=3
       -DSTRIDE=1 -DPAD_Y=1 -DPAD_X=1 -DACT=2 -DRESIDUAL=1 -DC=96 -DCHANNELS=96 -DHIDDEN=8 -DDIM=512"
compile() { # compile ARCH KERNEL OPTIONS...
    arch=$1 kernel=$2
    shift 2
    # shellcheck disable=SC2086 # the shape is many words
    "$nvcc" -std=c++17 -arch="sm_$arch" -cubin -diag-suppress 177 -Werror all-warnings \
        -Xptxas -v,-warn-spills,-warn-lmem-usage \
        $shape "-D$kernel" "$@" reid_kernels.cu -o "$out/kernel.cubin" > "$out/log" 2>&1 &&
        grep -q ' 0 bytes spill stores' "$out/log" && ! grep -q 'lmem' "$out/log" && good && return
    bad "$kernel for sm_$arch $*"
    cat "$out/log"
}
if [ -n "$nvcc" ]; then
    for arch in 75 80 86 89 90a 100 120; do
        compile $arch REID_CONV_F32 -DBM=64 -DBN=64 -DBK=16 -DSCALE=0
        compile $arch REID_CONV_F16 -DVALUE_F16 -DBM=128 -DBN=64 -DBK=32 -DSTAGES=3 -DWARPS_M=2 -DWARPS_N=2 -DSCALE=0
        compile $arch REID_CONV_F16 -DVALUE_F16 -DBM=64 -DBN=32 -DBK=32 -DSTAGES=3 -DWARPS_M=2 -DWARPS_N=2 -DSCALE=1
        for kernel in DEPTHWISE SQUEEZE MAXPOOL POOL NORMALISE; do compile $arch REID_$kernel -DVALUE_F16; done
    done
else
    skipped=1
    echo "skipped: nvcc is missing, nothing was compiled for a real GPU"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
