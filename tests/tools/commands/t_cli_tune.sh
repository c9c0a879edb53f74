# t_cli_tune.sh: templates (strict, options win, every command), and reid tune: what it measures, writes and refuses.
. tests/lib/cli_lib.sh

b0 w.safetensors
mkdir crops
for i in 1 2 3 4 5 6; do picture crops/$i.png 40 30 "$i"; done
mkdir -p pairs/a pairs/b
for who in a b; do cp crops/1.png pairs/$who/1.png && cp crops/2.png pairs/$who/2.png; done
mine="-m w.safetensors --size 32x32 --device cpu"

# --- templates ---
# threads and batch as the model has them; decoders and device where they show. Words are meant to be split.
# shellcheck disable=SC2086
settings() { # settings WANTED ARGUMENT...: "decoders threads" as --stats tells them
    wanted=$1
    shift
    "$REID" embed $mine crops -o s.npy --stats --json -q "$@" >"$out" 2>"$err"
    told=$(sed -n 's/^{"seconds": [0-9.]*, "decoders": \([0-9]*\), "threads": \([0-9]*\),.*/\1 \2/p' "$err")
    check "$*: decoders and threads $wanted, were $told" [ "$told" = "$wanted" ]
}
printf '\357\273\277# here\r\n\n  threads=1\t\n decoders = 3\nlanes = 2\n' >here.template
printf 'memory = 200M\nbatch = auto\ndevice = cpu' >>here.template
settings '3 1' --template here.template
settings '3 2' --template here.template --threads 2
settings '5 1' --decoders 5 --template here.template
settings '1 2' --template low-memory --threads 2
settings '2 1' --template latency --threads 1 --decoders 2
check 'latency: one at a time' grep -q '"rows_in_a_batch": 1.000' "$err"
: >empty.template
settings '2 1' --template empty.template --decoders 2 --threads 1
run 0 embed $mine crops -o plain.npy
run 0 embed $mine crops -o with.npy --template here.template
same plain.npy with.npy

bad() { # PATTERN TEXT
    printf '%b' "$2" >bad.template
    # shellcheck disable=SC2086
    run 2 embed $mine crops -o none.npy --template bad.template
    says "$1"
    absent none.npy
}
bad 'bad.template, line 2: no setting of a template .*: "colour"' '# x\ncolour = red\n'
bad 'bad.template, line 1: no setting of a template' 'precision = fp16\n'
bad 'bad.template, line 3: a second time: "threads"' 'threads = 1\n\nthreads = 1\n'
bad 'bad.template, line 1: neither KEY = VALUE nor a comment: "threads"' 'threads\n'
bad 'bad.template, line 1: no value for that: ""' 'threads = \n'
bad 'bad.template, line 1: threads takes N|auto, not "0"' 'threads = 0\n'
bad 'bad.template, line 1: threads takes N|auto, not "1 1"' 'threads = 1 1\n'
bad 'bad.template, line 1: lanes takes N|auto, not "x"' 'lanes = x\n'
bad 'bad.template, line 1: device takes .*, not "gpu"' 'device = gpu\n'
bad 'bad.template, line 1: memory takes BYTES, not "1T"' 'memory = 1T\n'
bad 'it has a zero byte' 'threads = 1\n\0\n'
bad 'bad.template, line 1: no value for that: "1111*"' "batch = $(printf '%0100d' 0 | tr 0 1)\n"
# shellcheck disable=SC2086
run 2 embed $mine crops --template fastest
says 'it is none of throughput|latency|low-memory|cpu, and as a file, fastest: '
# shellcheck disable=SC2086
run 2 embed $mine crops --template crops
says 'template: .*crops: '
# shellcheck disable=SC2086 # every command that has such options
{
    run 0 match $mine --gallery plain.npy --threshold 0 crops/1.png --template here.template
    run 0 inspect w.safetensors --template here.template
    prints '1 thread,'
    run 0 inspect w.safetensors --template cpu
    run 0 eval -m w.safetensors --size 32x32 --device cpu pairs --template throughput
    run 0 gallery create g.reid $mine
    run 0 gallery add g.reid $mine crops/1.png --template low-memory
    run 0 bench -m w.safetensors --size 32x32 --batches 1 --rounds 1 --template here.template
    run 1 doctor $mine --gallery g.reid --template here.template
}
"$REID" help serve >"$out"
prints '--template'

# --- tune ---
# shellcheck disable=SC2086
tune() {
    status=$1
    shift
    run "$status" tune $mine "$@"
}
tune 0 --seconds 1 crops -o tuned.template
prints '^DECODERS  *THREADS  *BATCH  *PICTURES/S  *GIB  *SECONDS$'
check 'one is chosen' [ "$(grep -c '<-$' "$out")" = 1 ]
prints '^For throughput on cpu, efficientnet_b0 in fp32, with 6 pictures: '
for line in '# A template of reid tune' '# For throughput on cpu' 'device = cpu' 'batch = [0-9]*$' 'threads = [0-9]*$' \
    'decoders = [0-9]*$'; do
    check "template: $line" grep -q "^$line" tuned.template
done
check 'the template is the choice' [ "$(sed -n 's/^decoders = //p; s/^threads = //p; s/^batch = //p' tuned.template |
    sort)" = "$(awk '/<-$/ { print $1; print $2; print $3 }' "$out" | sort)" ]
settings "$(sed -n 's/^decoders = //p' tuned.template) $(sed -n 's/^threads = //p' tuned.template)" \
    --template tuned.template
tune 0 --seconds 0.3 --decoders 3 --threads 1 --batch 2 crops --json --memory 300M
if command -v python3 >/dev/null; then
    check 'what is given is not varied' python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["goal"] == "throughput" and d["device"] == "cpu"
assert len(d["measured"]) == 1 and d["chosen"] == d["measured"][0]
c = d["chosen"]
assert (c["decoders"], c["threads"], c["batch"]) == (3, 1, 2) and c["per_second"] > 0 and c["bytes"] > 1e6
END
fi
tune 0 --seconds 0.3 --goal latency crops --json
prints '"chosen": {"decoders": 1, "threads": [0-9]*, "batch": 1,'
tune 0 --seconds 0.3 --goal low-memory --threads 1 crops -o small.template
prints '^For low-memory .* % of the fastest.s pace'
# Where memory may end, the largest batch is found first.
whole=$("$REID" inspect w.safetensors --size 256x256 --device cpu --json --threads 1 --batch 1 |
    sed -n 's/.*"total_bytes": \([0-9]*\).*/\1/p')
run 0 tune -m w.safetensors --size 256x256 --device cpu --threads 1 --decoders 1 --seconds 0.3 --json \
    --memory $((whole + 4000000)) crops
prints '"largest_batch": [1-9]'
run 2 tune -m w.safetensors --size 32x32 --device cpu --memory 1M crops
says 'memory_limit is 1048576 bytes'
tune 0 --seconds 0.3 --full --threads 1 --decoders 1 crops --json
prints '"hurried": false'

tune 2
says 'no INPUT'
run 2 tune crops
says 'no model'
tune 2 crops/1.png
says 'at least two pictures'
echo no >crops/bad.png
mkdir broken
echo no >broken/1.png
: >broken/2.png
tune 2 --seconds 0.3 broken -o never.template
says 'broken/1.png: not a picture'
absent never.template
tune 0 --seconds 0.3 --threads 1 --decoders 1 --batch 1 crops
cp crops/1.png eaten.png
tune 2 crops -o eaten.png
says 'eaten.png: exists and is no template, so it is not replaced'
same eaten.png crops/1.png
tune 0 --seconds 0.3 --threads 1 --decoders 1 --batch 1 crops -o tuned.template
tune 2 --seconds 0.3 --threads 1 --decoders 1 --batch 1 crops -o missing/x.template
says 'missing/x.template'
prints '^For throughput on cpu'
run 2 tune -m w.safetensors --goal cpu --device cuda crops
says 'contradict'
run 2 tune -m w.safetensors --goal fastest crops
says '--goal takes'
no_leftovers
finish
