# bench.sh: reid bench in all cells, in the first mode that works; cold and cached starts; exact search; A and B. Lines
# of bench.jsonl, ab.jsonl and tune.jsonl: {"in": GROUP, "is": CELL}. Parts of tools/gpu_check; common.sh lists the
# variables.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154

# bench_cells NET SIZE PRECISION PEAK_GFLOPS OPTION...: adds cells to the group $group
bench_cells() {
    net=$1 size=$2 precision=$3 gflops=$4
    shift 4
    [ ! -f "$work/mode.$net" ] || with="$(cat "$work/mode.$net") $more"
    [ "$precision" != bf16 ] || with="$(cat "$work/mode.$net.bf16") $more"
    if [ "$(left)" -lt 40 ]; then
        echo "no time left for $net $size $precision $*"
        failures=$((failures + 1))
        return 1
    fi
    set -- "$@" ${gflops:+--peak-gflops "$gflops"} ${gbs:+--peak-gbs "$gbs"} $pack
    rm -f "$work/bench.json"
    if limited 90 "$(mode_of "$(echo " $* " | sed -n 's/.* \(--latency\) .*/\1/p')")$version" env $with $reid bench \
        -m "build/gpu/$net.safetensors" --device cuda --size "$size" --precision "$precision" "$@" \
        --output "$work/bench.json"; then
        sed -n 's/^ *\({"net".*}\),\{0,1\}$/{"in": "'"$group"'", "is": \1}/p' "$work/bench.json" |
            tee "$work/cells" >> "$out/$results.jsonl"
        table_of_cells "$work/cells" >> "$out/$results.txt"
    else
        failures=$((failures + 1))
        return 1
    fi
}

# Prints the rows of the table from a file of cells, one per line.
table_of_cells() {
    awk '{ sub(/^{"in": "[^"]*", "is": /, "")
           for (i = 1; i <= 10; i++) { match($0, /"[a-z_]+": ("[^"]*"|[0-9.e+-]+|null)/)
               pair = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
               split(pair, part, ": "); gsub(/"/, "", part[1]); gsub(/"/, "", part[2]); v[part[1]] = part[2] }
           printf "%-20s %-8s %-5s %4d %10.3f ms %10.1f images/s\n", v["net"], v["size"], v["precision"], v["batch"],
               v["ours_ms"], 1000 * v["batch"] / v["ours_ms"] }' "$1"
}

# works NET SETTINGS PRECISION: whether the embeddings of 64 images agree with the CPU's, in small batches and in a
# large one. Angles in bf16 are eight times those in FP16: see `tolerance` in correct.sh.
works() {
    net=$1 with=$2 size=224x224 precision=$3 near=0.9999
    [ "$precision" != bf16 ] || near=0.9936
    [ -z "$emulator" ] || size=64x32
    [ -s "$work/$net.cpu.npy" ] || embed "$net.cpu" "$pictures" --device cpu || return 1
    for batch in 1 64; do
        embed gpu "$pictures" --device cuda --precision "$precision" --batch $batch || return 1
        build/gpu/compare "$work/gpu.npy" "$work/$net.cpu.npy" --cosine $near || return 1
    done
}

# choose_mode NET [bf16]: finds the first settings that give correct results, for all cells of the network. Writes them
# to $work/mode.NET or mode.NET.bf16.
choose_mode() {
    for settings in '' REID_CLUSTERS=0 REID_PDL=0 'REID_CLUSTERS=0 REID_PDL=0' REID_WGMMA=0 \
        'REID_WGMMA=0 REID_PDL=0'; do
        if works "$1" "$settings" "${2:-fp16}"; then good=true word=works; else good=false word='does not work'; fi
        line $results "{\"in\": \"modes\", \"is\": {\"net\": \"$1\", \"precision\": \"${2:-fp16}\", \
\"settings\": \"$settings\", \"works\": $good}}"
        table $results "$1${2:+ $2}, mode \"${settings:-default}\": $word"
        with=''
        [ $good = true ] || continue
        echo "$settings" > "$work/mode.$1${2:+.$2}"
        return 0
    done
    return 1
}

# $nets: the networks that work in some mode.
choose_modes() {
    able=''
    for each in $nets; do
        if choose_mode "$each"; then able="${able:+$able }$each"; else failures=$((failures + 1)); fi
    done
    nets=$able
}

# INT8, with ranges from a few of the images.
bench_int8() {
    net=resnet50
    [ -f "$work/mode.$net" ] || return 0
    with=$(cat "$work/mode.$net")
    awk 'NR % 8 == 1' "$pictures" > "$work/eighth"
    for size in 224x224 256x128; do
        make_ranges "$work/eighth" || { failures=$((failures + 1)); return; }
        bench_cells $net $size int8 "${half:+$(awk "BEGIN { print 2 * $half }")}" --batches 1,8,32,128,256 --ops \
            --ranges "$work/ranges.safetensors"
    done
}

# bf16, last: the kernels of FP16 with another element type, predicted to take as long. The most important cells come
# first.
bench_bf16() {
    for net in $nets; do
        [ "$(left)" -gt 60 ] || { echo "no time left for $net bf16"; failures=$((failures + 1)); return; }
        choose_mode "$net" bf16 || { failures=$((failures + 1)); continue; }
        group=cells
        bench_cells "$net" 224x224 bf16 "$half" --batches 1,256 && beside_fp16 cells
    done
    for net in resnet50 efficientnet_b0; do
        [ -f "$work/mode.$net.bf16" ] || continue
        group=latency
        bench_cells "$net" 224x224 bf16 "$half" --batches 1 --latency && beside_fp16 latency
        group=without_wgmma more=REID_WGMMA=0
        [ "$(capability)" != 90 ] || ! bench_cells "$net" 224x224 bf16 "$half" --batches 1,256 ||
            beside_fp16 without_wgmma
        more='' group=cells
        bench_cells "$net" 224x224 bf16 "$half" --batches 8,32,128 && beside_fp16 cells
    done
}

# beside_fp16 GROUP: ratios of the latest bf16 cells to the FP16 cells of the same group
beside_fp16() {
    sed -n "s/^{\"in\": \"$1\", \"is\": \(.*\)}\$/\1/p" "$out/$results.jsonl" |
        awk -v from="$1" -v last="$(cat "$work/cells")" '
            function value(name,    at) {
                if (!match($0, "\"" name "\": (\"[^\"]*\"|[0-9.e+-]+)")) return ""
                at = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
                gsub(/"/, "", at)
                return at
            }
            { cell = value("net") " " value("size") " " value("batch") }
            value("precision") == "fp16" { fp16[cell] = value("ours_ms") }
            value("precision") == "bf16" && cell in fp16 && index(last, $0) {
                printf "{\"in\": \"beside_fp16\", \"is\": {\"group\": \"%s\", \"net\": \"%s\", \"size\": \"%s\", " \
                       "\"batch\": %d, \"fp16_ms\": %s, \"bf16_ms\": %s, \"ratio\": %.4f, \"predicted\": 1}}\n", from,
                    value("net"), value("size"), value("batch"), fp16[cell], value("ours_ms"),
                    value("ours_ms") / fp16[cell] }' > "$work/ratios"
    cat "$work/ratios" >> "$out/$results.jsonl"
    tr -d '{}",:' < "$work/ratios" | awk '{ printf "    bf16 over fp16, batch %d: %.3f (predicted 1)\n", $11, $17 }' \
        >> "$out/$results.txt"
}

# Milliseconds from reid_create to the first embedding, of the first handle in the file.
first_start() { sed -n 's/.*"start_ms": \[\([0-9.e+]*\).*/\1/p' "$work/bench.json" | head -n 1; }

# one_start FOLDER NET: milliseconds to the first embedding in a new process, which keeps compiled kernels in that
# folder
one_start() {
    with=$(cat "$work/mode.$2")
    limited 90 "$2 fp16 start" env $with REID_CACHE_DIR="$1" $reid bench -m "build/gpu/$2.safetensors" \
        --device cuda --precision fp16 --batches 1 --rounds 1 --start 1 --output "$work/bench.json" >/dev/null &&
        first_start
}

# starts_of NET: time from reid_create to the first embedding, with and without cached kernels
starts_of() {
    rm -rf "$work/cache"
    mkdir "$work/cache"
    cold=$(one_start "$work/cache" "$1") cached=$(one_start "$work/cache" "$1")
    [ -n "$cached" ] || { failures=$((failures + 1)); return; }
    line $results "{\"in\": \"starts\", \"is\": {\"net\": \"$1\", \"precision\": \"fp16\", \"batch\": 1, \
\"cold_ms\": $cold, \"cached_ms\": $cached}}"
    table $results "$(printf '%-20s first start %s ms, later ones %s ms' "$1" "$cold" "$cached")"
}

# Exact search in a million rows of 512: cells, and lines of the table.
bench_search() {
    if limited 120 search build/gpu/search bench reid_kernels.cu 1000000 512 "${gbs:-0}" "${half:-0}" 1 32 1000 \
        > "$work/search"; then
        sed 's/^ *\({.*}\),\{0,1\}$/{"in": "search", "is": \1}/' "$work/search" >> "$out/$results.jsonl"
        tr -d '{}",:' < "$work/search" |
            awk '{ printf "search %sx%s fp16, %d queries: %.3f ms, rows at %s GB/s\n", $2, $4, $8, $12, $14 }' \
                >> "$out/$results.txt"
    else
        failures=$((failures + 1))
    fi
}

# Benchmarks calls with one image, or a few.
bench_latency() {
    group=latency
    table $results "with --latency:"
    for net in $nets; do
        for size in 224x224 256x128; do bench_cells "$net" $size fp16 "$half" --batches 1,8 --latency; done
    done
}

# bench_without WHAT GROUP BATCHES OPTION...: benchmarks with REID_WHAT=0, for networks that work with it
bench_without() {
    more=REID_$1=0 group=$2
    shift 2
    table $results "with $more:"
    for net in resnet50 efficientnet_b0; do
        [ -f "$work/mode.$net" ] && [ -z "$(cat "$work/mode.$net")" ] || continue
        bench_cells "$net" 224x224 fp16 "$half" --batches "$@"
    done
    more=''
}

# Benchmarks after measuring every tile, with a separate cache; tiles.txt: the cost model's tiles and the fastest ones.
part_tune() {
    [ -z "$emulator" ] || skip 'times on the emulator would mean nothing'
    nets=resnet50
    need_bench tune
    group=tuned
    mkdir -p "$work/tiles"
    export REID_CACHE_DIR="$work/tiles"
    limited 330 'resnet50 fp16 --tune' $reid bench --tune -m build/gpu/resnet50.safetensors --precision fp16 \
        > "$out/tiles.txt" || failures=$((failures + 1))
    cp "$work/tiles/tiles" "$out/tiles" 2>/dev/null
    table $results "with measured tiles:"
    bench_cells resnet50 224x224 fp16 "$half" --batches 1,8,32,128,256 --ops
    profile_slowest
    return $((failures > 0))
}

# Hardware counters of the first 40 launches of convolutions, in batches of 256.
profile_slowest() {
    command -v ncu >/dev/null || { echo 'no ncu here'; return; }
    limited 150 'resnet50 fp16 ncu' ncu --clock-control none --target-processes all --set basic --section SpeedOfLight \
        --section MemoryWorkloadAnalysis --section WarpStateStats --kernel-name regex:reid_conv \
        --launch-count 40 --csv --page raw env REID_SYNC=1 $reid bench -m build/gpu/resnet50.safetensors \
        --device cuda --precision fp16 --batches 256 --rounds 1 > "$out/ncu.csv" || failures=$((failures + 1))
}

need_bench() { # need_bench PART: the part that gets the results
    results=$1
    need_command
    need_pictures 64
    reid=build/reid failures=0 with='' more='' version='' group=cells
    gbs=$(value copy_kernel) half=$(value wgmma_n256_shared) single=$(value ffma)
    [ -n "$half" ] || half=$(value mma_m16n8k16)
    gbs=${gbs:+$(awk "BEGIN { print 1000 * $gbs }")} half=${half:+$(awk "BEGIN { print 1000 * $half }")}
    single=${single:+$(awk "BEGIN { print 1000 * $single }")}
}

part_bench() {
    [ -z "$emulator" ] || [ -n "${BENCH_EMULATED-}" ] || skip 'times on the emulator would mean nothing'
    nets=${BENCH_EMULATED:-$networks}
    need_bench bench
    [ -z "$emulator" ] || head -n 2 "$pictures" > "$pictures.few"
    [ -z "$emulator" ] || mv "$pictures.few" "$pictures"
    choose_modes
    [ -n "$nets" ] || { echo 'no network works in any mode'; return 1; }
    if [ -n "$emulator" ]; then
        bench_cells "$nets" 64x32 fp16 '' --batches 1 --rounds 1
        choose_mode "$nets" bf16 && bench_cells "$nets" 64x32 bf16 '' --batches 1 --rounds 1 && beside_fp16 cells
        return $((failures > 0))
    fi
    for net in $nets; do # most important first
        for size in 224x224 256x128; do bench_cells "$net" $size fp16 "$half" --batches 1,256 --ops; done
    done
    bench_latency
    group=cells
    bench_int8
    for net in $nets; do
        for size in 224x224 256x128; do bench_cells "$net" $size fp16 "$half" --batches 8,32,128; done
    done
    for net in $nets; do starts_of "$net"; done
    bench_search
    if [ "$(capability)" = 90 ]; then
        bench_without CLUSTERS without_clusters 1,8,256
        bench_without PDL without_pdl 1,8,256
        bench_without WGMMA without_wgmma 1,8,32,128,256 --ops
    fi
    group=cells
    for net in $nets; do
        for size in 224x224 256x128; do bench_cells "$net" $size fp32 "$single" --batches 1,8,32 --rounds 5; done
    done
    [ ! -x build/gpu/ceilings ] || line $results "{\"in\": \"driver\", \"is\": $(build/gpu/ceilings --start)}"
    [ "$(capability)" -lt 80 ] || bench_bf16
    return $((failures > 0))
}

# Benchmarks A (--before, another version of this repository) and B (this one) in turn, operation by operation.
part_ab() {
    [ -z "$emulator" ] || skip 'times on the emulator would mean nothing'
    [ -n "$other" ] || skip '--before DIR is missing; it names version A'
    [ -f "$other/Makefile" ] || skip "$other is not a checkout: it has no Makefile"
    nets='resnet50 efficientnet_b0'
    need_bench ab
    (cd "$other" && ${MAKE:-make} -s -j"$(cores)" build/reid) || exit 1
    for round in 1 2 3; do
        for group in before after; do
            reid=build/reid packed=$pack version=''
            [ $group = after ] || reid=$other/build/reid pack='' version=' before'
            for net in $nets; do
                bench_cells "$net" 224x224 fp16 "$half" --batches 1,256 --ops
                bench_cells "$net" 224x224 fp16 "$half" --batches 1 --latency
            done
            pack=$packed
        done
    done
    return $((failures > 0))
}
