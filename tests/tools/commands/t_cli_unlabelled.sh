# t_cli_unlabelled.sh: calibrations without labels, by reid calibrate, and by cluster and review when no threshold is
# known: what is found, what each thing that is known adds, the same number everywhere, and what is refused.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }

# make.py OUT INDIVIDUALS SIGHTINGS CROPS [WORD]...: embeddings of tracks. Each row is the direction of its individual,
# plus that of its sighting, plus noise. Sightings are an hour apart, at two cameras in turn. Words leave things out, or
# change them: notracks, nocameras, notimes, apart (each sighting shares a frame with the next two individuals' ones),
# burst (all at one time), together (every third sighting of one camera is at the time of one of another), two (models),
# blind (all look alike), place (cameras have directions), swapped (the last three
# sightings, in one frame with each of the first twelve, look different from all others).
cat >make.py <<'PYTHON'
import array, json, math, random, sys
out, individuals, sightings, crops = sys.argv[1], *map(int, sys.argv[2:5])
words, dim = set(sys.argv[5:]), 64
draw = random.Random(individuals * 1000 + sightings)
vector = lambda size: [size * draw.gauss(0, 1) for _ in range(dim)]
add = lambda *all: [sum(v) for v in zip(*all)]
who, background = [vector(0 if "blind" in words else 1) for _ in range(individuals)], vector(0.6)
places = [vector(1.2 if "place" in words else 0) for _ in range(2)]
other = vector(1)
rows, ids, facts = [], [], {"identities": [], "cameras": [], "times": [], "tracks": []}
names, apart = {}, []
for s in range(sightings):
    for i in range(individuals):
        seen, camera, hour = vector(0 if "blind" in words else 0.6), (s + i // 2) % 2, s * individuals + i
        if "burst" in words:
            hour = 0
        elif "together" in words:
            hour = (s * individuals + i) // 3 * 3 # of three individuals
        names[s, i] = "t/%d" % (s * individuals + i)
        for c in range(crops):
            shown = other if "swapped" in words and s >= sightings - 3 else who[i]
            part = lambda: add(shown, seen, background, places[camera], vector(0.5))
            row = part() + (part() if "two" in words else [])
            for k in range(0, len(row), dim):
                length = math.sqrt(sum(v * v for v in row[k:k + dim]))
                row[k:k + dim] = [v / length for v in row[k:k + dim]]
            rows += row
            ids.append("crops/%d-%d-%d.png" % (i, s, c))
            facts["identities"].append("")
            facts["cameras"].append("east west".split()[camera])
            facts["times"].append("2026-05-%02dT%02d:%02d:%02dZ" % (1 + hour // 24, hour % 24, 0, c))
            facts["tracks"].append(names[s, i])
if "apart" in words:
    apart = [[names[s, i], names[s, (i + k) % individuals]] for s, i in names for k in (1, 2)]
if "swapped" in words:
    apart = [[names[s, 0], names[sightings - 1 - s % 3, 0]] for s in range(12)]
for fact in ("cameras", "times", "tracks"):
    if "no" + fact in words:
        del facts[fact]
parts = 2 if "two" in words else 1
with open(out + ".npy", "wb") as file:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(ids), dim * parts)
    file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117).encode() + b"\n")
    array.array("f", rows).tofile(file)
open(out + ".ids.txt", "w").write("".join(i + "\n" for i in ids))
json.dump({"format": "reid-embeddings", "format_version": 1, "rows": len(ids), "dim": dim * parts, "models": [
    {"fingerprint": "%032d" % (m + 7), "network": "test", "preset": "test", "precision": "fp32", "device": "cpu",
     "dim": dim} for m in range(parts)], **facts, **({"apart": apart} if apart else {})}, open(out + ".meta.json", "w"))
with open(out + ".labels.csv", "w") as file:
    print("path,identity", *("%s,%s" % (i, i.split("/")[1].split("-")[0]) for i in ids), sep="\n", file=file)
PYTHON
make() { python3 make.py "$@" || exit 1; }
calibrate() { status=$1; shift; run "$status" calibrate "$@"; }
bad() { pattern=$1; shift; run 2 calibrate "$@"; says "$pattern"; silent; }
threshold() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["threshold"])' "$1"; }
# numbers EXPRESSION FILE...: of the thresholds a, b, ... in these files, and of the intervals ai, bi, ...
numbers() {
    check "$1" python3 -c 'import json, sys
files = [json.load(open(name)) for name in sys.argv[2:]]
names = dict(zip("abc", (d["threshold"] for d in files)))
names.update(zip(("ai", "bi", "ci"), (d["score"]["threshold_interval"] for d in files)))
names.update(zip(("ap", "bp", "cp"), (d["pairs"] for d in files)))
assert eval(sys.argv[1], names), names' "$@"
}

# --- what is found -------------------------------------------------------------------------------
make all 12 6 3
calibrate 0 all.npy -o all.json
prints '^72 sightings, 72 of them tracks; 2556 pairs of sightings,$'
prints '^0 of which are known to be different and 0 to be the same; no labels$'
prints '^  two individuals  *0\.[0-9]*  (standard deviation 0\.[0-9]*)$'
prints '^  one individual  *0\.[0-9]*  (standard deviation 0\.[0-9]*), about [0-9.]* % of all pairs$'
prints '^  within a track  *0\.[0-9]*$'
prints '^  threshold  *0\.[0-9]*  (95 % interval 0\.[0-9]* to 0\.[0-9]*)$'
prints 'which 1 % of the pairs of two individuals exceed, and [0-9.]* % of those of one$'
prints '^labels. Pairs within a track were left out: they look more alike than two sightings$'
check "the file says so" grep -q '"labels": false' all.json
check "and from how many pairs" grep -q '"sightings": 72, "compared": 2556' all.json

# The threshold of all labels, of one crop of each track, is inside the interval.
make one 12 6 1 notracks
calibrate 0 one.npy --labels one.labels.csv --leave-out picture --fmr 0.01 -o labelled.json
calibrate 0 one.npy -o unlabelled.json
numbers 'bi[0] <= a <= bi[1] and bi[1] - bi[0] < 0.2' labelled.json unlabelled.json
calibrate 0 one.npy --fmr 0.05 -o lower.json
numbers 'a < b' lower.json unlabelled.json
calibrate 0 one.npy --json --draws 20
check "JSON" python3 -c 'import json; json.load(open("stdout"))'
calibrate 0 one.npy -o again.json
same again.json unlabelled.json

# Pairs within a track would raise it: as crops of no track, they look like most of those of one individual.
make crops 12 6 3 notracks
calibrate 0 all.npy -o all.json
calibrate 0 crops.npy -o crops.json
numbers 'ap["compared"] == 2556 and bp["compared"] == 216 * 215 // 2 and a < b' all.json crops.json

# Cameras with a background of their own are two kinds of pairs. Without them, those of one camera pass as one
# individual.
make place 12 6 3 place
calibrate 0 place.npy -o place.json
make nocamera 12 6 3 place nocameras
calibrate 0 nocamera.npy -o nocamera.json
numbers 'a != b' place.json nocamera.json

# Two models: their usual weights, or given ones.
make two 12 6 3 two
calibrate 0 two.npy -o two.json
check "two weights" [ "$(grep -o '"weight": 0\.[64]' two.json | tr '\n' ' ')" = '"weight": 0.6 "weight": 0.4 ' ]
calibrate 0 two.npy --score-weights 0.5,0.5 -o half.json
numbers 'a != b and 0 < a < 1' two.json half.json
run 0 cluster two.npy --calibration two.json -o groups.csv

# --- what is known for nothing -------------------------------------------------------------------------------
make apart 12 6 3 apart
calibrate 0 apart.npy -o apart.json
prints '^144 of which are known to be different and 0 to be the same; no labels$'
prints '^  known different  *0\.[0-9]*$'
make together 12 6 3 together
calibrate 0 together.npy
prints '^0 of which are known to be different'
calibrate 0 together.npy --same-time 5
prints '^48 of which are known to be different'
calibrate 0 together.npy --same-time 0
prints '^48 of which are known to be different'

# Answers of people: two names, a pair that is the same, one that is different, and a crop that is none.
decisions() { # decisions FILE WHAT CROP [CROP|NAME]...: three words for each
    python3 - "$@" <<'PYTHON'
import binascii, sys
lines = [sys.argv[i:i + 3] for i in range(2, len(sys.argv), 3)]
with open(sys.argv[1], "w") as out:
    for seq, (what, a, b) in enumerate(lines):
        crops = '"%s"' % a if what in ("name", "no crop") else '"%s", "%s"' % tuple(sorted((a, b)))
        name = ', "name": "%s"' % b if what == "name" else ""
        line = ('{"seq": %d, "what": "%s", "crops": [%s]%s, "by": "me", "when": "2026-11-20T06:00:00Z", '
                '"models": ["%s"]' % (seq + 1, what, crops, name, "0" * 32))
        print('%s, "crc": "%08x"}' % (line, binascii.crc32(line.encode())), file=out)
PYTHON
}
decisions some.jsonl same crops/1-0-0.png crops/1-1-2.png same crops/1-1-0.png crops/1-2-0.png \
    different crops/1-2-1.png crops/2-0-0.png name crops/3-0-0.png Ann name crops/3-1-0.png Ann name crops/4-0-0.png Bob
calibrate 0 all.npy --decisions some.jsonl -o some.json
prints '^5 of which are known to be different and 4 to be the same; no labels$'
numbers 'a != b' some.json all.json
mkdir out
for ending in npy ids.txt meta.json; do cp all.$ending out/embeddings.$ending; done
echo id >out/crops.csv
cp some.jsonl out/decisions.jsonl
calibrate 0 out
prints '^5 of which are known to be different and 4 to be the same; no labels$'
numbers 'a == b' some.json out/calibration.json
rm out/decisions.jsonl
calibrate 0 out
same out/calibration.json all.json

# --- the same number everywhere -------------------------------------------------------------------------------
run 0 cluster all.npy -o groups.csv --labels all.labels.csv
says "no threshold is known for these models, so one was estimated without labels from 72 sightings: $(printf %.6g \
    "$(threshold all.json)"), 95 % interval 0\.[0-9]* to 0\.[0-9]*"
prints '^BCubed  .*  F \(1.0000\|0.9[5-9][0-9]*\)$'
mv groups.csv made.csv
run 0 cluster all.npy --calibration all.json -o groups.csv
same groups.csv made.csv
run 0 cluster out -o groups.csv
same groups.csv made.csv
check "silently" sh -c '! grep -q threshold "$0"' "$err"
mkdir -p crops && picture crops/0-0-0.png 8 8 1 # a page without any image is refused
run 0 review all.npy --decisions new.jsonl --html page.html
says 'one was estimated without labels'
run 0 cluster all.npy --explain crops/1-0-0.png crops/2-1-0.png
cp "$out" explained
run 0 cluster all.npy --calibration all.json --explain crops/1-0-0.png crops/2-1-0.png
same "$out" explained

# --- labels come first -------------------------------------------------------------------------------
mkdir named
sed 's|crops/\([0-9]*\)-|people/\1/|' one.ids.txt >named.ids.txt
cp one.npy named.npy
python3 - <<'PYTHON'
import json
meta = json.load(open("one.meta.json"))
meta["identities"] = [line.split("/")[1] for line in open("named.ids.txt")]
json.dump(meta, open("named.meta.json", "w"))
PYTHON
calibrate 0 named.npy --fmr 0.01
prints '^108 pairs of one identity, '
calibrate 0 named.npy --unlabelled
prints 'no labels$'

# --- what is refused -------------------------------------------------------------------------------
make few 3 6 3
bad 'no threshold can be found without labels: 18 sightings .* are too few; at least 20 .* --labels FILE.csv' \
    few.npy
make burst 12 6 1 burst notracks
bad 'all crops are of one burst, so nothing is seen a second time; photos of other .* are needed' burst.npy
for words in '3' '3 place' '1 notracks'; do
    # shellcheck disable=SC2086 # several words
    make individual 1 40 $words
    bad 'the scores of all pairs look like one distribution: the crops show one individual, or none ' individual.npy
done
make blind 12 6 3 blind
bad 'within one track score 0\.[0-9]*, hardly more than other pairs: the crops show one individual, or ' blind.npy
make alike 1 40 3 swapped
bad 'pairs that are known to be different score -\?0\.[0-9]*, far less than most pairs: nearly all crops seem to show' \
    alike.npy
make once 60 1 1 notracks
bad 'or none of them was seen twice, or these models cannot tell them apart; crops that are known to differ' once.npy
make once 60 1 1 apart
calibrate 0 once.npy
make untimed 12 6 3 notimes
bad '--same-time needs crops of two cameras with times: photos with EXIF, or reid track --times' untimed.npy \
    --same-time 5
make uncameraed 12 6 3 nocameras
bad '--same-time needs crops of two cameras with times' uncameraed.npy --same-time 5
run 0 cluster few.npy -o groups.csv
says 'none can be estimated without labels: 18 sightings .* So groups are cut at a score of 0.65, which is a guess'
run 0 cluster individual.npy -o groups.csv
says 'which is a guess: too low a cut joins individuals'
bad '--decisions is for crops without labels: remove it or --labels' all.npy --decisions some.jsonl \
    --labels all.labels.csv
bad '--same-time is for crops without labels: remove it or --pairs' all.npy --same-time 5 --pairs all.labels.csv
bad 'no crops; give the folder of reid track or the files of reid embed whose crops the decisions are about' \
    --decisions some.jsonl
bad '--unlabelled takes a folder of reid track or files of reid embed, not images: remove -m' -m none all --unlabelled
bad 'absent.meta.json: cannot open' absent.npy --unlabelled
bad '--same-time takes SECONDS, not' all.npy --same-time x
decisions wrong.jsonl same crops/1-0-0.png crops/1-1-2.png different crops/1-0-0.png crops/1-1-2.png
sed 2s/crops/crop/ wrong.jsonl >torn.jsonl
echo >>torn.jsonl
bad 'torn.jsonl: line 2' all.npy --decisions torn.jsonl
bad 'missing/x.json: ' all.npy -o missing/x.json
absent missing
no_leftovers
finish
