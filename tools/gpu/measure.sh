# measure.sh: the best speeds of the chip, and whether the ways to multiply matrices give the same bits. Parts of
# tools/gpu_check; common.sh lists the variables.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154

# Runs each group of measurements in a process of its own, so that one that fails or hangs does not stop the others. The
# program writes a line of JSON for each result.
part_ceilings() {
    program ceilings
    programs=ceilings failures=0
    if [ "$(capability)" = 90 ]; then
        program fabric
        programs='fabric ceilings'
    fi
    : > "$out/ceilings.txt"
    for measure in $programs; do
        for group in $(build/gpu/$measure --groups); do
            limited 60 "$measure $group" build/gpu/$measure "$group" >> "$out/ceilings.jsonl" \
                2>> "$out/ceilings.txt" && continue
            failures=$((failures + 1))
            table ceilings "FAILED: $measure $group"
        done
    done
    write_model
    return $((failures > 0))
}

# Writes model.json: the measured inputs of the cost model of tiles, by the names in reid.h.
write_model() {
    separator='{'
    for name in l2_to_shared_bytes_per_clock dram_bytes_per_second membar_gpu_clocks cluster_barrier_clocks \
        dsmem_bytes_per_clock wgmma_clocks_m64n256k16; do
        number=$(value $name)
        [ -n "$number" ] || continue
        printf '%s"%s": %s' "$separator" $name "$number"
        separator=', '
    done > "$out/model.part"
    [ ! -s "$out/model.part" ] || { echo '}' >> "$out/model.part"; mv "$out/model.part" "$out/model.json"; }
    rm -f "$out/model.part"
}

# Writes families.json, then families.bf16.json for bf16.
part_families() {
    program families
    one_families families ''
    worst=$?
    [ "$(capability)" -ge 80 ] || return $worst
    program families families_bf16 -DVALUE_BF16
    one_families families_bf16 .bf16 || worst=1
    return $worst
}

one_families() { # one_families PROGRAM SUFFIX
    table families "$1:"
    limited 100 "$1" "build/gpu/$1" > "$out/families.part" 2>> "$out/families.txt"
    ended=$?
    [ $ended -ne 0 ] && [ $ended -ne 1 ] && return 1 # incomplete output is not valid JSON
    mv "$out/families.part" "$out/families$2.json"
    return $ended
}
