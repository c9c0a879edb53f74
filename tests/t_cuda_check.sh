#!/bin/sh
# Networks on the CUDA executor, on the emulator, with every access of their kernels checked, races too, and every
# buffer of the plan an allocation of its own.
cd "$(dirname "$0")/.." || exit 1
out=build/tests/t_cuda_check
. tests/cuda_lib.sh
build_net apart -O2 -DREID__SEPARATE_BUFFERS
cache=$PWD/$out/cache # machine code of this mode
mkdir -p -m 700 "$cache"
for network in efficientnet_b0 resnet50-multiscale; do REID_EMULATOR_CHECK=1 run "$out/apart" small $network; done
finish
