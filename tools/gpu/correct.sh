# correct.sh: compares embeddings on the GPU with those on the CPU, over batches and orders; also searches; runs memory
# and race checkers; then repeats everything in bf16. Each line of correct.jsonl is one check. A part of
# tools/gpu_check; common.sh lists the variables. CORRECT_NETS, _PRECISIONS and _KERNELS (a folder with another
# reid_kernels.cu) in the environment restrict it to embeddings of these.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154

# record CHECK STATUS TEXT: adds a line to the results and to the table
record() {
    ok=true word=ok
    [ "$2" -eq 0 ] || { ok=false word=FAILED failures=$((failures + 1)); }
    line correct "{\"net\": \"$net\", \"size\": \"$size\", \"precision\": \"$precision\", \"check\": $(quoted "$1")\
, \"ok\": $ok, \"found\": $(quoted "$3")}"
    table correct "$(printf '%-6s %-20s %-8s %-5s %-28s %s' $word "$net" "$size" "$precision" "$1" "$3")"
}

# agree CHECK A B OPTION...: compares two files of embeddings and records the result
agree() {
    check=$1 a=$2 b=$3
    shift 3
    said=$(build/gpu/compare "$work/$a.npy" "$work/$b.npy" "$@" 2>&1)
    status=$?
    [ -s "$work/$a.npy" ] && [ -s "$work/$b.npy" ] || said="there are no embeddings: $(why_not)"
    record "$check" $status "$said"
}

# Prints what is known about an embed that failed: that it hung, or the operation that REID_SYNC=1 names.
why_not() {
    case $ended in
    124 | 125 | 137) echo "\"$embed_mode\" hung" ;;
    *) echo "exit status $ended" ;;
    esac
}

# blame OPTION...: finds the operation that failed, by running again, operation by operation.
blame() {
    before=${with-} with="${with-} REID_SYNC=1"
    if embed blamed "$pictures" "$@" > "$work/blamed" 2>&1; then echo 'no operation fails then' > "$work/blamed"; fi
    with=$before
    record 'with REID_SYNC=1' 1 "$(tail -n 2 "$work/blamed")"
}

# Prints the tolerance for embeddings. FP16's 11 bits keep a cosine of 0.9999. bf16's 8 bits have steps eight times as
# large, so angles are eight times, and 1 - cosine is 64 times as large as in FP16. The limit is twice 64 times the 1 -
# cosine just measured for FP16 on the same images; without one, the cosine 0.9936.
tolerance() {
    case $precision in
    fp32) echo '--abs 1e-5' ;;
    fp16) echo '--cosine 0.9999' ;;
    bf16) echo "--cosine $(cat "$work/near.$net.$size" 2>/dev/null || echo 0.9936)" ;;
    esac
}

# note_near: derives bf16's limit from the cosine that FP16 has reached according to $said
note_near() {
    echo "$said" | sed -n 's/.*smallest cosine \([0-9.]*\),.*/\1/p' |
        awk '{ lacks = 128 * (1 - $1); if (lacks < 1e-6) lacks = 1e-6
               printf "%.9f\n", lacks < 0.0064 ? 1 - lacks : 0.9936 }' > "$work/near.$net.$size"
}

check_precision() {
    keep=$(tolerance)
    set -- --device cuda --precision "$precision"
    embed gpu "$pictures" "$@"
    ended=$?
    [ $ended -eq 0 ] || { record "embeds" $ended "$(why_not)"; blame "$@"; return; }
    agree "as on the CPU: $keep" gpu "cpu.$net.$size" $keep
    [ "$precision" != fp16 ] || note_near
    if [ "$precision" != fp32 ] && [ -z "$emulator" ]; then # uses another kernel on Hopper
        with=REID_WGMMA=0 && embed other "$pictures" "$@"
        agree 'as with REID_WGMMA=0' gpu other $keep
        with=REID_CLUSTERS=0 && embed other "$pictures" "$@"
        agree 'same bytes with REID_CLUSTERS=0' gpu other --equal
    fi
    with=''
    [ -n "$emulator" ] || check_latency
    with=REID_PDL=0 && embed other "$pictures" "$@"
    agree 'same bytes with REID_PDL=0' gpu other --equal
    with=''
    for batch in $batches; do
        embed other "$pictures" "$@" --batch "$batch"
        agree "same bytes, batch $batch" gpu other --equal
    done
    embed other "$backwards" "$@" --batch 8
    agree 'same bytes, other order' gpu other --reversed --equal
}

check_latency() {
    embed latency "$pictures" --device cuda --precision "$precision" --latency
    agree "for latency as on the CPU: $keep" latency "cpu.$net.$size" $keep
    for batch in 1 8; do
        embed other "$pictures" --device cuda --precision "$precision" --latency --batch "$batch"
        agree "same bytes for latency, batch $batch" latency other --equal
    done
}

# INT8's convolutions and pools give the CPU's bytes with any instruction; a linear layer sums in another order.
check_int8() {
    case $net in resnet50) same=--equal ;; resnet50*) same='--cosine 0.999999' ;; *) return ;; esac
    precision=int8
    make_ranges "$pictures"
    ended=$?
    [ $ended -eq 0 ] || { record 'ranges' $ended "exit status $ended"; return; }
    set -- --raw --precision int8 --ranges "$work/ranges.safetensors"
    embed both "$pictures" --device cpu "$@" # the same images exceed the ranges, and get FP32 rows
    embed other "$pictures" --device cuda "$@"
    agree 'with FP32 where it is left' other both --cosine 0.999999
    set -- "$@" --no-fallback
    embed int8 "$pictures" --device cpu "$@"
    embed gpu "$pictures" --device cuda "$@"
    agree "as on the CPU: $same" gpu int8 $same
    with=REID_WGMMA=0 && embed other "$pictures" --device cuda "$@"
    agree 'same bytes with REID_WGMMA=0' gpu other --equal
    with=''
    embed other "$pictures" --device cuda "$@" --batch 3
    agree 'same bytes, batch 3' gpu other --equal
}

# bf16 in all networks and sizes, after all other checks: the same kernels with another element type.
check_bf16() {
    batches=${batches%% *}
    for net in $nets; do
        for size in $sizes; do
            precision=bf16
            [ -s "$work/cpu.$net.$size.npy" ] || continue
            [ "$(left)" -gt 45 ] || { left_out "$net $size bf16"; continue; }
            check_precision
            embed narrow "$pictures" --device cpu --precision bf16 || { echo 'this CPU has no bf16'; continue; }
            agree "as the CPU's bf16: $keep" gpu narrow $keep
        done
    done
    case " $nets " in *' resnet50 '*) check_range ;; esac
}

# A network whose activations are 32768 times as large. bf16 has the same precision at any magnitude, so the bytes are
# the same; FP16 overflows, and must say so.
check_range() {
    net=resnet50-loud size=64x32 precision=bf16
    [ "$(left)" -gt 20 ] || { left_out "$net bf16"; return; }
    [ -s build/gpu/$net.safetensors ] || build/seeded --net resnet50 --loud -o build/gpu/$net.safetensors || return
    embed loud "$few" --device cuda --precision bf16
    ended=$?
    net=resnet50
    embed other "$few" --device cuda --precision bf16
    net=resnet50-loud
    agree 'same bytes, 32768 times as loud' loud other --equal
    precision=fp16
    embed other "$few" --device cuda --precision fp16 > "$work/said" 2>&1
    grep -q 'overflow in FP16: precision bf16' "$work/said"
    record 'it is said that FP16 overflows' $? "$(grep -o 'activations beyond.*' "$work/said" | head -n 1)"
}

# Checks that Hopper gives the bits that the emulator predicts when it adds like tensor cores
# (REID_EMULATOR_SUMS=tensor).
check_predicted() { # check_predicted PRECISION
    net=resnet50 size=64x32 precision=$1 kind=''
    [ -n "$emulator" ] || [ "$(capability)" = 90 ] || return
    [ "$1" = fp16 ] || kind=.$1
    for with in '' REID_WGMMA=0; do # wgmma, then mma.sync
        predicted=$carried/predicted$kind${with:+.$with}.npy
        [ -s "$predicted" ] || { echo "$predicted is missing"; continue; }
        embed gpu "$few" --device cuda --precision "$precision" --raw
        said=$(build/gpu/compare "$work/gpu.npy" "$predicted" --equal 2>&1)
        record "the emulator's bits${with:+, $with}" $? "$said"
    done
    with=''
}

left_out() { # left_out WHAT: reports that no time is left for it
    echo "no time left for $1"
    table correct "no time left for $1"
}

sanitize() { # runs one tool of compute-sanitizer on two small images
    said=$(limited 120 "$net $precision compute-sanitizer $1" compute-sanitizer --tool "$1" --error-exitcode 9 \
        build/reid embed -q -m "build/gpu/$net.safetensors" --size 64x32 $pack --device cuda --precision "$precision" \
        - -o "$work/checked.npy" < "$few" 2>&1)
    ended=$?
    echo "$said"
    record "compute-sanitizer $1" $ended "$(echo "$said" | grep 'SUMMARY' | tail -n 1)"
}

check_memory() { # check_memory SECONDS PRECISION...: keeps SECONDS for later checks
    keeps=$1
    shift
    if [ -n "$emulator" ]; then return; fi
    command -v compute-sanitizer >/dev/null || { echo 'no compute-sanitizer here'; return; }
    size=64x32
    for precision; do
        for net in $nets; do
            for tool in memcheck racecheck; do
                if [ "$(left)" -gt $((60 + keeps)) ]; then sanitize $tool; else left_out "$tool, $net, $precision"; fi
            done
        done
    done
}

wants() { case " ${CORRECT_PRECISIONS:-fp32 fp16 int8 bf16} " in *" $1 "*) ;; *) return 1 ;; esac; }

part_correct() {
    nets=$networks sizes='224x224 256x128' batches='1 3 8 32' count=40
    [ -z "$quick" ] || { nets='resnet50 efficientnet_b0' sizes=224x224 batches='1 32'; }
    [ -z "$emulator" ] || { nets='efficientnet_b0 resnet50-multiscale' sizes=64x32 batches=2 count=3; }
    nets=${CORRECT_NETS:-$nets}
    need_command
    [ -z "${CORRECT_KERNELS-}" ] || kernels="--kernels $CORRECT_KERNELS/reid_kernels.cu" pack=''
    need_pictures $count
    few=$work/few
    head -n 2 "$pictures" > "$few"
    failures=0 with='' ended=0
    predictable=''
    if [ -z "$emulator" ] || [ "${REID_EMULATOR_SUMS-}" = tensor ]; then predictable=1; fi
    [ -z "$predictable" ] || check_predicted fp16
    for net in $nets; do
        for size in $sizes; do
            precision=fp32
            embed "cpu.$net.$size" "$pictures" --device cpu
            ended=$?
            [ $ended -eq 0 ] || { record 'embeds on the CPU' $ended "$(why_not)"; continue; }
            for precision in fp32 fp16; do
                case "$emulator $net $precision" in '-emulator resnet50-multiscale fp32') continue ;; esac
                ! wants $precision || check_precision
            done
            [ -n "$emulator" ] && [ -z "${CORRECT_PRECISIONS-}" ] || ! wants int8 || check_int8
        done
    done
    if [ -z "${CORRECT_NETS-}" ]; then
        said=$(limited 120 search build/gpu/search check reid_kernels.cu 2>&1)
        status=$? net=search size=- precision=fp16
        record 'hits as on the CPU' $status "$said"
        check_memory 90 fp16 fp32
    fi
    if wants bf16 && { [ -n "$emulator" ] || [ "$(capability)" -ge 80 ]; }; then
        [ -z "$predictable" ] || check_predicted bf16
        check_bf16
        [ -n "${CORRECT_NETS-}" ] || check_memory 0 bf16
    fi
    return $((failures > 0))
}
