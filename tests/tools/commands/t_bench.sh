# t_bench.sh: reid bench: its table, JSON, ceilings and errors. cli_lib.sh lists what it needs.
#     sh tests/tools/commands/t_bench.sh
# shellcheck disable=SC2016 # the single quotes hold awk programs
cd "$(dirname "$0")/../../.." || exit 1
[ -x build/reid ] || make -s build/reid || exit 1
. tests/lib/cli_lib.sh
b0 w.safetensors
few="--size 64x64 --rounds 3 --threads 1"

bad() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    run 2 bench "$@"
    says "$pattern"
    silent
}
bad 'no model: give its weights with -m' --batches 1
bad 'm is given twice; expected one model' -m a -m b
bad 'unexpected argument: x.png' -m w.safetensors x.png
bad 'lost.safetensors: no such file' -m lost.safetensors
for value in '' 0 1,0 '1,' ',1' 1,x -1 65537 '1 2'; do
    bad '--batches takes N,..., not' -m w.safetensors --batches "$value"
done
for value in 0 x 1001 ''; do bad '--rounds takes N, not' -m w.safetensors --rounds "$value"; done
for value in x -1 nan; do bad '--peak-gflops takes X, not' -m w.safetensors --peak-gflops "$value"; done
nvidia-smi >/dev/null 2>&1 || bad 'w.safetensors: CUDA needs the NVIDIA driver' -m w.safetensors --tune
mkdir folder
bad 'folder: is a folder' -m w.safetensors -o folder

# shellcheck disable=SC2086 # several words
run 0 bench -m w.safetensors $few --batches 1,3 --ops --start 2 --output b.json
prints '^efficientnet_b0, 64x64, fp32, cpu '
prints '^0\.0[0-9]* GFLOP per image; ceilings: [0-9]* GFLOP/s, [0-9.]* GB/s, measured here'
prints '^from reid_create to the first embedding: [0-9.]*, [0-9.]* ms$'
check "two rows, ordered, the network not slower than twice the call" awk '
    $1 ~ /^[13]$/ && NF == 8 { n++; if ($2 < $3 || $2 > $4 || $3 <= 0 || $8 <= 0 || $8 > 2 * $2) bad = 1 }
    END { exit n != 2 || bad }' "$out"
check "33 + 16 convolutions twice" [ "$(grep -c '^[^ ]* *\(conv\|depthwise\) ' "$out")" = 98 ]
check "each is bound by something" awk '
    /^[^ ]+ +conv / && !/with the next/ && $NF != "compute" && $NF != "memory" { exit 1 }' "$out"
check "no line is longer than 120" [ -z "$(awk 'length > 120' "$out")" ]
for pattern in '"date": "20' '"chip": "' '"driver": ""' '"versions": {"reid": "' '"rounds": 3' \
    '{"net": "efficientnet_b0", "size": "64x64", "precision": "fp32", "device": "cpu", "isa": "[a-z0-9]*", "batch": 1' \
    '"batch": 3, "threads": 1, "ours_ms": [0-9.]*, "min_ms": [0-9.]*, "max_ms": [0-9.]*, "network_ms": [0-9.]*,' \
    '"start_ms": \[[0-9.]*, [0-9.]*\], "ops": \[{"name": "features.0.0", "kind": "conv", "kernel": "(with' \
    '"name": "features.8.0", "kind": "conv", "kernel": "", "us": '; do
    check "b.json has $pattern" grep -q -e "$pattern" b.json
done
check "a cell a line" [ "$(grep -c '^    {"net"' b.json)" = 2 ]
if command -v python3 >/dev/null 2>&1; then
    check "b.json is JSON" python3 -c 'import json; assert len(json.load(open("b.json"))["cells"][1]["ops"]) > 60'
fi
no_leftovers

# Given ceilings are used instead of measured; more images than the batch are computed in pieces.
# shellcheck disable=SC2086
run 0 bench -m w.safetensors $few --batches 4 --batch 2 --peak-gflops 1000 --peak-gbs 50.5 --json
prints '"ceilings": {"gflops": 1000, "gbs": 50.5}'
prints '"batch": 4, .*"network_ms": null, "start_ms": \[\], "ops": \[\]}'
# shellcheck disable=SC2086
run 0 bench -m w.safetensors $few --batches 4 --batch 2 --peak-gflops 1000 --peak-gbs 50.5
prints '^0\.0[0-9]* GFLOP per image; ceilings: 1000 GFLOP/s, 50.5 GB/s, as given '
prints '^ *4 .* -$'

# The page is one self-contained file, whose circles and rectangles are the operations that have a time.
# shellcheck disable=SC2086
run 0 bench -m w.safetensors $few --batches 1,3,9 --batch 3 --report page.html -o figures.json --peak-gflops 100 \
    --peak-gbs 10
command -v python3 >/dev/null && check "the page fits its figures" python3 - page.html figures.json <<'END'
import html.parser, json, re, sys
page, figures = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))

class Reader(html.parser.HTMLParser):
    single = {"meta", "path", "circle", "rect"}
    def __init__(self):
        super().__init__()
        self.open, self.svgs, self.rows = [], [], 0
    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        assert not {"src", "href", "onclick"} & set(attrs) and tag not in ("script", "link", "img"), (tag, attrs)
        if tag == "svg":
            width, height = map(float, attrs["viewbox"].split()[2:])
            self.svgs.append({"class": attrs["class"], "label": attrs["aria-label"], "size": (width, height),
                              "marks": []})
        if tag in ("circle", "rect"):
            at = {k: float(v) for k, v in attrs.items() if k in ("cx", "cy", "r", "x", "y", "width", "height")}
            self.svgs[-1]["marks"].append(at)
        self.rows += tag == "tr"
        if tag != "meta":
            self.open.append(tag)
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

reader = Reader()
reader.feed(page)
assert not reader.open and "http" not in page and "url(" not in page and "nan" not in page and "inf" not in page
assert "prefers-color-scheme: dark" in page and page.count("<h2>Batch ") == 2 and "<h2>Batch 9" not in page
ops = [[o for o in c["ops"]] for c in figures["cells"]]
assert all(not o for o in ops), "no --ops, none in the JSON"
lines = [s for s in reader.svgs if s["label"].startswith("Roofline")]
bars = [s for s in reader.svgs if s["label"].startswith("Times")]
assert [s["class"] for s in lines] == ["wide", "narrow"] * 2 and [s["class"] for s in bars] == ["wide", "narrow"]
circles = {len(s["marks"]) for s in lines}
parts = {len(s["marks"]) for s in bars}
told = int(re.search(r"All (\d+) operations", page).group(1))
assert len(circles) == len(parts) == 1 and parts == {2 * told} and 40 < circles.pop() <= told
assert reader.rows == 2 * (told + 12 + 2), reader.rows
for s in reader.svgs:
    for m in s["marks"]:
        x, y = m.get("cx", m.get("x")), m.get("cy", m.get("y"))
        assert 0 <= x and x + m.get("width", 0) <= s["size"][0] and 0 <= y <= s["size"][1], (m, s["size"])
for c, line in zip(figures["cells"], re.findall(r"<p>([0-9.]+) ms per call", page)):
    assert abs(c["ours_ms"] - float(line)) < 0.001, (c["ours_ms"], line)
END
# shellcheck disable=SC2086
{
    bad 'measured only for batches up to --batch 2' -m w.safetensors $few --batches 4 --batch 2 \
        --report no.html
    bad 'folder: is a folder' -m w.safetensors --report folder
    bad 'o and --report cannot be the same file, same' -m w.safetensors -o same --report same
    bad 'report and --tune exclude each other' -m w.safetensors --tune --report no.html
}
absent no.html same
no_leftovers
for isa in scalar avx2 avx512 avx512_bf16 amx_bf16; do
    precision=fp32
    case $isa in *_bf16) precision=bf16 ;; esac
    [ $isa = scalar ] || grep -qw "$(echo $isa | sed 's/512$/512f/')" /proc/cpuinfo || continue
    # shellcheck disable=SC2086
    run 0 bench -m w.safetensors $few --batches 1 --isa $isa --precision $precision
    check "the network stays below the ceiling of $isa" awk -v isa="$isa" '
        /GFLOP per image/ { peak = $6 } $1 == 1 && NF == 8 { ours = $7 } END { exit !(ours > 0 && ours < peak) }' "$out"
done
finish
