#!/bin/sh
# tools/peers without the peers: README's table is what the script makes of the committed results, ours.c speaks the
# protocol, the Python files compile.
#     sh tests/shown/t_peers.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
passed=0 failed=0 skipped=''
check() { # check WHAT COMMAND...
    what=$1
    shift
    if "$@" > "$dir/log" 2>&1; then passed=$((passed + 1)); return 0; fi
    failed=$((failed + 1))
    echo "FAIL $what"
    tail -n 20 "$dir/log"
}

# --- the table ---
if command -v python3 >/dev/null 2>&1; then
    check "the table of the newest results" python3 tools/peers/table
    cp "$dir/log" "$dir/table"
    sed -n '/^<!-- peers: /,/^<!-- peers end/p' README.md | sed '1d;$d' > "$dir/readme"
    check "README.md has that table: python3 tools/peers/table --write" diff "$dir/table" "$dir/readme"
    check "it has times and ratios" grep -q '^| resnet50 224x224 .*([a-z_]* [0-9]\.[0-9][0-9])' "$dir/table"
    results=$(ls -t tools/results/cpu-*.json | head -n 1)
    sed 's/"ours_ms": [0-9.]*/"ours_ms": 123.4/g' "$results" > "$dir/other.json"
    check "it comes from the file" sh -c "python3 tools/peers/table $dir/other.json | grep -q '| 123 ('"
    check "all cells" sh -c "python3 tools/peers/table --all $results | grep -q ' n=1 t=1 | [0-9]'"
    check "every cell has what DESIGN asks for" python3 - "$results" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert all(result[k] for k in ("date", "machine", "chip", "versions", "cells")) and "driver" in result
for cell in result["cells"]:
    for key in ("net", "size", "precision", "device", "isa", "batch", "threads", "ours_ms", "peers_ms", "spread_ms"):
        assert key in cell, (key, cell)
    if cell["precision"] == "fp32":
        assert all(cell["errors"][n] <= result["most_error"] for n in ["ours", *cell["peers_ms"]]), cell
END
    for file in compare networks worker serving/compare serving/embedder serving/onnx_b0 serving/with_fastapi \
        serving/with_ray; do
        check "$file.py compiles" python3 -c "compile(open('tools/peers/$file.py').read(), '$file.py', 'exec')"
    done
else
    skipped='; python3 is missing: the table was not compared'
fi

# --- the protocol ---
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes -Werror'
# shellcheck disable=SC2086 # several words
check "ours.c compiles" gcc -std=c99 -O2 -D_GNU_SOURCE $warnings -I. tools/peers/ours.c -o "$dir/ours" \
    -lm -lpthread -ldl
# shellcheck disable=SC2086
check "queue.c compiles" gcc -std=c99 -O0 -D_GNU_SOURCE -DREID_NO_VECTORS $warnings -I. tools/peers/serving/queue.c \
    -o "$dir/queue" -lm -lpthread -ldl
# shellcheck disable=SC2086
check "gauge.c compiles" gcc -O2 -march=native -D_GNU_SOURCE $warnings tools/peers/gauge.c -o "$dir/gauge" -lpthread
printf 'run 0 1\nrun 0 1\nstop\n' | "$dir/gauge" 1 rows 0.5 > "$dir/said"
check "ready, then two times" awk 'NR == 1 && $0 == "ready {}" || NR > 1 && /^[0-9]+\.[0-9]+$/ && $1 > 0.1 { n++ }
    END { exit n != 3 || NR != 3 }' "$dir/said"
check "no gauge of no threads" sh -c '! "$1" 0 2> /dev/null' sh "$dir/gauge"
check "seeded weights" sh -c 'make -s build/seeded && build/seeded --net efficientnet_b0 -o "$1"' sh "$dir/w"
head -c $((3 * 64 * 48 * 3)) reid.h > "$dir/pixels" # three images of text
ours() { "$dir/ours" "$dir/w" "$dir/pixels" "$@"; }
printf 'run 1 2\nrun 0 1\nstop\n' | ours 64x48 2 1 fp32 "$dir/rows" 0.5 > "$dir/said"
check "status 0" [ $? = 0 ]
check "ready, then a time for each run" awk 'NR == 1 && /^ready {.*}$/ || NR > 1 && /^[0-9]+\.[0-9]+$/ && $1 > 0 { n++ }
    END { exit n != 3 || NR != 3 }' "$dir/said"
for word in version isa load_ms first_ms process_ms interpreter_kb macs activation_bytes weight_bytes; do
    check "ready says $word" grep -q "\"$word\": [\"0-9]" "$dir/said"
done
od -An -v -tf4 -w5120 "$dir/rows" > "$dir/numbers"
check "two rows of unit length" awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (NF == 1280 && s > 0.9999 &&
    s < 1.0001) n++ } END { exit n != 2 || NR != 2 }' "$dir/numbers"
echo stop | ours 64x48 3 2 fp32 "$dir/rows3" 0 > "$dir/said"
check "the first two of three, by two threads: the same bits" cmp -n 10240 "$dir/rows" "$dir/rows3"
refused() { # refused PATTERN ARGUMENT...
    pattern=$1
    shift
    "$dir/ours" "$@" > "$dir/said" 2>&1 < /dev/null
    check "status 0: $*" [ $? = 0 ]
    check "refused $pattern" grep -q "^refused .*$pattern" "$dir/said"
}
wrong() { # wrong ARGUMENT...
    "$dir/ours" "$@" > "$dir/said" 2>&1 < /dev/null
    check "status 2: $*" [ $? = 2 ]
    check "and how to use it" grep -q '^usage: ours' "$dir/said"
}
refused 'too few pixels' "$dir/w" "$dir/pixels" 64x48 4 1 fp32 "$dir/rows" 0
refused 'No such file' "$dir/w" "$dir/none" 64x48 1 1 fp32 "$dir/rows" 0
refused 'reid_create: .*none' "$dir/none" "$dir/pixels" 64x48 1 1 fp32 "$dir/rows" 0
refused 'reid_create: ' "$dir/w" "$dir/pixels" 64x48 1 1 fp16 "$dir/rows" 0
refused 'No such file' "$dir/w" "$dir/pixels" 64x48 1 1 fp32 "$dir/none/rows" 0
wrong
wrong "$dir/w" "$dir/pixels" 64 1 1 fp32 "$dir/rows" 0
wrong "$dir/w" "$dir/pixels" 64x48 0 1 fp32 "$dir/rows" 0
wrong "$dir/w" "$dir/pixels" 64x48 1 1 fp33 "$dir/rows" 0
echo jump | ours 64x48 1 1 fp32 "$dir/rows" 0 > "$dir/said" 2>&1
check "an unknown word: status 2" [ $? = 2 ]
echo "$passed passed, $failed failed$skipped"
[ $failed -eq 0 ]
