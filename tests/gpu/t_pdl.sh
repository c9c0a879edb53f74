#!/bin/sh
# Launches that overlap (programmatic dependent launch), on the emulator, which lets a kernel begin as early as it may:
# the bits are those without overlap; only the right launches overlap; kernels that do not wait must be noticed.
#     sh tests/gpu/t_pdl.sh                 which launches overlap, one network, and a share of the rest
#     REID_ALL=1 sh tests/gpu/t_pdl.sh      four networks, three orders of blocks, eleven planted bugs
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_pdl
. tests/gpu/cuda_lib.sh
REID_SHARE=12 # a network takes 40 s, with the compiler
shared_net cuda_net

# launches NAME WANT_EX WANT_PLAIN SETTING...: checks whether there are launches of either kind. Packing, before the
# capture, is plain; clusters, which take the other kind as well, are left out.
launches() {
    name=$1 ex=$2 plain=$3
    shift 3
    run env REID_EMULATOR_TRACE=1 GOLDEN_PRECISION=fp16 REID_CLUSTERS=0 "$@" "$programs/cuda_net" small efficientnet_b0
    [ "$(grep -c 'cuLaunchKernelEx = 0' "$out/log")" -gt 0 ] && is=some || is=none
    [ "$(sed -n '/cuStreamBeginCapture/,$p' "$out/log" | grep -c 'cuLaunchKernel = 0')" -gt 0 ] && was=some || was=none
    [ "$is $was" = "$ex $plain" ] && good || bad "$name: overlapping launches: $is, others after packing: $was"
}
launches default some none
launches off none some REID_PDL=0
launches sm_80 none some REID_EMULATOR_ARCH=80
# CUDA 12.2: graphs have no programmatic edges
mkdir -p "$out/cuda12"
ln -sf "$emulator/libcuda.so.1" "$out/cuda12/libcuda.so.1"
ln -sf "$emulator/libnvrtc.so.13" "$out/cuda12/libnvrtc.so.12"
new=$emulator
emulator=$PWD/$out/cuda12
launches cuda_12_2 none some REID_EMULATOR_DRIVER_VERSION=12020 REID_EMULATOR_NVRTC_VERSION=12.2
launches cuda_12_3 some none REID_EMULATOR_DRIVER_VERSION=12030 REID_EMULATOR_NVRTC_VERSION=12.2
emulator=$new

overlap() { # overlap NETWORK SEED...: orders of blocks
    network=$1
    shift
    run env REID_PDL=0 "$programs/cuda_net" small "$network"
    cp "$out/log" "$out/off.said"
    for seed; do
        run env REID_EMULATOR_SEED="$seed" "$programs/cuda_net" small "$network"
        cmp -s "$out/log" "$out/off.said" && good || bad "$network: overlap changes bits"
    done
}
overlap efficientnet_b0 1 2
for network in resnet50-multiscale resnet50 resnet50-fastreid-gem; do ! my_turn || overlap $network 1 2 3; done

# Clusters, of two convolutions' blocks or of those that squeeze an image: without them the same bits.
for network in resnet50 efficientnet_b0; do
    my_turn || continue
    run "$programs/cuda_net" small $network
    cp "$out/log" "$out/clusters.said"
    run env REID_CLUSTERS=0 "$programs/cuda_net" small $network
    cmp -s "$out/log" "$out/clusters.said" && good || bad "$network: clusters change bits"
done

# A kernel that does not wait, in text like reid_kernels.cu, must be noticed; kernels unoptimised, which compile faster.
# None for reid_resize, which always follows a copy or an event, and for the first kernel of a graph: the stem's is seen
# in batches whose graph begins behind it.
# broken NAME NETWORK PRECISION SED_SCRIPT; NETWORK large, large-resnet: EfficientNet-B0, ResNet-50 in large batches
broken() {
    plant_in reid_kernels.cu "$out/$1/reid_kernels.cu" "$4" || bad "$1: the planted bug was not planted"
    my_turn || return
    planted "$1" "$2" "$3" REID_PDL=0 || bad "$1: it is wrong without overlap, too"
    for seed in 1 2 3 4 5; do
        planted "$1" "$2" "$3" REID_EMULATOR_SEED=$seed || { good; return; }
    done
    bad "$1: a kernel that does not wait was not seen"
}
planted() { # planted NAME NETWORK PRECISION SETTING
    case $2 in large) what='bits 0' ;; large-resnet) what='bits 2' ;; *) what="small $2" ;; esac
    # shellcheck disable=SC2086 # two words
    (cd "$out/$1" && env REID_EMULATOR_DEBUG=1 GOLDEN_PRECISION="$3" LD_LIBRARY_PATH="$emulator" "$4" \
        REID_CACHE_DIR="$cache" "$top/$programs/cuda_net" $what) > "$out/log" 2>&1
}
top=$PWD
waits='s/^ *\(wait_for_last\|take_turn\)();$/let_next_begin();/'
broken conv_f16 efficientnet_b0 fp16 "/^reid_conv_f16/,/^}/ $waits"
broken depthwise efficientnet_b0 fp16 "/^reid_depthwise/,/^}/ $waits"
broken expand large fp16 "/^reid_expand/,/^}/ $waits"
broken operands efficientnet_b0 fp16 "/^DEVICE void copy_operands/,/^}/ $waits"
broken stem_pool large-resnet fp16 "/^reid_stem_pool/,/^}/ $waits"
broken residuals resnet50-multiscale fp16 "/^DEVICE void copy_residuals/,/^}/ $waits"
broken linear resnet50-multiscale fp16 "/^reid_linear/,/^}/ $waits"
broken conv_f32 efficientnet_b0 fp32 "/^reid_conv_f32/,/^}/ $waits"
broken squeeze efficientnet_b0 fp16 "/^reid_squeeze/,/^}/ $waits"
broken pool efficientnet_b0 fp16 "/void reid_pool/,/^}/ $waits"
broken maxpool resnet50-multiscale fp32 "/void reid_maxpool/,/^}/ $waits"
say_left_out 'networks and bugs'
finish
