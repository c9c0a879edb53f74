# t_cli_calibrate.sh: reid calibrate and reid match --calibration: figures, the file, and what is refused.
. tests/lib/cli_lib.sh
need_eval_files
b0 w.safetensors
b0 w2.safetensors 2
one="-m w.safetensors --size 64x64"
two="--size 64x64 -m w.safetensors -m w2.safetensors"
calibrate() { status=$1; shift; run "$status" calibrate "$@"; }
bad() { pattern=$1; shift; run 2 calibrate "$@"; says "$pattern"; silent; }
has() { check "the file has $1" grep -q -e "$1" "${2:-c.json}"; }

# --- from embeddings --------------------------------------------------------------------------------------------------
for i in 1 2 3 4 5 6 7 8 9 10; do for k in 1 2 3 4 5 6; do echo "p/$i/$k.png $i"; done; done >people
"$EVAL_FILES" fair.npy 32 1 1 <people
"$EVAL_FILES" pair.npy 16+32 1 1.5 <people
"$EVAL_FILES" blind.npy 32 1 90 <people
calibrate 0 fair.npy --fmr 0.05 -o c.json
prints '^150 pairs of one identity, 1620 of two, 10 identities: a folder per identity$'
for line in '^  histograms cross .*(95 % interval ' '^  equal error rate ' \
    '^  threshold .* for a false-match rate of 0.05 ' '^  accepted there ' '^  probability  *1 / (1 + exp(' \
    '^A threshold does not carry over' 'and 0.40 would accept'; do
    prints "$line"
done
has '"format": "reid-calibration", "format_version": 1'
has '"pairs": {"genuine": 150, "impostor": 1620, "every_genuine": 150, "every_impostor": 1620, "identities": 10}'
has '"method": "logistic"'
has '"isotonic": {"score": \[-\?0\.'
# The threshold of a gallery does not change when the file cannot be written.
run 0 gallery create set.gallery --like fair.npy
calibrate 0 fair.npy --fmr 0.05 --gallery set.gallery
run 0 gallery verify set.gallery --json
cp "$out" verified
check "it has a threshold" grep -q '"threshold": 0\.' verified
bad 'missing/c.json: cannot write here' fair.npy --fmr 0.1 --gallery set.gallery -o missing/c.json
run 0 gallery verify set.gallery --json
same "$out" verified
cp fair.npy fair.kept
bad 'fair.npy is both input and output' fair.npy --fmr 0.05 -o fair.npy
bad 'people is both input and output' fair.npy --pairs people --fmr 0.05 -o people
same fair.npy fair.kept
calibrate 0 fair.npy --fmr 0.05 --json
same "$out" c.json
if command -v python3 >/dev/null; then
    check "JSON that Python reads" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' c.json
fi
calibrate 0 fair.npy --fmr 0.05 --json --threads 5
same "$out" c.json
calibrate 0 fair.npy --fmr 0.05 --method isotonic --prior 0.01 --draws 50 -o iso.json
has '"method": "isotonic"' iso.json
has '"prior": 0.01' iso.json
calibrate 0 fair.npy --fmr 0.001
says 'the threshold depends on only 2 of 1620 pairs of two identities; 30 would make it stable'
calibrate 0 pair.npy --fmr 0.05 --json
cp "$out" fitted.json
check "two weights" [ "$(grep -o '"weight": 0\.[0-9]*' fitted.json | wc -l)" = 2 ]
grep -o '"weight": [0-9.]*' fitted.json | awk '{ s += $2 } END { print (s > 0.999999 && s < 1.000001) }' >sum
check "that sum to 1" [ "$(cat sum)" = 1 ]
calibrate 0 pair.npy --fmr 0.05
prints '^both together$'
calibrate 0 pair.npy --fmr 0.05 --json --score-weights 0.7,0.3
check "weights as given" [ "$(grep -o '"weight": 0\.[0-9]*' "$out" | tr '\n' ' ')" = '"weight": 0.7 "weight": 0.3 ' ]
for i in 1 2 3; do for k in 1 2 3; do echo "market/query/000${i}_c${k}s1_00000$k.jpg 000$i"; done; done >list
for i in 0 1 2 3; do
    for k in 1 2 3; do echo "market/bounding_box_test/000${i}_c${k}s1_00001$k.jpg 000$i"; done
done >>list
"$EVAL_FILES" market.npy 16 1 1 <list
calibrate 0 market.npy --fmr 0.2
prints '^18 pairs of one identity, 81 of two, '
prints '^pairs of one identity from one camera are left out'
calibrate 0 market.npy --fmr 0.2 --leave-out picture
prints '^27 pairs of one identity, 81 of two, '

# --- scores that tell nobody apart: a warning when the calibration is made, and whenever it is used ---
calibrate 0 fair.npy --fmr 0.05
check "nothing is doubted" [ "$(grep -c 'hardly distinguish' "$err")" = 0 ]
for seed in 1 2 3 4 5 6 7 8; do # until by chance pairs of one identity score higher
    "$EVAL_FILES" noise.npy 8 $seed 30 <people
    "$REID" calibrate noise.npy --fmr 0.05 -o noise.json >"$out" 2>"$err" && break
done
says 'calibrate: these scores hardly distinguish individuals: the equal error rate is [345][0-9].[0-9] %, above 25 %'
run 0 cluster noise.npy --calibration noise.json -o groups.csv
says 'noise.json: these scores hardly distinguish individuals'

# --- single pairs -----------------------------------------------------------------------------------------------------
cat >pairs.csv <<END
same,first,second
1,p/1/1.png,p/1/2.png
1,p/1/2.png,p/1/3.png
1,p/2/1.png,p/2/2.png
0,p/1/1.png,p/2/1.png
0,p/1/1.png,p/3/1.png
0,p/3/1.png,p/2/2.png
END
calibrate 0 fair.npy --pairs pairs.csv --fmr 0.4
prints '^3 pairs of one identity, 3 of two, 3 identities: a table of pairs$'
says 'only 3 pairs of one identity: use more images, for at least 30'
bad_pairs() { # PATTERN TEXT
    printf '%b' "$2" >bad.csv
    bad "$1" fair.npy --pairs bad.csv
}
bad_pairs 'bad.csv: line 1: the header lacks "same"' 'first,second\n'
bad_pairs 'bad.csv: line 1: the header names first twice' 'first,second,same,first\na,b,1,c\n'
bad_pairs 'bad.csv: line 1: no pairs' 'first,second,same\n'
bad_pairs 'line 2: invalid "yes" in column "same"; expected 1 (the same) or 0 (different)' \
    'first,second,same\na,b,yes\n'
bad_pairs 'line 2: a path is empty' 'first,second,same\n,b,1\n'
bad_pairs 'line 2: an image is paired with itself' 'first,second,same\nb,b,1\n'
bad_pairs 'line 4: a and c are marked different, but other pairs link them as the same' \
    'first,second,same\na,b,1\nb,c,1\na,c,0\n'
printf '%s\n' first,second,same p/1/1.png,p/1/2.png,1 p/1/1.png,p/2/2.png,0 p/1/1.png,p/3/2.png,0 \
    p/1/1.png,lost.png,0 >lost.csv
calibrate 1 fair.npy --pairs lost.csv --fmr 0.6
says 'lost.png: has a label, but no embedding'
bad '--pairs and --labels exclude each other' fair.npy --pairs pairs.csv --labels pairs.csv
bad 'lost.csv2: ' fair.npy --pairs lost.csv2

# --- what cannot be calibrated ----------------------------------------------------------------------------------------
bad 'cannot show a false-match rate of 1e-05: at least 100000 are needed' fair.npy --fmr 0.00001
printf 'a/1 a\na/2 a\n' | "$EVAL_FILES" same.npy 8 1 1
bad 'no pairs of two identities: give images of at least two' same.npy
printf 'a/1 a\nb/2 b\n' | "$EVAL_FILES" apart.npy 8 1 1
bad 'no pairs of one identity: give at least two images of each' apart.npy
printf 'a/1 a\na/2 b\nb/1 a\nb/2 b\n' | "$EVAL_FILES" swapped.npy 8 1 0.3
printf 'path,identity\na/1,x\na/2,x\nb/1,y\nb/2,y\n' >swapped.csv
bad 'do not score higher than pairs of two' swapped.npy --labels swapped.csv --fmr 0.5
for value in 0 1 -1 2 nan x ''; do bad '--fmr takes X, not' fair.npy --fmr "$value"; done
bad '--method takes logistic|isotonic' fair.npy --method magic
bad 'gives 1 share for 2 models' pair.npy --fmr 0.05 --score-weights 1
bad 'no-such-folder/c.json: ' fair.npy --fmr 0.05 -o no-such-folder/c.json
mkdir folder.json
bad 'folder.json: ' fair.npy --fmr 0.05 -o folder.json
absent bad.json
no_leftovers

# --- reid match --calibration -----------------------------------------------------------------------------------------
n=0
for who in ann bob cat; do
    mkdir -p gal/$who
    n=$((n + 10))
    for f in 1.png 2.bmp 3.ppm; do picture gal/$who/$f 50 40 $n; done # the same pixels
done
calibrate 0 $one gal --fmr 0.2 -o score.json
run 0 match $one --gallery gal --calibration score.json --json -k 2 gal/ann/1.png
threshold=$(sed -n 's/^ *"threshold": \([0-9.]*\), "fmr".*/\1/p' score.json)
shown=$(sed 's/.*"threshold": \([0-9.]*\).*/\1/' "$out")
check "the threshold is that of the file" awk -v a="$threshold" -v b="$shown" \
    'BEGIN { exit !(a > 0 && a - b < 1e-8 && b - a < 1e-8) }'
prints '"decision": "match", "score": [0-9.]*, "probability": 0\.[5-9][0-9]*, "threshold"'
check "a probability for each" [ "$(grep -o '"probability"' "$out" | wc -l)" = 3 ]
run 0 match $one --gallery gal --calibration score.json gal/ann/1.png
check "no warning about decisions" [ ! -s "$err" ]
prints 'DECISION .* SCORE  *PROBABLE  IMAGE'
prints 'match .* ann .* % *gal/ann/2.bmp'
run 0 match $one --gallery gal --calibration score.json --threshold 0.9999999 --json gal/ann/1.png
prints '"decision": "match", "score": 1, "probability".*"threshold": 0.9999999,'
calibrate 0 $one gal --fmr 0.2 --method isotonic -o steps.json
run 0 match $one --gallery gal --calibration steps.json --json gal/ann/1.png
prints '"probability": 1,'
calibrate 0 $two gal --fmr 0.2 --score-weights 0.25,0.75 -o two.json
run 0 match $two --gallery gal --calibration two.json --json gal/ann/1.png
run 0 match $two --gallery gal --score-weights 0.25,0.75 --json --threshold 0 gal/ann/1.png
prints '"decision": "match"'
refused() { pattern=$1; shift; run 2 match "$@" gal/ann/1.png; says "$pattern"; silent; }
refused 'score.json was made by [0-9a-f]* (efficientnet_b0.*), but w2.safetensors .*cannot be compared' \
    -m w2.safetensors --size 64x64 --gallery gal --calibration score.json
refused 'score.json was made by [0-9a-f]*' -m w.safetensors --size 96x64 --gallery gal --calibration score.json
refused 'score.json: made with 1 model, but -m gives 2' $two --gallery gal --calibration score.json
refused 'calibration already has the models. shares' $two --score-weights 0.5,0.5 --gallery gal --calibration two.json
refused 'lost.json: ' $one --gallery gal --calibration lost.json
refused 'line [0-9]*' $one --gallery gal --calibration pairs.csv
damaged() { # PATTERN SED-EXPRESSION: a damaged file is refused, with a reason
    sed "$2" steps.json >damaged.json
    refused "damaged.json: .*$1" $one --gallery gal --calibration damaged.json
}
damaged 'not a calibration file' 's/reid-calibration/reid-embeddings/'
damaged 'not a calibration file' 's/"format_version": 1/"format_version": 2/'
damaged 'unknown method' 's/"method": "isotonic"/"method": "magic"/'
damaged 'has no models, method, threshold' 's/"threshold": [0-9.]*, "fmr"/"fmr"/'
damaged 'do not ascend together' 's/"isotonic": {"score": \[/&0.99999, /'
damaged 'a model has no fingerprint' 's/"fingerprint"/"fingerprints"/'
head -c 300 steps.json >damaged.json
refused 'damaged.json: ' $one --gallery gal --calibration damaged.json

# --- the threshold of a gallery --------------------------------------------------------------------------------------
run 0 gallery create deer.gallery $one
run 0 gallery add deer.gallery $one gal
calibrate 0 $one gal --fmr 0.2 --gallery deer.gallery -o again.json
same again.json score.json
run 0 match $one --gallery deer.gallery --json --keep-self gal/ann/1.png
in_gallery=$(sed 's/.*"threshold": \([0-9.]*\).*/\1/' "$out")
check "the gallery has the threshold" [ "$in_gallery" = "$shown" ]
run 2 calibrate fair.npy --fmr 0.05 --gallery deer.gallery -o not.json
says 'deer.gallery was made by [0-9a-f]* (efficientnet_b0, effnet-b0), but the calibration holds embeddings by'
run 2 calibrate pair.npy --fmr 0.05 --gallery deer.gallery
says 'a gallery stores a threshold but no weights'
run 2 calibrate fair.npy --fmr 0.05 --gallery lost.gallery
says 'lost.gallery: '
absent not.json

# --- it can be stopped ------------------------------------------------------------------------------------------------
"$EVAL_FILES" large.npy 64 1 6 market 2000 6000
"$REID" calibrate large.npy --draws 100000 -o stopped.json >"$out" 2>"$err" &
job=$!
sleep 1
kill -TERM $job
start=$(date +%s)
wait $job
status=$?
check "a signal ends it (was $status)" [ $status = 143 ]
check "soon" [ $(($(date +%s) - start)) -le 3 ]
absent stopped.json
no_leftovers

finish
