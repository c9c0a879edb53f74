# t_cli_outputs.sh: what reid embed writes: the three formats, shards, resuming, and full disks, signals, closed pipes.
. tests/lib/cli_lib.sh
b0 w.safetensors
"$CLI_FILES" weights w2.safetensors efficientnet_b0 file 2
embed() { status=$1; shift; run "$status" embed -m w.safetensors --size 64x64 "$@"; }
mkdir -p in/ann in/bob
for i in 1 2 3; do picture in/ann/$i.png 60 50 $i; picture in/bob/$i.png 40 70 1$i; done
: >in/bob/2a.png
rows() { "$CLI_FILES" rows "$1"; }

# The three formats hold the same numbers; a failed input has no row; .npy is aligned (rows checks that).
embed 1 in -o x.npy
embed 1 in -o x.csv
embed 1 in -o x.jsonl
embed 1 in
same x.jsonl "$out"
embed 1 in -o -
same x.jsonl "$out"
no_leftovers
rows x.npy >from_npy
sed 1d x.csv | cut -d, -f3- >from_csv
sed 's/.*"embeddings": \[\[\(.*\)\]\]}/\1/' x.jsonl >from_jsonl
same from_npy from_csv
same from_npy from_jsonl
lines from_npy 6
sed 1d x.csv | cut -d, -f1,2 >got
printf '%s\n' in/ann/1.png,ann in/ann/2.png,ann in/ann/3.png,ann in/bob/1.png,bob in/bob/2.png,bob in/bob/3.png,bob \
    >wanted
same got wanted
cut -d, -f1 wanted >ids
same x.ids.txt ids
check "header of the CSV file" grep -q '^path,identity,e0,e1,.*,e1279$' x.csv
for f in x.meta.json x.csv.meta.json x.jsonl.meta.json; do
    check "$f: rows" grep -q '"rows": 6, "dim": 1280, "inputs": 7, "failed": 1' $f
    check "$f: failure" grep -q '{"path": "in/bob/2a.png", "reason": "the file is empty"}' $f
    check "$f: fingerprint" grep -q '"fingerprint": "[0-9a-f]\{32\}"' $f
done
embed 1 in -o x.npy --json
check "summary" grep -q '^{"output": "x.npy", "rows": 6, "dim": 1280, "failed": 1}$' "$out"

# Names that a spreadsheet would interpret as formulas.
for f in =1+1 @sum +plus; do cp in/ann/1.png "$f.png"; done
cp in/ann/1.png ./-minus.png
embed 0 -o f.csv =1+1.png @sum.png +plus.png in/ann/1.png -- -minus.png
sed 1d f.csv | cut -d, -f1 >got
printf '%s\n' "'=1+1.png" "'@sum.png" "'+plus.png" in/ann/1.png "'-minus.png" >wanted
same got wanted

# Rows have length 1, and --raw does not; --flip and --raw change the fingerprint.
awk -F, '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (s < 0.99999 || s > 1.00001) bad = 1 }
    END { exit bad }' from_npy
check "rows have length 1" [ $? = 0 ]
embed 1 in -o raw.npy --raw
embed 1 in -o flip.npy --flip
rows raw.npy >from_raw
check "raw rows differ" [ "$(cmp -s from_raw from_npy; echo $?)" = 1 ]
cat x.meta.json raw.meta.json flip.meta.json | grep -o '"fingerprint": "[^"]*"' | sort -u >prints
lines prints 3

# The bits depend only on the pixels, not on batch, threads, decoders or sharding.
embed 1 in --batch 1 --threads 1 --decoders 1 -o a.npy
same a.npy x.npy
embed 1 in --batch 5 --threads 2 --decoders 3 -o a.npy
same a.npy x.npy
for n in 2 3 9; do
    rm -f s.*
    i=1
    while [ $i -le $n ]; do
        "$REID" embed -q -m w.safetensors --size 64x64 in --shard $i/$n -o s.$i.npy 2>/dev/null
        "$REID" embed -q -m w.safetensors --size 64x64 in --shard $i/$n -o s.$i.csv 2>/dev/null
        "$REID" embed -q -m w.safetensors --size 64x64 in --shard $i/$n -o s.$i.jsonl 2>/dev/null
        [ ! -f s.$i.npy ] || { rows s.$i.npy >>s.rows; cat s.$i.ids.txt >>s.ids; }
        i=$((i + 1))
    done
    same s.rows from_npy
    same s.ids x.ids.txt
    cat s.?.csv >s.csv
    cat s.?.jsonl >s.jsonl
    same s.csv x.csv
    same s.jsonl x.jsonl
done
embed 0 in/ann --shard 4/9 -o none.npy
check "an empty slice is an empty table" [ -z "$(rows none.npy)" ]

# Two models side by side; options of a model bind to the -m before them.
run 1 embed -m w.safetensors --size 64x64 -m w2.safetensors --size 32x96 in -o two.npy
run 1 embed -m w2.safetensors --size 32x96 in -o second.npy
rows second.npy | paste -d, from_npy - >wanted
rows two.npy >got
same got wanted
check "both fingerprints" [ "$(grep -c '"weights": ' two.meta.json)" = 2 ]
run 1 embed --size 64x64 -m w.safetensors -m w2.safetensors --head none in -o two.jsonl
check "two lists in JSON" grep -q '"embeddings": \[\[[^]]*\], \[[^]]*\]\]}$' two.jsonl

# A command must not overwrite its input, except groups of an earlier run.
printf 'path,x,y,width,height\nin/ann/1.png,1,1,9,9\n' >read.csv
cp read.csv before.csv
ln read.csv linked.csv
overwrites() {
    run 2 "$@"
    says 'is both input and output'
    same read.csv before.csv
}
overwrites embed -m w.safetensors --boxes read.csv -o ./read.csv
overwrites embed -m w.safetensors --boxes read.csv -o linked.csv
overwrites match -m w.safetensors --gallery x.npy --boxes read.csv -o read.csv
overwrites cluster x.npy --threshold 0.9 --decisions read.csv -o read.csv
overwrites calibrate x.npy --labels read.csv -o read.csv
overwrites calibrate x.npy -o x.npy
overwrites tune -m w.safetensors in -o w.safetensors
for again in '' '--carry groups.csv' '--add groups.csv'; do
    # shellcheck disable=SC2086 # an option and its value
    run 0 cluster x.npy --threshold 0.9 $again -o groups.csv
done

# --strict: stops, says why, writes nothing, on stdout too.
embed 1 in --strict -o strict.npy
says 'in/bob/2a.png: the file is empty'
says 'stopped at the first failed input'
embed 1 in --strict
silent
embed 0 in/ann --strict
lines "$out" 3
embed 2 in/bob/2a.png -o failed.npy
absent strict.npy strict.ids.txt strict.meta.json failed.npy failed.meta.json
no_leftovers

# Names and places that cannot be written.
embed 2 in/ann -o x.txt
says 'must end in .npy, .jsonl or .csv'
echo path,x,y,width,height >boxes.csv
embed 2 --boxes boxes.csv -o boxes.csv
says 'boxes.csv is both input and output'
lines boxes.csv 1
embed 2 in/ann -o missing/x.npy
says 'missing/x.npy: cannot write here: No such file'
embed 2 in/ann -o /proc/x.npy
says '/proc/x.npy: cannot write here'
mkdir taken.npy y.meta.json
embed 2 in/ann -o taken.npy
says 'taken.npy: is a folder'
embed 2 in/ann -o y.npy
says 'y.meta.json: is a folder'
mkdir z.ids.txt
embed 2 in/ann -o z.npy
says 'z.ids.txt: is a folder'
rmdir taken.npy y.meta.json z.ids.txt

# A file of the user's that ends in .part stays, whichever command writes beside it; what a killed one left goes.
for f in groups.csv r.html; do echo mine >$f.part; echo torn >$f.reid.part; done
run 0 cluster x.npy --threshold 0.9 -o groups.csv
run 0 review x.npy --threshold 0.9 --decisions d.jsonl --html r.html
for f in groups.csv r.html; do
    check "$f.part is left alone" grep -qx mine $f.part
    absent $f.reid.part
done
echo mine >mine.npy.part
embed 2 in/ann -o mine.npy
says 'mine.npy: mine.npy.part already exists, and is not what an interrupted run left, because'
embed 2 in/ann -o mine.npy --resume
says 'mine.npy.part already exists'
check "it is left alone" grep -qx mine mine.npy.part
rm -f ./*.part

# Of several files all are old when one cannot be renamed, which is named; a device or a pipe is not replaced.
embed 0 in/ann -o old.npy
mkdir kept
cp old.* kept
for f in old.npy old.ids.txt old.meta.json; do
    cat >rename.c <<END
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    if (strcmp(to, "$f") == 0 && !strstr(from, ".old")) return errno = EIO, -1;
    return real(from, to);
}
END
    ${CC:-cc} -shared -fPIC -w rename.c -o rename.so -ldl
    LD_PRELOAD=$PWD/rename.so "$REID" embed -q -m w.safetensors --size 64x64 in/bob/1.png -o old.npy 2>"$err"
    check "exit 2 ($f)" [ $? = 2 ]
    says "^reid: $f: cannot rename the finished file: Input/output error"
    for old in old.npy old.ids.txt old.meta.json; do same $old kept/$old; done
    no_leftovers
done
mkfifo fifo.pack
ln -s fifo.pack link.pack
for f in fifo.pack link.pack; do
    run 2 pack --net efficientnet_b0 --chip sm_90 -o $f
    says "^reid: $f: exists and is not a regular file"
done
check "they are what they were" [ -p fifo.pack -a -L link.pack ]
# A run removes what a killed run has left, even if it fails later, and leaves all other files.
for name in x.pack.reid.part.kernels x.pack.reid.part.kernels.4711.7fffabcd.tmp; do echo old >$name; done
others='x.pack.reid.part.kernels.txt x.pack.reid.part.kernels.4711.tmp x.pack.reid.part.kernels.4711.notes.tmp'
for name in $others; do echo mine >"$name"; done
"$REID" pack --net efficientnet_b0 --chip sm_90 -o x.pack >"$work/none" 2>&1
absent x.pack.reid.part.kernels x.pack.reid.part.kernels.4711.7fffabcd.tmp
for other in $others; do check "$other stays" [ -s "$other" ]; rm -f "$other"; done
rm -f ./*.pack
embed 2 in/ann --resume
says 'needs a file to continue'
if [ "$(id -u)" != 0 ]; then
    mkdir locked
    chmod 555 locked
    embed 2 in/ann -o locked/x.npy
    says 'cannot write here: Permission denied'
fi
(ulimit -f 8; "$REID" embed -m w.safetensors --size 64x64 in/ann -o full.npy 2>"$err")
check "exit 2 when the disk is full" [ $? = 2 ]
says 'full.npy: cannot write: File too large'
absent full.npy full.ids.txt full.meta.json
no_leftovers
"$REID" embed -m w.safetensors --size 64x64 in/ann >/dev/full 2>"$err"
check "exit 2 when stdout is full" [ $? = 2 ]
says 'stdout: cannot write: No space left on device'
lines "$err" 1
"$REID" embed -m w.safetensors --size 64x64 in/ann >&- 2>"$err"
check "exit 2 when stdout is closed" [ $? = 2 ]
{
    "$REID" embed -m w.safetensors --size 64x64 in/ann in/ann in/ann in/ann in/ann in/ann 2>"$err"
    echo $? >code
} | head -c 10 >/dev/null
check "exit 2 when the reader leaves" [ "$(cat code)" = 2 ]
check "and quietly" [ ! -s "$err" ]

# Signals: nothing is left behind; with --resume, the finished work is, and the same command continues it.
mkdir many
for i in $(seq 30); do picture "many/$i.png" 50 50 "$i"; done
: >many/5x.png
slow="embed -m w.safetensors --size 256x256 --isa scalar --threads 1 --batch 2 many"
wait_for() { # FILE LINES: at most 20 s
    n=0
    while [ ! -s "$1" ] || [ "$(wc -l <"$1")" -lt "$2" ]; do
        sleep 0.05
        n=$((n + 1))
        [ $n -lt 400 ] || break
    done
}
"$REID" $slow -o sig.npy 2>"$err" &
pid=$!
wait_for sig.npy.part.log 1
kill -TERM $pid
wait $pid 2>/dev/null
check "ended by the signal" [ $? = 143 ]
absent sig.npy sig.meta.json
no_leftovers
run 1 $slow -o whole.npy
for kind in TERM KILL; do
    rm -f sig.*
    "$REID" $slow --resume -o sig.npy 2>"$err" &
    pid=$!
    wait_for sig.npy.part.log 5
    kill -$kind $pid
    wait $pid 2>/dev/null
    absent sig.npy sig.meta.json
    check "SIG$kind: work is kept" [ -s sig.npy.part ]
    "$REID" $slow --resume -o sig.npy --flip >/dev/null 2>"$err"
    check "SIG$kind: other options are refused" [ $? = 2 ]
    says 'it was started with other inputs, models or options'
    for wrong in "-m missing.safetensors many" "-m w.safetensors --boxes missing.csv"; do
        "$REID" embed $wrong --resume -o sig.npy 2>"$err"
        check "SIG$kind: a failed start keeps the work ($wrong)" [ $? = 2 -a -s sig.npy.part.log ]
    done
    run 1 $slow --resume -o sig.npy -v
    says 'of 31 inputs already done'
    same sig.npy whole.npy
    same sig.ids.txt whole.ids.txt
    check "SIG$kind: failures are remembered" grep -q 'many/5x.png.*the file is empty' sig.meta.json
    no_leftovers
done
embed 0 many/1.png -o sig.npy --resume
embed 2 many/5x.png -o all.npy --resume
absent all.npy
no_leftovers
"$REID" $slow -o lock.npy 2>/dev/null &
pid=$!
wait_for lock.npy.part.log 1
embed 2 many/1.png -o lock.npy
says 'another reid is writing lock.npy.part'
kill -INT $pid
wait $pid 2>/dev/null

finish
