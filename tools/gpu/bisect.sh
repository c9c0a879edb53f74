# bisect.sh: checks every kernel against its definition, each operation and tile in a process of its own, so that a
# broken one is named; and one image in every mode. Parts of tools/gpu_check; common.sh lists the variables.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154

# build_kernels: builds build/gpu/kernels_PART from tests/gpu/kernels_PART.c, with the real driver and NVRTC, or the
# emulator's.
build_kernels() {
    if [ -n "$emulator" ]; then
        use_emulator
        libraries="$emulated/libcuda.so.1 $emulated/libnvrtc.so.13 -Wl,-rpath,$emulated" real=''
    else
        find_nvcc
        cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/lib64
        [ -e "$cuda/libnvrtc.so" ] || skip "$cuda has no libnvrtc.so"
        libraries="-L$cuda/stubs -L$cuda -lcuda -lnvrtc -Wl,-rpath,$cuda" real=-DREAL_GPU
    fi
    for part in $1; do
        program=build/gpu/kernels_$part$emulator
        [ -x "$program" ] && newer=$(find reid.h tests/gpu/kernels_* tests/emulator/*.h -newer "$program") &&
            [ -z "$newer" ] && continue
        ${CC:-cc} -O2 -std=c99 -D_GNU_SOURCE $real -Itests/emulator -I. "tests/gpu/kernels_$part.c" -o "$program.new" \
            $libraries -lm -ldl -lpthread && mv "$program.new" "$program" &
    done
    wait
    c_program each_case
}

# BISECT_PARTS, _MATCH, _SECONDS and _KERNELS (a folder with another reid_kernels.cu) in the environment restrict it.
part_bisect() {
    parts=${BISECT_PARTS:-conv wgmma bytes rest image pack}
    arch=${REID_EMULATOR_ARCH:-90}
    [ -n "$emulator" ] || arch=$(capability)
    [ -n "$arch" ] || skip 'nvidia-smi finds no GPU'
    [ "$arch" = 90 ] || parts=$(echo " $parts " | sed 's/ wgmma / /; s/ bytes / /')
    build_kernels "$parts"
    programs=''
    for part in $parts; do programs="$programs build/gpu/kernels_$part$emulator"; done
    if [ "$arch" -ge 80 ]; then # last, so that all others are done if time runs out
        programs="$programs HALVES=bf16"
        for part in $parts; do
            [ "$part" = bytes ] || programs="$programs build/gpu/kernels_$part$emulator"
        done
    fi
    jobs=$(($(cores) / 2))
    [ $jobs -gt 0 ] || jobs=1
    [ $jobs -lt 8 ] || jobs=8 # they share one GPU
    REID_EMULATOR_ARCH=$arch build/gpu/each_case --seconds "${BISECT_SECONDS:-20}" --jobs $jobs \
        --total $(($(left) - 20)) ${BISECT_MATCH:+--match "$BISECT_MATCH"} ${BISECT_KERNELS:+--in "$BISECT_KERNELS"} \
        --out "$out/bisect.jsonl" $programs > "$out/bisect.txt"
}

# one_mode SETTINGS OPTION...: compares the embedding of one image with the CPU's
one_mode() {
    with=$1
    shift
    mode_name=${with:-default}
    case " $* " in *' --latency '*) mode_name="$mode_name, --latency" ;; esac
    embed gpu "$few" --device cuda --precision "$precision" "$@"
    ended=$?
    said=$(build/gpu/compare "$work/gpu.npy" "$work/$against.npy" --cosine "$keep" 2>&1)
    status=$?
    [ $ended -eq 0 ] || said="exit status $ended$([ $ended -ne 124 ] || echo ': it hung')" status=1
    [ $status -eq 0 ] || failures=$((failures + 1))
    ok=$([ $status -eq 0 ] && echo true || echo false)
    line modes "{\"net\": \"$net\", \"precision\": \"$precision\", \"mode\": \"$mode_name\", \"ok\": $ok, \
\"found\": $(quoted "$said")}"
    table modes "$(printf '%-7s %-20s %-5s %-28s %s' "$([ $status -eq 0 ] && echo ok || echo FAILED)" "$net" \
        "$precision" "$mode_name" "$said")"
    if [ $status -ne 0 ] && [ $ended -ne 124 ]; then
        with="$with REID_SYNC=1"
        if embed blamed "$few" --device cuda --precision "$precision" "$@" > "$work/blamed" 2>&1; then
            echo 'no operation fails with REID_SYNC=1' > "$work/blamed"
        fi
        table modes "        $(tail -n 1 "$work/blamed")"
        line modes "{\"net\": \"$net\", \"precision\": \"$precision\", \"mode\": \"$mode_name, REID_SYNC=1\", \
\"ok\": false, \"found\": $(quoted "$(tail -n 1 "$work/blamed")")}"
    fi
    with=''
}

# Tries one image in every mode of every network.
part_modes() {
    nets=$networks failures=0 with=''
    [ -z "$emulator" ] || nets=${MODES_NETS:-efficientnet_b0}
    need_command
    need_pictures 40
    few=$work/few size=224x224
    [ -z "$emulator" ] || size=64x32
    head -n 1 "$pictures" > "$few"
    for net in $nets; do
        precision=fp32 against=cpu.$net
        embed "$against" "$few" --device cpu || { failures=$((failures + 1)); continue; }
        keep=0.99999
        one_mode ''
        precision=fp16 keep=0.9999
        for settings in '' REID_CLUSTERS=0 REID_PDL=0 REID_WGMMA=0 'REID_WGMMA=0 REID_PDL=0'; do
            one_mode "$settings"
        done
        one_mode '' --latency
        case $net in resnet50*) ;; *) continue ;; esac
        [ -z "$emulator" ] || continue
        make_ranges "$pictures" || { failures=$((failures + 1)); continue; }
        precision=int8 against=int8
        set -- --ranges "$work/ranges.safetensors" --no-fallback
        embed int8 "$few" --device cpu --precision int8 "$@"
        for settings in '' REID_WGMMA=0; do one_mode "$settings" "$@"; done
        one_mode '' --latency "$@"
    done
    [ -n "$emulator" ] || [ "$(capability)" -ge 80 ] || return $((failures > 0))
    precision=bf16 keep=0.9936 # angles eight times FP16's: see `tolerance` in correct.sh
    for net in $nets; do # last, so that the others are done if time runs out
        against=cpu.$net
        [ -s "$work/$against.npy" ] || continue
        for settings in '' REID_CLUSTERS=0 REID_WGMMA=0; do one_mode "$settings"; done
        one_mode '' --latency
    done
    return $((failures > 0))
}
