#!/bin/sh
# Networks on the CUDA executor, on the emulator, with every access of their kernels checked, also for races, and every
# buffer of the plan a separate allocation.
#
#   sh tests/gpu/t_cuda_check.sh                 EfficientNet-B0; t_kernels checks every kernel like this
#   REID_ALL=1 sh tests/gpu/t_cuda_check.sh      multi-scale ResNet-50 too
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_cuda_check
. tests/gpu/cuda_lib.sh
shared_net apart
cache=$PWD/$out/cache # machine code of this mode
mkdir -p -m 700 "$cache"
networks=efficientnet_b0
all && networks="$networks resnet50-multiscale"
for network in $networks; do REID_EMULATOR_CHECK=1 run "$programs/apart" small $network; done
finish
