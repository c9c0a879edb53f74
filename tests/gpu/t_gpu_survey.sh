#!/bin/sh
# tools/gpu_check survey without a GPU: the sum of its budgets, its steps, its page and the files to commit, with
# planted faults that must cost no other step anything.
#     sh tests/gpu/t_gpu_survey.sh                  in a tree where the command, the compiler and PyTorch are scripts
#     REID_ALL=1 sh tests/gpu/t_gpu_survey.sh       also with the real ones, on the emulator
# shellcheck disable=SC1091,SC2015,SC2016,SC2030,SC2031,SC2034,SC2317 # && ||; sourced files; subshells
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v python3 > /dev/null 2>&1 || { echo 'skipped: python3 is missing'; exit 77; }
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. tests/lib/check.sh
log=$out/log root=$PWD

# says STATUS TEXT COMMAND...
says() {
    status=$1 text=$2
    shift 2
    "$@" > "$log" 2>&1
    got=$?
    [ $got -eq "$status" ] && shows "$text" "$log" && good && return
    bad "$*: status $got, expected $status with \"$text\""
}
has() { # has FILE TEXT
    grep -q -e "$2" "$1" && good && return
    [ "$1" = "$log" ] || cp "$1" "$log"
    bad "$1 has no \"$2\""
}

# --- budgets ---
sum_of_budgets() (
    . tools/gpu/survey.sh
    sum=0
    for step in $(sed -n "s/.*survey='\(.*\)'$/\1/p" tools/gpu_check); do
        sum=$((sum + $(budget_of "$step"))) || exit 1
    done
    echo "$sum s"
    [ $sum -le 235 ] && [ $sum -gt 180 ]
)
says 0 '^2[0-9][0-9] s$' sum_of_budgets
cases() ( # the cases of all networks
    . tools/gpu/survey.sh
    nets='resnet50 resnet50-multiscale efficientnet_b0' count=64 emulator='' SURVEY_PRECISIONS=''
    capability() { echo 90; }
    list_rows
)
says 0 '^resnet50 int8 REID_SYNC=1 64 -$' cases
[ "$(sort -u "$log" | grep -c .)" = "$(grep -c . "$log")" ] && good || bad 'cases are listed twice'
for case in 'resnet50 int8 - 1 --latency' 'resnet50 int8 - 64 --flip' 'resnet50 bf16 REID_PDL=0 64 -' \
    'resnet50 fp32 REID_CLUSTERS=0 1 -' 'resnet50-multiscale int8 - 64 -' 'efficientnet_b0 fp16 REID_WGMMA=0 64 -'; do
    has "$log" "^$case\$"
done
grep -q 'efficientnet_b0 int8' "$log" && bad 'EfficientNet-B0 has no INT8' || good

# --- a tree with scripts instead of the command, the compiler, make, the GPU and PyTorch ---
tree=$out/tree bin=$out/bin
mkdir -p "$tree/build/gpu/pictures/a" "$tree/build/gpu/jpeg/640x480" "$tree/build/gpu/jpeg/256x256" "$bin"
ln -s "$root/tools" "$root/reid.h" "$tree/"
touch "$tree/build/gpu/pictures/a/1.png" "$tree/build/gpu/jpeg/640x480/1.jpg" "$tree/build/gpu/jpeg/256x256/1.jpg"
script() { cat > "$1" && chmod +x "$1"; }
script "$bin/nvidia-smi" << 'END'
#!/bin/sh
case $* in *compute_cap*) echo 9.0 ;; *) echo 'NVIDIA H200, 580.1' ;; esac
END
script "$bin/make" << 'END'
#!/bin/sh
cp "$FAKES/reid" build/reid
printf '#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done; echo weights > "$1"\n' > build/seeded
cp build/seeded build/demo_images
chmod +x build/seeded build/demo_images
END
script "$bin/cc" << 'END'
#!/bin/sh
case $* in *-E*) exit ;; esac
while [ $# -gt 0 ]; do
    [ "$1" = -o ] && name=${2#build/gpu/} && cp "$FAKES/program" "$2" && chmod +x "$2"
    shift
done
END
script "$bin/program" << 'END'
#!/bin/sh
case $0 in
*compare) echo '64 rows of 8: 64 rows equal'; ! grep -q wrong "$1" ;;
*search)
    case $SURVEY_FAULTS in *search*) trap '' TERM; exec sleep 40 ;; esac
    [ "$1" != grow ] ||
        exec echo '{"rows": 200000, "dim": 512, "groups": false, "made_ms": 5.04, "grown_ms": 0.051}'
    for n in 1 32 1000; do
        echo "    {\"rows\": 1000000, \"queries\": $n, \"ours_ms\": 0.2, \"same_as_cpu\": true}"
    done ;;
esac
END
# The command: embeddings are a word; `bench` has the last results of an H200, with a graph.
script "$bin/reid" << 'END'
#!/bin/sh
verb=$1 all="$REID_PDL $*"
while [ $# -gt 0 ]; do
    case $1 in -o | --output) to=$2 ;; esac
    shift
done
case $verb-$SURVEY_FAULTS-$all in
embed-*hang*-0*int8*) exec sleep 40 ;;
embed-*wrong*cuda*bf16*--latency*) echo wrong > "$to" ;;
embed-*dies*cuda*fp32*--batch\ 1\ *) echo 'reid: layer3.1.conv2 failed'; exit 2 ;;
bench-*int8*--precision\ int8*) echo 'reid: no such ranges'; exit 2 ;;
bench-*) sed 's/"network_ms": \([0-9.]*\)/&, "graph_ms": \1/' \
    "$RESULTS/2026-11-26-h200-$(basename "$to")" > "$to" ;;
*) echo "$verb" > "$to" ;;
esac
END
script "$bin/python3" << 'END'
#!/bin/sh
case $* in
*find_spec* | *--warm*) ;;
*peers.py*)
    case $SURVEY_FAULTS in
    *torch*) echo 'CUDA error' >&2; exit 1 ;;
    *stuck*) trap '' TERM; exec sleep 40 ;;
    esac
    printf '%s\n' '{"versions": {"torch": "2.11.0"}}' '{"queries": 32, "k": 10, "kind": "topk", "ms": 0.6}' \
        '{"net": "resnet50", "size": "224x224", "precision": "fp16", "batch": 256, "peers_ms": {"torch_reduce": 8}}' \
        '{"net": "cut off' >> "$OUT/torch.jsonl" ;;
*) exec "$PYTHON" "$@" ;;
esac
END
PYTHON=$(python3 -c 'import sys; print(sys.executable)') FAKES=$bin RESULTS=$root/tools/results/gpu SURVEY_FAULTS=''
export PYTHON FAKES RESULTS SURVEY_FAULTS
survey() { # survey NAME ARGUMENT...
    OUT=$out/$1
    shift
    env OUT="$OUT" TMPDIR="$out" PATH="$bin:$PATH" CC=cc MAKE=make CPPFLAGS='' sh "$tree/tools/gpu_check" \
        --commit abc1234 --out "$OUT" --carried "$out/none" --tar "$OUT.tar.gz" "$@"
}

# Everything works: the page is complete, and what is to be committed is what was measured.
SURVEY_NETS='resnet50 efficientnet_b0' SURVEY_PRECISIONS='fp16 int8'
export SURVEY_NETS SURVEY_PRECISIONS
says 0 '^files: ok' survey good survey
page=$out/good/page.md
[ -s "$page" ] && good || bad 'there is no page'
has "$page" '^| resnet50 | fp16 | 256 | 6\.978 | 6\.978 | 1\.00 | 4\.644 | - | 23.. | 4\.644 | 4\.644 | 1\.00 | 36684 |'
has "$page" '^| fp16 | 32 | 0\.200 | 1\.156 | 0\.17 | 0\.600 | 0\.597 | 3\.00 | yes |$'
has "$page" '^| resnet50 | 256 | 8\.000 | reduce | 8\.394 | 0\.95 | 4\.644 | 1\.72 |$'
has "$page" '^| One image, .* | 343 us, -31 of them around the graph |$'
has "$page" '^| 256 images, ResNet-50.* | 6978 us, 1\.50 times the graph |$'
has "$page" '^| a whole call, k = 10 .* | 0\.200, 0\.200, 0\.200 ms |$'
has "$page" '^| resnet50 | 640x480 | [0-9-]* | 2475 | [0-9.-]* |$' # a script is as fast for any number of files
has "$page" 'commit abc1234'
planned=$(sed 's/[^0-9]//g' "$out/good/rows.planned")
has "$page" "^$planned of $planned embeddings .*; 0 of [0-9]* checks failed"
[ "$(grep -c '\*\*' "$page")" = 1 ] && grep -q '2,048 images.*not measured' "$page" && good || # not in the old files
    { cp "$page" "$log"; bad 'the page reports faults'; }
day=$(date -u +%Y-%m-%d)
ls "$out/good/commit" > "$log"
for name in resnet50 resnet50-latency resnet50-int8 resnet50-fp32 efficientnet_b0 efficientnet_b0-latency; do
    has "$log" "^$day-h200-$name\.json\$"
done
for name in search files pytorch rows; do has "$log" "^$day-h200-$name\.jsonl\$"; done
says 0 '^abc1234 580.1 2.11.0 6.97848$' python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(r["versions"]["commit"], r["versions"]["nvidia_driver"], r["versions"]["torch"],
      [c["ours_ms"] for c in r["cells"] if c["batch"] == 256][0])' "$out/good/commit/$day-h200-resnet50.json"
tar -xOzf "$out/good.tar.gz" ./page.md 2>/dev/null | cmp -s - "$page" && good || bad 'the tar is not complete'

# Faults: a mode that hangs, rows that are wrong, a process that dies, a cell and PyTorch that fail.
SURVEY_FAULTS='hang wrong dies int8 torch' SURVEY_SECONDS=1 SURVEY_NETS=resnet50 SURVEY_PRECISIONS='fp32 int8 bf16'
export SURVEY_SECONDS
says 1 '^cells: FAILED' survey bad survey
page=$out/bad/page.md
has "$page" '^- \*\*resnet50 int8 REID_PDL=0, batch 64\*\*: .*exit status 12[45]'
has "$page" '^- \*\*resnet50 bf16 default --latency, batch 1\*\*: as on the CPU: 64 rows'
has "$page" '^- \*\*resnet50 fp32 default, batch 1\*\*: .* layer3.1.conv2 failed$'
has "$page" '^- \*\*no cell resnet50-int8\*\*: reid: no such ranges$'
has "$page" '^- \*\*hung\*\*: resnet50 int8 REID_PDL=0$'
has "$page" '^| resnet50 | fp32 | 256 | 78\.656 |'
has "$page" '^| torch | \*\*FAILED\*\* |'
has "$page" '^| search | ok |'
has "$page" '^One row more for 200000 rows of 512: 0\.05 ms; a new index: 5\.0\.$'
has "$page" '^| files | ok |'
grep -q '^- .*fp32 default --latency, batch 64' "$page" && bad 'what is right is reported as a fault' || good

# Steps that can only be stopped by force cost their own time only; a second call does what broke.
SURVEY_FAULTS='search stuck'
began=$(date +%s)
says 1 '^search: FAILED\|^search: stopped' survey bad --limit 2 search torch files
[ $(($(date +%s) - began)) -lt 35 ] && good || bad 'steps took longer than their limits'
has "$out/bad/torch.status" '^stopped '
has "$out/bad/files.status" '^ok '
has "$page" '^| search | \*\*[a-zA-Z]*\*\* |'
has "$page" '^| resnet50 | fp32 | 256 | 78\.656 |' # the other steps' results are kept
SURVEY_FAULTS='' SURVEY_PRECISIONS=int8
rm "$out/bad/hung"
says 0 '^rows: ok' survey bad rows cells search torch
has "$page" '; 0 of [0-9]* checks failed'
grep -q '\*\*FAILED\|\*\*stopped\|no cell\|hung' "$page" && { cp "$page" "$log"; bad 'faults are left'; } || good
says 2 'a commit is missing' sh tools/gpu_check --out "$out/r" --commit

# --- the real command, on the emulator ---
if all; then
    . tests/emulator/needs.sh
    REID_CACHE_DIR=$PWD/build/tests/cuda_cache
    export REID_CACHE_DIR
    mkdir -p -m 700 "$REID_CACHE_DIR"
    SURVEY_NETS=efficientnet_b0 SURVEY_PRECISIONS=fp16
    says 0 '^rows: ok' sh tools/gpu_check --emulator --out "$out/e" survey
    has "$out/e/page.md" '; 0 of [0-9]* checks failed'
    has "$out/e/page.md" '^| efficientnet_b0 | fp16 | 2 | [0-9.]* | - | - | [0-9.]* |'
    has "$out/e/page.md" '^| efficientnet_b0 | 640x480 | [0-9-]* | - | - |$'
fi
finish
