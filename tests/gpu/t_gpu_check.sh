#!/bin/sh
# tools/gpu_check without a GPU: its arguments, what it says is missing, its programs compiled for several chips, the
# comparison of embeddings, and its part `correct` run on the emulator, once with a fault in bf16 that it and `bisect`
# must name; and there the two GPU examples as well.
#     sh tests/gpu/t_gpu_check.sh                  the programs and `correct` in their turn
#     REID_ALL=1 sh tests/gpu/t_gpu_check.sh       all of them, for sm_80 too
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v g++ >/dev/null 2>&1 || { echo "skipped: g++ is missing"; exit 77; }
echo '#include <stb/stb_image.h>' | cc -E - >/dev/null 2>&1 || { echo "skipped: no stb_image.h (libstb-dev)"; exit 77; }
make -s build/reid build/seeded build/demo_images emulator || exit 1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. tests/lib/check.sh
log=$out/log

# says STATUS TEXT COMMAND...
says() {
    status=$1 text=$2
    shift 2
    "$@" > "$out/log" 2>&1
    got=$?
    [ $got -eq "$status" ] && shows "$text" "$out/log" && good && return
    bad "$*: status $got, expected $status with \"$text\""
}

# --- arguments, and what is missing ---
says 2 'out DIR is missing' sh tools/gpu_check
says 2 'a folder is missing' sh tools/gpu_check --out
says 2 'unknown part "horse"' sh tools/gpu_check --out "$out/r" horse
says 2 'a number is missing after --limit' sh tools/gpu_check --out "$out/r" --limit
says 2 '"soon"; expected a number of seconds' sh tools/gpu_check --out "$out/r" --limit soon bench
says 2 'unknown option --fast' sh tools/gpu_check --out "$out/r" --fast
says 0 'times on the emulator would mean nothing' sh tools/gpu_check --emulator --out "$out/r" bench peers ceilings
if ! nvidia-smi >/dev/null 2>&1; then
    says 0 'nvidia-smi finds no GPU\|no nvcc here' sh tools/gpu_check --out "$out/r" ceilings families bisect modes \
        correct bench ab tune
    says 0 '"status": "skipped"' cat "$out/r/report.json"
fi

# --- the comparison: files of 3 rows of 4 floats ---
cc -O2 -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror tools/gpu/compare.c \
    -o "$out/compare" -lm > "$out/log" 2>&1 && good || bad "compare.c does not compile"
npy() { # npy FILE TWELVE_NUMBERS_AS_ESCAPES
    header="{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"
    { printf '\223NUMPY\001\000v\000%-117s\n' "$header"; printf "$2"; } > "$1"
}
one='\000\000\200\077' zero='\000\000\000\000' near='\001\000\200\077' nan='\000\000\300\177'
npy "$out/a.npy" "$one$zero$zero$zero$zero$one$zero$zero$zero$zero$one$zero"
npy "$out/b.npy" "$zero$zero$one$zero$zero$one$zero$zero$one$zero$zero$zero"
npy "$out/c.npy" "$near$zero$zero$zero$zero$one$zero$zero$zero$zero$one$zero"
npy "$out/d.npy" "$nan$zero$zero$zero$zero$one$zero$zero$zero$zero$one$zero"
head -c 100 "$out/a.npy" > "$out/cut.npy"
says 0 '3 rows of 4: .* 3 rows equal' "$out/compare" "$out/a.npy" "$out/a.npy" --equal --abs 0 --cosine 1
says 0 'cosine 1.000000000, 3 rows equal' "$out/compare" "$out/a.npy" "$out/b.npy" --reversed --equal
says 1 'difference 1, smallest cosine 0.000000000, 1 rows equal' "$out/compare" "$out/a.npy" "$out/b.npy" --cosine 0.9
says 1 '2 rows equal' "$out/compare" "$out/a.npy" "$out/c.npy" --equal
says 0 'difference 1.19e-07' "$out/compare" "$out/a.npy" "$out/c.npy" --abs 1e-6 --cosine 0.99
says 1 'difference nan' "$out/compare" "$out/a.npy" "$out/d.npy" --abs 1e-6
says 1 'cosine nan' "$out/compare" "$out/a.npy" "$out/d.npy" --cosine 0.9
says 2 'cut.npy is not a .npy file of embeddings' "$out/compare" "$out/a.npy" "$out/cut.npy"
says 2 '^usage' "$out/compare" "$out/a.npy" "$out/a.npy" --abs x

# --- the programs ---
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
    for target in "-arch=sm_80" "-gencode arch=compute_90a,code=sm_90a -DSM90A"; do
        for program in ceilings families 'families -DVALUE_BF16' fabric; do
            case $target-$program in *sm_80-fabric) continue ;; esac # Hopper's own
            option=${program#"${program%% *}"} program=${program%% *}
            REID_SHARE=3
            case $target in *sm_80) all || continue ;; *) my_turn || continue ;; esac
            # shellcheck disable=SC2086 # several words
            "$nvcc" -O2 -std=c++17 $target $option -Werror all-warnings -Xcompiler -Wall,-Wextra -Xptxas -warn-spills \
                "tools/gpu/$program.cu" -o "$out/$program" -ldl > "$out/log" 2>&1 &&
                ! grep -qi 'serializ' "$out/log" && good || bad "$program.cu for $target$option"
        done
    done
    if [ -x "$out/ceilings" ]; then
        nvidia-smi >/dev/null 2>&1 || says 1 'no NVIDIA driver' "$out/ceilings" --start
        says 2 '^usage' "$out/ceilings" --all
        says 0 '^launching$' "$out/ceilings" --groups
    fi
    if [ -x "$out/fabric" ]; then
        says 0 '^products$' "$out/fabric" --groups
        says 2 '^usage' "$out/fabric" giraffe
    fi
else
    skip 'nvcc is missing: ceilings.cu, families.cu and fabric.cu were not compiled'
fi
if command -v python3 >/dev/null 2>&1; then
    says 0 '^compiled$' python3 -c 'compile(open("tools/gpu/peers.py").read(), "peers.py", "exec"); print("compiled")'
else
    skip 'python3 is missing: peers.py was not looked at'
fi

# --- what is predicted, and how well: the operations of all measured cells ---
cc -O1 -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror tools/gpu/predict.c \
    -o "$out/predict" -lm -lpthread > "$out/log" 2>&1 && good || bad "predict.c does not compile"
says 0 '^h200, for latency: 50 launches, .* images a second$' "$out/predict"
says 0 '^a100, as usual: .*nothing was measured on this chip' "$out/predict" --chip a100
says 0 '^h200, as usual: 81 launches, ' "$out/predict" resnet50-ibn-nl-fastreid-gem 256
says 0 '^NL_2.0 reid_nonlocal - ' "$out/predict" --lines fp16 resnet50-ibn-nl-fastreid-gem
says 2 '^usage' "$out/predict" resnet51
says 2 '^usage' "$out/predict" --lines int8 resnet50-ibn
says 2 '^usage' "$out/predict" --lines int8 efficientnet_b0
says 2 '^usage' "$out/predict" --chip
says 2 '^usage' "$out/predict" --tiles /nonexistent
measured=$(ls tools/results/gpu/*.json | grep -v 'bf16\|nopdl\|256x128')
compare_model() { # compare_model STATUS TEXT: the model of time with what was measured
    # shellcheck disable=SC2086 # several files
    says "$1" "$2" python3 tools/gpu/compare_model.py "$out/predict" $measured
}
if command -v python3 >/dev/null 2>&1; then
    compare_model 0 '^9[0-9]\.[0-9] % of 928 operations in 36 cells within 15 %, 0 cells failed$'
    mkdir -p "$out/off/tools/gpu"
    cp tools/gpu/predict.c tools/gpu/time_model.h "$out/off/tools/gpu/"
    plant_in reid.h "$out/off/reid.h" 's/134, 26\.6,/134, 16.6,/' ||
        bad 'the slower L2 cache was not planted'
    cc -O1 -D_GNU_SOURCE "$out/off/tools/gpu/predict.c" -o "$out/predict" -lm -lpthread > "$out/log" 2>&1
    compare_model 1 '^h200 resnet50  *noclusters  *256 .*FAILED$'
else
    skip 'python3 is missing: the model of time was not compared with what was measured'
fi

# --- on the emulator, whose kernels other tests have compiled: the three take turns ---
REID_CACHE_DIR=$PWD/build/tests/cuda_cache
export REID_CACHE_DIR
mkdir -p -m 700 "$REID_CACHE_DIR"
REID_SHARE=3
rows() { # rows COUNT PATTERN: how many lines of correct's table have it
    cp "$out/r/correct.txt" "$out/log"
    [ "$(grep -c -e "$2" "$out/log")" = "$1" ] && good || bad "$1 times \"$2\""
}
if my_turn; then
    says 0 '^correct: ok' env CORRECT_NETS='efficientnet_b0 resnet50' CORRECT_PRECISIONS='fp16 bf16' \
        sh tools/gpu_check --emulator --out "$out/r" correct
    rows 2 '^ok .* fp16  as on the CPU: --cosine 0.9999 '
    rows 2 '^ok .* bf16  as on the CPU: --cosine 0.99[89]'
    rows 6 '^ok .* bf16  same bytes\(, batch 2\|, other order\| with REID_PDL=0\) '
    rows 1 '^ok .* bf16  same bytes, 32768 times as loud .* 2 rows equal'
    rows 1 '^ok .* fp16  it is said that FP16 overflows .* precision bf16'
fi
# INT8, with some images that exceed the ranges.
if my_turn; then
    says 0 '^correct: ok' env CORRECT_NETS=resnet50 CORRECT_PRECISIONS=int8 \
        sh tools/gpu_check --emulator --out "$out/r" correct
    rows 1 '^ok .* int8  with FP32 where it is left .* [12] rows equal'
    rows 3 '^ok .* int8  .* 3 rows equal'
fi
# A fault only in bf16: stored values are truncated, not rounded. FP16 stays right, and both parts name the culprit.
mkdir "$out/cut"
plant_in reid_kernels.cu "$out/cut/reid_kernels.cu" \
    's/^\(#define reid_f16_from_f32\) reid_bf16_from_f32.*/\1(a) ((unsigned short)(__float_as_uint(a) >> 16))/' ||
    bad 'the fault of bf16 was not planted'
if my_turn; then
    says 1 '^correct: FAILED' env CORRECT_NETS=efficientnet_b0 CORRECT_PRECISIONS='fp16 bf16' \
        CORRECT_KERNELS="$out/cut" sh tools/gpu_check --emulator --out "$out/r" correct
    rows 1 '^FAILED efficientnet_b0 *64x32 *bf16  as on the CPU'
    rows 0 '^FAILED .* fp16'
    says 1 '^wrong *reid_conv_f16 bf16 3x3 silu' env BISECT_PARTS=conv BISECT_MATCH='3x3 silu' \
        BISECT_KERNELS="$out/cut" sh tools/gpu_check --emulator --out "$out/r" bisect
    grep -q '^reid_conv_f16 *4 of *4 cases right$' "$out/log" &&
        grep -q '^reid_conv_f16 *0 of *4 cases right, 4 wrong with HALVES=bf16$' "$out/log" && good ||
        bad 'bisect does not tell bf16 from FP16'
fi
my_turn || { say_left_out parts; finish; }
says 0 '^correct: ok' env CORRECT_PRECISIONS='fp32 fp16' sh tools/gpu_check --emulator --out "$out/r" correct
rows 13 '^ok '
cp "$out/r/report.json" "$out/log"
! command -v python3 >/dev/null 2>&1 || python3 -c 'import json, sys; r = json.load(open(sys.argv[1]))
assert r["emulator"] and r["parts"]["correct"]["result"]["failures"] == 0' "$out/r/report.json" && good ||
    bad "report.json"
LD_LIBRARY_PATH=build/emulator
export LD_LIBRARY_PATH
for example in gpu_batch patched_kernel; do
    cc -O1 "examples/$example.c" -o "$out/$example" -lm > "$out/log" 2>&1 && good || bad "$example.c does not compile"
done
says 0 'the same bits in every batch: yes' \
    "$out/gpu_batch" build/gpu/efficientnet_b0.safetensors reid_kernels.cu 32 32
grep -q '^cuda:0, reid emulator' "$out/log" && grep -q 'MB on the GPU (1[0-9] weights' "$out/log" && good ||
    bad 'gpu_batch does not say where it ran, and in how much memory'
says 0 '^ReLU written differently .*: the same bits$' \
    "$out/patched_kernel" build/gpu/resnet50-multiscale.safetensors reid_kernels.cu 32 32
[ "$(grep -c 'cosine 0\.[0-9]*$' "$out/log")" = 2 ] && good || bad 'the other two edits are not seen'
say_left_out parts
finish
