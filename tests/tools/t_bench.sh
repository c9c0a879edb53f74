# t_bench.sh: reid bench: its table, its JSON, its ceilings, its errors. Needs what cli_lib.sh says.
#     sh tests/tools/t_bench.sh
# shellcheck disable=SC2016 # the single quotes hold awk programs
cd "$(dirname "$0")/../.." || exit 1
[ -x build/reid ] || make -s build/reid || exit 1
. tests/tools/cli_lib.sh
b0 w.safetensors
few="--size 64x64 --rounds 3 --threads 1"

bad() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    run 2 bench "$@"
    says "$pattern"
    silent
}
bad 'no model: give its weights with -m' --batches 1
bad 'one model at a time' -m a -m b
bad 'nothing to do with x.png' -m w.safetensors x.png
bad 'lost.safetensors: no such file' -m lost.safetensors
for value in '' 0 1,0 '1,' ',1' 1,x -1 65537 '1 2'; do
    bad '--batches takes N,..., not' -m w.safetensors --batches "$value"
done
for value in 0 x 1001 ''; do bad '--rounds takes N, not' -m w.safetensors --rounds "$value"; done
for value in x -1 nan; do bad '--peak-gflops takes X, not' -m w.safetensors --peak-gflops "$value"; done
nvidia-smi >/dev/null 2>&1 || bad 'w.safetensors: CUDA needs the NVIDIA driver' -m w.safetensors --tune
mkdir folder
bad 'folder: is a folder' -m w.safetensors -o folder

# shellcheck disable=SC2086 # several words
run 0 bench -m w.safetensors $few --batches 1,3 --ops --start 2 --output b.json
prints '^efficientnet_b0, 64x64, fp32, cpu '
prints '^0\.0[0-9]* GFLOP an image; ceilings: [0-9]* GFLOP/s, [0-9.]* GB/s, measured here'
prints '^from reid_create to the first embedding: [0-9.]*, [0-9.]* ms$'
check "two rows, ordered, the network not slower than twice the call" awk '
    $1 ~ /^[13]$/ && NF == 8 { n++; if ($2 < $3 || $2 > $4 || $3 <= 0 || $8 <= 0 || $8 > 2 * $2) bad = 1 }
    END { exit n != 2 || bad }' "$out"
check "33 + 16 convolutions twice" [ "$(grep -c '^[^ ]* *\(conv\|depthwise\) ' "$out")" = 98 ]
check "each is bound by something" awk '
    /^[^ ]+ +conv / && !/with the next/ && $NF != "compute" && $NF != "memory" { exit 1 }' "$out"
check "no line is longer than 120" [ -z "$(awk 'length > 120' "$out")" ]
for pattern in '"date": "20' '"chip": "' '"driver": ""' '"versions": {"reid": "' '"rounds": 3' \
    '{"net": "efficientnet_b0", "size": "64x64", "precision": "fp32", "device": "cpu", "isa": "[a-z0-9]*", "batch": 1' \
    '"batch": 3, "threads": 1, "ours_ms": [0-9.]*, "min_ms": [0-9.]*, "max_ms": [0-9.]*, "network_ms": [0-9.]*,' \
    '"start_ms": \[[0-9.]*, [0-9.]*\], "ops": \[{"name": "features.0.0", "kind": "conv", "kernel": "(with' \
    '"name": "features.8.0", "kind": "conv", "kernel": "", "us": '; do
    check "b.json has $pattern" grep -q -e "$pattern" b.json
done
check "a cell a line" [ "$(grep -c '^    {"net"' b.json)" = 2 ]
if command -v python3 >/dev/null 2>&1; then
    check "b.json is JSON" python3 -c 'import json; assert len(json.load(open("b.json"))["cells"][1]["ops"]) > 60'
fi
no_leftovers

# Ceilings that are given are used and not measured; more images than the batch are computed in pieces.
# shellcheck disable=SC2086
run 0 bench -m w.safetensors $few --batches 4 --batch 2 --peak-gflops 1000 --peak-gbs 50.5 --json
prints '"ceilings": {"gflops": 1000, "gbs": 50.5}'
prints '"batch": 4, .*"network_ms": null, "start_ms": \[\], "ops": \[\]}'
# shellcheck disable=SC2086
run 0 bench -m w.safetensors $few --batches 4 --batch 2 --peak-gflops 1000 --peak-gbs 50.5
prints '^0\.0[0-9]* GFLOP an image; ceilings: 1000 GFLOP/s, 50.5 GB/s, as given '
prints '^ *4 .* -$'
for isa in scalar avx2 avx512 avx512_bf16 amx_bf16; do
    precision=fp32
    case $isa in *_bf16) precision=bf16 ;; esac
    [ $isa = scalar ] || grep -qw "$(echo $isa | sed 's/512$/512f/')" /proc/cpuinfo || continue
    # shellcheck disable=SC2086
    run 0 bench -m w.safetensors $few --batches 1 --isa $isa --precision $precision
    check "the network stays below the ceiling of $isa" awk -v isa="$isa" '
        /GFLOP an image/ { peak = $6 } $1 == 1 && NF == 8 { ours = $7 } END { exit !(ours > 0 && ours < peak) }' "$out"
done
finish
