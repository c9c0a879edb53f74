# t_track_photos.sh: reid track on folders of camera-trap photos: times from EXIF or a table, bursts, cameras, the three
# formats of detections; the tracks equal those of a film of the same images; and everything that is refused.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
need_films
b0 w.safetensors

# Two cameras whose photos have the same names. Each takes a photo every half second; the second scene is an hour after
# the first.
mkdir -p photos/east photos/west/a png
for camera in east west; do
    seed=$(printf %d "'$camera")
    for run in "--detections $camera.txt --no-frames" ''; do
        # shellcheck disable=SC2086 # two words, or none
        "$repository/build/demo_video" --size 160x120 --seconds 12 --fps 2 --scenes 2 --animals 2 --seed "$seed" \
            $run >raw || exit 1
    done
    [ $camera = east ] && to=photos/east || to=photos/west/a
    for form in "-q:v 2 $to/IMG_%04d.JPG" "png/$camera-%04d.png" "-c:v ffv1 -pix_fmt bgr0 $camera.mkv"; do
        # shellcheck disable=SC2086 # words
        ffmpeg -nostdin -v error -y -f rawvideo -pix_fmt rgb24 -s 160x120 -r 2 -i raw $form </dev/null || exit 1
    done
done
cat >exif.py <<'PYTHON'
"""Puts EXIF times into the photos, and writes the detections in three formats."""
import datetime, glob, json, os, struct
def exif(time, fraction, little):
    order = "<" if little else ">"
    text, sub = time.encode() + b"\0", fraction.encode() + b"\0"
    first = struct.pack(order + "HHHLLL", 1, 0x8769, 4, 1, 26, 0)
    sub_at = 26 + 2 + 24 + 4 + len(text)
    inline = sub if len(sub) <= 4 else struct.pack(order + "L", sub_at)
    entry = struct.pack(order + "HHL4s", 0x9291, 2, len(sub), inline)
    second = struct.pack(order + "HHHLL", 2, 0x9003, 2, len(text), 26 + 2 + 24 + 4) + entry + bytes(4) + text + sub
    tiff = (b"II" if little else b"MM") + struct.pack(order + "HL", 42, 8) + first + second
    return b"\xff\xe1" + struct.pack(">H", len(tiff) + 8) + b"Exif\0\0" + tiff
images, csv, coco = [], [], {"images": [], "annotations": [], "categories": [{"id": 1, "name": "deer"}]}
for name, folder in (("east", "photos/east"), ("west", "photos/west/a")):
    rows = [[float(n) for n in line.split(",")] for line in open(name + ".txt")]
    for at, path in enumerate(sorted(glob.glob(folder + "/*.JPG"))):
        when = datetime.datetime(2024, 5, 31, 23, 59, 50) + datetime.timedelta(seconds=at / 2 + 3600 * (at >= 12))
        data = open(path, "rb").read()
        with open(path, "wb") as out:
            out.write(data[:2] + exif(when.strftime("%Y:%m:%d %H:%M:%S"), "%03d" % (at % 2 * 500), at % 3) + data[2:])
        os.rename(path, folder + "/IMG_%04d.JPG" % (9999 - at)) # the names are in reverse order of time
        short = "%s/IMG_%04d.JPG" % (folder[7:], 9999 - at)
        found = []
        coco["images"].append({"id": len(coco["images"]), "file_name": short, "width": 160, "height": 120})
        for frame, _, x, y, w, h, score, *_ in rows:
            if int(frame) - 1 != at:
                continue
            left, top, right, bottom = max(x - 1, 0), max(y - 1, 0), min(x - 1 + w, 160), min(y - 1 + h, 120)
            box = [left, top, right - left, bottom - top]
            found.append({"category": "1", "conf": score,
                          "bbox": [box[0] / 160, box[1] / 120, box[2] / 160, box[3] / 120]})
            csv.append([short] + box + [score])
            coco["annotations"].append({"image_id": coco["images"][-1]["id"], "category_id": 1, "bbox": box,
                                        "score": score})
            with open(name + ".inside.txt", "a") as out:
                print(at + 1, -1, *(repr(v) for v in (box[0] + 1, box[1] + 1, box[2], box[3], score)), -1, -1, -1,
                      sep=",", file=out)
        images.append({"file": short, "detections": found})
json.dump({"images": images[::-1], "detection_categories": {"1": "animal"}}, open("md.json", "w"))
json.dump(coco, open("coco.json", "w"))
with open("boxes.csv", "w") as out:
    print("path,x,y,width,height,score", file=out)
    for row in csv:
        print(row[0], *map(repr, row[1:]), sep=",", file=out)
PYTHON
python3 exif.py || exit 1
track() { # track STATUS OUT ARGUMENT...
    want=$1 to=$2
    shift 2
    run "$want" track -m w.safetensors --size 64x64 --threshold 0.9 -o "$to" "$@"
}

# --- two cameras ---
track 0 out photos --detections md.json
prints '^photos/east: 24 photos, [0-9]* boxes, 2 bursts, [1-9][0-9]* tracks$'
prints '^photos/west/a: 24 photos, [0-9]* boxes, 2 bursts, [1-9][0-9]* tracks$'
for file in east.tracks.txt west-a.tracks.txt east.html west-a.html crops/east crops/west-a; do
    check "$file" [ -e out/$file ]
done
cat >times.py <<'PYTHON'
import json, sys
d = json.load(open("out/tracks.json"))
for video, folder in zip(d["videos"], ("photos/east", "photos/west/a")):
    assert video["video"] == folder and video["decoder"] is None and video["burst"] == 5
    assert video["complete"] and video["without_time"] == 0 and (video["width"], video["height"]) == (160, 120)
    assert [s["frame"] for s in video["scenes"]] == [0, 12], video["scenes"]
    assert [s["seconds"] for s in video["scenes"]] == [0, 3606]
    frames = [f for s in video["scenes"] for t in s["tracks"] for f in t["frames"]]
    assert frames
    for f in frames:
        at = f["frame"]
        assert f["photo"] == "%s/IMG_%04d.JPG" % (folder, 9999 - at), f
        assert f["seconds"] == at / 2 + 3600 * (at >= 12)
        assert f["time"][:10] == ("2024-05-31" if at < 12 and f["seconds"] < 10 else "2024-06-01"), f
PYTHON
check "tracks.json" python3 times.py
check "the page shows the times" grep -q 'IMG_99[0-9][0-9].JPG<br>2024-05-31 23:59:5[0-9]<' out/east.html
check "the page says when tracks were seen" \
    grep -q '^<p>Category animal, burst 0, 2024-05-31 23:59:5[0-9] to 20.* [0-9:]*, [0-9]* box' out/east.html
check "the page says when photos were taken" \
    grep -q '^<p>[0-9]* tracks in 2 bursts, 24 photos, 2024-05-31 23:59:50 to 2024-06-01 01:00:01</p>' out/east.html
check "no seconds since the first photo" sh -c '! grep -q "[0-9] s[ ,<]" out/east.html'
no_leftovers
check "crops have cameras, times, photos, boxes and tracks, but no identities" python3 - <<'PYTHON'
import json
meta, d = json.load(open("out/embeddings.meta.json")), json.load(open("out/tracks.json"))
shots = {f["row"]: (v, t, f) for v in d["videos"] for s in v["scenes"] for t in s["tracks"] for f in t["frames"]}
assert set(meta["identities"]) == {""} and set(meta["cameras"]) == {"east", "west-a"} and len(shots) == meta["rows"]
for i, (v, t, f) in shots.items():
    assert meta["cameras"][i] == v["name"] and meta["times"][i] == f["time"]
    path, box = meta["sources"][i].split("#xywh=")
    assert path == f["photo"] and all(abs(a - float(b)) < 1e-6 for a, b in zip(f["box"], box.split(",")))
    assert meta["tracks"][i] == "%s/%d" % (v["name"], t["track"]) and abs(meta["scores"][i] - f["score"]) < 1e-6
PYTHON
run 2 calibrate out/embeddings.npy
says 'no threshold can be found without labels: [0-9]* sightings .* are too few'

# --- the tables ---
cat >tables.py <<'PYTHON'
"""tables.py OUT: crops.csv and individuals.csv are RFC 4180 and say what tracks.json says."""
import csv, json, sys
out = sys.argv[1]
d = json.load(open(out + "/tracks.json"))
shots = {f["path"]: (v, t, f) for v in d["videos"] for s in v["scenes"] for t in s["tracks"] for f in t["frames"]}
def table(name):
    text = open(out + "/" + name, newline="", encoding="utf-8").read()
    assert text.count("\r\n") == text.count("\n"), name
    return list(csv.DictReader(text.splitlines()))
crops, individuals = table("crops.csv"), table("individuals.csv")
assert len(crops) == len(shots) and len(individuals) == d["groups"] > 1
for row in crops:
    v, t, f = shots[row["id"]]
    assert row["photo"] == f["photo"] and row["camera"] == v["name"], row
    assert row["date"] + "T" + row["time"] == f["time"][:19]
    assert all(abs(float(row[k]) - b) < 1e-3 for k, b in zip(("x", "y", "width", "height"), f["box"]))
    assert abs(float(row["score"]) - f["score"]) < 1e-5 and row["track"] == "%s/%d" % (v["name"], t["track"])
    assert int(row["individual"]) == t["group"] and row["in_doubt"] in ("yes", "no") and row["name"] == ""
for row in individuals:
    mine = [c for c in crops if c["individual"] == row["individual"]]
    boxes = sum(t["boxes"] for v in d["videos"] for s in v["scenes"] for t in s["tracks"]
                if t["group"] == int(row["individual"]))
    whens = sorted((c["date"], c["time"]) for c in mine)
    assert int(row["crops"]) == len(mine) and int(row["tracks"]) == len({c["track"] for c in mine})
    assert int(row["boxes"]) == boxes and row["cameras"] == ";".join(sorted({c["camera"] for c in mine}))
    assert (row["first_date"], row["first_time"]) == whens[0] and (row["last_date"], row["last_time"]) == whens[-1]
    assert {c["in_doubt"] for c in mine} == {row["in_doubt"]} and (row["may_be"] != "") == (row["in_doubt"] == "yes")
    assert row["example"] in {c["id"] for c in mine}
    alone = len(mine) == 1
    assert alone == (row["similarity"] == "") and (alone or float(row["similarity"]) <= float(mine[0]["similarity"]))
PYTHON
check "the tables" python3 tables.py out

# --- the folder has all that reid cluster needs to find the individuals of reid track ---
same_groups() { # same_groups OUT GROUPS.csv: the groups of reid cluster are those of tracks.json
    check "$2: the individuals of $1" python3 - "$1" "$2" <<'PYTHON'
import csv, json, sys
d = json.load(open(sys.argv[1] + "/tracks.json"))
groups = {r["id"]: int(r["group"]) for r in csv.DictReader(open(sys.argv[2]))}
shots = {f["path"]: t["group"] for v in d["videos"] for s in v["scenes"] for t in s["tracks"] for f in t["frames"]}
assert groups == shots and d["groups"] == len(set(groups.values()))
PYTHON
}
for input in out out/embeddings.npy; do
    run 0 cluster $input -o groups.csv # the threshold is known
    same_groups out groups.csv
done
for threshold in -1 1; do # as few as photos allow, and one for each track
    run 0 track -m w.safetensors --size 64x64 --threshold $threshold -o few photos --detections md.json
    run 0 cluster few -o groups.csv
    same_groups few groups.csv
    rm -rf few
done

# Without a threshold: a guess, which is said by both, and the same number.
run 0 track -m w.safetensors --size 64x64 photos --detections md.json -o guess
says 'none can be estimated without labels: [0-9]* sightings .* So groups are cut at a score of 0.65, which is a guess'
prints '^[0-9]* crops of [0-9]* individuals at threshold 0.65, a guess$'
check "the tables of the guess" python3 tables.py guess
run 0 cluster guess -o groups.csv
says 'groups are cut at a score of 0.65, which is a guess'
same_groups guess groups.csv
cp -R guess again
run 0 cluster again/ -o again
check "the rewritten tables are those of reid track" diff -r guess again
rm -rf again

# review, calibrate, eval, gallery add and match take the folder, too.
cut -d, -f 1,11 guess/crops.csv | sed '1s/.*/path,identity/' | tr -d '\r' >tracks.csv # a label for each track
run 0 calibrate guess --labels tracks.csv
check "for groups, a false-match rate of 0.01" grep -q '"fmr": 0.01\b' guess/calibration.json
run 0 calibrate guess/embeddings.npy --labels tracks.csv --fmr 0.02 -o other.json
check "another one if it is asked for" grep -q '"fmr": 0.02\b' other.json
run 0 calibrate guess --labels tracks.csv --fmr 0.05
check "the folder has the calibration" [ -s guess/calibration.json ]
run 0 cluster guess -o calibrated.csv
check "which is used" sh -c '! grep "a guess" "$0"' "$err"
run 0 eval guess --labels tracks.csv
prints 'a table of labels'
run 2 eval guess
says 'guess: its [0-9]* crops have no identities, .*; give --labels FILE.csv$'
run 0 review guess --html review.html --threshold 0.9
check "with pictures" grep -q 'data:image/jpeg' review.html
check "and whole photos" [ "$(grep -c 'whole photos' "$err")" = 0 ]
# The photos are found from another folder, and after all was moved together.
mkdir -p moved/deep elsewhere
cp -R guess photos moved/deep
for from in / "$work/elsewhere" "$work/moved"; do
    for folder in "$work/guess" "$work/moved/deep/guess"; do
        (cd "$from" && "$REID" review "$folder" --html "$work/there.html" --threshold 0.9) >"$out" 2>"$err"
        check "whole photos of $folder from $from" [ "$(grep -c 'whole photos' "$err")" = 0 ]
        check "the same page" [ "$(wc -c <there.html)" -ge "$(wc -c <review.html)" ]
    done
done
sed 's/"source_root": "[^"]*"/"source_root": "lost"/' guess/embeddings.meta.json >moved/deep/guess/embeddings.meta.json
(cd / && "$REID" review "$work/moved/deep/guess" --html "$work/there.html" --threshold 0.9) >"$out" 2>"$err"
says 'the whole photos of [0-9]* crops cannot be read'
rm -rf moved elsewhere
id=$(sed -n 2p guess/crops.csv | cut -d, -f 1)
python3 - "$id" <<'PYTHON'
import binascii, sys
line = ('{"seq": 1, "what": "name", "crops": ["%s"], "name": "Ann", "by": "me", "when": "2026-11-20T06:00:00Z", '
        '"models": ["0123456789abcdef0123456789abcdef"]' % sys.argv[1])
with open("guess/decisions.jsonl", "w") as out:
    print('%s, "crc": "%08x"}' % (line, binascii.crc32(line.encode())), file=out)
PYTHON
run 0 cluster guess -o named.csv
check "decisions in the folder are heeded" grep -q "^$id,[0-9]*,Ann," named.csv
cp -R guess again
run 0 cluster again -o again
prints '^[0-9]* crops in [0-9]* groups at threshold '
check "they are in the tables" python3 - <<'PYTHON'
import csv
crops, individuals = (list(csv.DictReader(open("again/%s.csv" % n, newline=""))) for n in ("crops", "individuals"))
named = {r["id"]: (r["group"], r["name"]) for r in csv.DictReader(open("named.csv"))}
assert {c["id"]: (c["individual"], c["name"]) for c in crops} == named
assert [i["name"] for i in individuals if i["name"]] == ["Ann"]
assert len(individuals) == len({g for g, _ in named.values()})
PYTHON
echo mine >again/individuals.csv
cp again/crops.csv keep.csv
run 2 cluster again --threshold 0.9999 -o again
says 'again/individuals.csv: exists and is not a table of reid track'
same again/crops.csv keep.csv
run 2 cluster again -o guess
says 'guess: the name of the output must end in .csv or .json, or be that of INPUT, a folder of reid track'
run 2 cluster again guess -o again
says 'cluster: -o again rewrites the tables of this folder: give no other INPUT'
rm -rf again
run 0 gallery create deer --like guess
run 2 gallery add deer guess
says 'guess: [0-9]* of its [0-9]* crops have no identity, .* name the individuals with --groups FILE.csv'
run 0 gallery add deer guess --groups named.csv
run 0 gallery list deer
prints "^$id	Ann	east	2024-0"
run 0 match -m w.safetensors --size 64x64 --gallery deer guess
prints 'Ann'
run 2 match -m w.safetensors --size 64x64 --gallery guess guess
says 'guess: [0-9]* of its [0-9]* crops have no identity'
track 0 threads photos --detections md.json --threads 1 --decoders 1 --batch 1
check "threads and batches change nothing" diff -r out threads
sed 's/"detections": {[^}]*},//; s/"category": "[^"]*"//' out/tracks.json >out.json
for file in boxes.csv coco.json; do
    track 0 from photos --detections $file
    check "$file: the same rows" cmp out/embeddings.npy from/embeddings.npy
    sed 's/"detections": {[^}]*},//; s/"category": "[^"]*"//' from/tracks.json >from.json
    check "$file: the same tracks" python3 - <<'PYTHON'
import re
a, b = (re.split(r'(-?\d+\.?\d*(?:e-?\d+)?)', open(f).read()) for f in ("out.json", "from.json"))
assert len(a) == len(b) and a[::2] == b[::2]
assert all(x == y or abs(float(x) - float(y)) < 1e-4 for x, y in zip(a[1::2], b[1::2]))
PYTHON
    rm -rf from
done
# Sizes that are not the photos': turned, as programs measure that ignore EXIF, and others.
sed 's/"width": 160, "height": 120/"width": 120, "height": 160/' coco.json >turned.json
track 2 none photos --detections turned.json
says 'JPG: the photo is 160 x 120 when it is upright, but the detections say 120 x 160; run the detector on photos that'
sed 's/"width": 160, "height": 120/"width": 640, "height": 480/' coco.json >larger.json
track 2 none photos --detections larger.json
says 'JPG: the photo is 160 x 120, but the detections say 640 x 480; give the photos that the detector has seen'
sed 's/"width": 160, "height": 120/"width": null, "height": 0/' coco.json >unknown.json
track 0 unknown photos --detections unknown.json
check "sizes that are not given: the same rows" cmp out/embeddings.npy unknown/embeddings.npy
sed 's/"bbox": \[/"score": 97.5, "area": [/; s/"score": [0-9.]*, "score/"score/' coco.json >boxless.json
track 0 boxless photos --detections boxless.json
says 'boxless.json: left out 1 annotation without a box'
track 0 one photos/east --detections boxes.csv
check "one camera: the usual file names" [ -e one/tracks.txt ]
check "and the same contents as among others" cmp one/tracks.txt out/east.tracks.txt

# --- as a film of the same images ---
mkdir still
python3 - <<'PYTHON'
import csv, glob, os
rows = list(csv.reader(open("boxes.csv")))
with open("still.csv", "w") as boxes, open("times.csv", "w") as times:
    print("path,x,y,width,height,score", file=boxes)
    print("time,path", file=times)
    for row in rows[1:]:
        if row[0].startswith("east"):
            print("still/%04d.png" % (10000 - int(row[0][-8:-4])), *row[1:], sep=",", file=boxes)
    for i, path in enumerate(sorted(glob.glob("png/east-*.png"))):
        os.rename(path, "still/%04d.png" % (i + 1))
        print("2024-02-29T12:00:%06.3fZ,still/%04d.png" % (i / 2, i + 1), file=times)
PYTHON
track 0 still.out still --detections still.csv --times times.csv
check "one zone is not worth a word" [ "$(grep -c zone "$err")" = 0 ]

# Zones: the clock's time stays, and several zones are said. In one camera, then in two.
sed '2s/Z,/+02:00,/; 3s/Z,/+0200,/; 4s/Z,/,/' times.csv >zones.csv
track 0 zones.out still --detections still.csv --times zones.csv
says 'still: its photos state times of several zones: +02:00 (2 photos), no zone (1 photo), +00:00 ([0-9]*'
says 'all are used as the camera wrote them'
check "the clock's time" cmp still.out/crops.csv zones.out/crops.csv
cp -r still still2 && mkdir pair && mv still2 pair/a && cp -r still pair/b
{ sed 's/,still/,pair\/a/; s/Z,/+01:00,/' times.csv; sed '1d; s/,still/,pair\/b/; s/Z,/+02:00,/' times.csv; } >zones.csv
{ sed 's/^still/pair\/a/' still.csv; sed '1d; s/^still/pair\/b/' still.csv; } >pair.csv
track 0 pair.out pair --detections pair.csv --times zones.csv
says '^reid: the cameras state times of several zones: +01:00 (such as pair/a), +02:00 (such as pair/b); all are used'
track 0 film.out east.mkv --detections east.inside.txt --cuts none
check "tracks and best frames of photos are those of the film" python3 - <<'PYTHON'
import json
def tracks(name):
    d = json.load(open(name + "/tracks.json"))
    return [[(f["frame"], f["crop"], f["seconds"]) for f in t["frames"]] for s in d["videos"][0]["scenes"]
            for t in s["tracks"] if t["boxes"] > 2]
assert tracks("still.out") == tracks("film.out") != []
PYTHON

# --- photos without a time are separate scenes; one burst or many ---
cp -R photos/east plain
for i in 9999 9998 9997; do # without EXIF
    ffmpeg -nostdin -v error -y -i plain/IMG_$i.JPG -q:v 2 -map_metadata -1 again.jpg </dev/null &&
        mv again.jpg plain/IMG_$i.JPG
done
sed -n '1p; s/^east/plain/p' boxes.csv >plain.csv
track 0 alone plain --detections plain.csv
says 'plain: 3 of 24 photos have no time, such as plain/IMG_9999.JPG: each becomes its own burst'
check "they come last, in separate scenes" python3 - <<'PYTHON'
import json
v = json.load(open("alone/tracks.json"))["videos"][0]
assert v["without_time"] == 3 and [s["frame"] for s in v["scenes"]] == [0, 9, 21, 22, 23]
frames = [f for s in v["scenes"] for t in s["tracks"] for f in t["frames"]]
assert all((f["time"] is None) == (f["frame"] >= 21) for f in frames) and any(f["time"] is None for f in frames)
PYTHON
track 0 many photos/east --detections boxes.csv --burst 0.4
check "every photo is a burst" python3 - <<'PYTHON'
import json
v = json.load(open("many/tracks.json"))["videos"][0]
assert len(v["scenes"]) == 24 and all(t["first_frame"] == s["frame"] == t["last_frame"] for s in v["scenes"]
                                      for t in s["tracks"])
PYTHON

# The metadata name the JPEG decoder, as with reid embed, so that galleries can warn if decoders are mixed.
run 0 embed -m w.safetensors --size 64x64 plain -o plain.npy
grep -o '"jpeg": "[^"]*"' plain.meta.json >want
grep -o '"jpeg": "[^"]*"' alone/embeddings.meta.json >got
same got want
if grep -q turbo want; then
    mkdir hidden
    echo 'no library' >hidden/libturbojpeg.so.0
    LD_LIBRARY_PATH=$work/hidden "$REID" track plain --detections plain.csv -m w.safetensors --size 64x64 \
        --threshold 0.9 -o other >"$out" 2>"$err"
    check "another decoder's name" grep -q '"jpeg": "stb_image"' other/embeddings.meta.json
fi

# --- nothing found ---
echo '{"images": [{"file": "east/IMG_9999.JPG", "detections": []}]}' >empty.json
track 0 empty photos --detections empty.json
says 'empty.json: no boxes for these photos, so there are no tracks and no crops'
prints '^0 crops of 0 individuals at threshold 0.9$'
check "the tables have no rows" sh -c 'wc -l <empty/crops.csv | grep -qx 1 && wc -l <empty/individuals.csv | grep -qx 1'
track 0 few photos --detections md.json --min-conf 0.9999
says 'md.json: no boxes for these photos after --min-conf and --category, so there are no tracks and no crops'
rm -rf empty few

# --- damaged ---
cp -R photos/east torn
head -c 900 photos/east/IMG_9997.JPG >torn/IMG_9997.JPG
sed 's/^east/torn/' boxes.csv >torn.csv
track 1 torn.out torn --detections torn.csv
says 'torn/IMG_9997.JPG: '
says 'torn: 1 of 24 photos could not be read'
says 'torn.csv: [0-9]* entries refer to photos that were not found'
check "the others are used" grep -q '"complete": false, "problem": "1 of 24 photos could not be read"' \
    torn.out/tracks.json

# --- refused ---
refused() { # refused PATTERN ARGUMENT...
    pattern=$1
    shift
    track 2 no "$@"
    says "$pattern"
    silent
    absent no no.part
}
refused 'none of the photos of photos/east' photos/east --detections plain.csv
refused 'it mentions none of the photos of photos/east' photos --detections east.txt
sed 's/^east.//' boxes.csv >bad.csv
refused 'bad.csv: line 2: IMG_9999.JPG matches both photos/east/IMG_9999.JPG and photos/west/a/IMG_9999.JPG' photos \
    --detections bad.csv
# In JSON, too, ambiguous names must not become photos without animals.
for what in '"detections": [{"category": "1", "conf": 0.9, "bbox": [0.1, 0.1, 0.5, 0.5]}]' '"failure": "torn"'; do
    printf '{"images": [{"file": "IMG_9999.JPG", %s}]}\n' "$what" >bad.json
    refused 'bad.json: line 1: IMG_9999.JPG matches both photos/east/IMG_9999.JPG and photos/west/a/IMG_9999.JPG' \
        photos --detections bad.json
done
# More cameras whose photos have the same names, identified by more or fewer parts of their paths, in either direction.
rm -rf many
for i in 1 2 3 4 5 6 7; do
    mkdir -p many/s$i/RECNX
    cp photos/east/IMG_9999.JPG many/s$i/RECNX
done
cp -R many/s7 many/ss7 # a name that ends with another one
printf 'path,x,y,width,height\n' >many.csv
printf '%s,10,10,40,40\n' s1/RECNX/IMG_9999.JPG /far/many/s2/RECNX/IMG_9999.JPG './s3\RECNX\IMG_9999.JPG' \
    'D:\many\s7\RECNX\IMG_9999.JPG' s4/RECNX/IMG_999.JPG RECNX/s5/IMG_9999.JPG >>many.csv
track 0 found many --detections many.csv
says 'many.csv: 2 entries refer to photos that were not found'
check "each of them is found, and no other" python3 - <<'PYTHON'
import json
videos = json.load(open("found/tracks.json"))["videos"]
assert [v["video"] for v in videos if v["detections"]["boxes"]] == ["many/s%d/RECNX" % i for i in (1, 2, 3, 7)]
assert len(videos) == 8 and all(v["detections"]["boxes"] <= 1 for v in videos)
PYTHON
refused 'no images in this folder' "$(mkdir none && echo none)" --detections boxes.csv
refused 'are given twice' photos photos --detections boxes.csv
refused '--times and --burst are for photos, but no FOLDER is given' east.mkv --detections east.txt --burst 3
refused 'are for videos, but no VIDEO is given' photos --detections boxes.csv --first-frame 1
printf 'path,time\nphotos/east/IMG_9999.JPG,noon\n' >bad.csv
refused 'bad.csv: line 2: "noon" is not a valid time; expected YYYY-MM-DDTHH:MM:SS' photos --detections boxes.csv \
    --times bad.csv
printf 'path,when\n' >bad.csv
refused 'bad.csv: line 1: the header lacks "time"' photos --detections boxes.csv --times bad.csv
printf 'path,x,y,width,height\nphotos/east/IMG_9999.JPG,500,5,20,20\n' >bad.csv
refused 'photos/east/IMG_9999.JPG: the box x 500, .* has no pixel of the 160 x 120 photo' photos --detections bad.csv
printf 'path,x,y,width,height\nphotos/east/IMG_9999.JPG,5,x,20,20\n' >bad.csv
refused 'bad.csv: line 2: "x" is not a number' photos --detections bad.csv
finish
