#!/bin/sh
# ResNet-50 on the CUDA executor against PyTorch's float64, on the emulator.
#
#   sh tests/gpu/t_cuda_resnet.sh                the smallest golden in FP16 and FP32; for latency, and others in FP16,
#                                                in their turn
#   REID_ALL=1 sh tests/gpu/t_cuda_resnet.sh     every golden in both, and in both for latency
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_cuda_resnet
. tests/gpu/cuda_lib.sh
shared_net cuda_net
goldens resnet50 193x101
if all; then golden resnet50 LATENCY=1
else
    ! my_turn || golden resnet50 LATENCY=1 GOLDEN_PRECISION=fp16 GOLDEN_SIZE=193x101
    for size in 224x224 256x128; do ! my_turn || golden resnet50 GOLDEN_PRECISION=fp16 GOLDEN_SIZE=$size; done
fi
say_left_out sizes
finish
