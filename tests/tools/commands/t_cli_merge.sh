# t_cli_merge.sh: reid merge: joins the shards of reid embed into the bytes of a single run, or refuses one by name.
. tests/lib/cli_lib.sh
b0 w.safetensors
"$CLI_FILES" weights w2.safetensors efficientnet_b0 file 2
embed() { status=$1; shift; run "$status" embed -m w.safetensors --size 64x64 "$@"; }
mkdir -p in/ann in/bob
for i in 1 2 3; do picture in/ann/$i.png 60 50 $i; picture "in/bob/$i \"b\", ü.png" 40 70 1$i; done
cp in/ann/1.png "$(printf 'in/bob/4\nlines\\ \351.png')" # its ids need every kind of escape
: >in/bob/2a.png

same_as_one_run() { # FORM: merged.FORM and the files beside it, which differ only in the output's name
    side=.$1.meta.json
    [ "$1" != npy ] || side=.meta.json
    same merged.$1 one.$1
    sed 's/"output": "merged\./"output": "one./' merged$side >got
    same got one$side
    [ "$1" != npy ] || same merged.ids.txt one.ids.txt
}

# Every form and number of shards, given in any order; with more shards than inputs, some are empty; the shard with only
# the empty file has no row, but a failure.
for form in npy csv jsonl; do
    embed 1 in -o one.$form
    for n in 1 2 3 7 11; do
        rm -f part.*
        parts=
        for i in $(seq "$n"); do
            "$REID" embed -q -m w.safetensors --size 64x64 in --shard "$i/$n" -o part.$i.$form 2>/dev/null
            parts="part.$i.$form $parts"
        done
        run 1 merge $parts -o merged.$form
        says '1 of 8 inputs failed'
        silent
        same_as_one_run $form
    done
done
check "a shard of failures alone tells them" grep -q '"rows": 0, "dim": 1280, "inputs": 1, "failed": 1' part.*.meta.json
no_leftovers

# Two models, options, boxes, no failures.
two="-m w.safetensors --size 64x64 -m w2.safetensors --size 32x96 --head seeded:9223372036854775807 --flip --raw"
for i in 1 2; do run 0 embed $two in/ann --shard $i/2 -o part.$i.npy; done
run 0 embed $two in/ann -o one.npy
run 0 merge part.1.npy part.2.npy -o merged.npy -v
says 'merged.npy: 3 rows of 1792 floats from 2 shards'
same_as_one_run npy
cat >boxes.json <<'END'
{"images": [{"file": "in/ann/1.png", "detections": [{"category": "1", "conf": 0.9, "bbox": [0, 0, 0.5, 0.5]},
 {"category": "1", "conf": 0.7, "bbox": [0.3, 0.2, 0.5, 0.7]}]}, {"file": "in/ann/2.png", "detections": [
 {"category": "1", "conf": 0.1, "bbox": [0, 0, 0.5, 0.5]}, {"category": "1", "conf": 0.6, "bbox": [0, 0.1, 1, 0.5]}]}]}
END
for i in 1 2; do embed 0 --boxes boxes.json --min-conf 0.3 --category 1 --strict --shard $i/2 -o part.$i.csv; done
embed 0 --boxes boxes.json --min-conf 0.3 --category 1 --strict -o one.csv
run 0 merge part.?.csv -o merged.csv
same_as_one_run csv
check "the list counts boxes" grep -q '"list": {"inputs": 3, "hash": "[0-9a-f]\{16\}"}' merged.csv.meta.json

# An existing output is replaced; one that cannot be written leaves nothing.
cp one.csv merged.csv
run 0 merge part.?.csv -o merged.csv
same merged.csv one.csv
run 2 merge part.?.csv -o missing/merged.csv
says 'missing/merged.csv: cannot write here'
(ulimit -f 8; "$REID" merge part.?.csv -o full.csv 2>"$err")
check "exit 2 when the disk is full" [ $? = 2 ]
says 'full.csv: cannot write: File too large'
absent full.csv full.csv.meta.json
no_leftovers

# --json describes the output once it exists.
told() { # told LINE: all of stdout
    printf '%s\n' "$1" >want
    same "$out" want
}
run 0 merge part.1.csv part.2.csv -o 'a "b".csv' --json
told '{"output": "a \"b\".csv", "shards": 2, "rows": 3, "dim": 1280, "inputs": 3, "failed": 0}'
embed 0 in/bob --shard 1/2 -o bob.1.jsonl
embed 1 in/bob --shard 2/2 -o bob.2.jsonl
run 1 merge bob.?.jsonl -o bob.jsonl --json
told '{"output": "bob.jsonl", "shards": 2, "rows": 4, "dim": 1280, "inputs": 5, "failed": 1}'
"$REID" merge part.1.csv part.2.csv -o merged.csv --json >/dev/full 2>"$err"
check "exit 2 when stdout is full" [ $? = 2 ]
says 'stdout: cannot write: No space left'

# If all inputs failed, the message is that of a single run.
mkdir none
: >none/1.png
: >none/2.png
embed 2 none -o one.npy
says 'all 2 inputs failed; nothing was written'
for i in 1 2; do embed 1 none --shard $i/2 -o none.$i.npy; done
run 2 merge none.?.npy -o failed.npy --json
silent
says 'all 2 inputs failed; nothing was written'
absent failed.npy failed.meta.json failed.ids.txt
embed 2 none --shard 1/2
says 'the only input failed'

# Shards that do not belong together.
refused() { # PATTERN ARGUMENT...: nothing is written
    pattern=$1
    shift
    rm -f out.*
    run 2 merge "$@"
    says "$pattern"
    silent
    absent out.npy out.csv out.jsonl out.meta.json out.csv.meta.json out.ids.txt
    no_leftovers
}
for i in 1 2 3; do embed 0 in/ann --shard $i/3 -o s.$i.npy; done
good='s.1.npy s.2.npy s.3.npy'
refused 'no SHARD' -o out.npy
refused "give the output's name" $good
refused 'unknown option --resume' $good -o out.npy --resume
refused 's.1.npy: its name must have the same extension as out.txt' $good -o out.txt
refused 's.1.npy: its name must have the same extension as out.csv' $good -o out.csv
refused 's.3.npy is both input and output' $good -o s.3.npy
refused 'shard 2/3 is missing; 2 of 3 given' s.1.npy s.3.npy -o out.npy --json
refused 's.2.npy and s.2.npy are both shard 2/3; give each shard once' $good s.2.npy -o out.npy
refused 'lost.meta.json: cannot open' $good lost.npy -o out.npy
embed 0 in/ann -o whole.npy
refused 'whole.meta.json: was not written by a run with --shard' whole.npy -o out.npy
other() { # PATTERN ARGUMENT...: shard 2 was made with other arguments
    pattern=$1
    shift
    run 0 embed -m w.safetensors --shard 2/3 -o other.npy "$@"
    refused "other.npy has $pattern than s.1.npy, so they are not shards of one run" s.1.npy other.npy s.3.npy \
        -o out.npy
}
other 'a different fingerprint' --size 96x64 in/ann
other 'a different fingerprint' --size 64x64 in/ann --flip
other 'a different number of models' --size 64x64 -m w2.safetensors --size 64x64 in/ann
other 'different options' --size 64x64 in/ann --strict
other 'a different number of shards' --size 64x64 in/ann --shard 2/4
cp -r in/ann more
other 'a different list of inputs' --size 64x64 more
mv more/1.png more/1b.png
picture in/ann/4.png 30 30 4
other 'a different list of inputs' --size 64x64 in/ann
rm in/ann/4.png

# Files that were changed, or written by another program.
changed() { # PATTERN FILE SED_SCRIPT: in place of shard 2
    rm -f other.*
    for f in s.2.*; do cp "$f" "other${f#s.2}"; done
    sed -i "$3" "other$2"
    check "the script changes other$2" [ "$(cmp -s other$2 s.2$2; echo $?)" = 1 ]
    refused "$1" s.1.npy other.npy s.3.npy -o out.npy
}
changed 'other.meta.json: line 2: written by reid 9.9.9, but this is' .meta.json 's/"reid": "[0-9.]*"/"reid": "9.9.9"/'
changed 'line 2: unknown format version' .meta.json 's/"format_version": 1/"format_version": 2/'
changed 'not the metadata of embeddings' .meta.json 's/reid-embeddings/else/'
changed 'does not say which list it is a shard of' .meta.json '/"list"/d'
changed 'expected a hash' .meta.json 's/"hash": "....\(.*\)"/"hash": "zzzz\1"/'
changed 'unknown member, which reid embed does not write' .meta.json 's/"dim": 1280, "inputs"/"color": 1, "inputs"/'
changed 'unknown option' .meta.json 's/"strict": false/"tidy": false/'
changed 'unknown member of a model' .meta.json 's/"preset"/"style"/'
changed 'expected a plain word' .meta.json 's/"fingerprint": "./"fingerprint": "\\b/'
changed 'expected a shard I/N' .meta.json 's|"shard": "2/3"|"shard": "4/3"|'
changed 'expected a whole number' .meta.json 's/"rows": 1/"rows": 1.5/'
changed 'contradicts itself: 2 rows' .meta.json 's/"rows": 1/"rows": 2/'
changed 'contradicts itself: .* models of 1280 floats' .meta.json 's/"rows": 1, "dim": 1280/"rows": 1, "dim": 1281/'
changed 'lists 1 input, but shard 2/3 of 30 inputs has 10' .meta.json 's/"list": {"inputs": 3/"list": {"inputs": 30/'
changed 'line [0-9]*: expected a string' .meta.json 's/"failures"/1/'
changed 'has a different precision than' .meta.json 's/"precision": "fp32"/"precision": "bf16"/'
changed 'other.npy: other.ids.txt has 2 lines; expected one for each of 1 rows' .ids.txt 's/$/\n/'
changed 'other.npy: is not a .npy file' .npy 's/NUMPY/NUMPI/'
changed 'other.npy: holds 2 x 1280 floats' .npy 's/(1, 1280)/(2, 1280)/'
head -c 3000 s.2.npy >other.npy
cp s.2.ids.txt other.ids.txt
refused 'other.npy: holds 1 x 1280 floats in 3000 bytes' s.1.npy other.npy s.3.npy -o out.npy
rm other.npy
refused 'other.npy: cannot open' s.1.npy other.npy s.3.npy -o out.npy
mkdir other.npy
refused 'other.npy: is a folder' s.1.npy other.npy s.3.npy -o out.npy
for i in 1 2; do
    embed 0 in/ann --shard $i/2 -o t.$i.csv
    embed 0 in/ann --shard $i/2 -o t.$i.jsonl
done
cp t.1.csv kept
sed -i 1d t.1.csv
refused 't.1.csv: does not begin with the header' t.?.csv -o out.csv
cp kept t.1.csv
cat t.2.csv t.2.csv >twice && mv twice t.2.csv
refused 't.2.csv: has 4 rows, but its metadata says 2' t.?.csv -o out.csv
head -c 9000 t.2.jsonl >short && mv short t.2.jsonl
refused 't.2.jsonl: has 0 rows, but its metadata says 2\|has 1 row,' t.?.jsonl -o out.jsonl

# Shards from different machines: the rows are joined, with a warning that a single run might give other bits.
sed -i 's/"isa": "[a-z0-9_]*"/"isa": "scalar"/; s/"chip": "[^"]*"/"chip": "a \\"chip\\""/' s.2.meta.json
run 0 merge $good -o merged.npy
says 'computed by different devices or instruction sets'
check "if names differ, none is invented" grep -q '"chip": "several", "isa": "several"' merged.meta.json
embed 0 in/ann -o one.npy
same merged.npy one.npy

# Many shards.
mkdir many
for i in $(seq 40); do cp in/ann/$((i % 3 + 1)).png many/$i.png; done
for i in $(seq 20); do "$REID" embed -q -m w.safetensors --size 64x64 many --shard $i/20 -o m.$i.npy; done
embed 0 many -o one.npy
run 0 merge m.*.npy -o merged.npy
same_as_one_run npy

finish
