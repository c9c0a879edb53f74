#!/bin/sh
# Networks on the CUDA executor under AddressSanitizer, on the emulator built with it: two at a small size, one of them
# for latency.
#     sh tests/gpu/t_cuda_asan.sh
#     sh tests/gpu/t_cuda_asan.sh --all        and ResNet-50 at 193x101, which t_cuda_resnet has without;
#                                          GOLDEN_SIZE=224x224 takes that size
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_cuda_asan
. tests/gpu/cuda_lib.sh
echo 'int main(void) { return 0; }' > "$out/can.c"
gcc -fsanitize=address "$out/can.c" -o "$out/can" 2>/dev/null && "$out/can" ||
    { echo 'skipped: this gcc has no AddressSanitizer'; exit 77; }
make -s emulator-asan ||
    { bad 'the emulator does not build'; finish; }
compile_net "$out/cuda_net" -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -DREID__SEPARATE_BUFFERS && good || bad 'cuda_net does not compile'
emulator=$emulator/asan cache=$PWD/$out/cache # machine code of this mode
mkdir -p -m 700 "$cache"
LATENCY=1 run "$out/cuda_net" small resnet50-multiscale
run "$out/cuda_net" small efficientnet_b0
[ "${1-}" = --all ] && GOLDEN_SIZE=${GOLDEN_SIZE:-193x101} GOLDEN_PRECISION=fp16 run "$out/cuda_net" golden resnet50
cat "$out/log"
finish
