# survey.sh: what matters most about a GPU, in one call of at most four minutes. Each step is a part of tools/gpu_check
# with a time budget of its own, so a step that hangs or fails takes nothing from the others, and a second call can name
# just the steps that failed. page.py turns their results into a page and into the files to commit. common.sh lists the
# variables.
# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2154

# budget_of STEP: prints the seconds after which the step is killed; status 1 if it is not a step. The sum is at most
# 235, which leaves 5 seconds of four minutes; tests/gpu/t_gpu_survey.sh adds them up.
budget_of() {
    case $1 in
    build) echo 45 ;;  # the command, weights, ranges and images, on all CPUs
    rows) echo 58 ;;   # embeddings in all modes, several processes at a time; PyTorch compiles beside them
    cells) echo 45 ;;  # reid bench, alone on the GPU
    search) echo 22 ;; # exact search, alone
    torch) echo 40 ;;  # PyTorch, alone
    files) echo 22 ;;  # reid embed from JPEG files, alone
    *) return 1 ;;
    esac
}

# What all steps need. On the emulator everything is small: it shows that the steps work, not how fast anything is.
need_survey() {
    nets=$networks size=224x224 count=64 failures=0 with='' ended=0
    [ -z "$emulator" ] || { nets=efficientnet_b0 size=64x32 count=2; }
    nets=${SURVEY_NETS:-$nets} embed_seconds=${SURVEY_SECONDS:-25}
    [ -z "$emulator" ] || embed_seconds=300
    need_command
    need_pictures $count
    for net in $nets; do
        case $net in resnet50*) need_ranges ;; esac
    done
}

# INT8's ranges of $net, once: $ranges_of.NET
need_ranges() {
    ranges=build/gpu/$net.$size.ranges.safetensors
    [ ! -s "$ranges" ] || return 0
    make_ranges "$pictures" && mv "$work/ranges.safetensors" "$ranges"
}

part_build() {
    find_stb
    for program in search compare jpegs; do (c_program $program) & done
    make_command
    wait
    need_survey
    [ -d build/gpu/jpeg ] || build/gpu/jpegs build/gpu/jpeg || exit 1
    table build "reid, weights of $nets, $count images"
}

# --- rows: the embeddings of all modes against the CPU's ---

# Prints the cases, the most important ones first: NETWORK PRECISION SETTING BATCH OPTION, with - for none.
list_rows() {
    widths='fp16 int8 fp32 bf16' settings='REID_CLUSTERS=0 REID_PDL=0 REID_WGMMA=0'
    [ -n "$emulator" ] || [ "$(capability)" -ge 80 ] || widths='fp16 int8 fp32'
    [ -n "$emulator" ] || [ "$(capability)" = 90 ] || settings='' # Hopper's own features
    [ -z "${SURVEY_PRECISIONS-}" ] || widths=$SURVEY_PRECISIONS
    first=${nets%% *} others=''
    [ "$first" = "$nets" ] || others=${nets#* }
    rows_of "$first" '-' "$count 1" '- --latency --flip'
    for net in $others; do rows_of "$net" '-' $count '- --latency'; done
    rows_of "$first" "$settings REID_SYNC=1" $count -
    for net in $others; do rows_of "$net" '-' 1 -; done
    widths=fp16
    for net in $others; do rows_of "$net" "$settings REID_SYNC=1" $count -; done
    widths=${SURVEY_PRECISIONS:-'fp16 int8 fp32'}
    rows_of "$first" "$settings REID_SYNC=1" 1 -
}

rows_of() { # rows_of NET SETTINGS BATCHES OPTIONS, for each precision
    for option in $4; do
        for precision in $widths; do
            case $precision:$1 in int8:efficientnet*) continue ;; esac # has no INT8
            for setting in $2; do
                for batch in $3; do
                    [ "$option $batch" != '--flip 1' ] || continue
                    echo "$1 $precision $setting $batch $option"
                done
            done
        done
    done
}

# The CPU's embeddings, which all cases are compared with: NET.cpu and NET.int8, and both with --flip.
make_references() {
    references=''
    for net in $nets; do
        precision=fp32
        reference cpu ''
        case $net in resnet50*) ;; *) continue ;; esac
        precision=int8
        reference int8 "--precision int8 $(int8_options)"
    done
    wait $references
}

reference() { # reference NAME OPTIONS: both embeddings, in the background
    embed "$net.$1" "$pictures" --device cpu $2 &
    references="$references $!"
    embed "$net.$1.flip" "$pictures" --device cpu $2 --flip &
    references="$references $!"
}

int8_options() { echo "--raw --no-fallback --ranges build/gpu/$net.$size.ranges.safetensors"; }

# how_near: prints the limits of `compare` for $net, $precision and $option; correct.sh explains bf16's
how_near() {
    case $precision:$net:$option in
    fp32:*) echo '--abs 1e-5' ;;
    fp16:*) echo '--cosine 0.9999' ;;
    bf16:*) echo '--cosine 0.9936' ;;
    int8:resnet50: | int8:resnet50:--latency) echo '--equal' ;; # its sums are whole numbers
    int8:*) echo '--cosine 0.999999' ;;
    esac
}

# one_row FILE NET PRECISION SETTING BATCH OPTION: embeds, compares with the CPU's, and writes a line
one_row() {
    file=$1 net=$2 precision=$3 with=$4 batch=$5 option=$6
    [ "$with" != - ] || with=''
    [ "$option" != - ] || option=''
    against=$net.cpu more=''
    [ "$precision" != int8 ] || { against=$net.int8 more=$(int8_options); }
    [ "$option" != --flip ] || against=$against.flip
    [ "$(left)" -gt $((embed_seconds + 1)) ] || embed_seconds=$(($(left) - 1))
    embed "$file" "$pictures" --device cuda --precision "$precision" --batch "$batch" $option $more \
        > "$work/$file.said" 2>&1
    ended=$?
    if [ $ended -eq 0 ]; then
        said=$(build/gpu/compare "$work/$file.npy" "$work/$against.npy" $(how_near) 2>&1)
        note_row 'as on the CPU' $? "$said"
    else
        note_row 'as on the CPU' $ended "exit status $ended: $(tail -n 1 "$work/$file.said")"
    fi
}

note_row() { # note_row CHECK STATUS TEXT
    ok=true word=ok
    [ "$2" -eq 0 ] || ok=false word=FAILED
    mode=$(echo "${with:-default} $option" | sed 's/ $//')
    line rows "{\"net\": \"$net\", \"size\": \"$size\", \"precision\": \"$precision\", \"mode\": \"$mode\", \
\"batch\": $batch, \"check\": \"$1\", \"ok\": $ok, \"found\": $(quoted "$3")}"
    table rows "$(printf '%-6s %-20s %-5s %-24s %2d  %-14s %s' $word "$net" "$precision" "$mode" "$batch" "$1" "$3")"
}

# work_through: takes cases that no other worker has taken, until no case or no time is left
work_through() {
    number=0
    while read -r case; do
        number=$((number + 1))
        [ "$(left)" -gt 4 ] || return
        mkdir "$work/taken.$number" 2>/dev/null || continue
        one_row "case.$number" $case
    done < "$work/cases"
}

# Every mode but --latency has the same bytes, in any batch; --latency has its own, in any batch. By `mma.sync`
# (REID_WGMMA=0) only INT8's sums are sure to be the same.
compare_bytes() {
    number=0
    while read -r net precision with batch option; do
        number=$((number + 1))
        [ "$precision:$with" = int8:REID_WGMMA=0 ] || [ "$with" != REID_WGMMA=0 ] || continue
        first=$(grep -nxF -e "$net $precision - $count $option" "$work/cases" | cut -d : -f 1)
        [ "$number" != "$first" ] && [ -s "$work/case.$number.npy" ] && [ -s "$work/case.$first.npy" ] || continue
        [ "$with" != - ] || with=''
        [ "$option" != - ] || option=''
        said=$(build/gpu/compare "$work/case.$number.npy" "$work/case.$first.npy" --equal 2>&1)
        note_row 'same bytes' $? "$said"
    done < "$work/cases"
}

# The bits that the emulator predicts for Hopper, where `gpu_check prepare` has left them.
compare_predicted() {
    head -n 2 "$pictures" > "$work/few"
    net=resnet50 batch=2 option='' usual=$size size=64x32
    for precision in fp16 bf16; do
        kind=''
        [ $precision = fp16 ] || kind=.bf16
        for with in '' REID_WGMMA=0; do
            predicted=$carried/predicted$kind${with:+.$with}.npy
            [ -s "$predicted" ] && [ "$(left)" -gt 6 ] || continue
            embed predicted "$work/few" --device cuda --precision $precision --raw
            said=$(build/gpu/compare "$work/predicted.npy" "$predicted" --equal 2>&1)
            note_row 'predicted bits' $? "$said"
        done
    done
    size=$usual
}

part_rows() {
    need_survey
    warm_torch
    make_references
    list_rows > "$work/cases"
    echo "{\"planned\": $(grep -c . "$work/cases")}" > "$out/rows.planned"
    jobs=$(($(cores) / 2))
    [ $jobs -gt 0 ] || jobs=1
    [ $jobs -lt 8 ] || jobs=8 # they share one GPU
    while [ $jobs -gt 0 ]; do
        work_through &
        workers="${workers-} $!"
        jobs=$((jobs - 1))
    done
    wait $workers
    undone=$(($(grep -c . "$work/cases") - $(find "$work" -name 'taken.*' | grep -c .)))
    [ $undone -eq 0 ] || table rows "no time left for $undone cases"
    compare_bytes
    [ -n "$emulator" ] || [ "$(capability)" != 90 ] || compare_predicted
    wait # for PyTorch's compilers, which stop in time
    [ $undone -eq 0 ] && ! grep -q '"ok": false' "$out/rows.jsonl"
}

# --- cells: reid bench ---

# cell NAME NET OPTION...: writes $out/cells/NAME.json, named as in tools/results/gpu without date and chip
cell() {
    name=$1 net=$2
    shift 2
    if [ "$(left)" -lt 5 ]; then
        echo "no time left for $name"
        failures=$((failures + 1))
        return
    fi
    seconds=15
    [ -z "$emulator" ] || { seconds=300; set -- "$@" --rounds 1; }
    [ "$(left)" -gt $seconds ] || seconds=$(left)
    if limited $seconds "$net cells $name" build/reid bench -m "build/gpu/$net.safetensors" --device cuda \
        --size "$size" --ops "$@" $pack --output "$work/$name.json" > "$work/said" 2>&1; then
        mv "$work/$name.json" "$out/cells/$name.json"
        line cells "{\"cell\": \"$name\", \"ok\": true}"
    else
        failures=$((failures + 1))
        tail -n 1 "$work/said"
        line cells "{\"cell\": \"$name\", \"ok\": false, \"found\": $(quoted "$(tail -n 1 "$work/said")")}"
    fi
}

part_cells() {
    need_survey
    mkdir -p "$out/cells"
    rm -f "$out/cells"/*.json
    many=1,256,2048 full=256
    [ -z "$emulator" ] || many=1,2 full=2
    whole="--batch $full" # larger calls are cut into batches of this size
    for net in $nets; do
        short=${net#resnet50-}
        cell "$short" "$net" --precision fp16 --batches $many $whole
        [ "$net" = resnet50-multiscale ] || cell "$short-latency" "$net" --precision fp16 --batches 1 --latency
        [ "$net" = resnet50 ] || continue
        cell resnet50-int8 $net --precision int8 --ranges "build/gpu/$net.$size.ranges.safetensors" --batches 1,$full
        cell resnet50-fp32 $net --precision fp32 --batches $full --rounds 3
    done
    return $((failures > 0))
}

# --- search, PyTorch, files ---

part_search() {
    need_survey
    queries='1 32 1000' rows=1000000
    [ -z "$emulator" ] || queries='1 2' rows=3000
    limited $(($(left) - 2)) 'search' build/gpu/search bench reid_kernels.cu $rows 512 0 0 $queries > "$work/search" ||
        failures=1
    limited $(($(left) - 2)) 'search grow' build/gpu/search grow reid_kernels.cu $((rows / 5)) 512 > "$work/grow" ||
        failures=1
    sed 's/^ *//' "$work/search" "$work/grow" >> "$out/search.jsonl"
    table search "$(cut -d , -f 4,6 "$work/search" | tr -d '"')"
    return $failures
}

torch_cache="TORCHINDUCTOR_CACHE_DIR=$PWD/build/gpu/inductor"

# Importing PyTorch takes seconds, so this only looks for it.
has_torch() {
    [ -z "$emulator" ] && command -v python3 > /dev/null &&
        python3 -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("torch"))'
}

# Compiles PyTorch's networks beside other work, into a cache that the step `torch` uses. Needs no timing.
warm_torch() {
    has_torch || return 0
    for net in resnet50 efficientnet_b0; do
        for batch in 256 1; do
            env $torch_cache nice timeout --foreground -k 1 $(($(left) - 3)) python3 tools/gpu/peers.py \
                --warm $net:$batch > "$out/torch.warm.$net.$batch.log" 2>&1 &
        done
    done
}

part_torch() {
    has_torch || skip 'there is no PyTorch here'
    env $torch_cache python3 tools/gpu/peers.py --fast --out "$out/torch.json" --lines "$out/torch.jsonl" \
        --seconds $(($(left) - 2)) > "$out/torch.txt"
}

# embed_files SIZE COUNT: prints the seconds that embedding as many JPEG files takes, start included
embed_files() {
    find build/gpu/jpeg/"$1" -name '*.jpg' | sort > "$work/few"
    while [ "$(grep -c . "$work/few")" -lt "$2" ]; do
        cat "$work/few" "$work/few" > "$work/twice" && mv "$work/twice" "$work/few"
    done
    head -n "$2" "$work/few" > "$work/list"
    from=$(date +%s.%N)
    limited 12 "$net files $1" build/reid embed -q -m "build/gpu/$net.safetensors" --device cuda --size "$size" $pack \
        - -o "$work/files.npy" < "$work/list" || return 1
    echo "$from $(date +%s.%N)" | awk '{ printf "%.4f\n", $2 - $1 }'
}

# Two counts, so that the time of starting cancels out.
part_files() {
    need_survey
    [ -d build/gpu/jpeg ] || { find_stb && c_program jpegs && build/gpu/jpegs build/gpu/jpeg; } || exit 1
    for net in $nets; do
        [ "$net" != resnet50-multiscale ] || continue
        for kind in '640x480 512 6512' '256x256 1024 17408'; do
            set -- $kind
            [ -z "$emulator" ] || set -- "$1" 1 2
            few=$(embed_files "$1" "$2") && all=$(embed_files "$1" "$3") || { failures=$((failures + 1)); continue; }
            line files "{\"net\": \"$net\", \"file\": \"$1\", \"files\": $3, \"start_s\": $few, \"images_s\": \
$(echo "$2 $3 $few $all" | awk '{ if ($4 > $3) printf "%.1f", ($2 - $1) / ($4 - $3); else print "null" }')}"
            table files "$(tail -n 1 "$out/files.jsonl")"
        done
    done
    return $((failures > 0))
}

# Writes page.md and the files to commit from what there is so far.
write_page() {
    { head_of_json && printf '  "commit": "%s"\n}\n' "$commit"; } > "$out/machine.json"
    ! command -v python3 > /dev/null || timeout -k 1 8 python3 tools/gpu/page.py "$out" > "$out/page.log" 2>&1 ||
        echo "no page was written: $(tail -n 1 "$out/page.log")"
}
