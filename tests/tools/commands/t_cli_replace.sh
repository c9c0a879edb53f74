# t_cli_replace.sh: nothing of others is replaced. Every option that writes is tried on a table of victims: files of
# every other kind, links to them, inputs of the run and what lies beside them. Own outputs are replaced, and --force
# replaces everything but inputs.
. tests/lib/cli_lib.sh
need_checkpoint_files
b0 w.safetensors
small='--size 64x64'
for who in ann bob cat; do # three crops of each from one picture
    mkdir -p in/$who
    picture whole.png 60 60 "$(echo $who | cksum | cut -c 1-4)"
    "$CLI_FILES" crop whole.png in/$who/1.png 0 0 48 48
    "$CLI_FILES" crop whole.png in/$who/2.png 10 10 46 50
    "$CLI_FILES" crop whole.png in/$who/3.png 5 3 50 40
done
rm whole.png
"$CHECKPOINT_FILES" zip w.safetensors w.pth 2>"$err" || { cat "$err"; exit 1; }
# shellcheck disable=SC2086 # two words
"$REID" embed -q -m w.safetensors $small in -o g.npy || exit 1
"$REID" calibrate g.npy --fmr 0.3 -o c.json >"$out" 2>"$err" || { cat "$err"; exit 1; }

# One file of each kind, of people and of this program. A one-line note is what a slip of the keyboard hits.
mkdir v
picture v/photo.png 20 20 9
picture v/photo.jpg 20 20 9
cp w.safetensors v/weights.safetensors
cp w.pth v/checkpoint.pth
cp g.npy v/rows.npy
cp g.ids.txt v/ids.txt
cp g.meta.json v/meta.json
cp c.json v/calibration.json
# shellcheck disable=SC2086
"$REID" gallery create v/animals.gallery -m w.safetensors $small || exit 1
printf 'path,identity\nin/ann/1.png,ann\n' >v/labels.csv
printf 'a list that took a day' >v/notes.txt
printf '{"mine": 1}\n' >v/mine.json
printf '<!DOCTYPE html>\n<title>My page</title>\n' >v/page.html
printf '{"seq": 1, "what": "same"}\n' >v/decisions.jsonl
printf '#!/bin/sh\n' >v/script.sh
cp -r v kept
untouched() { for f in v/*; do cmp -s "$f" "kept/${f#v/}" || { echo "$f was changed"; return 1; }; done; }

# writes NAME ENDING COMMAND... OPTION: a command whose last word names an output. No victim, and no link to one, may be
# replaced under a name that ends so; its own result may. The victims that are of its kind are in $own.
tried=0
writes() {
    ending=$1
    shift
    for victim in v/*; do
        case " $own " in *" ${victim#v/} "*) continue ;; esac
        case $victim in *.safetensors | *.txt) ways="symbolic hard" ;; *) ways= ;; esac
        for way in copy $ways; do
            rm -f t/*
            case $way in
                copy) cp "$victim" "t/x$ending" ;;
                symbolic) ln -s "$PWD/$victim" "t/x$ending" ;;
                hard) ln "$victim" "t/x$ending" ;;
            esac
            "$REID" "$@" "t/x$ending" >"$out" 2>"$err"
            got=$?
            tried=$((tried + 1))
            { [ $got = 2 ] && cmp -s "t/x$ending" "kept/${victim#v/}" && grep -q "t/x$ending" "$err" &&
                grep -q 'so it is not replaced\|both input and output' "$err"; } ||
                check "exit 2 (was $got), $victim ($way) stays: $*" false
        done
    done
    check "no victim of $* was changed" untouched
    rm -f t/*
    for again in 1 2; do run 0 "$@" "t/x$ending" ${quietly-}; done # what it wrote itself
    cp v/notes.txt "t/x$ending"
    run 0 "$@" "t/x$ending" --force
    check "--force replaces: $*" sh -c '! cmp -s "$1" v/notes.txt' sh "t/x$ending"
}
mkdir t
model="-m w.safetensors $small"
# shellcheck disable=SC2086
{
own='rows.npy' writes .npy embed -q $model in -o
own='' writes .jsonl embed -q $model in -o
own='' writes .csv embed -q $model in -o
own='' writes .json embed -q $model in/ann/1.png -o trace.npy --trace
printf 'path,e0,e1\na.png,1,2\nb.png,3,4\n' >foreign.csv
for ending in npy jsonl csv; do
    own=; [ $ending != npy ] || own=rows.npy
    writes .$ending import foreign.csv --model other -o
done
"$REID" embed -q $model in --shard 1/2 -o s.1.npy; "$REID" embed -q $model in --shard 2/2 -o s.2.npy
own='rows.npy' writes .npy merge s.1.npy s.2.npy -o
for ending in csv jsonl html; do own='' writes .$ending match -q $model --gallery g.npy in/ann -o; done
own='calibration.json' writes .json calibrate g.npy --fmr 0.3 -o
own='' writes .csv cluster -q g.npy --threshold 0.9 -o
own='' writes .json cluster -q g.npy --threshold 0.9 -o
own='' writes .html review g.npy --threshold 0.9 --decisions d.jsonl --html
own='' writes .safetensors convert w.pth
own='' writes .safetensors fit $model --shrinkage 0.5 --method lda in -o
quick='--rounds 1 --batches 1 --peak-gflops 1 --peak-gbs 1'
own='' writes .json bench $model $quick -o
own='' writes .html bench $model $quick --report
own='' writes .profile tune $model --seconds 0.3 --threads 1 --decoders 1 --batch 1 in -o
"$REID" gallery create one.gallery $model && "$REID" gallery add one.gallery $model in/ann >/dev/null
for ending in npy fvecs jsonl; do own='rows.npy' writes .$ending gallery export one.gallery -o; done
}
echo "$tried victims tried"

# Ranges are measured on a ResNet.
"$CLI_FILES" weights r50.safetensors resnet50 none 3
for victim in weights.safetensors photo.png notes.txt; do
    cp v/$victim t/r.safetensors
    run 2 calibrate --int8 -m r50.safetensors $small in -o t/r.safetensors
    says 'exists and is not ranges written by reid calibrate --int8'
    same t/r.safetensors v/$victim
done
# The kernels of reid pack: refused before NVRTC is looked for.
for victim in v/*; do
    run 2 pack --net resnet50 --chip sm_90 -o "$victim"
    says 'exists and is not a file of reid pack'
done
check 'nothing was changed by pack' untouched

# Side files of an output: none is replaced that is not such a side file, and then nothing is written.
for form in npy fvecs import; do
    for side in ids.txt meta.json; do
        for victim in photo.png mine.json notes.txt weights.safetensors; do
            rm -f t/*
            cp v/$victim t/x.$side
            # shellcheck disable=SC2086
            case $form in
                npy) run 2 embed -q $model in -o t/x.npy ;;
                import) run 2 import foreign.csv --model other -o t/x.npy ;;
                *) run 2 gallery export one.gallery -o t/x.fvecs ;;
            esac
            says "t/x.$side: exists and is not"
            same t/x.$side v/$victim
            absent t/x.npy t/x.fvecs
        done
    done
done
# A list of ids belongs to the rows beside it, or it is somebody's own.
rm -f t/*
cp g.ids.txt t/x.ids.txt
# shellcheck disable=SC2086
{
run 2 embed -q $model in -o t/x.npy
says 't/x.ids.txt: exists and is not the list of ids of the embeddings next to it, so it is not replaced'
cp g.npy t/x.npy
run 0 embed -q $model in/ann -o t/x.npy
lines t/x.ids.txt 3
# A shard as CSV has no header, and is known by its numbers.
for again in 1 2; do run 0 embed -q $model in --shard 2/2 -o t/s.csv; done
}
printf 'in/ann/1.png,ann,1,2,3,4\n' >t/s.csv
cp t/s.csv boxes.csv
# shellcheck disable=SC2086
run 2 embed -q $model in --shard 2/2 -o t/s.csv
same t/s.csv boxes.csv

# An input is never replaced, whatever it is called and whatever lies beside it, not even with --force.
for way in g.meta.json g.ids.txt ./g.meta.json in/../g.ids.txt link.json hard.json; do
    ln -sf g.meta.json link.json
    ln -f g.meta.json hard.json
    run 2 calibrate g.npy --fmr 0.3 -o $way --force
    says "$way is both input and output"
    cp $way before
    cp g.meta.json before
    run 2 review g.npy --threshold 0.9 --decisions d.jsonl --html $way --force
    says "$way is both input and output"
    same before g.meta.json
done
rm link.json hard.json
cp g.npy gg.npy
# shellcheck disable=SC2086
{
run 2 embed -q $model in -o g.npy --boxes g.npy --force
says 'g.npy is both input and output'
printf 'path,x,y,width,height\nann/1.png,0,0,20,20\n' >t/x.ids.txt # an input as the side file of the output
cp t/x.ids.txt boxes.csv
run 2 embed -q $model in -o t/x.npy --boxes t/x.ids.txt --force
says 't/x.ids.txt: is both input and output'
same t/x.ids.txt boxes.csv
cp in/ann/1.png before
ln in/ann/1.png in/ann/4.npy
run 2 embed -q $model in -o in/ann/4.npy --force
says 'is an image in an input folder'
same before in/ann/4.npy
rm in/ann/4.npy
cp w.pth w.pth.safetensors
run 2 convert w.pth.safetensors ./w.pth.safetensors --force
says 'is both input and output'

# Two outputs of one run need two names.
rm -f t/*
run 2 embed -q $model in -o t/x.npy --trace t/x.meta.json
says 't/x.meta.json: is already the name of another output of this command, the metadata of embeddings'
run 2 embed -q $model in -o t/x.npy --trace t/../t/x.ids.txt --force
says 'is already the name of another output of this command'
run 2 bench $model $quick -o t/b --report t/../t/b
says 'is already the name of another output of this command'
absent t/x.npy t/x.meta.json t/b
}

# Empty files are replaced, because they hold nobody's work.
: >t/x.npy
: >t/x.ids.txt
: >t/x.meta.json
# shellcheck disable=SC2086
run 0 embed -q $model in/ann -o t/x.npy

# A journal is never replaced, only appended to; a file of one line that is no decision is not a torn one.
cp v/notes.txt d.jsonl
run 2 review g.npy --threshold 0.9 --decisions d.jsonl --html t/x.html
says 'd.jsonl: is not a journal of decisions'
same d.jsonl v/notes.txt
absent d.jsonl.torn t/x.html
finish
