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
check "identity is the folder below INPUT" grep -q '"path": "cam1/a.png#0", "identity": "cam1"' "$out"
check "or the stem" grep -q '"path": "b.png#0", "identity": "b"' "$out"

# MegaDetector: fractions, in the same places; ids count every detection of the image, even excluded ones.
cat >md.json <<'JSON'
{"info": {"format_version": "1.4"}, "detection_categories": {"1": "animal", "2": "person"}, "images": [
 {"detections": [{"category": "1", "conf": 0.9, "bbox": [0.1, 0.25, 0.5, 0.5], "classifications": [["3", 0.5]]},
                 {"category": "2", "conf": 0.3, "bbox": [0, 0, 1, 1.0004]}], "file": "cam1\/a.png"},
 {"file": "b.png", "detections": []},
 {"file": "b.png", "detections": [{"conf": 0.05, "category": "1", "bbox": [0.5, 0.5, 0.5, 0.5]}]},
 {"file": "lost.png", "failure": "Failure image access", "detections": null}]}
JSON
embed 1 --boxes md.json photos
says 'lost.png: the detector failed on it: Failure image access'
floats >got
head -3 wanted >wanted3
same got wanted3
ids >got
printf '%s\n' 'cam1/a.png#0' 'cam1/a.png#1' 'b.png#0' >names
same got names
embed 1 --boxes md.json --min-conf 0.2 --category 2 photos
ids >got
printf '%s\n' 'cam1/a.png#1' >names
same got names
(cd photos && "$REID" embed -m ../w.safetensors --size 64x64 --boxes ../boxes.csv) >"$out" 2>"$err"
floats >got
same got wanted

# Ids from the file; only the box outside its image fails; EXIF is applied before the box.
printf '%s\n' path,x,y,width,height,id 'photos/b.png,30,30,30,30,deer 7' photos/b.png,60,0,5,5,out \
    photos/b.png,3,3,0,5,flat >named.csv
embed 1 --boxes named.csv
check "own id" grep -q '"path": "deer 7"' "$out"
lines "$out" 1
says 'out: the box'
says 'flat: the box'
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

# Files that are refused, each with the reason.
refuse() { # CONTENT PATTERN
    printf "$1" >refused
    embed 2 --boxes refused photos
    says "$2"
    silent
}
refuse '[{"file": "b.png", "bbox": [1,2,3,4], "confidence": 0.5}]' 'looks like pixels or corners'
refuse '{"images":[{"file":"b.png","detections":[{"bbox":[10,20,50,60],"conf":1}]}]}' 'b.png: .*looks like pixels'
refuse '{"images":[{"file":"b.png","detections":[{"bbox":[0.5,0.5,0.9,0.9],"conf":1}]}]}' 'looks like pixels or corners'
refuse '{"images":[{"file":"b.png","detections":[{"bbox":[0,0,1,1],"confidence":1}]}]}' 'looks like pixels or corners'
refuse '{"images":[{"file":"b.png","detections":[{"bbox":[0,0,1],"conf":1}]}]}' 'four numbers'
refuse '{"images":[{"file":"b.png","detections":[{"conf":1}]}]}' 'without bbox'
refuse '{"images":[{"detections":[]}]}' 'without "file"'
refuse '{"images":[{"file":"b.png"}]}' 'without "detections"'
refuse '{"annotations":[]}' 'no "images"'
refuse '{"images":[}' 'line 1: '
refuse '{"images":[]} x' 'after the end'
refuse '{"images":[],\n"a": [1,2' 'line 2: the text ends early'
refuse '{"images":[]}' 'no boxes'
refuse 'path,x1,y1,x2,y2\nb.png,0,0,5,5\n' 'lacks "x"'
refuse 'path,x,y,width,height,x\nb.png,0,0,5,5,0\n' 'names x twice'
refuse 'path,x,y,width,height\nb.png,0.25,0,0.5,0.5\n' 'line 2: a box of 0.5 by 0.5; are these fractions of the image'
refuse 'path,x,y,width,height\nb.png,0,0,5\n' 'line 2: 4 fields where the header has 5'
refuse 'path,x,y,width,height\nb.png,0,0,5,5x\n' '"5x" is not a number; boxes in CSV are in pixels'
refuse 'path,x,y,width,height\n"b.png,0,0,5,5\n' 'a quoted field is not closed'
refuse 'path,x,y,width,height\n,0,0,5,5\n' 'an empty path'
refuse 'path,x,y,width,height,identity\nb.png,0,0,5,5,\n' 'an empty identity'
refuse 'path,x,y,width,height,identity\nb.png,0,0,5,5,a/b\n' 'the identity "a/b" has a slash'
refuse '' 'the file is empty'
embed 2 --boxes missing.json photos
says 'missing.json: cannot open'
embed 2 --boxes boxes.csv --min-conf 0.5 photos
says 'are for MegaDetector JSON'
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
    'line 2: "nan" is not a number; boxes in CSV are in pixels (1 more row cannot be read either)'
refuse 'path;x;y;breite;height\n' 'lacks "width"; .* It is: path,x,y,breite,height'
refuse 'path,x,y,width,height\nb.png,"1,5",0,5,5\n' '"1,5" is not a number'

finish
