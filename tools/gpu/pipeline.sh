#!/bin/sh
# How much of its decoders' pace `reid embed` reaches when a GPU computes, without a GPU: on the emulator's device that
# only takes time (REID_EMULATOR_PACE), with the times of an H200, slowed down as much as this machine decodes more
# slowly than the 16 CPUs beside it. Each program runs in turn with the others. Then the CPU time that an image costs
# `embed` and `serve` on a device without any delay: where the GPU is not the limit, its inverse is their pace.
#
#     sh tools/gpu/pipeline.sh [ROUNDS] [PROGRAM...]      default: 5 build/reid
#
# Needs `make emulator build/reid build/reid-load build/seeded`, curl, and ffmpeg for the images. On the H200's machine,
# 16 decoders made 10,500 images per second of 640x480 and 40,000 of 256x256; 64 images took 1,150 us in ResNet-50's
# graph, some 50 us in each of the kernels around it, and 54 GB/s on their way (tools/results/gpu/README.md).
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-5}
[ $# -lt 1 ] || shift
[ $# -gt 0 ] || set -- build/reid
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
programs=$#
printf '%s\n' "$@" > "$dir/programs"
build/seeded --net efficientnet_b0 -o "$dir/w.safetensors"

# pace PROGRAM FOLDER PACE: images per second
pace() {
    LD_LIBRARY_PATH=build/emulator REID_CACHE_DIR=build/tests/cuda_cache REID_EMULATOR_PACE=$3 "$1" embed \
        -m "$dir/w.safetensors" --raw --size 64x32 --device cuda --batch 64 "$2" -o "$dir/out.npy" --force -q --stats \
        2>&1 | awk '$1 == "write" {print $4}'
}

# in_turn MEASURE PROGRAM...: calls MEASURE PROGRAM NUMBER for each program, in each round.
in_turn() {
    measure=$1 i=0
    shift
    while [ "$i" -lt "$rounds" ]; do
        i=$((i + 1)) which=0
        for program; do
            which=$((which + 1))
            $measure "$program" $which
        done
    done
}

# rows FORMAT NAME...: a row of the table for each program, with the medians of what was measured under these names
rows() {
    format=$1 which=0
    shift
    while [ $which -lt $programs ]; do
        which=$((which + 1))
        printf '%-10s %-28s' "$size" "$(sed -n ${which}p "$dir/programs")"
        # shellcheck disable=SC2059 # a format
        for name; do printf "$format" "$(median < "$dir/$size.$name.$which")"; done
        echo
    done
}

median() { sort -n | awk '{at[NR] = $1} END {print at[int((NR + 1) / 2)]}'; }

# reached PROGRAM NUMBER: its pace with the GPU's times, and without them
reached() {
    alone=$(pace "$1" "$dir/$size" 0,0,1000000)
    slowed=$(awk -v a="$alone" -v t="$theirs" 'BEGIN {f = t / a; print 1150 * f "," 50 * f "," 54 / f}')
    got=$(pace "$1" "$dir/$size" "$slowed")
    echo "$alone" >> "$dir/$size.alone.$2"
    echo "$got" >> "$dir/$size.got.$2"
    awk -v g="$got" -v a="$alone" 'BEGIN {print g / a * 100}' >> "$dir/$size.share.$2"
}

printf '%-10s %-28s %14s %14s %14s\n' IMAGES PROGRAM 'DECODERS /S' 'EMBED /S' 'REACHED, %'
for case in 640x480:600:10500 256x256:2400:40000; do
    size=${case%%:*} theirs=${case##*:} count=${case#*:}
    count=${count%:*}
    mkdir "$dir/$size"
    ffmpeg -loglevel error -f lavfi -i "testsrc2=size=$size:rate=25,noise=alls=12:allf=t" -frames:v "$count" -q:v 4 \
        "$dir/$size/%05d.jpg"
    pace "$1" "$dir/$size" 0,0,1000000 > /dev/null # compiles kernels
    in_turn reached "$@"
    rows ' %14.0f' alone got share
done

# --- CPU time of an image --------------------------------------------------------------------------------------------

export LD_LIBRARY_PATH=build/emulator REID_CACHE_DIR=build/tests/cuda_cache REID_EMULATOR_PACE=0,0,1000000

# embed_cpu PROGRAM INPUT...: milliseconds of CPU time
embed_cpu() {
    # shellcheck disable=SC2016 # of the inner shell
    sh -c '"$@" > /dev/null 2>&1; times' sh "$1" embed -m "$dir/w.safetensors" --raw --size 64x32 --device cuda \
        --batch 64 -o "$dir/out.npy" --force -q "$2" |
        awk 'NR == 2 {gsub(/[ms]/, " "); print ($1 * 60 + $2 + $3 * 60 + $4) * 1000}'
}
ticks() { awk '{print $14 + $15}' "/proc/$1/stat"; }
images() { curl -s --unix-socket "$dir/socket" http://reid/metrics | awk '/^reid_images_total/ {print $2}'; }

# serve_cpu PROGRAM FOLDER RATE: milliseconds of CPU time for an image, with 32 clients
serve_cpu() {
    rm -f "$dir/socket"
    "$1" serve -m "$dir/w.safetensors" --size 64x32 --device cuda --batch 64 --socket "$dir/socket" \
        > "$dir/serve.log" 2>&1 &
    server=$!
    waited=0
    while [ ! -S "$dir/socket" ] && [ "$waited" -lt 100 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    before=$(ticks "$server") done_before=$(images)
    build/reid-load --socket "$dir/socket" --type image/jpeg --connections 32 --rates "$3" --seconds 8 "$2"/*.jpg \
        > "$dir/load.log" 2>&1
    awk -v t="$(($(ticks "$server") - before))" -v n="$(($(images) - done_before))" -v hz="$(getconf CLK_TCK)" \
        'BEGIN {print n ? t / hz / n * 1000 : "none"}'
    kill "$server"
    wait "$server" || true
}

# cpu_time PROGRAM NUMBER: of `embed`, without its start, and of `serve`
cpu_time() {
    awk -v all="$(embed_cpu "$1" "$folder")" -v one="$(embed_cpu "$1" "$folder/00001.jpg")" -v n="$count" \
        'BEGIN {print (all - one) / (n - 1)}' >> "$dir/$size.embed.$2"
    serve_cpu "$1" "$folder" "$rate" >> "$dir/$size.serve.$2"
}

printf '\n%-10s %-28s %14s %14s\n' IMAGES PROGRAM 'EMBED, MS' 'SERVE, MS'
for size in 640x480 256x256; do
    folder=$dir/$size count=$(find "$dir/$size" -name '*.jpg' | wc -l)
    rate=$(awk -v a="$(median < "$dir/$size.alone.1")" 'BEGIN {print int(a / 3)}') # the clients need CPUs, too
    in_turn cpu_time "$@"
    rows ' %14.3f' embed serve
done
