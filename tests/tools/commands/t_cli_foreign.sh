# t_cli_foreign.sh: files of others that claim our model: each contradicts itself or ours in one property by which a
# buffer is sized, and every command refuses it by name. Under AddressSanitizer (the variant "leaks") an overrun fails.
. tests/lib/cli_lib.sh
need_eval_files
b0 w.safetensors
m="-m w.safetensors --size 64x64"
mkdir -p in/ann in/bob
for i in 1 2 3; do picture in/ann/$i.png 60 50 $i; picture in/bob/$i.png 40 70 1$i; done
# shellcheck disable=SC2086 # several words, here and below
run 0 embed $m in -o ours.npy
fingerprint=$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' ours.meta.json)

# refused PATTERN COMMAND...: it ends with 2 and says so; a sanitizer would have said something else
refused() {
    pattern=$1
    shift
    run 2 "$@"
    says "$pattern"
}
# theirs NAME DIM[+DIM] [SED_SCRIPT]: six rows of theirs, whose metadata says that our model made them; changed as told
theirs() {
    for who in ann ann ann bob bob bob; do echo "$1/$((i += 1)).png $who"; done | "$EVAL_FILES" "$1.npy" "$2" 1 0.1
    sed -i "s/\"fingerprint\": \"[0-9]*\"/\"fingerprint\": \"$fingerprint\"/;${3-}" "$1.meta.json"
}
# gallery NAME: what is in NAME.npy, in a gallery file
gallery() {
    run 0 gallery create "$1.gallery" --like "$1.npy"
    run 0 gallery add "$1.gallery" "$1.npy"
}

# --- rows of another length -------------------------------------------------------------------------------------------
gallery ours
cp ours.gallery kept.gallery
theirs narrow 8
theirs wide 4000
for width in narrow wide; do
    gallery $width
    n=8
    [ $width = narrow ] || n=4000
    said="$width.npy: its rows by model $fingerprint have $n values, but those of .* have 1280: one of the two was"
    in_gallery=$(echo "$said" | sed 's/\.npy:/.gallery:/')
    for t in npy gallery; do
        [ $t = npy ] || said=$in_gallery
        refused "$said" cluster ours.$t $width.$t --threshold 0.9 -o x.csv
        refused "$said" review ours.$t $width.$t --threshold 0.9 --decisions x.jsonl --html x.html
        refused "$said" match $m --gallery $width.$t in/ann/1.png
        refused "$said" serve $m --gallery $width.$t --socket s
        run 2 doctor $m --gallery $width.$t
        check "doctor says: $said" grep -q -e "$said" "$out" "$err"
    done
    said="$width.npy: its rows by model $fingerprint have $n values, but those of ours.* have 1280"
    refused "ours.npy: its rows by model $fingerprint have 1280 values, but those of $width.npy have $n" \
        eval ours.npy $width.npy
    refused 'ours.npy: its rows' calibrate ours.npy $width.npy --fmr 0.1 -o x.json
    refused "$said" gallery search ours.gallery $width.npy
    refused "$said" gallery add ours.gallery $width.npy
    same ours.gallery kept.gallery
    printf 'id,group,name\n%s/1.png,0,Ann\n' $width >groups.csv
    refused "$said" gallery add ours.gallery --groups groups.csv $width.npy
    cp $width.gallery $width.kept
    refused "$width.gallery: its rows" gallery search $width.gallery $m in/ann/1.png
    refused "ours.npy: its rows by model $fingerprint have 1280 values, but those of $width.gallery have $n" \
        gallery search $width.gallery ours.npy
    refused "$width.gallery: its rows" gallery add $width.gallery $m in/bob
    refused 'ours.npy: its rows' gallery add $width.gallery ours.npy
    same $width.gallery $width.kept
done
absent x.csv x.jsonl x.html x.json s
run 0 embed $m --raw --head none in -o raw.npy
fingerprint=$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' raw.meta.json)
for n in 8 4000; do
    theirs features $n 's/"precision"/"raw": true, &/'
    refused "features.npy: its rows by model $fingerprint have $n values, but those of w.safetensors have [0-9]*: one" \
        fit $m features.npy -o x.safetensors
done
absent x.safetensors

# Of two models, the lengths of both: the sum is the same.
fingerprint=00000000000000000000000000000001
theirs two 8+24
theirs swapped 24+8
theirs one 32
refused "swapped.npy: its rows by model $fingerprint have 24 values, but those of two.npy have 8" \
    cluster two.npy swapped.npy --threshold 0.9
refused 'one.npy: made with 1 model, but two.npy with 2' cluster two.npy one.npy --threshold 0.9
refused 'one.npy: made with 1 model, but two.npy with 2' eval one.npy two.npy

# --- files that contradict themselves ---------------------------------------------------------------------------------
# contradicts PATTERN DIM SED_SCRIPT: on the metadata of six rows
contradicts() {
    theirs odd "$2" "$3"
    refused "$1" cluster odd.npy --threshold 0.9
}
contradicts 'odd.npy: 6 x 8 floats, but its .ids.txt has 6 rows and .* says 7 x 8' 8 's/"rows": 6/"rows": 7/'
contradicts 'odd.npy: 6 x 8 floats, but .* says 6 x 9: these files do not belong together' 8 's/"dim": 8,/"dim": 9,/'
contradicts 'odd.npy: .*these files do not belong together' 8 's/"dim": 8}/"dim": 9}/'
contradicts 'odd.meta.json: .*a model lacks dim' 8 's/"dim": 8}/"dim": -8}/'
contradicts 'odd.meta.json: .*a model lacks dim' 8 's/"dim": 8}/"dim": 4294967304}/'
contradicts 'odd.npy: .*these files do not belong together' 8 's/"ann", "ann"/"ann"/'
contradicts 'odd.npy: .*these files do not belong together' 8 's/"identities"/"cameras": ["a"], &/'
contradicts 'odd.npy: .*these files do not belong together' 8 's/"identities"/"times": [""], &/'
contradicts 'odd.meta.json: .*more models than can be used together (2)' 8+8 \
    's/}\]/}, {"fingerprint": "a", "precision": "b", "dim": 9}]/'
contradicts 'odd.meta.json: does not name the model' 8 's/"models": \[.*\], "id/"models": [], "id/'
theirs odd 8
echo more >>odd.ids.txt
refused 'odd.npy: 6 x 8 floats, but its .ids.txt has 7 rows' cluster odd.npy --threshold 0.9
for shape in '7, 8' '6, 9' '6, 0' '99999999999999999, 99999999999' '2305843009213693952, 8' '48,'; do
    theirs odd 8
    sed -i "1s/(6, 8)/($shape)/" odd.npy
    refused 'odd.npy: \(holds [0-9]* bytes of data, but its header says\|is not a .npy file of version 1.0\)' \
        cluster odd.npy --threshold 0.9
done
theirs odd 8
sed -i '1s/(6, 8), }   /(6, 8, 1), }/' odd.npy
refused 'odd.npy: is not a .npy file of version 1.0 with a two-dimensional array of' cluster odd.npy --threshold 0.9
for lines in 1 6; do # the numbers of values in rows
    theirs lines 2
    mv lines.meta.json lines.jsonl.meta.json
    for i in 1 2 3 4 5 6; do
        values='1, 0'
        [ $i != $lines ] || values='1, 0, 0, 0, 0'
        echo "{\"path\": \"$i\", \"identity\": \"a\", \"embeddings\": [[$values]]}"
    done >lines.jsonl
    refused "lines.jsonl: line $lines: the number of values differs from" cluster lines.jsonl --threshold 0.9
done
theirs vectors 2
row() { printf "\\$1\\0\\0\\0\\0\\0\\200\\77\\0\\0\\0\\0"; } # "1, 0" behind how many they are
for odd in 1 3 377; do
    { row 2; row 2; row 2; row 2; row 2; row $odd; } >vectors.fvecs
    refused 'vectors.fvecs: row 5 has [0-9]* floats, not 2' cluster vectors.fvecs --threshold 0.9
done

# --- shards -----------------------------------------------------------------------------------------------------------
for i in 1 2; do run 0 embed $m in --shard $i/2 -o part.$i.npy; done
mkdir whole
cp part.* whole
# shard PATTERN SED_SCRIPT: on the metadata of the second
shard() {
    cp whole/* .
    sed -i "$2" part.2.meta.json
    refused "$1" merge part.1.npy part.2.npy -o x.npy
}
shard 'part.2.npy has a different network than part.1.npy' 's/"dim": 1280/"dim": 1281/'
shard 'part.2.meta.json: contradicts itself' '/fingerprint/s/"dim": 1280/"dim": 1281/'
shard "part.2.meta.json: .*a model's dim is more than 65536" 's/"dim": 1280/"dim": 2147483647/'
shard 'part.2.meta.json: contradicts itself' 's/"rows": 3/"rows": 4/'
shard 'part.2.meta.json: .*expected a shard I/N' 's|"2/2"|"3/2"|'
shard 'part.2.meta.json: lists 3 inputs, but shard 2/9 of 6 inputs has [0-9]' 's|"2/2"|"2/9"|'
shard 'part.2.npy has a different number of shards than part.1.npy' 's|"2/2"|"2/3"|;s/"inputs": 6/"inputs": 9/'
cp whole/* .
echo more >>part.2.ids.txt
refused 'part.2.npy: part.2.ids.txt has 4 lines; expected one for each of 3 rows' merge part.1.npy part.2.npy -o x.npy
cp whole/* .
sed -i '1s/(3, 1280)/(6, 1280)/' part.2.npy
refused 'part.2.npy: holds 6 x 1280 floats .* its metadata says 3 x 1280' merge part.1.npy part.2.npy -o x.npy
absent x.npy

# --- calibrations -----------------------------------------------------------------------------------------------------
for who in a b c d; do for k in 1 2 3 4; do echo "$who/$k.png $who"; done; done | "$EVAL_FILES" many.npy 8 1 0.3
run 0 calibrate many.npy --fmr 0.4 -o c.json
# calibration PATTERN SED_SCRIPT
calibration() {
    sed "$2" c.json >odd.json
    refused "$1" cluster many.npy --calibration odd.json
}
more='{"fingerprint": "a", "precision": "fp32", "weight": 1}'
calibration 'odd.json: made with 2 models, but many.npy with 1' "s/{\"fingerprint\"/$more, &/"
calibration 'odd.json: .*more models than can be used together' "s/{\"fingerprint\"/$more, $more, &/"
calibration 'odd.json: .*isotonic: scores and probabilities do not ascend together' \
    's/"probability": \[[^,]*,/"probability": [/'

finish
