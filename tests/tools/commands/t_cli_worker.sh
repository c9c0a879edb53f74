# t_cli_worker.sh: reid worker: the bits of reid embed with many requests in progress, every malformed frame, limits,
# all ways to end, and the exit codes for schedulers.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
# with WHAT ARGUMENT...: a program of tests/tools/server/worker_faults.py that starts a worker with these
with() {
    what=$1
    shift
    check "$what" python3 "$repository/tests/tools/server/worker_faults.py" "$what" "$REID" "$@"
}

b0 b0.safetensors
b0 other.safetensors 2
picture a.png 90 70 3
picture bomb.png 400 400 1
mkdir -p gallery/ann gallery/bob
picture gallery/ann/1.png 60 60 5
picture gallery/bob/1.png 60 60 6
printf 'path,x,y,width,height\na.png,3,4,30,40\na.png,-5,60,50,50\n' >boxes.csv
"$REID" embed -q -m b0.safetensors --size 64x64 a.png -o a.npy
"$REID" embed -q -m b0.safetensors --size 64x64 --boxes boxes.csv -o boxes.npy
small='-m b0.safetensors --size 64x64'
slow='-m b0.safetensors --size 192x192 --isa scalar --threads 1 --batch 1'

ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 # freed memory must not count as used
export ASAN_OPTIONS

# What is refused before anything is read: 2.
run 2 worker
says 'no model'
run 2 worker -m b0.safetensors x
says 'worker: unexpected argument: x (weights go after -m)'
run 2 worker -m b0.safetensors -m b0.safetensors
says 'worker: two models are called b0'
run 2 worker -m b0.safetensors --threshold 0.5
says 'worker: --calibration, --score-weights and --threshold need a --gallery'
run 2 worker -m b0.safetensors --socket x
says 'unknown option --socket'
run 2 worker -m lost.safetensors
says 'lost.safetensors: no such file'
head -c 100000 b0.safetensors >cut.safetensors
run 2 worker -m cut.safetensors
says 'downloaded completely'
if command -v script >/dev/null 2>&1; then
    script -qec "$REID worker -m b0.safetensors" /dev/null >"$out" 2>&1 </dev/null
    prints 'stdout is a terminal'
fi

# Files work as well as pipes; an empty one means no requests.
run 0 worker -m b0.safetensors </dev/null
silent
printf '\020\000\000\000\000\000\000\000{"ask": "stats"}' >stats.frame
for _ in $(seq 2000); do cat stats.frame; done >many.frames
# shellcheck disable=SC2086
run 0 worker $small <many.frames
check "2000 answers" [ "$(grep -c '"model_stats"' "$out")" = 2000 ]
# shellcheck disable=SC2086
"$REID" worker $small <many.frames >/dev/full 2>"$err"
check "75: a full disk (was $?)" [ $? = 75 ]
says 'stdout: No space left'
# shellcheck disable=SC2086
"$REID" worker $small <many.frames >&- 2>"$err"
check "75: no stdout" [ $? = 75 ]
(ulimit -v 20000 && exec "$REID" worker -m b0.safetensors <stats.frame >"$out" 2>"$err")
got=$?
if ! grep -q 'AddressSanitizer\|shared libraries' "$err"; then # with a sanitizer it cannot even start with so little
    check "75: no memory (was $got)" [ $got = 75 ]
fi

# shellcheck disable=SC2086
{
    with same_rows $small
    with header_errors $small --max-body 1M --max-pixels 100000 --gallery gallery --threshold 0.9
    with broken $small --max-body 1M
    with limits $small --limit 16 --batch 8
    with match $small --gallery gallery --threshold 0.9
    with ending $slow
    with stuck $small --max-body 1M
    with orphan $slow
    with nobody_reads $small
}
"$REID" match -m b0.safetensors --size 64x64 --gallery gallery --threshold 0.9 --json a.png >json
python3 "$repository/tests/tools/server/worker_faults.py" match "$REID" \
    -m b0.safetensors --size 64x64 --gallery gallery \
    --threshold 0.9 >answer
check "the answer of reid match" python3 -c '
import json
want, got = json.load(open("json")), json.load(open("answer"))
assert got and all(want[k] == v for k, v in got.items() if k != "query"), (want, got)'

# With two models, a request must name one.
printf '\032\000\000\000\001\000\000\000{"ask": "embed", "id":"a"}x' >which.frame
run 0 worker -m one=b0.safetensors -m two=other.safetensors <which.frame
prints '"id": "a", "status": 400'
prints '{"id": "a", "status": 400, "json": 61}{"error": "..model.. is required: this server has 2 models"}'
finish
