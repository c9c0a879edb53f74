# correct.sh: embeddings on the GPU against those on the CPU, over batches and orders; searches, likewise; memory and
# race checkers. Lines of correct.jsonl: a check each. A part of tools/gpu_check; common.sh says what is set.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154

# record CHECK STATUS TEXT: a line of the results and of the table
record() {
    ok=true word=ok
    [ "$2" -eq 0 ] || { ok=false word=FAILED failures=$((failures + 1)); }
    line correct "{\"net\": \"$net\", \"size\": \"$size\", \"precision\": \"$precision\", \"check\": $(quoted "$1")\
, \"ok\": $ok, \"found\": $(quoted "$3")}"
    table correct "$(printf '%-6s %-20s %-8s %-5s %-28s %s' $word "$net" "$size" "$precision" "$1" "$3")"
}

# agree CHECK A B OPTION...
agree() {
    check=$1 a=$2 b=$3
    shift 3
    said=$(build/gpu/compare "$work/$a.npy" "$work/$b.npy" "$@" 2>&1)
    status=$?
    [ -s "$work/$a.npy" ] && [ -s "$work/$b.npy" ] || said="there are no embeddings: $(why_not)"
    record "$check" $status "$said"
}

# What is known about an embed that failed: that it hung, or the operation that REID_SYNC=1 names.
why_not() {
    case $ended in
    124 | 125 | 137) echo "\"$embed_mode\" hung" ;;
    *) echo "exit status $ended" ;;
    esac
}

# blame OPTION...: which operation failed? Runs once more, operation by operation.
blame() {
    before=${with-} with="${with-} REID_SYNC=1"
    if embed blamed "$pictures" "$@" > "$work/blamed" 2>&1; then echo 'no operation fails then' > "$work/blamed"; fi
    with=$before
    record 'with REID_SYNC=1' 1 "$(tail -n 2 "$work/blamed")"
}

check_precision() {
    case $precision in fp32) keep='--abs 1e-5' ;; *) keep='--cosine 0.9999' ;; esac
    set -- --device cuda --precision "$precision"
    embed gpu "$pictures" "$@"
    ended=$?
    [ $ended -eq 0 ] || { record "embeds" $ended "$(why_not)"; blame "$@"; return; }
    agree "as on the CPU: $keep" gpu cpu $keep
    if [ "$precision" = fp16 ] && [ -z "$emulator" ]; then # on Hopper another kernel
        with=REID_WGMMA=0 && embed other "$pictures" "$@"
        agree 'as with REID_WGMMA=0' gpu other --cosine 0.9999
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
    agree "for latency as on the CPU: $keep" latency cpu $keep
    for batch in 1 8; do
        embed other "$pictures" --device cuda --precision "$precision" --latency --batch "$batch"
        agree "same bytes for latency, batch $batch" latency other --equal
    done
}

# INT8's convolutions and pools give the CPU's bytes, whatever multiplies; sums of a linear layer have another order.
check_int8() {
    case $net in resnet50) same=--equal ;; resnet50*) same='--cosine 0.999999' ;; *) return ;; esac
    precision=int8
    make_ranges "$pictures"
    ended=$?
    [ $ended -eq 0 ] || { record 'ranges' $ended "exit status $ended"; return; }
    set -- --raw --precision int8 --ranges "$work/ranges.safetensors"
    embed int8 "$pictures" --device cpu "$@"
    embed gpu "$pictures" --device cuda "$@"
    agree "as on the CPU: $same" gpu int8 $same
    with=REID_WGMMA=0 && embed other "$pictures" --device cuda "$@"
    agree 'same bytes with REID_WGMMA=0' gpu other --equal
    with=''
    embed other "$pictures" --device cuda "$@" --batch 3
    agree 'same bytes, batch 3' gpu other --equal
}

# Are a Hopper's bits those that the emulator predicts when it adds like tensor cores (REID_EMULATOR_SUMS=tensor)?
check_predicted() {
    net=resnet50 size=64x32 precision=fp16
    [ -n "$emulator" ] || [ "$(capability)" = 90 ] || return
    for with in '' REID_WGMMA=0; do # wgmma, then mma.sync
        predicted=$carried/predicted${with:+.$with}.npy
        [ -s "$predicted" ] || { echo "there is no $predicted"; continue; }
        embed gpu "$few" --device cuda --precision fp16 --raw
        said=$(build/gpu/compare "$work/gpu.npy" "$predicted" --equal 2>&1)
        record "the emulator's bits${with:+, $with}" $? "$said"
    done
    with=''
}

sanitize() { # compute-sanitizer's report of one tool on two small pictures
    said=$(limited 120 "$net $precision compute-sanitizer $1" compute-sanitizer --tool "$1" --error-exitcode 9 \
        build/reid embed -q -m "build/gpu/$net.safetensors" --size 64x32 $pack --device cuda --precision "$precision" \
        - -o "$work/checked.npy" < "$few" 2>&1)
    ended=$?
    echo "$said"
    record "compute-sanitizer $1" $ended "$(echo "$said" | grep 'SUMMARY' | tail -n 1)"
}

check_memory() {
    if [ -n "$emulator" ]; then return; fi
    command -v compute-sanitizer >/dev/null || { echo 'no compute-sanitizer here'; return; }
    size=64x32
    for precision in fp16 fp32; do
        for net in $nets; do
            for tool in memcheck racecheck; do
                if [ "$(left)" -gt 60 ]; then sanitize $tool; else echo "no time left for $tool, $net, $precision"; fi
            done
        done
    done
}

part_correct() {
    nets=$networks sizes='224x224 256x128' batches='1 3 8 32' count=40
    [ -z "$quick" ] || { nets='resnet50 efficientnet_b0' sizes=224x224 batches='1 32'; }
    [ -z "$emulator" ] || { nets='efficientnet_b0 resnet50-multiscale' sizes=64x32 batches=2 count=3; }
    need_command
    need_pictures $count
    few=$work/few
    head -n 2 "$pictures" > "$few"
    failures=0 with='' ended=0
    if [ -z "$emulator" ] || [ "${REID_EMULATOR_SUMS-}" = tensor ]; then check_predicted; fi
    for net in $nets; do
        for size in $sizes; do
            precision=fp32
            embed cpu "$pictures" --device cpu
            ended=$?
            [ $ended -eq 0 ] || { record 'embeds on the CPU' $ended "$(why_not)"; continue; }
            for precision in fp32 fp16; do
                [ -n "$emulator" ] && [ "$net $precision" = 'resnet50-multiscale fp32' ] || check_precision
            done
            [ -n "$emulator" ] || check_int8
        done
    done
    said=$(limited 120 search build/gpu/search check reid_kernels.cu 2>&1)
    status=$? net=search size=- precision=fp16
    record 'hits as on the CPU' $status "$said"
    check_memory
    return $((failures > 0))
}
