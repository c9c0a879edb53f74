# t_cli_camtrap.sh: reid cluster --camtrap-dp: a package with an observation for each crop, checked with frictionless
# and the rules of Camtrap DP: boxes, people and machines, names, existing observations; and everything that is refused.
# REID_CAMTRAP_DP names a folder with the standard's own profile and schemas, which are then used, too.
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/python.sh
need_python venv_frictionless frictionless==5.18.1
. tests/lib/cli_lib.sh
. "$repository/tests/lib/camtrap.sh"
need_eval_files

valid() { check "$1 is valid" "$python" "$repository/tests/tools/report/camtrap_check.py" "$1" ${REID_CAMTRAP_DP:-}; }
# value PACKAGE CROP COLUMN WANTED: of the observation of a crop
value() {
    got=$("$python" -c 'import csv, sys
print(*[r[sys.argv[3]] for r in csv.DictReader(open(sys.argv[1] + "/observations.csv", newline=""))
        if r["observationID"] == "reid:" + sys.argv[2]])' "$1" "$2" "$3")
    check "$3 of $2 in $1 is '$4' (is '$got')" [ "$got" = "$4" ]
}
observations() {
    "$python" -c 'import csv, sys
print(len(list(csv.DictReader(open(sys.argv[1] + "/observations.csv", newline="")))))' "$1"
}

# Two cameras with the same image names, eight crops of three animals; one box extends beyond the edge.
mkdir -p photos/east photos/west
for f in east/1 east/2 west/1 west/2; do picture photos/$f.png 200 100 1; done
cat >boxes.csv <<'END'
path,x,y,width,height
east/1.png,0,0,100,50
east/1.png,100,50,120,50
east/2.png,20,10,40,40
east/2.png,60,10,40,40
west/1.png,0,0,50,50
west/1.png,100,0,50,50
west/2.png,0,0,200,100
west/2.png,10,10,10,10
END
cat >list <<'END'
east/1.png#0 ann
east/1.png#1 bob
east/2.png#0 ann
east/2.png#1 bob
west/1.png#0 ann
west/1.png#1 cid
west/2.png#0 cid
west/2.png#1 bob
END
"$EVAL_FILES" crops.npy 32 5 0.3 <list >/dev/null

mkdir package
camtrap_description hedge 2024-04-30 'Erinaceus europaeus' >package/datapackage.json
"$python" - "$repository" <<'END'
import csv, importlib.util, json, os, pathlib, sys
source = pathlib.Path(sys.argv[1], "tests/tools/report/camtrap_check.py").read_text().split("def schema_of")[0]
rules = {}
exec(source, rules)
tables = {name: list(table) for name, table in rules["TABLES"].items()}
standard = os.environ.get("REID_CAMTRAP_DP")
for name in tables:
    if standard:
        schema = json.loads(pathlib.Path(standard, name + "-table-schema.json").read_text())
        tables[name] = [field["name"] for field in schema["fields"]]

def write(name, rows):
    with open("package/" + name + ".csv", "w", newline="") as file:
        table = csv.DictWriter(file, tables[name], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)

write("deployments", [dict(deploymentID=d, latitude=50.1, longitude=-5.2, deploymentStart="2024-04-01T00:00:00Z",
                           deploymentEnd="2024-04-30T00:00:00+02:00") for d in ("dep-east", "dep-west")])
write("media", [dict(mediaID="m-%s-%d" % (side, n), deploymentID="dep-" + side, filePublic="false",
                     timestamp="2024-04-0%dT10:00:00+02:00" % n, filePath="archive/%s/%d.png" % (side, n),
                     fileMediatype="image/png")
                for side in ("east", "west") for n in (1, 2)])
write("observations", [dict(observationID="old, \"1\"", deploymentID="dep-east", mediaID="m-east-1",
                            eventStart="2024-04-01T10:00:00+02:00", eventEnd="2024-04-01T10:00:00+02:00",
                            observationLevel="media", observationType="animal", individualPositionAngle="-12.5",
                            observationComments="'-5 degrees,\ntwo lines")])
END
valid package

out_of() { status=$1; shift; run "$status" cluster crops.npy --threshold 0.6 --boxes boxes.csv --pictures photos "$@"; }
out_of 0 --camtrap-dp package -o first --species 'Erinaceus europaeus' --same-frame
prints '^8 observations of 3 individuals in first$'
valid first
for f in datapackage.json deployments.csv media.csv; do same first/$f package/$f; done
check "one that was there and eight" [ "$(observations first)" = 9 ]
for mask in 077 002; do
    (umask $mask && mkdir made.$mask)
    umask $mask
    out_of 0 --camtrap-dp package -o ours.$mask
    check "umask $mask is heeded" [ "$(stat -c %a ours.$mask)" = "$(stat -c %a made.$mask)" ]
done
umask 022
check "what was there is as it was" grep -q '^"old, ""1""",dep-east,m-east-1,.*,-12.5,' first/observations.csv
check "an apostrophe stays, which only marks what reid itself has written" "$python" -c 'import csv
old = next(csv.DictReader(open("first/observations.csv", newline="")))
assert old["observationComments"] == chr(39) + "-5 degrees,\ntwo lines", old'
value first 'east/1.png#0' deploymentID dep-east
value first 'west/1.png#0' mediaID m-west-1
value first 'west/2.png#1' eventStart 2024-04-02T10:00:00+02:00
value first 'east/1.png#0' bboxWidth 0.500000000
value first 'east/1.png#1' bboxX 0.500000000
value first 'east/1.png#1' bboxWidth 0.500000000 # cut at the edge
value first 'east/1.png#1' bboxHeight 0.500000000
value first 'east/2.png#0' individualID group-0
value first 'west/1.png#0' individualID group-0
value first 'west/2.png#1' individualID group-1
value first 'west/2.png#1' scientificName 'Erinaceus europaeus'
value first 'west/2.png#1' classificationMethod machine
value first 'west/2.png#1' classificationProbability ''
check "the model is named" grep -q 'machine,"reid [0-9.]*, [a-z0-9_]* [0-9a-f]\{8\}",20[0-9-]*T[0-9:]*Z,' \
    first/observations.csv

# A name of the package, of a photo and of a crop may be spelled in either form of Unicode (NFC, NFD).
composed=$(printf 'w\303\266st') decomposed=$(printf 'wo\314\210st')
forms() { # forms MEDIA CROPS PHOTOS: how each of them spells the camera's folder
    rm -rf forms forms_photos forms_new
    mkdir forms_photos
    cp -r package forms
    cp -r photos/east forms_photos/east && cp -r photos/west "forms_photos/$3"
    sed "s|archive/west/|archive/$1/|" package/media.csv >forms/media.csv
    sed "s|^west/|$2/|" list >forms.list
    sed "s|^west/|$2/|" boxes.csv >forms.csv
    "$EVAL_FILES" forms.npy 32 5 0.3 <forms.list >/dev/null
    run 0 cluster forms.npy --threshold 0.6 --boxes forms.csv --pictures forms_photos --camtrap-dp forms -o forms_new
    valid forms_new
    value forms_new "$2/1.png#0" deploymentID dep-west
    value forms_new "$2/2.png#1" mediaID m-west-2
}
forms "$composed" "$decomposed" "$decomposed"
forms "$decomposed" "$composed" "$composed"
forms "$decomposed" "$composed" "$decomposed"

# People have named one crop, and decided that two are the same and a third is not a crop.
"$python" - >decisions.jsonl <<'END'
import zlib
whats = ['"what": "name", "crops": ["east/1.png#0"], "name": "Ann, \\"the\\" hog"',
         '"what": "same", "crops": ["east/1.png#1", "east/2.png#1"]', '"what": "not a crop", "crops": ["west/2.png#0"]']
for i, what in enumerate(whats):
    line = '{"seq": %d, %s, "by": "eve", "when": "2026-05-31T06:30:0%d.250Z", "models": ["%s"]' % (
        i + 1, what, i, "0" * 32)
    print('%s, "crc": "%08x"}' % (line, zlib.crc32(line.encode())))
END
out_of 0 --camtrap-dp first -o second --decisions decisions.jsonl -q
silent
valid second
check "an earlier export is replaced" [ "$(observations second)" = 8 ]
value second 'west/1.png#0' individualID 'Ann, "the" hog'
value second 'west/1.png#0' classificationMethod machine
value second 'east/1.png#0' classificationMethod human
value second 'east/1.png#0' classifiedBy eve
value second 'east/1.png#0' classificationTimestamp 2026-05-31T06:30:00Z
value second 'east/2.png#1' classificationTimestamp 2026-05-31T06:30:01Z
value second 'west/2.png#0' individualID ''

# Detections in shares of the image; probabilities from a calibration; ids alone, without boxes.
echo '{"images": [{"file": "east/1.png", "detections": [{"category": "1", "conf": 0.9, "bbox": [0.25, 0.5, 0.5, 0.4]},
    {"category": "1", "conf": 0.9, "bbox": [0, 0, 0.1, 0.1]}]}]}' >detections.json
printf 'east/1.png#0 ann\neast/1.png#1 bob\n' >few
"$EVAL_FILES" few.npy 32 5 0.3 <few >/dev/null
run 0 cluster few.npy --threshold 0.6 --boxes detections.json --camtrap-dp package -o shares
value shares 'east/1.png#0' bboxX 0.250000000
value shares 'east/1.png#0' bboxHeight 0.400000000
valid shares
awk 'BEGIN { for (k = 0; k < 20; k++) for (i = 0; i < 4; i++) print "p" k "/" i ".png p" k }' >many
"$EVAL_FILES" many.npy 32 5 0.6 <many >/dev/null
run 0 calibrate many.npy -o calibration.json
run 0 cluster crops.npy --calibration calibration.json --camtrap-dp package -o probable
valid probable
check "probabilities" grep -q ',machine,"[^"]*",[0-9TZ:-]*,[01]\.[0-9]\{6\},' probable/observations.csv
value probable 'east/1.png#0' bboxX ''

# --same-frame by boxes whose ids do not name their images.
sed '1s/$/,id/; 2,$s/.*/&,n/' boxes.csv | awk -F, -v OFS=, 'NR > 1 { $6 = "crop" NR } { print }' >named.csv
awk '{ print "crop" NR + 1, "ann" }' list >same
"$EVAL_FILES" same.npy 32 5 0.1 <same >/dev/null
run 0 cluster same.npy --threshold 0.5 -o together.csv
prints '^8 crops in 1 group '
run 0 cluster same.npy --threshold 0.5 --same-frame --boxes named.csv -o apart.csv
for pair in 2,3 4,5 6,7 8,9; do
    check "crops $pair are of one image" [ "$(grep "^crop[$pair]," apart.csv | cut -d, -f2 | sort -u | wc -l)" = 2 ]
done

# With a folder of reid track, observations name the photos and boxes, not the crops that were cut from them.
b0 w.safetensors
run 0 track -m w.safetensors --size 64x64 --threshold 0.9 photos --detections boxes.csv -o tracked
run 0 cluster tracked --camtrap-dp package -o last
prints '^8 observations of [1-8] individuals in last$'
valid last
"$python" - <<'END' >crops.txt
import csv
for r in csv.DictReader(open("tracked/crops.csv", newline="")):
    camera, name = r["photo"][len("photos/"):-len(".png")].split("/")
    width = min(float(r["x"]) + float(r["width"]), 200) - float(r["x"])
    print(r["id"], "m-%s-%s" % (camera, name), "%.9f" % (float(r["x"]) / 200), "%.9f" % (width / 200), r["individual"])
END
while read -r crop medium left width individual; do
    value last "$crop" mediaID "$medium"
    value last "$crop" bboxX "$left"
    value last "$crop" bboxWidth "$width"
    value last "$crop" individualID "group-$individual"
done <crops.txt
check "there are crops of all photos" [ "$(cut -d ' ' -f 2 crops.txt | sort -u | wc -l)" = 4 ]

# Refused input leaves nothing behind.
out_of 2 --camtrap-dp package -o first
says 'first: already exists'
out_of 2 --camtrap-dp package
says 'cluster: --camtrap-dp writes a folder: name it with -o'
out_of 2 --camtrap-dp package -o new --count
out_of 2 --species 'Erinaceus europaeus' -o groups.csv
says 'cluster: --species is for --camtrap-dp'
out_of 2 --camtrap-dp nowhere -o new
says 'nowhere/datapackage.json: '
bad() { # bad MESSAGE SED_SCRIPT FILE: a package with a mistake
    rm -rf bad
    cp -r package bad
    sed "$2" "package/$3" >"bad/$3"
    out_of 2 --camtrap-dp bad -o new
    says "$1"
    absent new
}
bad '"profile": expected that of Camtrap DP 1.0, 1.0.1 or 1.0.2' \
    's|camtrap-dp/1.0.2/camtrap-dp-p|camtrap-dp/2.0/camtrap-dp-p|' datapackage.json
bad '"profile" is missing' 's/"profile": "https/"other": "https/' datapackage.json
bad 'expected deployments, media and observations among them' \
    's/"name": "media"/"name": "films"/' datapackage.json
bad 'expected a file in its folder' 's|"media.csv"|"../media.csv"|' datapackage.json
bad 'without a dialect' 's|"utf-8"|"latin-1"|' datapackage.json
bad 'line 1: ' 's/^{/[/' datapackage.json
bad 'the header lacks "mediaID"' '1s/mediaID/medium/' media.csv
bad 'mediaID, deploymentID, timestamp or filePath is empty' 's/^m-west-2//' media.csv
bad "west/2.png#0: no filePath or fileName of the package's media ends like its path, west/2.png" \
    's|west/2.png|west/3.png|' media.csv
bad 'west/1.png#0: its medium would be m-east-1, but that belongs to east/1.png#[01]$' \
    's|archive/east/1.png|1.png|; s|archive/west/1.png|lost.png|' media.csv
bad 'may be medium m-east-1 or m-west-1; use ids that contain more of the path' \
    's|archive/.*/1.png|1.png|' media.csv
bad 'is not a column of observations, or is given twice' '1s/count/number/' observations.csv
rm -f bad/observations.csv
cp package/media.csv bad
out_of 0 --camtrap-dp bad -o fresh # observations.csv is optional
check "eight" [ "$(observations fresh)" = 8 ]
valid fresh
rm bad/deployments.csv
out_of 2 --camtrap-dp bad -o new
says 'bad/deployments.csv: '
sed 's/^west.*10,10,10,10/west\/2.png,300,10,10,10/' boxes.csv >beyond.csv
run 2 cluster crops.npy --threshold 0.6 --boxes beyond.csv --pictures photos --camtrap-dp package -o new
says 'west/2.png#1: its box is outside the image'
run 2 cluster few.npy --threshold 0.6 --boxes named.csv -o groups.csv
says 'named.csv: none of its boxes has the id of a crop'
run 2 cluster crops.npy --threshold 0.6 --category 1 -o groups.csv
says 'cluster: --min-conf and --category need --boxes'
absent new
check "nothing left over" [ -z "$(find . -name '*.part*')" ]
finish
