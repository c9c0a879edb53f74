# t_cli_import.sh: reid import: rows of other programs, in every kind of file, compared with numpy; everything that is
# refused; and the commands that take the result, which never mix the rows of two models.
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/python.sh
need_python venv_pictures numpy pillow
. tests/lib/cli_lib.sh
. "$repository/tests/lib/camtrap.sh"
script=$repository/tests/tools/commands/import_rows.py
mkdir in o
(cd in && "$python" "$script" make) || exit 1
import() { status=$1; shift; run "$status" import "$@" --model miewid-msv3; }
# equals OUT DIGITS: o/OUT has the rows that numpy normalises, to so many digits
equals() { check "$1: the rows of numpy" "$python" "$script" check "o/$1" "$2"; }

# --- every kind of file, whatever it is called ------------------------------------------------------------------------
for file in f4.npy f8.npy b4.npy b8.npy fortran.npy fortran_b4.npy version2.npy version3.npy misnamed.csv.npy one.npz \
    called.csv plain.csv header.csv pandas.csv pandas_bare.csv r.csv excel.csv tabs.tsv savetxt.txt savetxt_header.txt \
    mark.csv rows.fvecs rows.safetensors rows.pt dict.pt transposed.pt large.npy small.npy; do
    import 0 in/$file --ids in/ids.txt -o "o/$file.npy"
    silent
    equals $file 6
    same "o/$file.ids.txt" in/ids.txt
done
for file in f2.npy b2.npy half.pt; do import 0 in/$file --ids in/ids.txt -o o/$file.npy; equals $file 3; done
import 0 in/bfloat.pt --ids in/ids.txt -o o/bfloat.pt.npy # eight bits of precision
equals bfloat.pt 2

# Names in the file itself, or in a table with all that is known of a row.
for file in id_first named pandas_names; do
    import 0 in/$file.csv -o o/$file.npy
    equals $file 6
    same o/$file.ids.txt in/ids.txt
    import 0 in/$file.csv --ids in/ids.txt -o o/$file.npy
done
import 0 in/named.csv -o o/named.npy
import 0 in/f8.npy --ids in/ids.csv -o o/table.npy
for file in named table; do
    check "$file: identities, cameras and times" grep -q '"cameras": \[' o/$file.meta.json
    check "$file: each animal five times" [ "$(grep -c '"animal 3"' o/$file.meta.json)" = 5 ]
    check "$file: a time" grep -q '"2024-05-20T06:30:00"' o/$file.meta.json
done
same o/table.ids.txt in/ids.txt
import 0 in/f4.npy --ids in/crlf.txt -o o/crlf.npy
same o/crlf.ids.txt in/ids.txt
import 0 in/f4.npy --ids in/windows.txt -o o/windows.npy # a backslash is a character like any other
check "Windows paths" grep -q '^east\\\\1_2.jpg$' o/windows.ids.txt
for form in jsonl csv; do import 0 in/f4.npy --ids in/ids.csv -o o/form.$form; done
"$REID" import o/form.csv --model again -o o/again.npy 2>"$err"
says 'o/form.csv: o/form.csv.meta.json already names its model; use the file as it is'
mv o/form.csv.meta.json o/kept
import 0 o/form.csv -o o/again.npy
equals again 6
mv o/kept o/form.csv.meta.json

# The fingerprint is made of the model's name and the length of its rows, and is never that of a network.
import 0 in/f4.npy --ids in/ids.csv -o o/animals.npy --json
printed='"rows": 40, "dim": 24, "model": "miewid-msv3", "fingerprint": "f\{12\}[0-9a-f]\{20\}", "identities": 8'
prints "^{\"output\": \"o/animals.npy\", $printed}\$"
fingerprint=$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' "$out")
check "metadata: model and fingerprint" grep -q "\"fingerprint\": \"$fingerprint\", \"network\": \"miewid-msv3\"" \
    o/animals.meta.json
run 0 import in/f4.npy --ids in/ids.csv -o o/dino.npy --model dinov2-vitl14 -v
says 'o/dino.npy: 40 rows of 24 floats by dinov2-vitl14, of 8 identities'
check "another model has another fingerprint" [ -z "$(grep "$fingerprint" o/dino.meta.json)" ]
"$python" -c 'import numpy; numpy.save("in/short.npy", numpy.load("in/f8.npy")[:, :20])'
import 0 in/short.npy --ids in/ids.csv -o o/short.npy
check "rows of another length have another one, too" [ -z "$(grep "$fingerprint" o/short.meta.json)" ]
sed 's/^/west-/; s/east//' in/ids.txt >in/west.txt
run 0 import in/f4.npy --ids in/west.txt -o o/west.npy --model dinov2-vitl14
import 0 in/f4.npy --ids in/west.txt -o o/unnamed.npy
cp o/animals.npy kept.npy

# --- what is refused --------------------------------------------------------------------------------------------------
refused() { # PATTERN FILE [OPTION]...: nothing is written
    pattern=$1 file=$2
    shift 2
    import 2 "in/$file" "$@" -o o/x.npy
    check "$file: $pattern" grep -q "^reid: $pattern" "$err"
    silent
    absent o/x.npy o/x.ids.txt o/x.meta.json
}
while IFS='|' read -r file message; do
    refused "in/$file: $message" "$file" --ids in/ids.txt
done <<END
integers.npy|is a NumPy array of integers (<i8); expected float16, float32 or float64: save \
it in Python: numpy.save("rows.npy", numpy.asarray(rows, "float32"))$
complex.npy|is a NumPy array of complex numbers (<c8); expected
objects.npy|is a NumPy array of Python objects (|O); expected
fields.npy|is a NumPy array of several fields (a structured type); expected
cube.npy|is a NumPy array of 3 dimensions: 1 x 40 x 24; expected two, a row for each image$
line.npy|is a NumPy array of 1 dimension: 24; expected two
scalar.npy|is a NumPy array of 0 dimensions; expected two
none.npy|is a NumPy array without rows$
narrow.npy|is a NumPy array with 0 values per row; expected 1 to 65536$
wide.npy|is a NumPy array with 65537 values per row; expected 1 to 65536$
huge.npy|is a NumPy array with 9999999999 values per row
cut.npy|is a NumPy array of 40 x 24 values of 4 bytes, but the file has 3836 bytes of values; \
was it written completely?$
longer.npy|is a NumPy array of 40 x 24 values of 4 bytes, but the file has 3844 bytes of values
headless.npy|is a NumPy array whose header is cut off or too long; was it written completely?$
version9.npy|is a NumPy array of version 9; expected 1 to 3$
twice.npy|is a NumPy array with a header that cannot be read; save it
unknown.npy|is a NumPy array with a header that cannot be read
after.npy|is a NumPy array with a header that cannot be read
negative.npy|is a NumPy array with a header that cannot be read
nothing.npy|is empty$
several.npz|is an .npz file with 3 members (features, ids, labels); expected one array: \
save only that of the rows, with numpy.save$
compressed.npz|is a compressed .npz file; write it with numpy.savez, or its array with numpy.save$
damaged.npz|is an .npz file with a wrong checksum: it is damaged$
other.zip|is a zip archive, but not one written by numpy.savez or torch.save:
nan.csv|line 4: field 1, "nan", is not a finite number$
inf.csv|line 4: field 1, "inf", is not a finite number$
big.csv|line 4: field 1, "1e39", is not a finite number$
word.csv|line 4: field 1, "fox", is not a finite number$
empty.csv|line 4: field 1 is empty; expected a number$
ragged.csv|line 4: 25 fields, but the first line has 24$
only_header.csv|is a table without rows$
counted.csv|its first column counts the rows; remove it, or name the columns in a header$
miscounted.csv|line 23: the column without a name counts the rows, but has "22" instead of 21$
odd_name.csv|line 1: the header has the column "species"; expected path, id, identity, camera or \
time, then the columns of values, with numbered names such as e0,e1,e2 or 0,1,2$
odd_column.csv|line 1: the header has the column "age"; expected
facts.csv|line 1: the header names identity, but no path or id that names the rows$
twice.csv|line 1: the header names path twice$
unlike.csv|row 0 is named "east/0_1.jpg" here, but "east/0_0.jpg" in in/ids.txt$
prose.txt|line 1: the header has the column "These"; expected
rows.parquet|is a Parquet file, which is not supported; save the rows in Python: \
pandas.read_parquet(FILE).to_csv("rows.csv", index=False)$
rows.feather|is an Arrow file, which is not supported
rows.h5|is an HDF5 file, which is not supported; save the rows in Python: read it with h5py, then numpy.save
rows.json|is JSON, which is not supported; save the rows in Python: numpy.save
rows.bin|its format is unknown; expected .npy, .npz, .csv, .fvecs, .pt or safetensors$
dataset.pkl|is a pickle, as written by FeatureDataset.save of wildlife-tools, and is not read, because reading \
a pickle can run any code; save its rows in Python: numpy.save("rows.npy", numpy.stack(dataset.features)), \
and its names: dataset.metadata.to_csv("ids.csv", index=False)$
array.pkl|is a pickle
long.pt|is a tensor of int64; expected float16, bfloat16, float32 or float64: save rows.float()$
cube.pt|is a tensor of 3 dimensions; expected two, a row for each image$
expanded.pt|is a tensor that repeats its values; save rows.contiguous()$
pair.pt|is a file with 2 tensors (gallery, query ...); expected one: save only that of the rows$
nan.npy|row 17 (east/3_2.jpg): value 3 is not a number; expected finite numbers$
infinite.npy|row 17 (east/3_2.jpg): value 3 is infinite; expected finite numbers$
zero.npy|row 17 (east/3_2.jpg): all values are 0, which has no direction; leave the row out$
uneven.fvecs|has 4 rows, but in/ids.txt has 40 names; expected one for each row$
END
head -n 4 in/ids.txt >in/four.txt
refused 'in/uneven.fvecs: row 1 has 25 values, but row 0 has 24; expected rows of one length$' uneven.fvecs \
    --ids in/four.txt
import 0 in/r640.fvecs --ids in/four.txt -o o/r640.npy --json
prints '"rows": 4, "dim": 640'
refused 'in/lost.npy: ' lost.npy --ids in/ids.txt
refused 'in/f4.npy: does not name its rows; give their names with --ids FILE, one per line$' f4.npy
refused 'in/f4.npy: has 40 rows, but in/few.txt has 39 names; expected one for each row$' f4.npy --ids in/few.txt
refused 'in/gap.txt: line 8 is empty; expected the name of a row$' f4.npy --ids in/gap.txt
refused 'in/f4.npy: the id "east/0_0.jpg" is given to rows 0 and 7; ids must differ$' f4.npy --ids in/same.txt
refused 'in/zero.txt: line 8 contains a zero byte$' f4.npy --ids in/zero.txt
refused 'in/empty.txt: contains no names$' f4.npy --ids in/empty.txt
refused 'in/no_time.csv: line 2: "noon" is not a valid time; expected YYYY-MM-DDTHH:MM:SS' f4.npy \
    --ids in/no_time.csv
refused 'in/lost.txt: ' f4.npy --ids in/lost.txt
picture in/photo.png 20 20 1
refused 'in/photo.png: is a PNG image, not rows of numbers; reid embed makes embeddings of images$' photo.png \
    --ids in/ids.txt

bad() { pattern=$1; shift; run 2 import "$@"; says "$pattern"; silent; }
bad 'import: no ROWS; see "reid help import"'
bad 'import: expected one file ROWS' in/f4.npy in/f8.npy --model m -o o/x.npy
bad 'import: give the name of the model that made the rows with --model NAME' in/f4.npy -o o/x.npy
bad "import: give the output's name with -o FILE.npy, FILE.jsonl or FILE.csv" in/f4.npy --model m
bad "import: give the output's name with -o" in/f4.npy --model m -o o/x.txt
bad 'import: --model takes NAME, not ""' in/f4.npy --ids in/ids.txt -o o/x.npy --model ''
for name in 'two words' "it's" 'a"b' $(printf %048d 1); do
    bad 'import: --model takes a name of 1 to 47 letters, digits and _.:/+-, not' in/f4.npy --ids in/ids.txt \
        -o o/x.npy --model "$name"
done
bad 'in/f4.npy is both input and output' in/f4.npy --ids in/ids.txt --model m -o in/f4.npy --force
cp in/ids.txt o/x.ids.txt
bad 'o/x.ids.txt: is both input and output' in/f4.npy --ids o/x.ids.txt --model m -o o/x.npy --force
rm o/x.ids.txt
no_leftovers

# --- the commands that take the result --------------------------------------------------------------------------------
run 0 eval o/animals.npy
prints 'rank-1 .*100'
sed 's/^east/west-/' in/labels.csv >in/west.csv
run 0 eval o/unnamed.npy --labels in/west.csv
prints 'rank-1 .*100'
run 2 eval o/unnamed.npy
says 'o/unnamed.npy: its 40 crops have no identities; give --labels FILE.csv$'
run 0 calibrate o/animals.npy --fmr 0.01 -o c.json
prints 'ffffffffffff.*, miewid-msv3, unknown'
run 0 cluster o/animals.npy --calibration c.json --own-labels -o groups.csv
prints '40 crops of 8 known identities, in 8 groups'
prints 'BCubed  precision 1.0000  recall 1.0000'
run 0 cluster o/unnamed.npy --calibration c.json -o unnamed.csv
prints '^40 crops in 8 groups at threshold'
mkdir east
for who in 0 1 2 3 4 5 6 7; do for k in 0 1 2 3 4; do picture east/${who}_$k.png 30 20 $who; done; done
sed -i 's/jpg/png/' o/animals.ids.txt
run 0 review o/animals.npy --calibration c.json --decisions d.jsonl --html page.html
check "the page has the crops" grep -q 'east/3_2.png' page.html
run 1 cluster o/animals.npy --calibration c.json --count --sample 10
prints 'too few answers'
run 0 gallery create g.gallery --like o/animals.npy
run 0 gallery add g.gallery o/animals.npy
prints '^added 40$'
run 2 gallery add g.gallery o/unnamed.npy
says 'o/unnamed.npy: 40 of its 40 crops have no identity; name the individuals with --groups FILE.csv'
run 0 gallery search g.gallery o/unnamed.npy --threshold 0.5 --json
check "every row finds its animal" [ "$(grep -c '"identity": "animal [0-7]"' "$out")" -ge 1 ]
run 0 gallery list g.gallery --json
check "cameras and times are kept" grep -q '"camera": "east", "time": "2024-05-01T06:30:00Z"' "$out"
run 0 gallery export g.gallery -o back.npy
"$python" -c 'import numpy
a, b = numpy.load("o/animals.npy"), numpy.load("back.npy")
assert (a == b).all()' && check "the rows come back" true
run 0 cluster back.npy --calibration c.json -o back.csv
run 0 gallery verify g.gallery
prints 'miewid-msv3'

# Camtrap DP: an observation for each crop, classified by the model of the rows.
mkdir package
camtrap_description east 2024-05-30 'Vulpes vulpes' >package/datapackage.json
"$python" - "$repository" <<'END'
import csv, pathlib, sys
rules = {}
source = pathlib.Path(sys.argv[1], "tests/tools/report/camtrap_check.py").read_text().split("def schema_of")[0]
exec(source.replace("from frictionless import Package, system", ""), rules)
def write(name, rows):
    with open("package/" + name + ".csv", "w", newline="") as file:
        table = csv.DictWriter(file, list(rules["TABLES"][name]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
write("deployments", [{"deploymentID": "d", "latitude": 50, "longitude": 5, "deploymentStart": "2024-05-01T00:00:00Z",
                       "deploymentEnd": "2024-05-30T00:00:00Z"}])
write("media", [{"mediaID": f"m{i}", "deploymentID": "d", "timestamp": "2024-05-02T00:00:00Z", "filePath": name,
                 "filePublic": "true", "fileMediatype": "image/png"}
                for i, name in enumerate(open("o/animals.ids.txt").read().split())])
write("observations", [])
END
run 0 cluster o/animals.npy --calibration c.json --camtrap-dp package -o package2
prints '^40 observations of 8 individuals in package2$'
check "they name the model" grep -q 'reid [0-9.]*, miewid-msv3 imported' package2/observations.csv

# --- rows of two models are never mixed -------------------------------------------------------------------------------
mixed() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    run 2 "$@"
    says "$pattern"
}
two='o/west.npy was made by dinov2-vitl14 (imported), but o/animals.npy by miewid-msv3 (imported): embeddings of two'
mixed "$two models cannot be compared" cluster o/animals.npy o/west.npy --threshold 0.5
mixed "o/animals.npy was made by miewid-msv3 (imported), but o/west.npy by dinov2-vitl14 (imported)" \
    eval o/animals.npy o/west.npy
mixed 'o/west.npy was made by dinov2-vitl14 (imported), but g.gallery by miewid-msv3' gallery add g.gallery o/west.npy
mixed 'o/west.npy was made by dinov2-vitl14 (imported), but g.gallery' \
    gallery search g.gallery o/west.npy --threshold 0.5
mixed 'c.json was made by miewid-msv3 (imported), but o/dino.npy by dinov2' cluster o/dino.npy --calibration c.json
mixed 'o/short.npy: its rows by miewid-msv3 (imported) have 20 values, but those of o/animals.npy have 24' \
    cluster o/animals.npy o/short.npy --threshold 0.5
b0 w.safetensors
run 0 embed -q -m w.safetensors --size 64x64 east -o ours.npy
mixed 'ours.npy was made by efficientnet_b0, but o/west.npy by dinov2-vitl14 (imported)' \
    cluster o/west.npy ours.npy --threshold 0.5
mixed 'o/west.npy was made by dinov2-vitl14 (imported), but ours.npy by efficientnet_b0:' \
    cluster ours.npy o/west.npy --threshold 0.5

# Commands that would have to embed an image say where that can be done.
elsewhere='made by the model miewid-msv3 in another program, so w.safetensors cannot embed images for it: embed them'
w='-m w.safetensors --size 64x64'
# shellcheck disable=SC2086
{
mixed "o/animals.npy: $elsewhere there, and import their rows (reid import)$" \
    match $w --gallery o/animals.npy east/1_1.png
mixed "g.gallery: $elsewhere" match $w --gallery g.gallery east/1_1.png
mixed "g.gallery: $elsewhere" gallery add g.gallery $w east
mixed "g.gallery: $elsewhere" gallery search g.gallery $w east/1_1.png --threshold 0.5
mixed "c.json: $elsewhere" match $w --gallery ours.npy --calibration c.json east/1_1.png
}
same o/animals.npy kept.npy

# Metadata without identities name no individual, and a wrong number of identities is reported.
sed '/"identities": \[/,/^  \]/d; s/"failures": \[\],/"failures": []/' o/unnamed.meta.json >o/bare.meta.json
cp o/unnamed.npy o/bare.npy
cp o/unnamed.ids.txt o/bare.ids.txt
check "no identities" sh -c '! grep -q identities o/bare.meta.json'
run 0 cluster o/bare.npy --calibration c.json -o bare.csv
same bare.csv unnamed.csv
run 2 eval o/bare.npy
says 'o/bare.npy: its 40 crops have no identities'
sed 's/"animal 3",/"animal 3", "animal 3",/' o/table.meta.json >o/table2.meta.json
cp o/table.npy o/table2.npy
cp o/table.ids.txt o/table2.ids.txt
run 2 eval o/table2.npy
says 'o/table2.npy: 40 rows, but its .meta.json has 45 identities: these files do not belong together'
finish
