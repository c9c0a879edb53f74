#!/bin/sh
# Multi-scale ResNet-50 and EfficientNet on the CUDA executor against PyTorch's float64, on the emulator.
#
#   sh tests/gpu/t_cuda_golden.sh                multi-scale ResNet-50 and EfficientNet-B0 at their smallest size, and
#                                                sometimes one more network or size of those below
#   REID_ALL=1 sh tests/gpu/t_cuda_golden.sh     every golden in both, and networks that differ from these in a detail
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_cuda_golden
. tests/gpu/cuda_lib.sh
shared_net cuda_net
golden resnet50-multiscale GOLDEN_PRECISION=fp16 GOLDEN_SIZE=193x101
goldens efficientnet_b0 107x75
! my_turn || golden efficientnet_b0 LATENCY=1 GOLDEN_PRECISION=fp32 GOLDEN_SIZE=107x75
REID_SHARE=16
while read -r network size; do
    ! my_turn || goldens "$network" "$size"
done <<'END'
efficientnet_b3 96x96
efficientnet_b0 224x224
resnet50-bnneck 256x128
resnet50-fastreid 193x101
resnet50-fastreid-gem 256x128
resnet50-fastreid-512 193x101
resnet50-fastreid-gem-512 256x128
resnet50-layumi 256x128
resnet50-fc512 256x128
resnet50-ibn-nl-fastreid-gem 128x64
resnet50-nlhalf-bnneck 128x64
resnet50-nlhalf-strongbaseline-gem 128x64
resnet50-strongbaseline 193x101
resnet50-ibnb 128x64
resnet50-ibn-bnneck 193x101
tf_efficientnetv2_s 107x75
efficientnetv2_rw_t 96x96
efficientnetv2_rw_s 107x75
tf_efficientnet_b0 107x75
tf_efficientnet_b3 96x96
resnet50-multiscale 224x224
END
say_left_out networks
finish
