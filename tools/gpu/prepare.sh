# prepare.sh: makes files in advance, on a machine without a GPU, to carry to the one with it: a pack of all GPU kernels
# for sm_90, stb's headers, and the bits that the emulator predicts. A part of tools/gpu_check; common.sh lists the
# variables.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154

# pack_of NAME SETTINGS OPTION...: packs one network's kernels, unless that is done; the compiler's cache is shared.
pack_of() {
    to=$packs/$1 settings=$2
    shift 2
    [ -s "$to" ] && [ -z "$(find reid.h reid_kernels.cu -newer "$to")" ] && return 0
    said=$(limited 500 "pack $to" env $settings build/reid pack -q --chip sm_90 "$@" -o "$to" 2>&1)
    status=$?
    echo "$said"
    line prepare "{\"pack\": $(quoted "$(basename "$to")"), \"ok\": $([ $status -eq 0 ] && echo true || echo false), \
\"said\": $(quoted "$said")}"
    [ $status -eq 0 ] || failures=$((failures + 1))
    merge_packs # so that there is something to carry if the part is stopped
}

# Packs every variant that the parts launch, the most important ones first.
make_packs() {
    for size in 224x224 256x128 64x32; do
        for net in $nets; do
            pack_of "$net.$size.fp16" '' --net "$net" --size $size --precision fp16 --batch 256
            pack_of "$net.$size.latency" '' --net "$net" --size $size --precision fp16 --batch 64 --latency
        done
        pack_of "resnet50.$size.int8" '' --net resnet50 --size $size --precision int8 --batch 256
    done
    for net in $nets; do
        for without in REID_CLUSTERS REID_WGMMA; do # REID_PDL=0 uses the same kernels
            pack_of "$net.224x224.$without" $without=0 --net "$net" --size 224x224 --precision fp16 --batch 256
        done
    done
    for size in 224x224 256x128 64x32; do
        for net in $nets; do pack_of "$net.$size.fp32" '' --net "$net" --size $size --precision fp32 --batch 64; done
    done
    for size in 224x224 64x32; do # bf16: the sizes of the plan in README.md, because every pack has to be carried
        for net in $nets; do
            pack_of "$net.$size.bf16" '' --net "$net" --size $size --precision bf16 --batch 256
            pack_of "$net.$size.bf16.latency" '' --net "$net" --size $size --precision bf16 --batch 64 --latency
        done
    done
    for net in $nets; do
        for without in REID_CLUSTERS REID_WGMMA; do
            pack_of "$net.224x224.bf16.$without" $without=0 --net "$net" --size 224x224 --precision bf16 --batch 256
        done
    done
}

# Merges the packs into one file, which has every program once.
merge_packs() {
    build/gpu/merge_packs "$out/kernels$emulator.pack" "$packs"/* || failures=$((failures + 1))
}

# Predicts the embeddings of two images with the emulator, which sums like Hopper's tensor cores.
predict_bits() {
    use_emulator
    need_pictures 2
    net=resnet50 size=64x32 pack='' embed_seconds=500
    mkdir -p build/gpu/cache-emulator
    for precision in fp16 bf16; do
        kind=''
        [ $precision = fp16 ] || kind=.$precision
        for setting in '' REID_WGMMA=0; do # wgmma, then mma.sync
            with="REID_EMULATOR_SUMS=tensor LD_LIBRARY_PATH=$emulated REID_CACHE_DIR=$PWD/build/gpu/cache-emulator \
$setting"
            if embed predicted "$pictures" --device cuda --precision $precision --raw; then
                cp "$work/predicted.npy" "$out/predicted$kind${setting:+.$setting}.npy"
            else
                failures=$((failures + 1))
            fi
        done
    done
    with='' embed_seconds=''
}

part_prepare() {
    nets=${PREPARE_NETS:-$networks} failures=0 with=''
    need_programs
    [ -n "$emulator" ] && use_emulator && export LD_LIBRARY_PATH="$emulated"
    packs=build/gpu/packs$emulator
    [ -z "${PREPARE_NETS-}" ] || packs=$work/packs
    mkdir -p "$packs" "$out/stb"
    c_program merge_packs
    REID_CACHE_DIR=${REID_CACHE_DIR:-$PWD/build/gpu/cache-packs$emulator}
    export REID_CACHE_DIR
    mkdir -p "$REID_CACHE_DIR"
    for name in stb_image.h stb_image_write.h; do
        found=$(printf '#include <stb/%s>\n' $name | ${CC:-cc} $CPPFLAGS -E -M - 2>/dev/null | tr ' \\' '\n\n' |
            grep "$name\$" | head -n 1)
        if [ -n "$found" ] && [ "$(readlink -f "$found")" != "$(readlink -f "$out/stb/$name")" ]; then
            cp "$found" "$out/stb/$name"
        fi
    done
    if [ -n "${PREPARE_NETS-}" ]; then # a small pack, for tests
        pack_of "$nets.64x32.fp16" '' --net "$nets" --size 64x32 --precision fp16 --batch 2
    else
        predict_bits
        make_packs
    fi
    merge_packs > /dev/null
    table prepare "$(ls -l "$out" | awk 'NR > 1 { print $5, $9 }')"
    return $((failures > 0))
}
