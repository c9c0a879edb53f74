#!/bin/sh
# How much of its decoders' pace `reid embed` reaches when a GPU computes, without a GPU: on the emulator's device that
# only takes time (REID_EMULATOR_PACE), with the times of an H200, slowed down as much as this machine decodes more
# slowly than the 16 CPUs beside it. Each program runs in turn with the others.
#
#     sh tools/gpu/pipeline.sh [ROUNDS] [PROGRAM...]      default: 5 build/reid
#
# Needs `make emulator build/reid build/seeded`, and ffmpeg for the images. On the H200's machine, 16 decoders made
# 10,500 images per second of 640x480 and 40,000 of 256x256; 64 images took 1,150 us in ResNet-50's graph, some 50 us
# in each of the kernels around it, and 54 GB/s on their way (tools/results/gpu/README.md).
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-5}
[ $# -lt 1 ] || shift
[ $# -gt 0 ] || set -- build/reid
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
build/seeded --net efficientnet_b0 -o "$dir/w.safetensors"

# pace PROGRAM FOLDER PACE: images per second
pace() {
    LD_LIBRARY_PATH=build/emulator REID_CACHE_DIR=build/tests/cuda_cache REID_EMULATOR_PACE=$3 "$1" embed \
        -m "$dir/w.safetensors" --raw --size 64x32 --device cuda --batch 64 "$2" -o "$dir/out.npy" --force -q --stats \
        2>&1 | awk '$1 == "write" {print $4}'
}

median() { sort -n | awk '{at[NR] = $1} END {print at[int((NR + 1) / 2)]}'; }

printf '%-10s %-28s %12s %12s %6s\n' IMAGES PROGRAM 'DECODERS /S' 'EMBED /S' REACHED
for case in 640x480:600:10500 256x256:2400:40000; do
    size=${case%%:*} theirs=${case##*:} count=${case#*:}
    count=${count%:*}
    mkdir "$dir/$size"
    ffmpeg -loglevel error -f lavfi -i "testsrc2=size=$size:rate=25,noise=alls=12:allf=t" -frames:v "$count" -q:v 4 \
        "$dir/$size/%05d.jpg"
    pace "$1" "$dir/$size" 0,0,1000000 > /dev/null # compiles kernels
    i=0
    while [ "$i" -lt "$rounds" ]; do
        i=$((i + 1)) which=0
        for program; do
            which=$((which + 1))
            alone=$(pace "$program" "$dir/$size" 0,0,1000000)
            slowed=$(awk -v a="$alone" -v t="$theirs" 'BEGIN {f = t / a; print 1150 * f "," 50 * f "," 54 / f}')
            got=$(pace "$program" "$dir/$size" "$slowed")
            echo "$alone" >> "$dir/$size.alone.$which"
            echo "$got" >> "$dir/$size.got.$which"
            awk -v g="$got" -v a="$alone" 'BEGIN {print g / a}' >> "$dir/$size.share.$which"
        done
    done
    which=0
    for program; do
        which=$((which + 1))
        printf '%-10s %-28s %12.0f %12.0f %6.2f\n' "$size" "$program" "$(median < "$dir/$size.alone.$which")" \
            "$(median < "$dir/$size.got.$which")" "$(median < "$dir/$size.share.$which")"
    done
done
