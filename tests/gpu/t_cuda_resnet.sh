#!/bin/sh
# ResNet-50 on the CUDA executor against PyTorch's float64, on the emulator.
#
#   sh tests/gpu/t_cuda_resnet.sh            every golden in FP16, the smallest in FP32 and in FP16 for latency too
#   sh tests/gpu/t_cuda_resnet.sh --all      every golden in both, and in both for latency
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_cuda_resnet
. tests/gpu/cuda_lib.sh
shared_net cuda_net
goldens resnet50 193x101 ${1-}
if [ "${1-}" = --all ]; then golden resnet50 LATENCY=1
else golden resnet50 LATENCY=1 GOLDEN_PRECISION=fp16 GOLDEN_SIZE=193x101
fi
finish
