#!/bin/sh
# tools/peers without the peers: the table in its README is what the script makes of the committed results, each of
# which is linked; ours.c follows the protocol; the Python files compile; group.py runs on 300 rows, track.py on two
# films and video.py on seconds of others (with their peers, if tools/peers/group, track and video have installed them).
#
#     sh tests/shown/t_peers.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. tests/lib/says.sh
passed=0 failed=0 skipped=''
check() { # check WHAT COMMAND...
    what=$1
    shift
    if holds "$@" > "$dir/log" 2>&1; then passed=$((passed + 1)); return 0; fi
    failed=$((failed + 1))
    echo "FAIL $what"
    tail -n 20 "$dir/log"
}

# --- the table ---
if command -v python3 >/dev/null 2>&1; then
    check "the table of the newest results" python3 tools/peers/table
    cp "$dir/log" "$dir/table"
    sed -n '/^<!-- peers: /,/^<!-- peers end/p' tools/peers/README.md | sed '1d;$d' > "$dir/readme"
    check "tools/peers/README.md has that table: python3 tools/peers/table --write" diff "$dir/table" "$dir/readme"
    check "it has times and ratios" grep -q '^| resnet50 224x224 .*([a-z_]* [0-9]\.[0-9][0-9])' "$dir/table"
    results=$(ls tools/results/cpu/2*.json | tail -n 1) # their names are dates
    sed 's/"ours_ms": [0-9.]*/"ours_ms": 123.4/g' "$results" > "$dir/other.json"
    check "it comes from the file" sh -c "python3 tools/peers/table $dir/other.json | grep -q '| 123 ('"
    check "all cells" sh -c "python3 tools/peers/table --all $results | grep -q ' n=1 t=1 | [0-9]'"
    check "every cell has the required fields" python3 - "$results" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert all(result[k] for k in ("date", "machine", "chip", "versions", "cells")) and "driver" in result
for cell in result["cells"]:
    for key in ("net", "size", "precision", "device", "isa", "batch", "threads", "ours_ms", "peers_ms", "spread_ms"):
        assert key in cell, (key, cell)
    if cell["precision"] == "fp32":
        assert all(cell["errors"][n] <= result["most_error"] for n in ["ours", *cell["peers_ms"]]), cell
END
    for file in compare networks worker search group group_peer track video video_peer int8 files files_peer \
        serving/compare serving/embedder serving/onnx_b0 serving/with_fastapi serving/with_ray; do
        check "$file.py compiles" python3 -c "compile(open('tools/peers/$file.py').read(), '$file.py', 'exec')"
    done
else
    skipped='; python3 is missing: the table was not compared'
fi

# --- the results ---
for file in tools/results/*/*.json; do
    topic=${file%/*} name=${file##*/}
    check "$topic/README.md links to $name" grep -qF "]($name)" "$topic/README.md"
    check "tools/results/README.md links to results of ${topic##*/}" \
        grep -q "](${topic##*/}/[^)]*\.json)" tools/results/README.md
done
for topic in tools/results/*/; do
    topic=${topic#tools/results/}
    check "tools/results/README.md has a row for $topic" grep -qF "| [${topic%/}](${topic}README.md) |" \
        tools/results/README.md
done

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
check "gauge refuses 0 threads" sh -c '! "$1" 0 2> /dev/null' sh "$dir/gauge"
check "seeded weights" sh -c 'make -s build/seeded && build/seeded --net efficientnet_b0 -o "$1"' sh "$dir/w"
head -c $((3 * 64 * 48 * 3)) reid.h > "$dir/pixels" # text as the pixels of three images
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

# --- tracks ---
# shellcheck disable=SC2086 # several words
check "track_ours.c compiles" gcc -std=c99 -O2 -D_GNU_SOURCE $warnings -I. -Itools tools/peers/track_ours.c \
    tools/demo_program/herd.c tools/tracks/track*.c tools/tracks/kalman.c tools/tracks/assignment.c \
    tools/base/random.c tools/base/memory.c tools/base/say.c tools/base/text.c tools/base/clock.c \
    -o "$dir/track_ours" -lm -lpthread
make -s build/demo_video
build/demo_video --no-frames --seconds 10 --fps 5 --seed 2 --detections "$dir/found" --who "$dir/who"
ours_track() { "$dir/track_ours" "$@" > "$dir/said" 2>&1; }
check "a drawn film" ours_track 5 "$dir/found" "$dir/who" "$dir/tracks" "$dir/joined"
check "tracks as MOT text, no box twice" awk -F, 'NF != 10 || $1 < 1 || $1 > 50 || $2 < 1 || seen[$1, $2]++ { exit 1 }
    END { if (NR < 40) exit 1 }' "$dir/tracks"
check "joined: the same boxes in no more tracks" sh -c 'cut -d, -f1,3- "$1" > "$1.a" &&
    cut -d, -f1,3- "$2" | cmp - "$1.a" && [ "$(cut -d, -f2 "$2" | sort -u | wc -l)" -le \
    "$(cut -d, -f2 "$1" | sort -u | wc -l)" ]' sh "$dir/tracks" "$dir/joined"
for wrong in "" "0 $dir/found $dir/who $dir/out" "5 $dir/none $dir/who $dir/out" "5 $dir/joined $dir/who $dir/out" \
    "5 $dir/found $dir/who $dir/none/out"; do
    # shellcheck disable=SC2086 # several words
    check "status 2: track_ours $wrong" sh -c '"$@"; [ $? = 2 ]' sh "$dir/track_ours" $wrong
done
tracking=build/peers/tracking/bin/python
if "$tracking" -c 'import trackers' 2> /dev/null; then
    check "track.py on two films" "$tracking" tools/peers/track.py --ours "$dir/track_ours" --films 2 --seconds 5 \
        --rates 5 --mistakes 1 -o "$dir/track.json"
    check "its cell is complete" "$tracking" - "$dir/track.json" <<'END'
import json, sys
cell, = json.load(open(sys.argv[1]))["cells"]
for measure in ("HOTA", "IDF1", "MOTA"):
    assert set(cell[measure]) >= {"ours", "ours_joined", "sort", "bytetrack"} and cell[measure]["ours"] > 20, cell
    assert cell["best_peer"][measure] in cell[measure], cell
END
else
    skipped="$skipped; tools/peers/track has installed nothing yet: track.py was not run"
fi

# --- films ---
films=build/peers/films/bin/python
if ! command -v ffmpeg > /dev/null; then
    skipped="$skipped; ffmpeg is missing: video.py was not run"
elif ! "$films" -c 'import cv2' 2> /dev/null; then
    skipped="$skipped; tools/peers/video has installed nothing yet: video.py was not run"
else
    check "reid" make -s build/reid
    video() { "$films" tools/peers/video.py --rounds 1 --seconds 1 --wanted 5 --long 0 "$@"; }
    check "video.py on a film of a second, and on deer" video --long 20 --short 10 -o "$dir/video.json"
    check "its cells are complete" "$films" - "$dir/video.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert all(result[k] for k in ("date", "machine", "chip", "cpus", "load", "versions", "reid_h_sha256")), result
film, memory = result["cells"]
ours, peers = ["reid_auto", "reid_none"], ["opencv_grab", "opencv_read", "opencv_seek"]
assert film["work"] == "film" and film["wanted"] == 5 and film["film"]["frames"] == 25 and not film["refused"], film
for key in ("seconds", "cpu_s", "peak_mb", "own_mb", "spread_s"):
    assert sorted(film[key]) == ["ffmpeg", *peers, *ours], (key, film)
for name in ours:
    assert film["rows"][name] == 5 and film["levels_apart"][name] <= 1 and film["of_decoding"][name] > 0, film
    assert film["peak_mb"][name] > film["own_mb"][name] > 1, film # the rest is ffmpeg's
    assert sorted(film["times_better"][name]) == sorted(film["cpu_times_better"][name]) == peers, film
assert film["same_crops"]["opencv_grab"] == 1 and len(film["goals"]) == 4, film
assert memory["work"] == "memory" and not memory["refused"] and len(memory["goals"]) == 2, memory
assert memory["found"]["long"]["rows"] > memory["found"]["short"]["rows"] > 0, memory
END
    # A reid track whose first two crops are exchanged, and one that gets the boxes a frame too late.
    cat > "$dir/exchanging" <<'END'
#!/bin/sh
for out; do :; done
build/reid "$@" && [ -d "$out" ] || exit
set -- "$out"/crops/film/*.png
mv "$1" "$out/one" && mv "$2" "$1" && mv "$out/one" "$2"
END
    cat > "$dir/late" <<'END'
#!/bin/sh
[ "$1" = track ] && awk -F, -v OFS=, '{ $1++; print }' "$5" > "$5.late" && mv "$5.late" "$5"
exec build/reid "$@"
END
    chmod +x "$dir/exchanging" "$dir/late"
    video --ours "$dir/exchanging" --peers opencv_read > "$dir/said" 2>&1
    check "other crops: status 1" [ $? = 1 ]
    check "are detected by their pixels" grep -q '"levels_apart": {"reid_none": [1-9]' "$dir/said"
    video --ours "$dir/late" --peers '' > "$dir/said" 2>&1
    check "other frames: status 1" [ $? = 1 ]
    check "are refused" grep -q '"reid_none": "a crop is not that of a wanted frame"' "$dir/said"
    video --ours /bin/false --peers '' > "$dir/said" 2>&1
    check "status 1 without reid track" [ $? = 1 ]
    check "and how it ended" grep -q '"refused": {"reid_none": "ended with status 1"' "$dir/said"
    for wrong in '--peers nobody' '--wanted 26' '--ffmpeg /none/ffmpeg' '--seconds x'; do
        # shellcheck disable=SC2086 # two words
        video $wrong > "$dir/said" 2>&1
        check "status 2: video.py $wrong" [ $? = 2 ]
    done
fi

# --- photos ---
if command -v python3 > /dev/null; then
    check "what photos.py needs" ${MAKE:-make} -s build/reid build/seeded build/demo_photos
    check "photos.py on 12 photos" python3 tools/peers/photos.py --photos 12 --rounds 1 -o "$dir/photos.json"
    check "its cell is complete" python3 - "$dir/photos.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert (result["photos"], result["boxes"], result["size"]) == (12, 60, "96x96") and result["chip"]
for name in ("embed", "track"):
    is_ = result[name]
    assert is_["seconds"] > 0 and is_["cpu_s"] > 0 and is_["peak_mb"] > 20 and len(is_["all_s"]) == 1, result
assert abs(result["ratio_seconds"] - result["track"]["seconds"] / result["embed"]["seconds"]) < 1e-3
END
fi

# --- groups ---
# shellcheck disable=SC2086 # several words
check "group_ours.c compiles" gcc -std=c99 -O0 -D_GNU_SOURCE -DREID_NO_VECTORS $warnings -I. \
    tools/peers/group_ours.c -o "$dir/group_ours" -lm -lpthread -ldl
awk 'BEGIN { for (i = 0; i < 8; i++) printf "%s", i % 4 ? "====" : ">>>>" }' > "$dir/eight" # four rows of two floats
ours_group() { "$dir/group_ours" "$@" > "$dir/said" 2>&1; }
check "four rows" ours_group group "$dir/eight" 4 2 1 0.5 "$dir/groups"
check "a line of JSON with seconds, memory and joins" grep -qE '^{"seconds": [0-9.]+, "cpu_seconds": [0-9.]+, '\
'"before_kb": [1-9][0-9]*, "peak_kb": [1-9][0-9]*, "groups": 1, "joins": 3, "version": [0-9]+}$' "$dir/said"
check "a group for each" [ "$(wc -c < "$dir/groups")" = 16 ]
check "neighbours" ours_group neighbours "$dir/eight" 4 2 1 3 "$dir/groups"
check "three for each" [ "$(wc -c < "$dir/groups")" = 48 ]
for wrong in "group $dir/eight 5 2 1 0.5" "group $dir/eight 3 2 1 0.5" "group $dir/none 4 2 1 0.5"; do
    # shellcheck disable=SC2086 # several words
    check "status 1: $wrong" sh -c '"$@"; [ $? = 1 ]' sh "$dir/group_ours" $wrong "$dir/groups"
done
for wrong in "" "group" "group $dir/eight 4 2 1 3" "group $dir/eight 4 2 1 0.5x" "neighbours $dir/eight 4 2 1 5" \
    "neighbours $dir/eight 4 2 1 0.5" "group $dir/eight 4 0 1 0.5" "group $dir/eight 4 2.5 1 0.5" \
    "both $dir/eight 4 2 1 0.5"; do
    # shellcheck disable=SC2086 # several words
    check "status 2: $wrong" sh -c '"$@"; [ $? = 2 ]' sh "$dir/group_ours" $wrong "$dir/groups"
done
peers=sklearn,fastcluster,fastcluster_blas,hdbscan,faiss
python=build/peers/grouping/bin/python
if ! "$python" -c 'import numpy' 2> /dev/null; then
    # shellcheck disable=SC2015 # one or the other
    peers='' python=$(. tests/lib/python.sh && need_python venv_pictures numpy pillow > "$dir/log" && echo "$python") ||
        skipped="$skipped; $(cat "$dir/log"): group.py was not run"
fi
if [ -n "$python" ]; then
    group() { "$python" tools/peers/group.py --ours "$dir/group_ours" --dim 32 --rounds 2 --threads 1 "$@"; }
    check "group.py on 300 rows" group --rows 300 --near 200 --alone 200 --neighbours 250 -k 5 --peers "$peers" \
        -o "$dir/group.json"
    check "its cells are complete, and rows of an individual are together" "$python" - "$dir/group.json" "$peers" \
        <<'END'
import json, sys
result, peers = json.load(open(sys.argv[1])), [p for p in sys.argv[2].split(",") if p]
assert all(result[k] for k in ("date", "machine", "chip", "cpus", "versions", "reid_h_sha256", "cells"))
both, hair, alone, near = result["cells"]
assert [c["rows"] for c in result["cells"]] == [300, 200, 200, 250]
assert [c["work"] for c in result["cells"]] == ["groups", "groups of near rows", "groups", "neighbours"]
groupers = [p for p in peers if p != "faiss"]
for cell, names in ((both, groupers), (hair, groupers), (alone, []), (near, [p for p in peers if p == "faiss"])):
    assert cell["ours_s"] > 0 and cell["threads"] == 1 and cell["dim"] == 32 and cell["refused"] == {}, cell
    assert all(cell["peak_mb"][n] >= cell["before_mb"][n] > 1 for n in ["reid", *names]), cell
    for key in ("peers_s", "times_better", "cpu_times_better", "times_memory"):
        assert sorted(cell[key]) == sorted(names), (key, cell)
    least, most = cell["spread_s"]["reid"]
    assert least <= cell["ours_s"] <= most, cell
for cell in (both, hair, alone):
    assert cell["groups"]["reid"] + cell["joins"] == cell["rows"] > cell["individuals"], cell
    assert 0.8 < cell["bcubed_f"]["reid"] <= 1 and not any(cell["rows_apart"].values()), cell
assert near["k"] == 5 and near["prepare_s"]["reid"] >= 0 and both["rounds"] == 2 and alone["rounds"] == 1
END
    group --rows 0 --near 0 --alone 0 --neighbours 50 -k 3 --peers '' > "$dir/said" 2>&1
    check "one part" [ "$? $(wc -l < "$dir/said")" = '0 1' ]
    group --rows 100 --near 0 --alone 0 --neighbours 0 --peers '' --ours /bin/false > "$dir/said" 2>&1
    check "status 1 without ours" [ $? = 1 ]
    check "and who has failed" grep -q '"refused": {"reid": "ended with status 1"}' "$dir/said"
    group --peers nobody > "$dir/said" 2>&1
    check "an unknown peer: status 2" [ $? = 2 ]
    check "is named" grep -q 'unknown name nobody; expected some of' "$dir/said"
fi
echo "$passed passed, $failed failed$skipped"
[ $failed -eq 0 ]
