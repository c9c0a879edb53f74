#!/bin/sh
# ResNet-50 on the CUDA executor against PyTorch's float64: every golden, FP32 and FP16, on the emulator.
cd "$(dirname "$0")/.." || exit 1
out=build/tests/t_cuda_resnet
. tests/cuda_lib.sh
build_net cuda_net -O2
run "$out/cuda_net" golden resnet50
cat "$out/log"
finish
