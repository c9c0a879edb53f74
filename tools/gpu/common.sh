# common.sh: functions shared by the parts of tools/gpu_check, which sources it from the top of the repository with
# these variables: $out (results), $work (a folder for this part), $emulator (empty, or "-emulator"), $carried (a folder
# with prepared files), $quick (empty, or 1), $limit and $began (seconds for the part, and when it began).
# shellcheck shell=sh disable=SC2034,SC2086,SC2154 # variables of the sourcing script; words without spaces

skip() { # skip WHY: skips the part
    echo "skipped: $1"
    exit 77
}

left() { echo $((limit - ($(date +%s) - began))); } # seconds that this part still has

# line PART JSON: appends a line to the part's results. A single write, so that the line is never incomplete.
line() { printf '%s\n' "$2" >> "$out/$1.jsonl"; }

# table PART TEXT: appends a line to the table for people
table() { printf '%s\n' "$2" >> "$out/$1.txt"; }

# quoted TEXT: prints it as a JSON string
quoted() {
    printf '"%s"' "$(printf '%s' "$1" | tr '\n\t' '  ' | tr -d '\000-\037\177-\377' | sed 's/["\\]/\\&/g')"
}

# limited SECONDS MODE COMMAND...: runs the command, and kills it when it takes longer. A mode ("resnet50 fp16
# REID_PDL=0") in which a command hung is written to $out/hung, and is not tried again: status 125. Otherwise the
# command's status; 124 if it hung.
limited() {
    seconds=$1 mode=$2
    shift 2
    if grep -qxF -e "$mode" "$out/hung" 2>/dev/null; then
        echo "skipped: \"$mode\" hung before: $*" >&2
        ended=125
        return 125
    fi
    [ "$seconds" -gt 0 ] || seconds=1 # timeout takes 0 for no limit
    timeout --foreground -k 5 "$seconds" "$@"
    ended=$?
    case $ended in
    124 | 137)
        echo "$mode" >> "$out/hung"
        echo "HUNG for $seconds s: $mode: $*" | tee -a "$out/hung.log" >&2
        return 124
        ;;
    esac
    return $ended
}

# value NAME: prints a number from ceilings.jsonl, or from that of an earlier call in $carried
value() {
    cat "$carried/ceilings.jsonl" "$out/ceilings.jsonl" 2>/dev/null |
        sed -n "s/.*\"name\": \"$1\", \"value\": \([0-9.e+-]*\),.*/\1/p" | tail -n 1
}

# --- programs ---

find_nvcc() {
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || skip 'no nvcc here'
}

# prints the compute capability, for example 90; nothing without a GPU
capability() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. '
}

# Prints the compiler options for this GPU: Hopper's own instructions need sm_90a.
nvcc_target() {
    case $(capability) in
    '') skip 'nvidia-smi finds no GPU' ;;
    90) echo '-gencode arch=compute_90a,code=sm_90a -DSM90A' ;;
    *) echo "-arch=sm_$(capability)" ;;
    esac
}

# program NAME [BINARY OPTION...]: builds build/gpu/NAME, or BINARY, from tools/gpu/NAME.cu
program() {
    source=tools/gpu/$1.cu
    [ $# -eq 1 ] || shift
    binary=build/gpu/$1
    shift
    [ -z "$emulator" ] || skip 'needs a real GPU'
    find_nvcc
    target=$(nvcc_target) || { echo "$target"; exit 77; }
    "$nvcc" -O2 -std=c++17 $target "$@" "$source" -o "$binary" -ldl || exit 1
}

# c_program NAME: builds build/gpu/NAME from tools/gpu/NAME.c, unless that is done. Some include all of reid.h,
# which takes long to compile.
c_program() {
    [ ! -x "build/gpu/$1" ] || [ -n "$(find "tools/gpu/$1.c" reid.h -newer "build/gpu/$1")" ] || return 0
    ${CC:-cc} -O2 -std=c99 -D_GNU_SOURCE ${CPPFLAGS-} "tools/gpu/$1.c" -o "build/gpu/$1.new" -lm -lpthread -ldl &&
        mv "build/gpu/$1.new" "build/gpu/$1" || exit 1
}

use_emulator() { # builds the emulator; $emulated: the folder of its libraries
    ${MAKE:-make} -s emulator || exit 1
    emulated=$PWD/build/emulator
}

cores() { nproc 2>/dev/null || echo 2; }

# Finds stb's headers in $carried, if they are there.
find_stb() {
    if [ -f "$carried/stb/stb_image.h" ]; then CPPFLAGS="-I$carried ${CPPFLAGS-}"; fi
    export CPPFLAGS="${CPPFLAGS-}"
}

make_command() {
    if echo '#include <stb/stb_image.h>' | ${CC:-cc} $CPPFLAGS -E - >/dev/null 2>&1; then
        ${MAKE:-make} -s -j"$(cores)" build/reid build/seeded build/demo_images || exit 1
    elif ! [ -x build/reid ] || ! [ -x build/seeded ] || ! [ -x build/demo_images ]; then
        skip 'stb/stb_image.h is missing (libstb-dev): name the folder that has stb/, CPPFLAGS=-I… or --carried'
    fi
}

# Builds what needs no GPU: the reid command, weights, comparison programs. $nets: the networks.
need_programs() {
    find_stb
    make_command
    c_program compare
    for net in $nets; do
        weights=build/gpu/$net.safetensors
        [ -s "$weights" ] || build/seeded --net "$net" -o "$weights" || exit 1
    done
}

need_command() { # also needs a GPU, or the emulator
    [ -n "$emulator" ] || nvidia-smi >/dev/null 2>&1 || skip 'nvidia-smi finds no GPU'
    need_programs
    c_program search
    if [ -n "$emulator" ]; then
        use_emulator
        export LD_LIBRARY_PATH="$emulated"
    fi
    REID_CACHE_DIR=${REID_CACHE_DIR:-$PWD/build/gpu/cache$emulator}
    export REID_CACHE_DIR
    mkdir -p "$REID_CACHE_DIR"
    pack=''
    [ ! -s "$carried/kernels$emulator.pack" ] || pack="--pack $carried/kernels$emulator.pack"
}

need_pictures() { # need_pictures COUNT: makes the lists $pictures and $backwards
    pictures=$work/pictures backwards=$work/backwards
    [ -d build/gpu/pictures ] || build/demo_images build/gpu/pictures > /dev/null || exit 1
    find build/gpu/pictures -name '*.png' | sort | head -n "$1" > "$pictures"
    sed '1!G;h;$!d' "$pictures" > "$backwards"
}

# --- embeddings ---

# mode_of WORD...: prints the mode for `limited`: network, precision and settings ($with, NAME=VALUE words)
mode_of() { echo "$net $precision ${with-}${*:+ $*}" | sed 's/  */ /g; s/ $//'; }

# embed NAME LIST OPTION...: makes $work/NAME.npy, with the variables of $with in the environment
embed() {
    name=$1 list=$2
    shift 2
    embed_mode=$(mode_of "$(echo " $* " | sed -n 's/.* \(--latency\) .*/\1/p')")
    case " $* " in
    *' --device cpu '*) embed_mode="$net on the CPU" packed='' ;;
    *) packed="${pack-} ${kernels-}" ;;
    esac
    rm -f "$work/$name.npy" "$work/$name.ids.txt" "$work/$name.meta.json"
    limited "${embed_seconds:-60}" "$embed_mode" env ${with-} build/reid embed -q -m "build/gpu/$net.safetensors" \
        --size "$size" $packed "$@" - -o "$work/$name.npy" < "$list"
}

# make_ranges LIST: measures INT8's ranges for $net at $size, on these images
make_ranges() {
    limited 120 "$net ranges" xargs build/reid calibrate --int8 -q -m "build/gpu/$net.safetensors" --size "$size" \
        --device cpu -o "$work/ranges.safetensors" < "$1" > /dev/null
}
