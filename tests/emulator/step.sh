#!/bin/sh
# Steps through a kernel of reid_kernels.cu in gdb, on the emulator, without a GPU: builds what is needed, starts a
# small network of seeded weights (64x32 pixels, first in FP32, then in FP16), and stops where the kernel begins.
#
#     sh tests/emulator/step.sh reid_maxpool                          at gdb's prompt: next, step, print threadIdx
#     sh tests/emulator/step.sh 'reid_maxpool if threadIdx.x == 5'    in another thread than the first
#     sh tests/emulator/step.sh reid_maxpool -batch -ex next -ex 'info locals'        without a prompt
#
# NETWORK=efficientnet_b0 takes another network than resnet50, as cuda_net.c names them. A kernel that the network does
# not launch is not stopped at. The kernels are compiled at -O0 from the reid_kernels.cu of this folder, as it is now.
set -eu
cd "$(dirname "$0")/../.."
case ${1-} in
reid_*) ;;
*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
for need in gcc g++ gdb make; do
    command -v $need > /dev/null 2>&1 && continue
    echo "step.sh: $need is not installed (Debian: apt install gcc g++ make gdb)" >&2
    exit 77
done
where=$1
shift
make -s emulator
program=build/emulator/step_net # of this reid.h
[ -n "$(find "$program" -newer reid.h -newer tests/gpu/cuda_net.c 2> /dev/null)" ] ||
    gcc -O0 -g -std=c99 -D_GNU_SOURCE -I. tests/gpu/cuda_net.c -o "$program" -lm -lpthread
kept=$(mktemp -d) # the texts of the kernels, which gdb shows
trap 'rm -rf "$kept"' EXIT
export LD_LIBRARY_PATH=build/emulator REID_EMULATOR_DEBUG=1 REID_EMULATOR_SEED=0 REID_EMULATOR_KEEP="$kept"
export REID_CACHE_DIR="$kept/none" # an own one, empty
gdb -q -ex 'set breakpoint pending on' -ex 'set print inferior-events off' -ex "break $where" \
    -ex "run small ${NETWORK:-resnet50}" "$@" "$program"
