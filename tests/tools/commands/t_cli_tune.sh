# t_cli_tune.sh: profiles (strict, options win, every command), and reid tune: what it measures, writes and refuses.
. tests/lib/cli_lib.sh

b0 w.safetensors
mkdir crops
for i in 1 2 3 4 5 6; do picture crops/$i.png 40 30 "$i"; done
mkdir -p pairs/a pairs/b
for who in a b; do cp crops/1.png pairs/$who/1.png && cp crops/2.png pairs/$who/2.png; done
mine="-m w.safetensors --size 32x32 --device cpu"

# --- profiles ---
# The settings that a profile results in. Words are meant to be split.
# shellcheck disable=SC2086
settings() { # settings WANTED ARGUMENT...: "decoders threads", as in --stats
    wanted=$1
    shift
    "$REID" embed $mine crops -o s.npy --stats --json -q "$@" >"$out" 2>"$err"
    told=$(sed -n 's/^{"seconds": [0-9.]*, "decoders": \([0-9]*\), "threads": \([0-9]*\),.*/\1 \2/p' "$err")
    check "$*: decoders and threads $wanted, were $told" [ "$told" = "$wanted" ]
}
printf '\357\273\277# here\r\n\n  threads=1\t\n decoders = 3\nlanes = 2\n' >here.profile
printf 'memory = 200M\nbatch = auto\ndevice = cpu' >>here.profile
settings '3 1' --profile here.profile
settings '3 2' --profile here.profile --threads 2
settings '5 1' --decoders 5 --profile here.profile
settings '1 2' --profile low-memory --threads 2
settings '2 1' --profile latency --threads 1 --decoders 2
check 'latency: one at a time' grep -q '"rows_in_a_batch": 1.000' "$err"
: >empty.profile
settings '2 1' --profile empty.profile --decoders 2 --threads 1
run 0 embed $mine crops -o plain.npy
run 0 embed $mine crops -o with.npy --profile here.profile
same plain.npy with.npy

bad() { # PATTERN TEXT
    printf '%b' "$2" >bad.profile
    # shellcheck disable=SC2086
    run 2 embed $mine crops -o none.npy --profile bad.profile
    says "$1"
    absent none.npy
}
bad 'bad.profile, line 2: unknown setting; expected device, .*, found: "colour"' '# x\ncolour = red\n'
bad 'bad.profile, line 1: unknown setting' 'precision = fp16\n'
bad 'bad.profile, line 3: this setting is given twice: "threads"' 'threads = 1\n\nthreads = 1\n'
bad 'bad.profile, line 1: expected KEY = VALUE or a comment, found: "threads"' 'threads\n'
bad 'bad.profile, line 1: missing or too long value: ""' 'threads = \n'
bad 'bad.profile, line 1: threads takes N|auto, not "0"' 'threads = 0\n'
bad 'bad.profile, line 1: threads takes N|auto, not "1 1"' 'threads = 1 1\n'
bad 'bad.profile, line 1: lanes takes N|auto, not "x"' 'lanes = x\n'
bad 'bad.profile, line 1: device takes .*, not "gpu"' 'device = gpu\n'
bad 'bad.profile, line 1: memory takes BYTES, not "1T"' 'memory = 1T\n'
bad 'contains a zero byte' 'threads = 1\n\0\n'
bad 'bad.profile, line 1: missing or too long value: "1111*"' "batch = $(printf '%0100d' 0 | tr 0 1)\n"
# shellcheck disable=SC2086
run 2 embed $mine crops --profile fastest
says '--profile takes throughput|latency|low-memory|cpu or a file; fastest: '
# shellcheck disable=SC2086
run 2 embed $mine crops --profile crops
says 'profile takes .*crops: '
# shellcheck disable=SC2086 # every command that has such options
{
    run 0 match $mine --gallery plain.npy --threshold 0 crops/1.png --profile here.profile
    run 0 inspect w.safetensors --profile here.profile
    prints '1 thread,'
    run 0 inspect w.safetensors --profile cpu
    run 0 eval -m w.safetensors --size 32x32 --device cpu pairs --profile throughput
    run 0 gallery create g.reid $mine
    run 0 gallery add g.reid $mine crops/1.png --profile low-memory
    run 0 bench -m w.safetensors --size 32x32 --batches 1 --rounds 1 --profile here.profile
    run 1 doctor $mine --gallery g.reid --profile here.profile
}
"$REID" help serve >"$out"
prints '--profile'

# --- tune ---
# shellcheck disable=SC2086
tune() {
    status=$1
    shift
    run "$status" tune $mine "$@"
}
tune 0 --seconds 1 crops -o tuned.profile
prints '^DECODERS  *THREADS  *BATCH  *IMAGES/S  *GIB  *SECONDS$'
check 'one is chosen' [ "$(grep -c '<-$' "$out")" = 1 ]
prints '^For throughput on cpu, efficientnet_b0 in fp32, with 6 images: '
for line in '# A profile from reid tune' '# For throughput on cpu' 'device = cpu' 'batch = [0-9]*$' \
    'threads = [0-9]*$' 'decoders = [0-9]*$'; do
    check "profile: $line" grep -q "^$line" tuned.profile
done
check 'the profile is the choice' [ "$(sed -n 's/^decoders = //p; s/^threads = //p; s/^batch = //p' tuned.profile |
    sort)" = "$(awk '/<-$/ { print $1; print $2; print $3 }' "$out" | sort)" ]
settings "$(sed -n 's/^decoders = //p' tuned.profile) $(sed -n 's/^threads = //p' tuned.profile)" \
    --profile tuned.profile
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
tune 0 --seconds 0.3 --goal low-memory --threads 1 crops -o small.profile
prints '^For low-memory .* % of the pace of the fastest'
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
says 'at least two images'
echo no >crops/bad.png
mkdir broken
echo no >broken/1.png
: >broken/2.png
tune 2 --seconds 0.3 broken -o never.profile
says 'broken/1.png: not an image'
absent never.profile
tune 0 --seconds 0.3 --threads 1 --decoders 1 --batch 1 crops
cp crops/1.png eaten.png
tune 2 crops -o eaten.png
says 'eaten.png: exists and is not a profile from reid tune, so it is not replaced'
same eaten.png crops/1.png
tune 0 --seconds 0.3 --threads 1 --decoders 1 --batch 1 crops -o tuned.profile
tune 2 --seconds 0.3 --threads 1 --decoders 1 --batch 1 crops -o missing/x.profile
says 'missing/x.profile'
prints '^For throughput on cpu'
run 2 tune -m w.safetensors --goal cpu --device cuda crops
says 'contradict'
run 2 tune -m w.safetensors --goal fastest crops
says '--goal takes'
no_leftovers
finish
