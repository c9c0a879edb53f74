#!/bin/sh
# tools/gpu_check on the emulator with planted faults: a kernel that hangs, crashes or is wrong is named; a part that is
# stopped keeps what it has; a mode that hung is not tried again; bench falls back to a mode that works; REID_SYNC=1
# names the operation that failed; packs that were prepared are used.
#     sh tests/gpu/t_gpu_parts.sh
#     REID_ALL=1 sh tests/gpu/t_gpu_parts.sh     also the parts `modes` and `bench`, and REID_SYNC's limit of 20 seconds
# shellcheck disable=SC1091,SC2010,SC2015,SC2016,SC2034,SC2154,SC2174,SC2317 # && ||; sourced files
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/emulator/needs.sh
echo '#include <stb/stb_image.h>' | cc -E - >/dev/null 2>&1 || { echo "skipped: no stb_image.h (libstb-dev)"; exit 77; }
make -s build/reid build/seeded build/demo_images emulator || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export TMPDIR="$dir" # a compiler that is killed leaves a folder
trap 'exit 1' HUP INT TERM
. tests/lib/says.sh
passed=0 failed=0
good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAIL $1"
    head -n 30 "$dir/log"
}

# says STATUS TEXT COMMAND...
says() {
    status=$1 text=$2
    shift 2
    "$@" > "$dir/log" 2>&1
    got=$?
    [ $got -eq "$status" ] && { [ -z "$text" ] || shows "$text" "$dir/log"; } && good && return
    bad "$*: status $got, expected $status with \"$text\""
}
json() { ! command -v python3 >/dev/null 2>&1 || python3 -c "import json; r = json.load(open('$1')); assert ($2)"; }
REID_CACHE_DIR=$PWD/build/tests/cuda_cache
export REID_CACHE_DIR
[ -d "$REID_CACHE_DIR" ] || mkdir -p -m 700 "$REID_CACHE_DIR"

# --- a kernel that hangs, faults, or is wrong: only where RAW is 1 ---
plant() { # plant NAME CODE: a folder with a kernel file that has it
    mkdir "$dir/$1"
    sed "s/^    double \*sums = (double \*)shared;\$/& if (RAW) $2/" reid_kernels.cu > "$dir/$1/reid_kernels.cu"
    ! cmp -s reid_kernels.cu "$dir/$1/reid_kernels.cu" && good || bad "the fault \"$1\" was not planted"
}
plant hang 'for (volatile int forever = 1; forever;) {}'
plant fault '*(volatile int *)8 = 1;'
plant wrong 'if (threadIdx.x == 3) return;'
check() { # check ARGUMENT...: gpu_check on the emulator, with that kernel file
    exec env BISECT_PARTS=rest BISECT_MATCH="${match:-normalise 512 raw}" BISECT_KERNELS="$dir/$kernels" \
        BISECT_SECONDS="${seconds:-20}" sh tools/gpu_check --emulator "$@"
}
checked() (check "$@")
kernels=hang seconds=2
says 1 '^normalise *2 of *4 cases right, 2 hung$' checked --out "$dir/h" bisect
says 0 '"status": "hung", .*"name": "normalise 512 raw 1 flip 0"' cat "$dir/h/bisect.jsonl"
json "$dir/h/report.json" 'r["parts"]["bisect"]["result"]["failures"] == 2' && good || bad 'report.json of what hung'
seconds=20 kernels=fault match='normalise 512 raw 1 flip 0'
says 1 '^fault *normalise 512 raw 1 flip 0$' checked --out "$dir/f" bisect
says 0 'access to address 0x8' cat "$dir/f/bisect.jsonl"
kernels=wrong
says 1 '^wrong *normalise 512 raw 1 flip 0$' checked --out "$dir/w" bisect
printf '#!/bin/sh\n[ -n "${EMU_LIST-}" ] && echo "case 0 dies" && exit\nkill -SEGV $$\n' > "$dir/dies"
printf '#!/bin/sh\nexit 3\n' > "$dir/mute"
chmod +x "$dir/dies" "$dir/mute"
says 1 '^crashed *dies$' build/gpu/each_case --out "$dir/dies.jsonl" "$dir/dies"
says 1 '^crashed *(its list of cases)$' build/gpu/each_case --out "$dir/dies.jsonl" "$dir/mute"
says 1 'there are no such cases' build/gpu/each_case --match giraffe --out "$dir/dies.jsonl" "$dir/dies"
says 1 '^normalise *0 of *4 cases right, 4 skipped with HALVES=none$' build/gpu/each_case --total 1e-9 \
    --match 'normalise 512' --out "$dir/late.jsonl" HALVES=none build/gpu/kernels_rest-emulator
says 0 '"setting": "HALVES=none", "case".*"skipped".*no time was left' cat "$dir/late.jsonl"
says 2 '^usage' build/gpu/each_case --jobs 0 --out "$dir/dies.jsonl" "$dir/dies"
says 2 '^usage' build/gpu/each_case "$dir/dies"

# --- kernels on an emulator that adds as tensor cores do ---
tensor() { # tensor PART TEXT: the cases of kernels_PART with this text in their names
    env BISECT_PARTS="$1" BISECT_MATCH="$2" REID_EMULATOR_SUMS=tensor sh tools/gpu_check --emulator --out "$dir/t" \
        bisect
}
says 0 '1 of *1 cases right$' tensor bytes 'stem_pool INT8'
says 0 '1 of *1 cases right$' tensor wgmma 'layer3.1.conv3, 3 of 3x3, tile 128x64 groups 2 resident 0 split 4'
says 0 '1 of *1 cases right$' tensor wgmma 'stem_pool, 3 of 23x19'
says 0 '3 of *3 cases right$' tensor conv 'reid_conv_f16 3x3 relu'

# --- a part that is stopped ---
kernels=hang seconds=60 match='normalise 512 raw'
check --out "$dir/s" --tar "$dir/s.tar" bisect > "$dir/stopped" 2>&1 &
process=$!
for i in $(seq 300); do
    [ "$(grep -c '"ok"' "$dir/s/bisect.jsonl" 2>/dev/null)" = 2 ] && break
    sleep 0.1
done
kill -TERM $process
wait $process
status=$?
cp "$dir/stopped" "$dir/log"
[ $status = 1 ] && good || bad "a stopped gpu_check ends with $status"
json "$dir/s/report.json" 'r["parts"]["bisect"]["status"] == "stopped" and
    [c["status"] for c in r["parts"]["bisect"]["result"]["cases"]][:2] == ["ok", "ok"]' && good || bad 'a stopped part'
tar -xOzf "$dir/s.tar" ./report.json 2>/dev/null | cmp -s - "$dir/s/report.json" && good ||
    bad 'the tar of a stopped part'
ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -e "-> $dir/hang" > "$dir/log" && bad 'processes are left' || good

# --- limits, and what hung is not tried again ---
limited_alone() ( out=$dir/l; mkdir -p "$out"; . tools/gpu/common.sh; limited "$@"; )
says 124 'HUNG for 1 s: resnet50 fp16: sleep 5' limited_alone 1 'resnet50 fp16' sleep 5
says 125 'skipped: "resnet50 fp16" hung before: echo' limited_alone 1 'resnet50 fp16' echo
says 0 '^hello$' limited_alone 1 'resnet50 fp16 REID_PDL=0' echo hello
says 3 '' limited_alone 1 'resnet50 fp16 REID_PDL=0' sh -c 'echo; exit 3'
says 0 '"a \\"b\\" \\\\ c"' sh -c '. tools/gpu/common.sh; quoted "a \"b\" \\ c"'

# --- bench takes the first mode that works ---
first_mode() ( # first_mode WORD: that the settings must have to work
    needed=$1 out=$dir/m emulator='' net='' work=$dir
    mkdir -p "$out" "$dir/build/gpu"
    printf '#!/bin/sh\nexit 0\n' > "$dir/build/gpu/compare"
    chmod +x "$dir/build/gpu/compare"
    . tools/gpu/common.sh
    . tools/gpu/bench.sh
    embed() { case "$*,$net $with" in *cpu* | *"$needed"*) return 0 ;; *) return 124 ;; esac; }
    cd "$dir" || exit 1
    rm -f "$dir"/mode.* && results=bench
    nets='resnet50 efficientnet_b0' pictures='' failures=0
    choose_modes
    echo "works:$nets; modes: $(cat "$dir/mode.resnet50"), $(cat "$dir/mode.efficientnet_b0")"
)
says 0 '^works:resnet50 efficientnet_b0; modes: , $' first_mode ''
says 0 'modes: REID_PDL=0, REID_PDL=0$' first_mode REID_PDL=0
says 0 'modes: REID_WGMMA=0, REID_WGMMA=0$' first_mode REID_WGMMA=0
says 0 '^works:resnet50; ' first_mode 'resnet50 REID_CLUSTERS'
says 0 '^works:; ' first_mode REID_GIRAFFE=0

# --- what is prepared is used: nothing is compiled then ---
says 0 '^prepare: ok' env PREPARE_NETS=efficientnet_b0 sh tools/gpu_check --emulator --out "$dir/carried" prepare
[ -s "$dir/carried/stb/stb_image.h" ] && [ -s "$dir/carried/stb/stb_image_write.h" ] && good || bad "stb's headers"
find build/gpu/pictures -name '*.png' 2>/dev/null | sort | head -n 2 > "$dir/list"
[ -s "$dir/list" ] || { build/demo_images build/gpu/pictures > "$dir/log" 2>&1
    find build/gpu/pictures -name '*.png' | sort | head -n 2 > "$dir/list"; }
[ -s build/gpu/efficientnet_b0.safetensors ] ||
    build/seeded --net efficientnet_b0 -o build/gpu/efficientnet_b0.safetensors
cp "$dir/list" "$dir/log"
embed() { # embed OUT SETTING... -- OPTION...
    to=$1 set=''
    shift
    while [ "$1" != -- ]; do set="$set $1"; shift; done
    shift
    # shellcheck disable=SC2086 # words
    env LD_LIBRARY_PATH="$PWD/build/emulator" $set build/reid embed -q -m build/gpu/efficientnet_b0.safetensors \
        --size 64x32 --device cuda --precision fp16 --batch 2 "$@" - -o "$dir/$to.npy" < "$dir/list"
}
no_compiler="REID_NVRTC=$PWD/build/emulator/libnvrtc.so.13 REID_EMULATOR_FAIL=nvrtcCompileProgram:1+:6"
# shellcheck disable=SC2086 # two words
says 0 '' embed packed REID_CACHE_DIR="$dir/none" $no_compiler -- --pack "$dir/carried/kernels-emulator.pack"
# shellcheck disable=SC2086 # two words
says 2 'NVRTC' embed unpacked REID_CACHE_DIR="$dir/nothing" $no_compiler --
build/gpu/merge_packs "$dir/twice" "$dir/carried/kernels-emulator.pack" "$dir/carried/kernels-emulator.pack" \
    > "$dir/log" 2>&1 && cmp -s "$dir/twice" "$dir/carried/kernels-emulator.pack" && good ||
    bad 'a pack merged with itself'
head -c 5000 "$dir/twice" > "$dir/cut"
says 1 'is damaged' build/gpu/merge_packs "$dir/never" "$dir/cut"
says 2 '^usage' build/gpu/merge_packs "$dir/never"

# --- REID_SYNC=1 ---
says 0 '' embed plain --
says 0 '' embed sync REID_SYNC=1 --
cmp "$dir/plain.npy" "$dir/sync.npy" > "$dir/log" 2>&1 && good || bad 'REID_SYNC=1 changes bytes'
says 2 'features\.[0-9.a-z]*: GPU 0: reid_[a-z0-9_]*[: ].*ILLEGAL_ADDRESS, 700' \
    embed none REID_SYNC=1 REID_EMULATOR_FAIL=cuStreamQuery:60:700 --
if [ "${REID_ALL-}" = 1 ]; then
    says 2 'features\.[0-9.a-z]*: GPU 0: reid_[a-z0-9_]*[: ].*it has not ended after 20 seconds' \
        embed none REID_SYNC=1 REID_EMULATOR_FAIL=cuStreamQuery:60+:600 --
    says 0 '^modes: ok' env MODES_NETS=efficientnet_b0 sh tools/gpu_check --emulator --out "$dir/r" modes
    says 0 '^bench: ok' env BENCH_EMULATED=efficientnet_b0 sh tools/gpu_check --emulator --out "$dir/r" bench
    json "$dir/r/report.json" '[c["precision"] for c in r["parts"]["bench"]["result"]["cells"]] == ["fp16", "bf16"] and
        len(r["parts"]["bench"]["result"]["beside_fp16"]) == 1' && good || bad "bench's report"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
