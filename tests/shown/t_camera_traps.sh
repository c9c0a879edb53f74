# t_camera_traps.sh: examples/camera_traps as a biologist uses it. The same seed draws the same photos, with the times
# and boxes that the files name; tables, pages and messages agree in every number; tools/demo does the same with the
# user's own photos; invalid uses are refused.
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../.." && pwd)
cd "$repository" || exit 1
command -v python3 >/dev/null 2>&1 || { echo 'no python3 here'; exit 77; }
. tests/lib/pages.sh
# This test runs the only command of the page that needs no files of the reader.
page=$(blocks sh examples/camera_traps/README.md)
. tests/lib/cli_lib.sh
REID_NO_INSTALL=1
export REID_NO_INSTALL

script() { # script STATUS SCRIPT ARGUMENT...
    want=$1 name=$2
    shift 2
    sh "$repository/$name" "$@" >"$out" 2>"$err"
    got=$?
    check "exit $want (was $got): $name $*" [ "$got" = "$want" ]
}
check "the page's command" [ "$page" = 'sh examples/camera_traps/run' ]
script 0 examples/camera_traps/run
made=$repository/build/camera_traps
cp "$out" said.txt

# --- the photos ---
"$repository/build/demo_photos" other 2 && "$repository/build/demo_photos" again || exit 1
check "the same photos from the same seed" diff -r again/photos "$made/photos"
check "the same boxes" cmp again/md.json "$made/md.json"
check "the same truth" cmp again/truth.csv "$made/truth.csv"
check "others from another seed" sh -c '! cmp -s other/md.json again/md.json'
for bad in '' 'a b c' 'a 1x' /proc/none; do
    # shellcheck disable=SC2086 # words
    check "refused: demo_photos $bad" sh -c '! "$@" 2>/dev/null' sh "$repository/build/demo_photos" $bad
done

cat >agree.py <<'PYTHON'
"""agree.py OUT DRAWN SAID: all numbers are the same everywhere; the individuals are better than chance."""
import csv, json, re, sys
out, drawn, said = sys.argv[1:4]
def table(path):
    return list(csv.DictReader(open(path, newline="", encoding="utf-8")))
crops, individuals, truth = table(out + "/crops.csv"), table(out + "/individuals.csv"), table(drawn + "/truth.csv")
boxes = [(i["file"], d) for i in json.load(open(drawn + "/md.json"))["images"] for d in i["detections"]]
assert len(boxes) == len(truth) and len({i["file"] for i in json.load(open(drawn + "/md.json"))["images"]}) == 180
kept = sum(d["conf"] >= 0.2 for _, d in boxes)
assert 100 < kept < len(boxes) - 100, (kept, len(boxes)) # with MegaDetector's many boxes below 0.2
said = open(said, encoding="utf-8").read()
cameras = re.findall(r"/(CAM0\d): (\d+) photos, (\d+) boxes, (\d+) bursts, (\d+) tracks", said)
assert [c[0] for c in cameras] == ["CAM01", "CAM02", "CAM03"]
assert sum(int(c[1]) for c in cameras) == 180 and sum(int(c[2]) for c in cameras) == kept
assert sum(int(c[3]) for c in cameras) == 60 # visits, of three photos each
number = re.search(r"(\d+) crops of (\d+) individuals at threshold (\S+), estimated without labels", said)
assert (int(number[1]), int(number[2])) == (len(crops), len(individuals))
assert abs(json.load(open(out + "/calibration.json"))["threshold"] - float(number[3])) < 1e-5
asked = re.search(r"(\d+) crops in (\d+) groups, (\d+) questions", said)
assert (int(asked[1]), int(asked[2])) == (len(crops), len(individuals)) and int(asked[3]) > 0
page = open(out + "/questions.html", encoding="utf-8").read()
assert page.count("/9j/") >= len(crops), (page.count("/9j/"), len(crops)) # how JPEG files begin in base64
tracks = json.load(open(out + "/tracks.json"))
assert tracks["groups"] == len(individuals) and sum(int(i["crops"]) for i in individuals) == len(crops)
assert sum(int(i["tracks"]) for i in individuals) == len({c["track"] for c in crops})
by_photo = {}
for row in truth:
    by_photo.setdefault(row["photo"], []).append(row)
right = pairs = 0
names = []
for c in crops:
    photo = c["photo"].split("/photos/")[1]
    assert re.fullmatch(r"2026-05-\d\d", c["date"]) and re.fullmatch(r"\d\d:\d\d:1[012]", c["time"]), c
    best = min(by_photo[photo], key=lambda t: abs(float(t["x"]) - float(c["x"])) + abs(float(t["y"]) - float(c["y"])))
    assert abs(float(best["x"]) - float(c["x"])) < 0.1, (best, c) # md.json has four decimals
    names.append(best["name"])
for i in range(len(crops)):
    for k in range(i):
        if names[i] and names[k] and crops[i]["individual"] == crops[k]["individual"]:
            pairs, right = pairs + 1, right + (names[i] == names[k])
assert pairs > 50 and right > 0.5 * pairs, (right, pairs) # by chance 1 in 12
PYTHON
check "tables, page and messages agree" python3 agree.py "$made/out" "$made" said.txt
check "nothing was refused" sh -c '! grep -E "failed|could not|error" "$@"' sh "$err" said.txt

# --- the user's own photos, through tools/demo, and tables that are rewritten ---
mkdir mine && cp -R "$made/photos" mine/photos
cd mine || exit 1
script 0 tools/demo photos --detections "$made/md.json" -m "$made/weights.safetensors" -o deer --min-conf 0.2
cp "$out" ../mine.txt
cd .. || exit 1
check "with the user's own paths, the same numbers" python3 agree.py mine/deer "$made" mine.txt
check "the same individuals" cmp mine/deer/individuals.csv "$made/out/individuals.csv"
cp mine/deer/individuals.csv before.csv
run 0 cluster mine/deer --threshold 0.5 -o mine/deer
check "the tables have the new groups" sh -c '! cmp -s before.csv mine/deer/individuals.csv'
script 2 examples/camera_traps/run mine/photos --detections "$made/md.json" -o mine/deer
says 'deer: already exists'

# --- refused ---
for words in "mine/photos" "--detections $made/md.json" "mine/photos --detections" "-m w" "mine/photos -m w -o x"; do
    # shellcheck disable=SC2086 # words
    script 2 examples/camera_traps/run $words
    says 'sh examples/camera_traps/run PHOTOS --detections FILE'
done
script 2 examples/camera_traps/run nowhere --detections "$made/md.json"
says 'nowhere is not a folder'
script 2 examples/camera_traps/run mine/photos --detections nothing.json -m "$made/weights.safetensors" -o none
says 'nothing.json: '
absent none
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
