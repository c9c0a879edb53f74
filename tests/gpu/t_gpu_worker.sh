#!/bin/sh
# t_gpu_worker.sh: a reid worker whose GPU is lost midway: computed requests are answered, the others get the error, and
# exit status 75 makes a scheduler restart it. It also exits so if the GPU has no memory for the network.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/tests/t_gpu_worker
. tests/gpu/cuda_lib.sh
mkdir -p "$out"
log=$out/said
make -s build/reid build/seeded > "$log" 2>&1 && good || { bad 'the command is not built'; finish; }
build/seeded --net efficientnet_b0 -o "$out/w" || exit 1
for _ in 1 2 3 4 5 6; do # frames: 22 bytes of header, 13 + 4800 of an image
    printf '\026\000\000\000\315\022\000\000{"ask":"embed","id":1}P6 40 40 255\n'
    head -c 4800 reid_kernels.cu
done > "$out/frames"

# worker STATUS OK FAILED SETTING: how many answers have the status 200 and 500. FAILED may be LEAST-MOST: a worker
# whose GPU is lost reads no more requests, and answers those that it has read by then.
worker() {
    env "$4" LD_LIBRARY_PATH="$emulator" REID_CACHE_DIR="$cache" build/reid worker -m "$out/w" --device cuda \
        --size 32x32 --batch 1 --lanes 1 < "$out/frames" > "$out/answers" 2> "$log"
    got=$? computed=$(grep -ac '"status": 200' "$out/answers") lost=$(grep -aco '"status": 500' "$out/answers")
    [ "$got $computed" = "$1 $2" ] && [ "$lost" -ge "${3%-*}" ] && [ "$lost" -le "${3#*-}" ] && good ||
        bad "$4: status $got, $computed computed, $lost failed"
}
said() { if shows "$1" "$log"; then good; else bad "it says: $1"; fi; }

worker 0 6 0 REID_EMULATOR_SEED=0
worker 75 2 1-4 REID_EMULATOR_FAIL=cuGraphLaunch:3:719
said 'the GPU is lost'
worker 75 0 0 REID_EMULATOR_FAIL=cuMemAlloc:1+
said 'memory'
finish
