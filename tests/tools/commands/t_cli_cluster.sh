# t_cli_cluster.sh: reid cluster: groups of embeddings and galleries as CSV and JSON, images, tracks and decisions as
# links, --carry and --add, agreement with labels, --explain; everything that is refused.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
need_eval_files

# Four animals and one that is seen once; two of them together in an image.
for i in 1 2 3 4 5; do
    for who in ann bob cid dee; do echo "$who-$i.png $who"; done
done >list
printf 'odd.png odd\nboth.png#0 ann\nboth.png#1 bob\nboth.png#0.png ann\n' >>list
"$EVAL_FILES" all.npy 32 1 0.5 <list >/dev/null
"$EVAL_FILES" other.npy 16 1 0.5 <list >/dev/null
sed 's/ .*//' list >ids

# journal LINE...: decisions.jsonl of lines without seq, by, when, models and checksum
journal() {
    python3 - "$@" >decisions.jsonl <<'END'
import sys, zlib
for i, what in enumerate(sys.argv[1:]):
    line = '{"seq": %d, %s, "by": "eve", "when": "2026-05-31T06:30:00Z", "models": ["%s"]' % (i + 1, what, "0" * 32)
    print('%s, "crc": "%08x"}' % (line, zlib.crc32(line.encode())))
END
}
# groups FILE.csv: prints the ids of each group on a line, in a fixed order
groups() {
    python3 - "$1" <<'END'
import csv, sys
groups = {}
for row in csv.DictReader(open(sys.argv[1], newline="")):
    groups.setdefault(row["group"], []).append(row["id"])
for line in sorted(" ".join(sorted(ids)) for group, ids in groups.items() if group):
    print(line)
END
}
column() { python3 -c 'import csv, sys
print(*[r[sys.argv[2]] for r in csv.DictReader(open(sys.argv[1], newline="")) if r["id"] == sys.argv[3]])' "$@"; }
is() { check "$2 of $3 in $1 is '$4'" [ "$(column "$1" "$2" "$3")" = "$4" ]; }

# --- groups ---
run 0 cluster all.npy --threshold 0.6 -o groups.csv --own-labels
prints '^24 crops in 5 groups at threshold 0.6, 1 of them with one crop; to be reviewed: 1 join scoring 0.5 or more$'
prints '^24 crops of 5 known identities, in 5 groups$'
prints '^BCubed  precision 1.0000  recall 1.0000  F 1.0000$'
prints '^ARI 1.0000  AMI 1.0000$'
check "the header" sh -c "head -n 1 groups.csv | grep -qx 'id,group,name,score,status,suggested'"
cut -d, -f1 groups.csv | tail -n +2 >got
same got ids
is groups.csv group ann-1.png 0
is groups.csv group both.png#1 1
is groups.csv group odd.png 4
is groups.csv score odd.png ''
run 0 cluster all.npy --threshold 0.6
same "$out" groups.csv
for threads in 1 3; do
    for isa in scalar avx2; do
        "$REID" cluster all.npy --threshold 0.6 --threads $threads --isa $isa >got 2>"$err" || continue
        same got groups.csv
    done
done
run 0 cluster all.npy --threshold 0.6 --json
cp "$out" groups.json
run 0 cluster all.npy --threshold 0.6 -o file.json -q
silent
same file.json groups.json
check "the JSON says the same as the CSV" python3 -c '
import csv, json
c = {r["id"]: (int(r["group"]), r["score"]) for r in csv.DictReader(open("groups.csv", newline=""))}
j = json.load(open("groups.json"))
assert j["format"] == "reid-groups" and j["threshold"] == 0.6 and len(j["models"]) == 1 and not j["not_crops"]
number = lambda score: "" if score is None else "%.9g" % score
got = {r["id"]: (g["group"], number(r["score"])) for g in j["groups"] for r in g["crops"]}
assert got == c, (got, c)
assert len(j["joins"]) == 24 - 5 and all(m["score"] >= 0.6 and m["reason"] == "score" for m in j["joins"])
assert sorted(m["score"] for m in j["joins"])[::-1] == [m["score"] for m in j["joins"]]'
check "a score is the mean with the others" python3 -c '
import csv, struct
data = open("all.npy", "rb").read()
rows = [struct.unpack("<32f", data[-24 * 128 + 128 * i:][:128]) for i in range(24)]
table = list(csv.DictReader(open("groups.csv", newline="")))
same = [i for i, r in enumerate(table) if r["group"] == table[0]["group"]]
dot = lambda a, b: sum(x * y for x, y in zip(a, b)) / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
mean = sum(dot(rows[0], rows[k]) for k in same if k) / (len(same) - 1)
assert abs(mean - float(table[0]["score"])) < 1e-6, mean'
run 0 cluster all.npy --threshold -1 -o got.csv -q
check "one group" [ "$(groups got.csv | wc -l)" = 1 ]
run 0 cluster all.npy --threshold 1 -o got.csv -q
check "nobody is joined" [ "$(groups got.csv | wc -l)" = 24 ]

# Single linkage: the best score of two groups joins them, so there are no more groups than by the mean.
run 0 cluster all.npy --threshold 0.6 --method average -o got.csv -q
same got.csv groups.csv
run 0 cluster all.npy --threshold 0.6 --method single -o single.json -q
check "a chain of pairs at the threshold leads through every group" python3 -c '
import json, struct
data = open("all.npy", "rb").read()
rows = [struct.unpack("<32f", data[-24 * 128 + 128 * i:][:128]) for i in range(24)]
ids = open("all.ids.txt").read().split("\n")
dot = lambda a, b: sum(x * y for x, y in zip(a, b)) / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
home = list(range(24))
for i in range(24):
    for k in range(i):
        if dot(rows[i], rows[k]) >= 0.6: home = [home[k] if h == home[i] else h for h in home]
j = json.load(open("single.json"))
got = {frozenset(r["id"] for r in g["crops"]) for g in j["groups"]}
want = {frozenset(ids[i] for i in range(24) if home[i] == h) for h in home}
assert got == want, (got, want)
assert len(j["joins"]) >= 24 - len(want)'
run 2 cluster all.npy --threshold 0.6 --method single --same-frame
says '--method single uses only scores'
run 2 cluster all.npy --threshold 0.6 --method complete
says 'method'

# A gallery, alone and beside a file; its threshold.
run 0 gallery create all.gallery --like all.npy --fp16
run 0 gallery add all.gallery all.npy
run 0 cluster all.gallery
says 'no threshold is known for these models, so one was estimated without labels from 24 sightings'
run 0 gallery set all.gallery --threshold 0.6
run 0 cluster all.gallery -o got.csv --own-labels
prints 'BCubed  precision 1.0000  recall 1.0000'
groups groups.csv >want
groups got.csv >got
same got want
"$EVAL_FILES" more.npy 32 2 0.5 >/dev/null <<'END'
ann-new.png ann
new-1.png new
new-2.png new
END
run 0 cluster all.gallery more.npy -o got.csv -q
is got.csv group ann-new.png 0
is got.csv group new-2.png 5

# --- links ---
run 0 cluster all.npy --threshold -1 --same-frame -o got.csv -q
check "crops of one image are two" [ "$(column got.csv group both.png#0)" != "$(column got.csv group both.png#1)" ]
check "both.png#0.png is another image" [ "$(groups got.csv | wc -l)" = 2 ]
printf 'track,id\n3,ann-1.png\n3,odd.png\n4,bob-1.png\n' >tracks.csv
run 0 cluster all.npy --threshold 0.6 --tracks tracks.csv -o got.csv -q
is got.csv group odd.png 0
is got.csv group bob-1.png 1
journal '"what": "same", "crops": ["odd.png", "dee-1.png"]' '"what": "different", "crops": ["ann-1.png", "ann-2.png"]' \
    '"what": "not a crop", "crops": ["cid-3.png"]' \
    '"what": "name", "crops": ["bob-2.png"], "name": "=Bob, \"the\" deer"' \
    '"what": "same", "crops": ["elsewhere.png", "ann-1.png"]'
run 0 cluster all.npy --threshold 0.6 --decisions decisions.jsonl -o got.csv
prints '^1 marked as not a crop$'
is got.csv group odd.png 3
is got.csv group cid-3.png ''
is got.csv status cid-3.png 'not a crop'
is got.csv name bob-5.png "'=Bob, \"the\" deer"
check "what is different stays apart" [ "$(column got.csv group ann-1.png)" != "$(column got.csv group ann-2.png)" ]
run 0 cluster all.npy --threshold 0.6 --decisions decisions.jsonl -o named.json -q
check "JSON has names and what is no crop" python3 -c '
import json
j = json.load(open("named.json"))
assert j["not_crops"] == ["cid-3.png"] and [g["name"] for g in j["groups"] if g["name"]] == ["=Bob, \"the\" deer"]
assert {"a": "dee-1.png", "b": "odd.png"}.items() <= j["joins"][0].items() and j["joins"][0]["reason"] == "link"'

# Contradictions name their chain; nothing is written.
rm -f got.csv
journal '"what": "same", "crops": ["both.png#0", "ann-1.png"]' '"what": "same", "crops": ["ann-1.png", "both.png#1"]'
run 2 cluster all.npy --threshold 0.6 --decisions decisions.jsonl --same-frame -o got.csv
says 'both.png#0 - decision 1 - ann-1.png - decision 2 - both.png#1, but they are separated by one image'
printf 'id,track\nann-1.png,1\nann-2.png,1\nann-3.png,1\n' >tracks.csv
journal '"what": "different", "crops": ["ann-1.png", "ann-3.png"]'
run 2 cluster all.npy --threshold 0.6 --decisions decisions.jsonl --tracks tracks.csv -o got.csv
says 'ann-1.png - one track - ann-2.png - one track - ann-3.png, but they are separated by decision 1'
absent got.csv

# --- earlier groups ---
echo id,group,name >none.csv
for again in --carry --add; do run 0 cluster all.npy --threshold 0.6 $again none.csv -o got.csv -q; done
sed 's/^\([^,]*\),1,,/\1,17,Robert,/; s/^\([^,]*\),4,,/\1,2,,/; s/^\(cid[^,]*\),2,,/\1,40,"Cid, the ""old"" one",/' \
    groups.csv >before.csv
run 0 cluster all.gallery more.npy --carry before.csv -o got.csv -q
is got.csv group bob-4.png 17
is got.csv name both.png#1 Robert
is got.csv group cid-1.png 40
is got.csv name cid-1.png 'Cid, the "old" one'
is got.csv group odd.png 2
is got.csv group new-1.png 41
run 0 cluster all.gallery more.npy --carry got.csv -o again.csv -q
same again.csv got.csv
# When a group is split, the larger part keeps the number.
journal '"what": "different", "crops": ["bob-1.png", "bob-2.png"]' \
    '"what": "same", "crops": ["bob-1.png", "bob-3.png"]' \
    '"what": "same", "crops": ["bob-2.png", "bob-4.png", "bob-5.png", "both.png#1"]' \
    '"what": "name", "crops": ["bob-4.png"], "name": "Rob"'
run 0 cluster all.npy --threshold 0.6 --carry before.csv --decisions decisions.jsonl -o got.csv -q
is got.csv group bob-4.png 17
is got.csv name bob-5.png Rob
is got.csv group bob-1.png 41

# A name stays with the crops that people gave it to: crops that are different from those do not get it.
journal '"what": "name", "crops": ["bob-1.png"], "name": "Robert"'
run 0 cluster all.npy --threshold 0.6 --carry before.csv --decisions decisions.jsonl -o named.csv -q
is named.csv name bob-4.png Robert
journal '"what": "name", "crops": ["bob-1.png"], "name": "Robert"' \
    '"what": "different", "crops": ["bob-1.png", "bob-2.png", "bob-3.png", "bob-4.png", "bob-5.png", "both.png#1"]'
run 0 cluster all.npy --threshold 0.6 --carry named.csv --decisions decisions.jsonl -o got.csv -q
is got.csv name bob-1.png Robert
is got.csv group bob-4.png 17
is got.csv name bob-4.png ''
# A withdrawn name (by an undo or an empty name) does not return from an earlier run.
for back in '"what": "undo", "undoes": 1' '"what": "name", "crops": ["bob-1.png"], "name": ""'; do
    journal '"what": "name", "crops": ["bob-1.png"], "name": "Robert"' "$back"
    run 0 cluster all.npy --threshold 0.6 --carry named.csv --decisions decisions.jsonl -o got.csv -q
    is got.csv group bob-4.png 17
    is got.csv name bob-4.png ''
    is got.csv name cid-1.png 'Cid, the "old" one'
done

# --add moves no crop of an earlier group.
"$EVAL_FILES" far.npy 32 3 1.6 >/dev/null <<'END'
ann-far.png ann
END
grep -v '^bob-3' before.csv | sed 's/^ann-2.png,0,/ann-2.png,77,/' >known.csv
run 0 cluster all.npy more.npy far.npy --threshold 0.6 --suggest 0.1 --add known.csv -o got.csv -q
is got.csv group ann-1.png 0
is got.csv group ann-2.png 77
is got.csv status ann-2.png known
is got.csv group bob-3.png 17
is got.csv name bob-3.png Robert
is got.csv status bob-3.png joined
is got.csv status ann-new.png joined
is got.csv group new-1.png 78
is got.csv status ann-far.png suggested
check "it is suggested for an ann" sh -c '[ "$1" = 0 ] || [ "$1" = 77 ]' sh "$(column got.csv suggested ann-far.png)"
run 0 cluster all.npy more.npy far.npy --threshold 0.6 --add known.csv -o got.csv -q
is got.csv status new-1.png new
is got.csv suggested new-1.png ''
run 0 cluster all.npy more.npy far.npy --threshold 0.6 --add known.csv --json
prints '"suggested": null'

# --- why ---
run 0 cluster all.npy --threshold 0.6 --explain ann-1.png ann-3.png
prints '^ann-1.png and ann-3.png are in group 0:$'
prints '^0\.[0-9]*   *ann-[0-9].png ([0-9] crop.*) and ann-'
run 0 cluster all.npy --threshold 0.6 --explain ann-1.png bob-1.png
prints '^ann-1.png and bob-1.png are in groups 0 and 1, which were joined with others down to 0.6:$'
run 0 cluster all.npy --threshold 0.6 --tracks tracks.csv --explain ann-1.png ann-2.png
prints '^linked   ann-1.png (1 crop) and ann-2.png (1 crop)$'

# --- two models, a calibration ---
"$EVAL_FILES" two.npy 32+16 5 0.5 <list >/dev/null
run 0 cluster two.npy --threshold 0.6 -o got.csv --own-labels
prints 'BCubed  precision 1.0000  recall 1.0000'
run 0 cluster two.npy --threshold 0.6 --score-weights 0.6,0.4 -o shares.csv -q
groups got.csv >want
groups shares.csv >got
same got want
run 2 cluster two.npy --threshold 0.6 --score-weights 1
says 'cluster: --score-weights gives 1 share for 2 models'
run 0 calibrate all.npy -o calibration.json --fmr 0.01
run 0 cluster all.npy --calibration calibration.json -o got.csv --own-labels
prints 'BCubed  precision 1.0000'
run 0 cluster all.npy --calibration calibration.json --explain ann-1.png ann-2.png
prints ' %  ann-'
run 2 cluster two.npy --calibration calibration.json
run 2 cluster all.npy --calibration calibration.json --score-weights 1
says 'calibration already has the models. shares: remove --score-weights'

# --- labels ---
printf 'path,identity\nann-1.png,x\nann-2.png,x\nbob-1.png,x\nbob-2.png,y\nnobody.png,z\n' >labels.csv
run 0 cluster all.npy --threshold 0.6 --labels labels.csv -o got.csv
prints '^4 crops of 2 known identities, in 2 groups$'
prints '^BCubed  precision 0.7500  recall 0.6667  F 0.7059$'

# --- what is refused ---
refuse() { run 2 cluster "$@"; silent; }
refuse; says 'cluster: no INPUT'
refuse none.npy --threshold 1; says 'none.meta.json: cannot open'
refuse all.npy other.npy --threshold 0.5; says 'other.npy'
refuse all.npy all.npy --threshold 0.5; says 'the id "ann-1.png" is listed twice; ids must differ'
# The output replaces a file of its name, so no input may have that name; only an earlier output may.
printf 'path,identity\nann-1.png,x\nann-2.png,x\nann-1.png,x\n' >twice.csv
run 0 cluster all.npy --threshold 0.6 --labels twice.csv -o got.csv
echo ann-1.png,y >>twice.csv
refuse all.npy --threshold 0.5 --labels twice.csv -o got.csv; says 'twice.csv: ann-1.png is given two identities'
# Images, decisions and labels are found by ids, which foreign line ends would change.
for f in npy meta.json; do cp all.$f crlf.$f; done
awk '{ printf "%s\r\n", $0 }' all.ids.txt >crlf.ids.txt
refuse crlf.npy --threshold 0.5; says 'crlf.ids.txt: its lines end in CR LF instead of LF, which would change every id'
awk 'NR == 1 { printf "%s\r\n", $0; next } { print }' all.ids.txt >crlf.ids.txt
run 0 cluster crlf.npy --threshold 0.5 -q -o got.csv
# A missing journal counts as empty, but causes a warning, because its name may be wrong; so does a truncated line.
run 0 cluster all.npy --threshold 0.6 --decisions lost.jsonl -o got.csv -q
absent lost.jsonl
run 0 cluster all.npy --threshold 0.6 --decisions lost.jsonl -o got.csv
says '^reid: lost.jsonl: not found; continuing without decisions$'
journal '"what": "same", "crops": ["odd.png", "ann-1.png"]'
run 0 cluster all.npy --threshold 0.6 --decisions decisions.jsonl -o got.csv
check "nothing to be said" [ ! -s "$err" ]
printf '{"seq": 2' >>decisions.jsonl
run 0 cluster all.npy --threshold 0.6 --decisions decisions.jsonl -o got.csv
says 'decisions.jsonl: its last line is incomplete (9 bytes) and is ignored: it was never acknowledged'
for option in calibration decisions labels tracks; do
    cp groups.json mine.json
    refuse all.npy --threshold 0.5 --$option mine.json -o ./mine.json; says './mine.json is both input and output'
    same mine.json groups.json
done
cp groups.csv mine.csv
run 0 cluster all.npy --threshold 0.6 --carry mine.csv -o mine.csv -q
same mine.csv groups.csv
refuse all.npy --threshold 0.5 --explain ann-1.png; says 'no INPUT and two ids'
refuse all.npy --threshold 0.5 --explain ann-1.png zoe.png; says 'zoe.png is not one of the crops'
refuse all.npy --threshold 0.5 -o groups.txt; says 'groups.txt: the name of the output must end in .csv or .json'
refuse all.npy --threshold 0.5 --carry before.csv --add before.csv; says 'give only one of them'
refuse all.npy --threshold 0.5 --labels labels.csv --own-labels -o got.csv; says 'give only one of them'
refuse all.npy --threshold 0.5 --own-labels; says 'give -o'
refuse all.npy --threshold 0.5 --decisions list; says 'list: line 1'
bad_table() { # OPTION MESSAGE LINE...
    option=$1 message=$2
    shift 2
    printf '%s\n' "$@" >bad.csv
    refuse all.npy --threshold 0.5 "$option" bad.csv -o refused.csv
    says "$message"
}
bad_table --tracks 'bad.csv: line 2: the track is not a number: -1' id,track ann-1.png,-1
bad_table --tracks 'bad.csv: line 2: zoe.png is not one of the crops' id,track zoe.png,1
bad_table --tracks 'bad.csv: line 3: ann-1.png is listed twice' id,track ann-1.png,1 ann-1.png,1
bad_table --tracks 'bad.csv: line 1' id,number ann-1.png,1
bad_table --carry 'bad.csv: line 2: expected a group number from 0 to 1000000000, found 1e3' \
    id,group,name ann-1.png,1e3,
bad_table --add 'bad.csv: line 2: the id is empty' id,group,name ,1,
bad_table --carry 'bad.csv: ann-1.png is listed twice' id,group,name ann-1.png,1, ann-1.png,2,
bad_table --labels 'bad.csv' path,who ann-1.png,x
"$EVAL_FILES" empty.npy 8 1 0.5 </dev/null >/dev/null
refuse empty.npy --threshold 0.5; says 'empty.npy: contains no crops'
mkdir locked.csv
run 2 cluster all.npy --threshold 0.5 -o locked.csv
says 'locked.csv'
if [ -w /dev/full ]; then
    "$REID" cluster all.npy --threshold 0.5 >/dev/full 2>"$err"
    check "exit 2 when stdout is full" [ $? = 2 ]
fi
no_leftovers
finish
