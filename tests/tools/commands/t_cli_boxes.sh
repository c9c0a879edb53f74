# t_cli_boxes.sh: --boxes in both formats, and ambiguous files that are refused.
. tests/lib/cli_lib.sh
b0 w.safetensors
embed() { status=$1; shift; run "$status" embed -m w.safetensors --size 64x64 "$@"; }
floats() { sed 's/.*"embeddings": //' "$out"; }
ids() { sed 's/^{"path": "\(.*\)", "identity".*/\1/' "$out"; }

mkdir -p photos/cam1
picture photos/cam1/a.png 100 80 1
picture photos/b.png 60 60 2
"$CLI_FILES" crop photos/cam1/a.png crop1.png 10 20 50 40
"$CLI_FILES" crop photos/cam1/a.png crop2.png 0 0 100 80
"$CLI_FILES" crop photos/b.png crop3.png 30 30 30 30
embed 0 crop1.png crop2.png crop3.png crop1.png
floats >wanted

# CSV in pixels: columns in any order, quotes, CRLF, a box beyond the edge, an image that occurs again.
printf '%s\r\n' width,x,path,height,y '50,10,"cam1/a.png",40,20' 200,-0,cam1/a.png,300,0 40,30,b.png,50,30 \
    50,10,cam1/a.png,40,20 >boxes.csv
embed 0 --boxes boxes.csv photos/
floats >got
same got wanted
ids >got
printf '%s\n' 'cam1/a.png#0' 'cam1/a.png#1' 'b.png#0' 'cam1/a.png#2' >names
same got names
check "a folder is a camera" grep -q '"path": "cam1/a.png#0", "identity": "", "camera": "cam1"' "$out"
check "the folder itself, too" grep -q '"path": "b.png#0", "identity": "", "camera": "photos"' "$out"

# What needs identities refuses boxes without them, and names the ways.
embed 0 --boxes boxes.csv photos/ -o crops.npy -v
says 'no identities: folders of photos are cameras'
check "cameras are in the metadata" grep -q '"cameras": \[' crops.meta.json
run 2 eval crops.npy
says 'crops.npy: its 4 crops have no identities, because folders of photos are cameras; give --labels FILE.csv$'
run 2 calibrate crops.npy -o no.json
says 'without labels: 4 sightings .* are too few; .* or give --labels FILE.csv or --pairs FILE.csv$'
run 2 cluster crops.npy --threshold 0.5 --own-labels -o no.csv
says 'cluster: this file has no identities to compare groups with, .*; give --labels FILE.csv$'
run 2 match -m w.safetensors --size 64x64 --gallery crops.npy crop1.png
says 'crops.npy: 4 of its 4 crops have no identity, .* name them with reid review, then reid gallery add --groups$'
run 0 gallery create g --like crops.npy
run 2 gallery add g crops.npy
says 'crops.npy: 4 of its 4 crops have no identity, .* name the individuals with --groups FILE.csv'
run 2 gallery add g -m w.safetensors --size 64x64 --boxes boxes.csv photos
says 'boxes.csv: 4 boxes have no identity, .* in a CSV file with a column identity, or embed the boxes'
run 0 gallery list g
silent
absent no.json no.csv
printf '%s\n' path,identity 'cam1/a.png#0,fir' 'cam1/a.png#1,oak' 'b.png#0,oak' 'cam1/a.png#2,fir' >labels.csv
run 0 eval crops.npy --labels labels.csv
prints '4 .* 2 identities: a table of labels'
run 0 cluster crops.npy --threshold 0.5 --labels labels.csv -o groups.csv
for i in 1 2; do embed 0 --boxes boxes.csv photos/ --shard $i/2 -o part$i.npy; done
run 0 merge part1.npy part2.npy -o merged.npy
same merged.meta.json "$(sed 's/crops.npy/merged.npy/' crops.meta.json >wanted.json && echo wanted.json)"

# Folders of whole images are individuals, which is said.
mkdir -p whole/fir whole/oak
cp crop1.png whole/fir && cp crop2.png whole/fir/again.png && cp crop3.png whole/oak
embed 0 whole -o whole.npy -v
says '2 identities, from folders$'
run 0 gallery add g -m w.safetensors --size 64x64 whole
prints '^2 identities, from folders$'

# MegaDetector: fractions, in the same places; ids count every detection of the image, even excluded ones.
cat >md.json <<'JSON'
{"info": {"format_version": "1.4"}, "detection_categories": {"1": "animal", "2": "person"}, "images": [
 {"detections": [{"category": "1", "conf": 0.9, "bbox": [0.1, 0.25, 0.5, 0.5], "classifications": [["3", 0.5]]},
                 {"category": "2", "conf": 0.3, "bbox": [0, 0, 1, 1.0004]}], "file": "cam1\/a.png"},
 {"file": "b.png", "detections": []},
 {"file": "b.png", "detections": [{"conf": 0.05, "category": "1", "bbox": [0.5, 0.5, 0.5, 0.5]}]},
 {"file": "lost.png", "failure": "Failure image access", "detections": null},
 {"file": "empty.png", "failure": "Failure inference", "detections": []},
 {"file": "b.png", "failure": null, "detections": []}]}
JSON
embed 0 --boxes md.json photos
says 'lost.png: the detector failed on it: Failure image access'
says 'empty.png: the detector failed on it: Failure inference'
says 'md.json: without --min-conf all boxes are used: 3, from a confidence of 0.05 on; --min-conf 0.2 would keep 2$'
floats >got
head -3 wanted >wanted3
same got wanted3
ids >got
printf '%s\n' 'cam1/a.png#0' 'cam1/a.png#1' 'b.png#0' >names
same got names
for category in 2 person; do
embed 0 --boxes md.json --min-conf 0.2 --category $category photos
ids >got
printf '%s\n' 'cam1/a.png#1' >names
same got names
check "a threshold was given" sh -c '! grep min-conf "$0"' "$err"
done
(cd photos && "$REID" embed -m ../w.safetensors --size 64x64 --boxes ../boxes.csv) >"$out" 2>"$err"
floats >got
same got wanted

# With a folder, only images in it are read, whatever the file of boxes names.
mkdir -p inner/deep
picture outside.png 60 50 1
picture inner/b.png 60 50 1
for path in ../outside.png deep/../../outside.png ..; do
    printf 'path,x,y,width,height\n%s,0,0,9,9\n' "$path" >out.csv
    run 2 embed -m w.safetensors --size 64x64 --boxes out.csv inner
    says "^reid: out.csv: the image .* is outside inner; give the folder that contains all images, or none"
done
printf 'path,x,y,width,height\n%s,0,0,9,9\n' "$PWD/outside.png" >out.csv
run 2 embed -m w.safetensors --size 64x64 --boxes out.csv inner
says 'outside.png#0: cannot open'

# Ids from the file; only the box outside its image fails; EXIF is applied before the box.
printf '%s\n' path,x,y,width,height,id 'photos/b.png,30,30,30,30,deer 7' photos/b.png,60,0,5,5,out \
    photos/b.png,3,3,0,5,flat >named.csv
embed 1 --boxes named.csv
check "own id" grep -q '"path": "deer 7"' "$out"
lines "$out" 1
says 'out: the box'
says 'named.csv: 1 box without area is left out'
printf '%s\n' path,x,y,width,height,id photos/b.png,30,30,30,30,deer photos/b.png,0,0,5,5,fox \
    photos/b.png,0,0,6,6,deer >twice.csv
embed 2 --boxes twice.csv -o twice.npy
says 'twice.csv: the id "deer" is given twice; ids of box.s must differ. Name the individual in a column "identity"'
absent twice.npy
sed 's/,id$/,identity/' twice.csv >who.csv
embed 0 --boxes who.csv
ids >got
printf '%s\n' 'deer/photos/b.png#0' 'fox/photos/b.png#1' 'deer/photos/b.png#2' >names
same got names
check "identities are those of the column" [ "$(grep -o '"identity": "[a-z]*"' "$out" | tr '\n' ' ')" = \
    '"identity": "deer" "identity": "fox" "identity": "deer" ' ]
embed 0 --boxes who.csv -o who.npy
run 0 eval who.npy --json
prints 'rank1'
picture turned.jpg 60 40 4
"$CLI_FILES" exif turned.jpg exif.jpg 6 II
"$CLI_FILES" upright turned.jpg upright.png 6
"$CLI_FILES" crop upright.png crop4.png 5 10 20 45
printf 'path,x,y,width,height\nexif.jpg,5,10,20,45\n' >exif.csv
embed 0 --boxes exif.csv --jpeg stb # as cli_files has decoded it
floats >got
embed 0 crop4.png
floats >wanted
same got wanted

# The same boxes in every format that reid track reads, from a computer with Windows, with absolute paths, and by the
# numbers of frames.
embed 0 --boxes boxes.csv photos/
floats >wanted
ids >names
python3 - "$PWD" <<'PYTHON'
import json, sys
boxes = [("cam1/a.png", 10, 20, 50, 40), ("cam1/a.png", 0, 0, 300, 200), ("b.png", 30, 30, 50, 40),
         ("cam1/a.png", 10, 20, 50, 40)]
sizes = {"cam1/a.png": (100, 80), "b.png": (60, 60)}
def cut(name, x, y, w, h): # MegaDetector's boxes do not reach beyond the image
    width, height = sizes[name]
    return min(x + w, width) - x, min(y + h, height) - y
roots = {"windows.json": "D:\\\\survey\\\\photos\\\\", "absolute.json": sys.argv[1] + "/photos/", "dot.json": "./"}
for out, root in roots.items():
    images = {}
    for name, x, y, w, h in boxes:
        w, h = cut(name, x, y, w, h)
        width, height = sizes[name]
        images.setdefault(name, []).append({"category": "1", "conf": 0.9,
                                            "bbox": [x / width, y / height, w / width, h / height]})
    list_ = [{"file": root.replace("\\\\", "\\") + (n.replace("/", "\\") if "windows" in out else n), "detections": d}
             for n, d in images.items()]
    json.dump({"images": list_, "detection_categories": {"1": "animal"}}, open(out, "w"))
json.dump([{"file": n, "detections": [{"category": "animal", "confidence": 0.9, "bbox": [
    x, y, x + cut(n, x, y, w, h)[0], y + cut(n, x, y, w, h)[1]]}]} for n, x, y, w, h in boxes], open("ms.json", "w"))
names = sorted(sizes)
json.dump({"images": [{"id": i, "file_name": n} for i, n in enumerate(names)], "annotations": [
    {"image_id": names.index(n), "category_id": 3, "bbox": [x, y, w, h], "score": 0.9} for n, x, y, w, h in boxes],
    "categories": [{"id": 3, "name": "deer"}]}, open("coco.json", "w"))
with open("det.txt", "w") as mot, open("frames.csv", "w") as csv:
    print("frame,x,y,w,h", file=csv)
    for name, x, y, w, h in boxes:
        number = 7 if name == "b.png" else 12
        print(number, -1, x + 1, y + 1, w, h, 0.9, -1, -1, -1, sep=",", file=mot)
        print(number, x, y, w, h, sep=",", file=csv)
PYTHON
order() { sort "$1" >"$1.sorted"; }
order wanted
order names
for file in windows.json absolute.json dot.json ms.json coco.json; do
    embed 0 --boxes $file photos
    floats >got && order got
    same got.sorted wanted.sorted
    ids >got && order got
    case $file in # MegaDetector lists the boxes of an image together
    windows.json | absolute.json | dot.json) check "$file: names of rows" cmp got.sorted names.sorted ;;
    *) same got names ;;
    esac
    check "$file: cameras" [ "$(grep -c '"camera": "cam1"' "$out")" -eq 3 ]
done
embed 0 --boxes ms.json --category animal photos
embed 0 --boxes coco.json --category deer photos
lines "$out" 4
embed 2 --boxes coco.json --category 2 photos
says 'coco.json: no boxes'
mkdir numbered
cp photos/b.png numbered/x0007.png
cp photos/cam1/a.png numbered/x0012.png
for file in det.txt frames.csv; do
    embed 0 --boxes $file numbered
    floats >got
    same got wanted
done
check "frames are called by their images" grep -q '"path": "x0012.png#2", "identity": "", "camera": "numbered"' "$out"
embed 2 --boxes det.txt
says 'det.txt: it identifies images only by number: give the folder that contains them'
# A ground truth, of which flag 0 marks what does not count; scores in percent; annotations without a box.
sed 's/,0.9,-1,-1,-1$/,1,1,0.8/' det.txt >gt.txt
printf '7,9,1,1,5,5,0,7,1\n' >>gt.txt
embed 0 --boxes gt.txt numbered
says 'gt.txt: left out 1 box with flag 0'
floats >got
same got wanted
sed 's/,0\.9,/,90,/' det.txt >percent.txt
embed 0 --boxes percent.txt numbered
says 'percent.txt: its scores are not confidences between 0 and 1; all boxes count as certain'
floats >got
same got wanted
embed 2 --boxes percent.txt --min-conf 0.5 numbered
says 'percent.txt: line 1: the score 90 is not between 0 and 1'
sed 's/"annotations": \[/&{"image_id": 0}, {"image_id": 1, "bbox": []}, /' coco.json >boxless.json
embed 0 --boxes boxless.json photos
says 'boxless.json: left out 2 annotations without a box'
lines "$out" 4
# Results alone: with the names of their images, as Ultralytics writes them, or put together with the data set's file.
python3 - <<'PYTHON'
import json
d = json.load(open("coco.json"))
names = {i["id"]: i["file_name"] for i in d["images"]}
json.dump(d["annotations"], open("results.json", "w"))
json.dump([dict(r, image_id=names[r["image_id"]][:-4], file_name=names[r["image_id"]]) for r in d["annotations"]],
          open("named.json", "w"))
json.dump(dict(d, annotations=[]), open("dataset.json", "w"))
PYTHON
embed 0 --boxes named.json photos
floats >got
same got wanted
embed 2 --boxes results.json photos
says "^reid: results.json: line 1: a list of COCO results has only the ids of images, whose names are in"
jq=$(grep -o 'jq --slurpfile .*' "$err")
if command -v jq >jq.path; then
    (echo "$jq" | sed 's/RESULTS/results/; s/DATASET/dataset/; s/BOTH/both/' | sh) 2>"$err"
    embed 0 --boxes both.json photos
    floats >got
    same got wanted
fi
# Sizes that are not the images': turned, as programs measure that ignore EXIF, and others. exif.jpg is 40 x 60 when
# it is upright. Fractions hold for a smaller copy, but not for the stored image.
mkdir turned
cp exif.jpg turned
sized() { # WIDTH HEIGHT: the same box in COCO and MegaDetector
    printf '{"images": [{"id": 1, "file_name": "exif.jpg", "width": %s, "height": %s}], "annotations": [{"image_id": 1,
        "category_id": 1, "bbox": [5, 10, 20, 45]}], "categories": []}' "$1" "$2" >sized.json
    printf '{"images": [{"file": "exif.jpg", "detections": [{"category": "1", "conf": 0.9, "bbox": [0.125, 0.1666667,
        0.5, 0.75]}], "width": %s, "height": %s}], "detection_categories": {}}' "$1" "$2" >sizedmd.json
}
for size in '40 60' 'null null' '0 0'; do
    sized $size
    for file in sized sizedmd; do
        embed 0 --jpeg stb --boxes $file.json turned
        floats >got
        [ "$size" != '40 60' ] || [ $file = sizedmd ] || cp got upright
        same got upright
    done
done
sized 60 40
for file in sized sizedmd; do
    embed 2 --boxes $file.json turned
    says 'exif.jpg#0: the photo is 40 x 60 when it is upright, but the detections say 60 x 40; run the detector'
    silent
done
run 2 match -m w.safetensors --size 64x64 --gallery photos --boxes sized.json turned
says 'exif.jpg#0: the photo is 40 x 60 when it is upright, but the detections say 60 x 40; run the detector on photos'
run 0 gallery create sized -m w.safetensors --size 64x64
run 0 gallery add sized -m w.safetensors --size 64x64 photos
run 2 gallery search sized -m w.safetensors --size 64x64 --boxes sized.json turned
says 'exif.jpg#0: the photo is 40 x 60 when it is upright, but the detections say 60 x 40; run the detector on photos'
sized 20 30
embed 2 --boxes sized.json turned
says 'exif.jpg#0: the photo is 40 x 60, but the detections say 20 x 30; give the photos that the detector has seen'
embed 0 --jpeg stb --boxes sizedmd.json turned
floats >got
same got upright
sized 60 60
embed 2 --boxes sizedmd.json turned
says 'exif.jpg#0: the photo is 40 x 60, but the detections say 60 x 60; give the photos that the detector has seen'

mkdir numbered/more
cp photos/b.png numbered/more/7.png
embed 2 --boxes det.txt numbered
says 'det.txt: frame 7 matches both numbered/more/7.png and numbered/x0007.png; frame numbers are for one folder'
(cd photos && sed 's|cam1/|cam1\\|' ../boxes.csv >back.csv &&
    "$REID" embed -m ../w.safetensors --size 64x64 --boxes back.csv) >"$out" 2>"$err"
floats >got
same got wanted

# A name that could be several images is refused; the whole path below the folder is preferred to the end of another.
mkdir -p two/cam1 two/east/cam1
cp photos/cam1/a.png two/cam1 && cp photos/b.png two/east/cam1/a.png && cp photos/b.png two/cam1/c.png
echo path,x,y,width,height >both.csv
printf '%s,2,2,9,9\n' cam1/a.png 'D:\two\east\cam1\a.png' /mnt/two/cam1/c.png >>both.csv
embed 0 --boxes both.csv two
ids >got
printf '%s\n' 'cam1/a.png#0' 'east/cam1/a.png#0' 'cam1/c.png#0' >names
same got names
printf 'path,x,y,width,height\n%s,2,2,9,9\n' a.png >both.csv
embed 2 --boxes both.csv two
says 'both.csv: a.png matches both two/cam1/a.png and two/east/cam1/a.png'
# Videos in the same file are for reid track; images that are not there are named, and the others are embedded.
cat >video.json <<'JSON'
{"images": [{"file": "v.mp4", "frame_rate": 10, "detections": [{"category": "1", "conf": 0.9, "bbox": [0, 0, 1, 1],
  "frame_number": 3}]},
 {"file": "gone.png", "detections": [{"category": "1", "conf": 0.9, "bbox": [0, 0, 1, 1]}]},
 {"file": "b.png", "detections": [{"category": "1", "conf": 0.9, "bbox": [0, 0, 1, 1]}]}], "detection_categories": {}}
JSON
embed 1 --boxes video.json photos
says 'video.json: boxes of 1 video are left out; reid track reads videos'
says 'gone.png#0: cannot open: No such file'
lines "$out" 1

# Files that are refused, each with the reason.
refuse() { # CONTENT PATTERN
    printf "$1" >refused
    embed 2 --boxes refused photos
    says "$2"
    silent
}
refuse '[{"file": "b.png", "bbox": [1,2,3,4], "confidence": 0.5}]' 'an entry has neither "detections" nor "failure"'
md() { refuse '{"images":[{"file":"b.png","detections":[{"category":"1",'"$1"'}]}]}' "$2"; }
md '"bbox":[10,20,50,60],"conf":1' 'as fractions of the frame, but this one exceeds it'
md '"bbox":[0.5,0.5,0.9,0.9],"conf":1' 'as fractions of the frame, but this one exceeds it'
md '"bbox":[0,0,1,1],"confidence":1' 'expected "conf"'
md '"bbox":[0,0,1],"conf":1' 'four numbers'
md '"conf":1' 'a detection lacks bbox'
refuse '{"images":[{"detections":[]}]}' 'an entry lacks "file"'
refuse '{"images":[{"file":"b.png"}]}' 'an entry has neither "detections"'
refuse '{}' 'neither "images" nor "annotations"'
refuse '{"annotations":[]}' 'no boxes'
refuse '{"images":[}' 'line 1: '
refuse '{"images":[]} x' 'after the end'
refuse '{"images":[],\n"a": [1,2' 'line 2: the text ends early'
refuse '{"images":[]}' 'no boxes found'
refuse 'path,x1,y1,x2,y2\nb.png,0,0,5,5\n' 'lacks "x"'
refuse 'path,x,y,width,height,x\nb.png,0,0,5,5,0\n' 'names x twice'
refuse 'path,x,y,width,height\nb.png,0.25,0,0.5,0.5\n' 'line 2: a box of 0.5 x 0.5 looks like fractions of the image'
refuse 'path,x,y,width,height\nb.png,0,0,5\n' 'line 2: 4 fields, but the header has 5'
refuse 'path,x,y,width,height\nb.png,0,0,5,5x\n' '"5x" is not a number'
refuse 'path,x,y,width,height\nb.png,0,0,-5,5\n' 'a negative width or height'
refuse 'path,x,y,width,height\n"b.png,0,0,5,5\n' 'a quoted field is not closed'
refuse 'path,x,y,width,height\n,0,0,5,5\n' 'an empty path'
refuse 'path,x,y,width,height,identity\nb.png,0,0,5,5,\n' 'an empty identity'
refuse 'path,x,y,width,height,identity\nb.png,0,0,5,5,a/b\n' 'the identity "a/b" has a slash'
refuse '1,-1,1,1,5,5,1,-1,-1,-1\n' 'no image below photos has a name that ends in 1'
refuse '' 'the file is empty'
embed 2 --boxes boxes.csv --category 1 photos
says 'no box has a category, so --category cannot be used: remove it'
embed 2 --boxes missing.json photos
says 'missing.json: cannot open'
embed 2 --boxes boxes.csv --min-conf 0.5 photos
says 'no box has a score, so --min-conf cannot be used: remove it'
embed 2 --boxes boxes.csv photos photos
says 'at most one folder'
embed 2 --min-conf 0.5 photos
says 'need --boxes'
embed 2 --boxes photos photos
says 'is a folder'

# The same two boxes as spreadsheets and other programs write them; edges with fractions are rounded.
printf 'path,x,y,width,height\nb.png,10,10,41,40\n"cam1/a.png",1,2,30,40\n' >boxes.csv
embed 0 --boxes boxes.csv photos -o whole.npy
as_written() { # NAME, text on stdin
    cat >written.csv
    embed 0 --boxes written.csv photos -o written.npy
    check "$1: the same rows" cmp written.npy whole.npy
}
printf 'path,x,y,width,height\nb.png,10.25,9.8,40.4,39.9\ncam1/a.png,1,2,30,40\n' | as_written fractions
printf '\357\273\277path;x;y;width;height\r\nb.png;10,25;9,8;40,4;39,9\r\ncam1/a.png;1;2;30;40\r\n' | as_written decimal
printf 'path\tx\ty\twidth\theight\nb.png\t10\t10\t41\t40\ncam1/a.png\t1\t2\t30\t40\n' | as_written tabs
printf ',Height,WIDTH,Y,X,Path\n0,40,41,10,10,b.png\n1,40,30,2,1,cam1/a.png\n' | as_written order
printf 'path, x, y, width, height\nb.png, 10, 10, 41, 40\n"cam1/a.png" , 1, 2, 30, 40\n' | as_written blanks
printf 'sep=;\npath;x;y;width;height\nb.png;10;10;41;40;\ncam1/a.png;1;2;30;40;\n' | as_written excel
printf '# mine\npath,x,y,width,height\nb.png,1e1,10.0, 41 ,40\ncam1/a.png,1,2,30,40,\n' | as_written comment
for code in UTF-16LE UTF-16BE; do
    printf '\357\273\277path,x,y,width,height\nb.png,10,10,41,40\ncam1/a.png,1,2,30,40\n' |
        iconv -f UTF-8 -t $code | as_written $code
done
refuse 'path,x,y,width,height\nb.png,nan,0,5,5\ncam1/a.png,0,0,5,5\nb.png,,,,\n' \
    'line 2: "nan" is not a number (1 more row cannot be read either)'
refuse 'path;x;y;breite;height\n' 'lacks "width"; .* It is: path,x,y,breite,height'
refuse 'path,x,y,width,height\nb.png,"1,5",0,5,5\n' '"1,5" is not a number'

finish
