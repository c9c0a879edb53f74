# t_cli_eval.sh: reid eval: layouts, labels, files of embeddings, re-ranking, --compare, and refused input.
. tests/lib/cli_lib.sh
need_eval_files
b0 w.safetensors
one="-m w.safetensors --size 64x64"

# figure NAME WANTED: a number or word of the JSON
figure() { check "$1 is $2" grep -q "\"$1\": \(\"$2\"\|$2\)[,}]" "$out"; }
evaluate() { status=$1; shift; run "$status" eval --json "$@"; }
few() { seed=$((seed + 1)); mkdir -p "$(dirname "$1")"; picture "$1" 24 32 $seed; }
seed=0

# --- layouts, from images ---------------------------------------------------------------------------------------------
m=market/query g=market/bounding_box_test
for f in $m/0001_c1s1_000001_00.jpg $m/0002_c2s1_000002_00.jpg $g/0001_c2s1_000003_00.jpg $g/0001_c1s1_000004_00.jpg \
    $g/0002_c1s1_000005_00.jpg $g/0000_c3s2_000006_00.jpg $g/-1_c3s2_000007_00.jpg \
    market/bounding_box_train/9_c1s1_1.jpg $g/0003_c1s1_000009_00.jpg; do
    few $f
done
: > $g/Thumbs.db
evaluate 0 $one market
figure layout Market-1501
figure queries 2
figure gallery 5
figure distractors 1
figure junk 1
figure left_out camera
figure genuine 2
figure impostor 7 # 2 queries, 5 pictures: less 2 genuine, less the one of the same identity and camera
sed 's/"device": "cpu"/"device": ""/' "$out" >by_folder # a file does not say
run 0 embed $one -q market -o market.npy # everything below it, including the training images
evaluate 0 market.npy
sed 's/"unlabelled": [0-9]*/"unlabelled": 0/' "$out" >by_ids
same by_folder by_ids
figure unlabelled 1
run 0 embed $one -q $m -o q.npy
run 0 embed $one -q $g -o g.npy
evaluate 0 q.npy g.npy
grep -A9 '"ranking"' by_folder >wanted
grep -A9 '"ranking"' "$out" >got
same got wanted
run 0 embed $one -q $m/0001_c1s1_000001_00.jpg -o q1.npy
run 0 eval q1.npy g.npy
prints '^1 query, 5 in the gallery (1 distractor), 4 identities: '
prints '^Ranking, 1 query with a match$'
run 0 eval $one market
for line in '^2 queries, 5 in the gallery (1 distractor), ' '^rank-1 ' '^mAP, trapezoid ' '^mINP ' \
    '^TPR@FPR 0.0001 ' '^EER ' '^open-set AUC ' '^BAKS ' '^BAUS ' '^ARI ' '^1 junk image (identity -1) left out'; do
    prints "$line"
done
# Persons counted from 0: an identity that a folder of queries has is no distractor. Ids are text.
kept_seed=$seed
for f in query/000_c1s1_1.jpg query/001_c1s1_2.jpg bounding_box_test/000_c2s1_3.jpg bounding_box_test/001_c2s1_4.jpg; do
    few "counted/$f"
done
evaluate 0 $one counted
check "one number of digits" sh -c '! grep -q digits "$0"' "$err"
figure distractors 0
figure valid_queries 2
few counted/bounding_box_test/0001_c2s1_5.jpg
evaluate 0 $one counted
says '^reid: the identities 0001 and 001 count as two individuals; if they are one, write them with the same number of'
seed=$kept_seed
for f in query/0001_c1_f0000001.jpg query/0002_c2_f0000002.jpg bounding_box_test/0001_c8_f0000003.jpg \
    bounding_box_test/0002_c1_f0000004.jpg; do
    few "duke/$f"
done
evaluate 0 $one duke
figure layout DukeMTMC-reID
figure valid_queries 2

for f in 0000/0000_000_01_0303morning_0015_0.jpg 0000/0000_001_14_0303noon_0016_1.jpg \
    0001/0001_002_14_0303morning_0017_0.jpg 0001/0001_003_14_0303noon_0018_0.jpg; do
    few "msmt/test/$f"
done
printf '%s\n' '0000/0000_000_01_0303morning_0015_0.jpg 7' \
    '0001/0001_002_14_0303morning_0017_0.jpg 8' >msmt/list_query.txt
printf '%s\r\n' '0000/0000_001_14_0303noon_0016_1.jpg 7' '0001/0001_003_14_0303noon_0018_0.jpg 8' >msmt/list_gallery.txt
evaluate 0 $one msmt
figure layout MSMT17
figure valid_queries 1 # the other has its only match in its own camera
figure new_queries 1
run 0 embed $one -q msmt -o msmt.npy
cp "$out" wanted
evaluate 0 msmt.npy msmt # embeddings from the file, labels from the lists
figure layout MSMT17
figure unlabelled 0

for f in split/query/ann/a.png split/query/bob/b.png split/gallery/ann/c.png split/gallery/bob/d.png; do few $f; done
evaluate 0 $one split
figure layout 'query and gallery folders, a folder per identity'
figure queries 2
for f in ids/ann/1.png ids/ann/deep/2.png ids/bob/1.png ids/bob/2.png ids/lonely.png; do few $f; done
evaluate 0 $one ids
figure layout 'a folder per identity'
figure queries 5
figure gallery 5
figure identities 3
figure valid_queries 4
figure new_queries 1
figure left_out picture
figure impostor 16
for f in flat/0001_c1s1_1.jpg flat/0001_c2s1_2.jpg flat/0002_c1s1_3.jpg; do few $f; done
evaluate 0 $one flat
figure layout 'one folder, identity and camera by name'
figure left_out camera
evaluate 0 $one --leave-out picture flat
figure left_out picture
few flat/0000_c2s1_4.jpg # a distractor is not a query
evaluate 0 $one flat
figure queries 3
figure gallery 4
figure distractors 1
for f in numbers/0/1.png numbers/0/2.png numbers/-1/1.png numbers/-1/2.png; do few $f; done
evaluate 0 $one numbers # folder names are arbitrary
figure queries 4
figure distractors 0
figure junk 0

# --- a table of labels ------------------------------------------------------------------------------------------------
cat >labels.csv <<END
identity,path,note,camera,role
ann,ann/1.png,x,1,query
ann,ann/deep/2.png,,2,gallery
bob,bob/1.png,,1,both
bob,bob/2.png,,2,
END
evaluate 0 $one ids --labels labels.csv
figure layout 'a table of labels'
figure queries 3
figure gallery 3
figure left_out camera
run 0 embed $one -q ids -o ids.npy
cp labels.csv wanted
evaluate 0 ids.npy ids --labels labels.csv
figure queries 3
figure unlabelled 1
cat >broken.csv <<END
path,identity
ann/1.png,ann
ann/deep/2.png,ann
lost.png,ann
bob/1.png,bob
END
evaluate 1 $one ids --labels broken.csv
says 'ids/lost.png: .*No such file'
figure failed 1
figure queries 3
evaluate 1 ids.npy ids --labels broken.csv
says 'ids/lost.png: has a label, but no embedding'
evaluate 1 $one ids --labels broken.csv --strict
silent
bad_labels() { # PATTERN TEXT
    printf '%b' "$2" >bad.csv
    run 2 eval $one ids --labels bad.csv
    says "$1"
    silent
}
bad_labels 'bad.csv: line 1: the header lacks "identity"' 'path,who\na,b\n'
bad_labels 'bad.csv: line 1: the file is empty' ''
bad_labels 'line 1: the header names path twice' 'path,identity,path\n'
bad_labels 'line 3: 1 field, but the header has 2' 'path,identity\nann/1.png,a\nbob\n'
bad_labels 'line 2: the identity is empty' 'path,identity\nann/1.png,\n'
bad_labels 'line 2: role "boss" is not query, gallery or both' 'path,identity,role\nann/1.png,a,boss\n'
bad_labels 'no images to evaluate' 'path,identity\n'
bad_labels 'ids/ann/1.png: is listed twice' 'path,identity\nann/1.png,a\nann/1.png,a\n'
bad_labels 'ids/ann/1.png: is given two identities' 'path,identity,role\nann/1.png,a,query\nann/1.png,b,gallery\n'
bad_labels 'the gallery is empty' 'path,identity,role\nann/1.png,a,query\n'
bad_labels 'there are no queries' 'path,identity,role\nann/1.png,a,gallery\n'
bad_labels 'no query has a match in the gallery: each identity needs two images' \
    'path,identity\nann/1.png,a\nbob/1.png,b\nbob/2.png,c\n'
bad_labels 'a quoted field is not closed' 'path,identity\n"ann/1.png,a\n'

# --- what a gallery exports: identities and cameras -------------------------------------------------------------------
cat >list.csv <<END
path,identity,camera
ids/ann/1.png,ann,north
ids/ann/deep/2.png,ann,south
ids/bob/1.png,bob,north
ids/bob/2.png,bob,north
END
run 0 gallery create listed.gallery $one
run 0 gallery add listed.gallery $one --list list.csv
for ending in npy fvecs jsonl; do
    run 0 gallery export listed.gallery -o listed.$ending
    evaluate 0 listed.$ending
    figure left_out camera
    figure queries 4
    figure valid_queries 2 # bob's images come from one camera
done

# --- what cannot be evaluated -----------------------------------------------------------------------------------------
bad() { pattern=$1; shift; run 2 eval "$@"; says "$pattern"; silent; }
bad 'no images: give a folder, --labels or an embeddings file'
bad 'no model: give its weights with -m' market
bad 'lost: is neither a folder nor an embeddings file' $one lost
bad 'duke: only one folder can be given' $one market duke
bad 'this file already has embeddings; remove -m' $one ids.npy
bad 'c.npy: too many files; give at most two, queries and gallery' a.npy b.npy c.npy
bad 'lost.meta.json: ' lost.npy
mkdir -p empty up/Market-1501-v15.09.15 half/bounding_box_test three/query three/gallery three/bounding_box_test
bad 'empty: no images in this folder' $one empty
bad 'give its own folder: up/Market-1501-v15.09.15' $one up
bad 'half: has bounding_box_test, but no folder query' $one half
bad 'three: has both bounding_box_test and gallery' $one three
mkdir -p odd/query odd/bounding_box_test
cp market/query/* odd/query/ && cp ids/lonely.png odd/bounding_box_test/
bad 'odd/bounding_box_test/lonely.png: its name has no identity' $one odd
cp -r msmt badlist
echo 'no number' >>badlist/list_gallery.txt
bad 'list_gallery.txt: line 3: expected a path and an identity' $one badlist
rm -r badlist/test
bad 'no folder test or mask_test_v2' $one badlist
bad 'its camera is unknown' $one ids --leave-out camera
bad '2 shares for 1 model' --score-weights 0.5,0.5 ids.npy
printf 'a/1 a\na/2 a\nb/1 b\n' | "$EVAL_FILES" nan.npy 8 1 0.5 nan
bad 'nan.npy: row 1 has length .*nan instead of 1: the file is damaged' nan.npy
printf 'a/1 a\na/2 a\na/1 a\n' | "$EVAL_FILES" twice.npy 8 1 0.5
bad 'twice.npy: the id a/1 is in row 0 and in row 2' twice.npy
printf 'a/1 a\na/2 b\n' | "$EVAL_FILES" single.npy 8 1 0.5
bad 'no query has a match' single.npy
printf 'x/1 a\n' | "$EVAL_FILES" other.npy 4 1 0.5
bad 'single.npy was made by 0*8 .* other.npy holds embeddings by 0*4 ' single.npy other.npy
printf 'a 1\nb 1\n' | "$EVAL_FILES" one.npy 8 1 0.5
printf 'path,identity\na,x\nb,x\n' >one.csv
evaluate 0 one.npy --labels one.csv # one identity: measures, but no interval
check "no interval from one identity" grep -q '"rank1_interval": \[null, null\]' "$out"
figure impostor 0
figure eer null

# --- measures that can be known beforehand ----------------------------------------------------------------------------
for i in 1 2 3 4 5 6 7 8; do for k in 1 2 3 4; do echo "p/$i/$k.png $i"; done; done >people
"$EVAL_FILES" easy.npy 32 1 0.05 <people
"$EVAL_FILES" hard.npy 32 2 3 <people
evaluate 0 easy.npy
for what in rank1 rank5 rank10 map map_trapezoid minp auc ari baks; do figure $what 1; done
figure eer 0
figure clusters 8
evaluate 0 easy.npy --threshold 0.999999
figure threshold_from given
figure clusters 32
run 0 eval easy.npy --rerank --expand 3
prints '^k-reciprocal re-ranking: k1 20, k2 6, lambda 0.3$'
prints '^query expansion: 3 nearest, alpha 3$'
evaluate 0 hard.npy --threads 1
cp "$out" wanted
for threads in 2 7; do
    evaluate 0 hard.npy --threads $threads
    same "$out" wanted
done
printf 'a/1 a\na/2 a\nb/1 b\nb/2 b\n' | "$EVAL_FILES" both.npy 8+4 1 0.1
evaluate 0 both.npy --score-weights 0.25,0.75
check "two models" grep -q '"weight": 0.25}, {.*"weight": 0.75}' "$out"

# --- comparing --------------------------------------------------------------------------------------------------------
run 0 eval --compare easy.npy,easy.npy --json
check "nothing changes" grep -q '"rank1": 0, .*"map": 0, .*"lowest_cosine": 1, "pass": true, "certain": true' "$out"
"$EVAL_FILES" again.npy 32 3 0.06 <people
run 0 eval --compare easy.npy,again.npy
prints '^again.npy .* pass$'
run 1 eval --compare easy.npy,again.npy,hard.npy
prints '^hard.npy .* FAIL$'
prints 'limit 2$'
# The same images in another order count as the same.
for i in 1 2 3 4; do for who in ann bob cid; do echo "$who/$i.png $who"; done; done >list
head -n 7 list | "$EVAL_FILES" one.npy 32 1 0.5 >/dev/null
tail -n 5 list | "$EVAL_FILES" two.npy 32 2 0.5 >/dev/null
for order in 'one.npy two.npy' 'two.npy one.npy'; do
    rm -f joined.gallery
    run 0 gallery create joined.gallery --like one.npy
    # shellcheck disable=SC2086 # two files
    run 0 gallery add joined.gallery $order
    run 0 gallery export joined.gallery -o "${order%%.*}-first.npy"
done
run 0 eval --compare one-first.npy,two-first.npy --least-cosine 0.999999
prints '^two-first.npy  *+0.00 .* +0.00 .* 1.0000000  pass$'
run 1 eval --compare easy.npy,hard.npy --json
check "fails" grep -q '"pass": false' "$out"
run 0 eval --compare easy.npy,hard.npy --limit 100
run 0 eval --compare hard.npy,easy.npy
run 0 eval $one --compare cpu/fp32,cpu,fp32 market
prints '^fp32 .* +0.00 .* +0.00 .* 1.0000000  pass'
bad 'easy.npy and ids.npy do not have the same images' --compare easy.npy,ids.npy
bad 'name at least two' --compare easy.npy
bad 'not a precision (fp32|fp16|bf16|int8), a device' $one --compare fp32,fp64 market
bad 'is not a precision' $one --compare fp32,cpu/ market
bad 'easy.npy already contains embeddings' $one --compare fp32,easy.npy market
bad 'with files of embeddings, give at most one folder' --compare easy.npy,hard.npy ids ids
bad 'too many entries; give at most 8' --compare a.npy,a.npy,a.npy,a.npy,a.npy,a.npy,a.npy,a.npy,a.npy
bad 'no model: give its weights' --compare fp32,fp16 market

# --- a large set: fast enough, and it can be stopped ------------------------------------------------------------------
"$EVAL_FILES" large.npy 512 1 6 market 3400 16000
spent=$( (
    "$REID" eval large.npy >/dev/null 2>&1
    times
) | tail -n 1 | awk '{ split($1, u, /[ms]/); split($2, s, /[ms]/); print 60 * u[1] + u[2] + 60 * s[1] + s[2] }')
check "16000 x 3400 in 5 s on 2 cores (took $spent s of CPU)" awk -v s="$spent" 'BEGIN { exit !(s > 0 && s < 10) }'
"$REID" eval large.npy --rerank --isa scalar --threads 2 >"$out" 2>"$err" &
job=$!
sleep 1
kill -TERM $job # a background job of a script ignores SIGINT
start=$(date +%s)
wait $job
status=$?
check "a signal ends it (was $status)" [ $status = 143 ]
check "soon" [ $(($(date +%s) - start)) -le 3 ]
silent

# --- strangers: images of their folder are neither pairs nor queries, and wrong matches for other queries ---
for i in 1 2; do few who/ann/$i.png && few who/bob/$i.png && few who/unknown/$i.png; done
evaluate 0 $one who
says '"unknown" counts as one individual'
figure genuine 6
evaluate 0 $one --unknown unknown who
check "no warning" [ "$(grep -c individual "$err")" = 0 ]
figure queries 4
figure gallery 6
figure distractors 2
figure genuine 4
figure impostor 16
run 0 embed $one -q who -o who.npy
evaluate 0 --unknown unknown who.npy
figure distractors 2
figure genuine 4
printf 'path,identity\nann/1.png,a\nann/2.png,a\nunknown/1.png,nobody\nunknown/2.png,nobody\n' >who.csv
evaluate 0 $one --labels who.csv --unknown nobody who
figure distractors 2
evaluate 2 $one --unknown Unknown who
says '[-]-unknown Unknown: no image has this identity'
run 0 calibrate -q --json --fmr 0.5 --unknown unknown who.npy
cp "$out" without
run 0 calibrate -q --json --fmr 0.5 who.npy
check "strangers are no genuine pair" sh -c '! cmp -s without "$1"' sh "$out"

finish
