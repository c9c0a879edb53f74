#!/bin/sh
# Multi-scale ResNet-50 and EfficientNet on the CUDA executor against PyTorch's float64: every golden, FP32 and FP16, on
# the emulator.
cd "$(dirname "$0")/.." || exit 1
out=build/tests/t_cuda_golden
. tests/cuda_lib.sh
build_net cuda_net -O2
for network in resnet50-multiscale efficientnet_b0 efficientnet_b3; do
    run "$out/cuda_net" golden $network
    cat "$out/log"
done
finish
