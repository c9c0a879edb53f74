# t_cli_fit.sh: reid fit: heads from images and from raw embeddings, the weight files that it writes and what other
# commands make of them, the report against reid eval on the same individuals; everything that is refused.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
b0 w.safetensors
"$CLI_FILES" weights r50.safetensors resnet50 none 3
b0="-m w.safetensors --size 64x64"
people='01 02 03 04 05 06 07 08 09 10 11 12'

# Twelve individuals, three crops of each from different places of one image, and one who is seen once.
for who in $people 13; do
    mkdir -p crops/$who
    picture whole.png 60 60 "$who"
    i=0
    for box in '0 0 48 48' '14 10 46 50' '5 3 50 40'; do
        # shellcheck disable=SC2086 # four numbers
        "$CLI_FILES" crop whole.png crops/$who/$((i += 1)).png $box
        [ $who = 13 ] && break
    done
done
rm whole.png

# header FILE KEY: of the metadata; tensors FILE: names and shapes
cat >st.py <<'END'
import json, math, struct, sys
def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]
def floats(path, name):
    header, data = read(path)
    a, b = header[name]["data_offsets"]
    return struct.unpack("<%df" % ((b - a) // 4), data[a:b])
def npy(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    rows = [line.rstrip("\n") for line in open(path[:-4] + ".ids.txt")]
    values = struct.unpack("<%df" % ((len(data) - start) // 4), data[start:])
    dim = len(values) // len(rows)
    return {name: values[i * dim:i * dim + dim] for i, name in enumerate(rows)}
if sys.argv[1:] and sys.argv[1] == "header":
    print(read(sys.argv[2])[0]["__metadata__"].get(sys.argv[3], ""))
END
header() { python3 st.py header "$@"; }
is_header() { check "$2 of $1 is $3" [ "$(header "$1" "$2")" = "$3" ]; }

# --- a head from images, and its embeddings of them ---
# shellcheck disable=SC2086 # several words
run 0 fit $b0 crops -o f.safetensors
prints '^36 crops of 12 individuals, and 1 individual with a single crop$'
prints '^projection  *1280 values, [0-9]* directions of 36 components: [a-z]*, shrinkage [0-9.]*$'
prints '^mAP [0-9.]* % in the cross-validation that chose these settings$'
prints '^network      efficientnet_b0$'
prints "^fingerprint  $("$REID" inspect f.safetensors | sed -n 's/^fingerprint *//p')$"
no_leftovers
"$REID" inspect f.safetensors >"$out"
prints '^head         file: 512 wide$'
prints '^embedding    512 floats'
is_header f.safetensors reid.network efficientnet_b0
is_header f.safetensors reid.preset 'effnet-b0 size=64x64'
is_header f.safetensors reid.source w.safetensors
is_header f.safetensors reid.head_source "$("$REID" inspect w.safetensors --size 64x64 | sed -n 's/^fingerprint *//p')"
is_header f.safetensors reid.head_individuals 12
is_header f.safetensors reid.head_crops 36
is_header f.safetensors reid.last_stride ''
"$REID" embed $b0 --raw crops -o raw.npy 2>"$err"
"$REID" embed $b0 crops -o plain.npy 2>"$err"
"$REID" embed -m f.safetensors crops -o fitted.npy 2>"$err"
check "the head is what embed applies to the pooled features" python3 -c '
from st import *
w, b = floats("f.safetensors", "projection.weight"), floats("f.safetensors", "projection.bias")
raw, got = npy("raw.npy"), npy("fitted.npy")
assert len(raw) == 37
for name, x in list(raw.items())[::5]:
    y = [sum(w[j * 1280 + i] * x[i] for i in range(1280)) + b[j] for j in range(512)]
    length = math.sqrt(sum(v * v for v in y))
    assert max(abs(v / length - g) for v, g in zip(y, got[name])) < 1e-5'
check "all other tensors are as they were" python3 -c '
from st import *
a, x = read("w.safetensors")
b, y = read("f.safetensors")
bytes_of = lambda h, d, n: (h[n]["dtype"], h[n]["shape"], d[slice(*h[n]["data_offsets"])])
names = set(a) - {"__metadata__"}
assert set(b) - {"__metadata__"} == names | {"projection.weight", "projection.bias"}
assert all(bytes_of(a, x, n) == bytes_of(b, y, n) for n in names)'

# --- the same from raw embeddings; the same with any threads; an old head is replaced ---
# shellcheck disable=SC2086
run 0 fit $b0 raw.npy -o g.safetensors -q
same g.safetensors f.safetensors
# shellcheck disable=SC2086
run 0 fit $b0 crops -o g.safetensors -q --threads 1 --decoders 1
same g.safetensors f.safetensors
run 0 fit -m f.safetensors --size 64x64 crops -o g.safetensors -q
is_header g.safetensors reid.source f.safetensors
check "one projection, the same" python3 -c '
from st import *
for part in "weight", "bias":
    assert floats("g.safetensors", "projection." + part) == floats("f.safetensors", "projection." + part)'
# shellcheck disable=SC2086
run 0 fit $b0 raw.npy -o g.safetensors --seed 5 -q
run 0 fit -m w.safetensors --size 64x64 raw.npy --method lda --shrinkage 0.25 --dim 5 -o five.safetensors --json
check "what JSON says" python3 -c '
import json
j = json.load(open("stdout"))
part, = j["parts"]
assert (part["directions"], part["method"], part["shrinkage"], part["share"]) == (5, "lda", 0.25, 1), part
assert j["map"] is None and j["report"] is None and j["turns"] == 0 and j["output"] == "five.safetensors", j
assert (j["individuals"], j["crops"], j["single"]) == (12, 36, 1)
from st import *
w = floats("five.safetensors", "projection.weight")
assert any(w[:5 * 1280]) and not any(w[5 * 1280:])'
is_header five.safetensors reid.head_method lda
is_header five.safetensors reid.head_shrinkage 0.25

# --- a table of labels, cameras, a crop that fails ---
echo path,identity,camera >all.csv
for who in $people; do
    for i in 1 2 3; do echo "$who/$i.png,$who,$((i % 2))"; done
done >>all.csv
# shellcheck disable=SC2086
run 0 fit $b0 crops --labels all.csv --report --holdout 0.5 -q
prints '^6 held-out individuals, 18 crops to find (held out; 6 individuals in the fit)$'
prints '^rank-1 .* %.*([+-]'
cp all.csv broken.csv
echo "nobody.png,01,0" >>broken.csv
# shellcheck disable=SC2086
run 1 fit $b0 crops --labels broken.csv --report -q
says 'crops/nobody.png: '
# shellcheck disable=SC2086
run 1 fit $b0 crops --labels broken.csv -o no.safetensors --strict
absent no.safetensors

# shellcheck disable=SC2086
run 2 fit $b0 crops --report --leave-out camera
says 'not every crop.s camera is known'

# --- the report is about held-out individuals: reid eval agrees, with a head that was fitted without them ---
cat >hold.py <<'END'
import json, sys
MASK = (1 << 64) - 1
state, left, order = int(sys.argv[1]), sys.argv[2].split(), []
while left:
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    order.append(left.pop(int(((z ^ z >> 31) >> 11) * 2.0**-53 * len(left))))
held = order[:len(order) // 2]
for name, who in ("held", held), ("rest", [o for o in order if o not in held]):
    with open(name + ".csv", "w") as f:
        print("path,identity", file=f)
        for w in sorted(who):
            for i in 1, 2, 3:
                print("crops/%s/%d.png,%s" % (w, i, w), file=f)
END
cat >agree.py <<'END'
import json
report = json.load(open("report.json"))["report"]
def part(o, key):
    found = [o[key]] if key in o else [p for v in o.values() if isinstance(v, dict) for p in part(v, key)]
    return found
for side in "before", "after":
    e = json.load(open(side + ".json"))
    for key in "rank1", "map", "auc":
        got, want = report[side][key], part(e, key)[0]
        assert abs(got - want) < (1e-3 if key == "auc" else 1e-6), (side, key, got, want) # eval's has steps of scores
        low, high = report[side][key + "_interval"]
        assert low <= got <= high, (side, key, low, got, high)
for key in "rank1", "map", "auc":
    assert abs(report["after"][key] - report["before"][key] - report["gain"][key]) < 1e-6, key
assert report["turns"] == 1 and report["individuals"] == 6 and report["queries"] == 18, report
END
# agrees WEIGHTS OPTION...: compares report.json with a fit to the others and an evaluation of the held-out ones
agrees() {
    file=$1 ending=$2
    shift 2
    run 0 fit -q -m "$file" "$@" . --labels rest.csv -o rest.safetensors
    "$REID" embed -q -m rest.safetensors --size 64x64 crops -o rest.npy 2>"$err"
    "$REID" embed -q -m "$file" $ending crops -o before.npy 2>"$err"
    "$REID" eval -q --json rest.npy --labels held.csv >after.json 2>"$err"
    "$REID" eval -q --json before.npy --labels held.csv >before.json 2>"$err"
    check "the report of $file is that of reid eval" python3 agree.py
}
tail -n +2 all.csv | cut -d, -f1,2 | sed '1i path,identity
s|^|crops/|' | sed 's|^crops/path|path|' >every.csv
python3 hold.py 4 "$people"
# shellcheck disable=SC2086
run 0 fit -q $b0 . --labels every.csv --report --holdout 0.5 --seed 4 --json
cp "$out" report.json
agrees w.safetensors '--size 64x64' --size 64x64 --seed 4

# A ResNet-50 gets one layer; the multi-scale network gets all four, and is compared with its seeded ones.
python3 hold.py 0 "$people"
run 0 fit -q -m r50.safetensors --size 64x64 . --labels every.csv --report --holdout 0.5 --json
cp "$out" report.json
agrees r50.safetensors '--size 64x64' --size 64x64
is_header rest.safetensors reid.network resnet50-layumi
is_header rest.safetensors reid.last_stride 2
is_header rest.safetensors reid.preset 'torchvision-v1 size=64x64'
run 0 fit -q -m rest.safetensors --size 64x64 . --labels every.csv --report --holdout 0.5 -o layer.safetensors
prints '^network      resnet50-layumi$'
prints '^classifier.add_block.0  *2048 values'
run 0 fit -q -m r50.safetensors --net resnet50-multiscale --last-stride 1 --size 64x64 . --labels every.csv --report \
    --holdout 0.5 --json
cp "$out" report.json
agrees r50.safetensors '--net resnet50-multiscale --head seeded --last-stride 1 --size 64x64' \
    --net resnet50-multiscale --last-stride 1 --size 64x64
is_header rest.safetensors reid.network resnet50-multiscale
is_header rest.safetensors reid.last_stride 1
check "four layers" python3 -c '
from st import *
header = read("rest.safetensors")[0]
for name, columns in ("layer2", 8192), ("layer3", 4096), ("layer4", 2048), ("avgpool", 2048):
    assert header["reduce_%s.weight" % name]["shape"] == [128, columns], name'
run 2 fit -m r50.safetensors --net resnet50-multiscale raw.npy -o no.safetensors
says 'whose inputs are not in a file of embeddings: give the images'

# --- turns ---
run 0 fit raw.npy --report -q
prints '^12 held-out individuals, 36 crops to find (held out in turns; 8 individuals in each fit)$'
cp "$out" first
run 0 fit raw.npy --report -q
same "$out" first

# --- what is refused ---
refused() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    run 2 fit "$@"
    says "$pattern"
    silent
    absent no.safetensors
}
refused 'no model: give its weights with -m' crops --report
refused '-o writes a model.s weights with the new head' raw.npy -o no.safetensors
refused 'nothing to do: give -o, --report or both' -m w.safetensors crops
refused '--holdout needs --report' -m w.safetensors crops -o no.safetensors --holdout 0.5
refused 'must end in .safetensors' -m w.safetensors crops -o no.npy
refused 'one model at a time' -m w.safetensors -m r50.safetensors crops -o no.safetensors
refused 'is both input and output' -m f.safetensors crops -o ./f.safetensors
refused 'nowhere/f.safetensors: cannot write to nowhere: ' -m w.safetensors crops -o nowhere/f.safetensors
mkdir folder.safetensors
refused 'folder.safetensors: ' -m w.safetensors crops -o folder.safetensors
refused 'contains embeddings of unit length, but a head needs raw features' plain.npy --report
refused 'raw.npy was made by' -m r50.safetensors raw.npy -o no.safetensors
refused 'raw.npy was made by' -m w.safetensors raw.npy -o no.safetensors
refused '--shrinkage takes X, not' raw.npy --report --shrinkage 1.5
refused '--method takes auto|within|lda|pca, not' raw.npy --report --method best
refused '--dim 600: the head holds at most 512' raw.npy --report --dim 600
refused '--dim 40: [0-9]* crops of [0-9]* individuals give only [0-9]' raw.npy -m w.safetensors --size 64x64 \
    -o no.safetensors --dim 40
"$CLI_FILES" weights neck.safetensors resnet50-bnneck none 1
refused 'the head of network resnet50-bnneck cannot be fitted' -m neck.safetensors crops -o no.safetensors
rm neck.safetensors
(echo path,identity && for who in 01 02 03; do for i in 1 2; do echo "crops/$who/$i.png,$who"; done; done) >few.csv
refused '3 individuals with two crops or more are too few for cross-validation' raw.npy --labels few.csv \
    -m w.safetensors --size 64x64 -o no.safetensors
refused 'too few for a report' raw.npy --labels few.csv --report
(echo path,identity && for who in $people; do echo "crops/$who/1.png,$who"; done) >single.csv
refused '0 individuals with two crops or more: fit needs at least two' raw.npy --labels single.csv -m w.safetensors \
    --size 64x64 -o no.safetensors
run 0 fit raw.npy --labels few.csv -m w.safetensors --size 64x64 --method pca --shrinkage 0 -o few.safetensors -q
no_leftovers
finish
