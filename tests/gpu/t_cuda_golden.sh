#!/bin/sh
# Multi-scale ResNet-50 and EfficientNet on the CUDA executor against PyTorch's float64, on the emulator.
#
#   sh tests/gpu/t_cuda_golden.sh            EfficientNet-B0's goldens in FP16, its smallest in FP32 too; the smallest of
#                                        multi-scale ResNet-50 in both (t_cuda_resnet.sh has that trunk), B3's in FP16
#   sh tests/gpu/t_cuda_golden.sh --all      every golden in both, and the networks that differ from these in a detail
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_cuda_golden
. tests/gpu/cuda_lib.sh
shared_net cuda_net
case ${1-} in
--all) goldens resnet50-multiscale 193x101 --all ;;
*)
    for precision in fp16 fp32; do golden resnet50-multiscale GOLDEN_PRECISION=$precision GOLDEN_SIZE=193x101; done
    golden efficientnet_b3 GOLDEN_PRECISION=fp16 GOLDEN_SIZE=96x96
    ;;
esac
goldens efficientnet_b0 107x75 ${1-}
golden efficientnet_b0 LATENCY=1 GOLDEN_PRECISION=fp32 GOLDEN_SIZE=107x75
if [ "${1-}" = --all ]; then
    goldens efficientnet_b3 96x96 --all
    goldens resnet50-bnneck 256x128 --all
    goldens resnet50-fastreid 193x101 --all
    goldens resnet50-fastreid-gem 256x128 --all
    goldens resnet50-fastreid-512 193x101 --all
    goldens resnet50-fastreid-gem-512 256x128 --all
    goldens resnet50-layumi 256x128 --all
    goldens resnet50-fc512 256x128 --all
    goldens tf_efficientnet_b0 107x75 --all
    goldens tf_efficientnet_b3 96x96 --all
fi
finish
