#!/bin/sh
# Hopper's convolutions, reid_conv_wgmma, on the emulator: every layer of ResNet-50 and EfficientNet that uses them,
# odd sizes, of halves and of bytes, every access checked, planted bugs. A part of t_kernels.sh, which says how.
#     sh tests/gpu/t_wgmma.sh
KERNEL_PARTS='wgmma bytes' exec sh "$(dirname "$0")/t_kernels.sh"
