#!/bin/sh
# The real NVRTC compiles every program of the networks for every chip that reid.h supports, as reid_pack_kernels does:
# no compile error, no message, no stack, no local memory; on sm_90 no fence for the whole GPU except those allowed, and
# no products one by one. It needs NVRTC, found as the library finds it, but no GPU.
#     sh tests/gpu/t_nvrtc.sh                resnet50 in FP16 for sm_90, and a few of all networks and chips
#     REID_ALL=1 sh tests/gpu/t_nvrtc.sh     everything
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v gcc >/dev/null 2>&1 || { echo "skipped: gcc is missing"; exit 77; }
unset LD_LIBRARY_PATH REID_CACHE_DIR # not the emulator's
out=$PWD/build/tests/t_nvrtc
rm -rf "$out"
mkdir -p "$out"
. tests/lib/check.sh

matrix=$out/nvrtc_matrix
gcc -std=c99 -D_GNU_SOURCE -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I. tests/gpu/nvrtc_matrix.c \
    -o "$matrix" -lm -ldl -lpthread || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }

# It must notice local memory and spills.
"$matrix" check > "$out/check.log" 2>&1
case $? in
0) good ;;
77) head -n 1 "$out/check.log"; echo "skipped: no NVRTC was found"; exit 77 ;;
*) bad "cubins are not read right"; cat "$out/check.log" ;;
esac
tail -n 1 "$out/check.log"
"$matrix" contract > "$out/reid_contract.h" && good || bad "the structures of the kernels cannot be printed"

# It must agree with ptxas.
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
cat > "$out/stack.cu" <<'END'
extern "C" __global__ void stack(float *p, int n, int k) {
    float a[40];
    for (int i = 0; i < 40; i++) a[i] = p[i * n];
    for (int i = 0; i < n; i++) a[(i * k) % 40] += a[i * i % 40];
    p[k] = a[k % 40];
}
END
compare() { # compare ARCH FILE OPTION...: registers and frame as ptxas prints them
    arch=$1 file=$2
    shift 2
    "$nvcc" -std=c++17 -arch="$arch" -cubin -diag-suppress 177 -Xptxas -v -include "$out/reid_contract.h" "$@" \
        "$file" -o "$out/one.cubin" > "$out/one.log" 2>&1
    registers=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$out/one.log")
    frame=$(sed -n 's/.* \([0-9]*\) bytes stack frame.*/\1/p' "$out/one.log")
    said=$("$matrix" read "$out/one.cubin" | head -n 1)
    [ -n "$registers" ] && [ "$said" = "$registers registers, $frame bytes stack frame" ] && good && return
    bad "$file for $arch: read are $said, ptxas says $registers registers and $frame bytes"
}
if [ -n "$nvcc" ]; then
    for arch in sm_75 sm_80 sm_90a sm_120; do
        compare "$arch" "$out/stack.cu"
        compare "$arch" reid_kernels.cu -DREID_LINEAR -DK=2048 -DOC=512 -DOUT_STRIDE=512 -DCHANNEL=0
    done
else
    skip 'nvcc is missing, registers are not compared with what ptxas prints'
fi

# Hopper's instructions must be in the machine code, and fences and products be counted correctly. nvrtc_matrix fails on
# more fences for the whole GPU than are allowed, and on products that ptxas runs one by one. The disassembler is PyPI's
# if CUDA has none.
disasm=$(command -v nvdisasm || ls /usr/local/cuda/bin/nvdisasm 2>/dev/null) python=build/tests/nvdisasm
if [ -n "$nvcc" ] && [ -z "$disasm" ] && command -v pip >/dev/null 2>&1; then
    disasm=$(ls $python/nvidia/cu13/bin/nvdisasm 2>/dev/null) ||
        timeout 60 pip install -q --target $python nvidia-cuda-nvdisasm > "$out/pip.log" 2>&1
    disasm=$(ls $python/nvidia/cu13/bin/nvdisasm 2>/dev/null)
fi
shape='-DREID_CONV_WGMMA -DBLOCKS_M=1 -DGROUPS=2 -DBN=64 -DSTAGES=4 -DSLOTS=4 -DRESIDENT=0 -DSPLIT=1 -DLIGHT=0
    -DROW_SUMS=0 -DNEXT=0 -DMORE_C=0 -DMORE_STRIDE=1 -DIH=14 -DIW=14 -DIC=256 -DOH=14 -DOW=14 -DOC_PADDED=256
    -DKH=3 -DKW=3 -DSTRIDE=1 -DPAD_Y=1 -DPAD_X=1 -DACT=1 -DRESIDUAL=0'
opcodes() { # opcodes OPTIONS OPCODE...: all of them are in a 3x3 convolution
    options=$1
    shift
    # shellcheck disable=SC2086 # several words
    "$nvcc" -std=c++17 -arch=sm_90a -cubin -diag-suppress 177 -include "$out/reid_contract.h" $shape $options \
        reid_kernels.cu -o "$out/one.cubin" &&
        "$disasm" -c "$out/one.cubin" > "$out/one.sass" || bad "no machine code for $options"
    for opcode; do
        grep -qw "$opcode" "$out/one.sass" && good || bad "no $opcode in the machine code for $options"
    done
    said=$("$matrix" read "$out/one.cubin" | tail -n 1)
    fences=$(grep -c 'MEMBAR[.A-Z]*\.\(GPU\|SYS\)\|ERRBAR' "$out/one.sass")
    products=$(grep -c '[HI]GMMA' "$out/one.sass") groups=$(grep -c '[HI]GMMA.*gsb' "$out/one.sass")
    [ "$said" = "$fences fences, $products products, $groups groups" ] && good ||
        bad "read are $said, nvdisasm says $fences, $products, $groups for $options"
}
if [ -n "$nvcc" ] && [ -n "$disasm" ]; then
    opcodes '-DVALUE_F16' HGMMA UTMALDG STSM STG.E.128 SYNCS USETMAXREG
    opcodes '-DVALUE_BF16' 'HGMMA.*F32.BF16' UTMALDG STSM STG.E.128 SYNCS USETMAXREG
    opcodes '-DVALUE_U8 -DBYTES=1 -DSIGNED=0 -DREST_SIGNED=0' IGMMA UTMALDG STSM STG.E.128 SYNCS USETMAXREG F2IP
else
    skip 'no nvcc, or no nvdisasm: nobody looks for HGMMA and TMA in the machine code'
fi

# The matrix. Programs that an earlier line has compiled come from a folder; the seconds are of the others.
mkdir -m 700 "$out/cache"
line() {
    if "$matrix" "$@" "$out/cache" > "$out/line.log" 2>&1; then good; else bad "$*"; fi
    cat "$out/line.log"
    tail -n 1 "$out/line.log" >> "$out/table"
}
echo "network              prec. chip     input   programs  new  CPU s   registers    KB  fences"
line resnet50 fp16 sm_90 224 224
REID_SHARE=40
for arch in sm_90 sm_75 sm_80 sm_86 sm_87 sm_89 sm_100 sm_110 sm_120; do
    for network in resnet50 resnet50-multiscale efficientnet_b0 resnet50-fastreid-gem; do
        for precision in fp16 bf16 fp32 int8 fp16-latency bf16-latency fp32-latency; do
            case $network-$precision-$arch in
            resnet50-fp16-sm_90) ;;                    # the line above
            *-int8-sm_75 | *-bf16*-sm_75 | efficientnet*-int8-*) ;;    # there is none
            *) ! my_turn || line $network $precision $arch 224 224 ;;
            esac
        done
    done
done
line resnet50-ibn-nl-fastreid-gem fp16 sm_90 128 64 # the kernels of instance norm and of non-local blocks
for network in resnet50-ibn-nl-fastreid-gem resnet50-nlhalf-bnneck efficientnetv2_rw_m tf_efficientnetv2_s; do
    for precision in fp16 fp32 bf16; do
        for arch in sm_75 sm_80 sm_90 sm_120; do
            case $precision-$arch in bf16-sm_75) ;; *) ! my_turn || line $network $precision $arch 256 128 ;; esac
        done
    done
done
for network in resnet50 resnet50-multiscale efficientnet_b0 tf_efficientnet_b0; do
    for precision in fp16 fp32; do ! my_turn || line $network $precision sm_90 256 128; done
done
# The shapes decide how reid_expand divides its work, and with it the registers of a thread.
for shape in 'efficientnet_b1 fp16 sm_90 240 240' 'efficientnet_b2 bf16 sm_90 288 288' \
    'efficientnet_b3 fp16 sm_90 300 300' 'efficientnet_b0 fp16 sm_90 128 64'; do
    # shellcheck disable=SC2086 # several words
    ! my_turn || line $shape
done
awk '{ new += $6; seconds += $7 } END { printf "%d programs compiled in %.1f CPU seconds, %.2f each\n", new, seconds,
       seconds / (new ? new : 1) }' "$out/table"
say_left_out 'networks, precisions and chips'
finish
