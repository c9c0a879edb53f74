# t_cli_match.sh: reid match: identities, scores, decisions, ensembles, gallery files, and what is refused.
. tests/lib/cli_lib.sh
b0 w.safetensors
"$CLI_FILES" weights w2.safetensors efficientnet_b0 file 2
one="-m w.safetensors --size 64x64"
two="--size 64x64 -m w.safetensors -m w2.safetensors"
match() { status=$1; shift; run "$status" match $one "$@"; }

# ann: nested folders; bob: two images, one of which zed repeats; cat.png: directly in the gallery.
mkdir -p gal/ann/2024 gal/bob gal/zed
picture gal/ann/1.png 60 50 1
picture gal/ann/2024/2.png 60 50 2
picture gal/bob/1.png 60 50 3
picture gal/bob/2.png 60 50 4
cp gal/bob/2.png gal/zed/same.png
picture gal/cat.png 60 50 5
cp gal/ann/2024/2.png ann.png
cp gal/bob/2.png bob.png
cp gal/cat.png cat.png
picture stranger.png 60 50 99

# One model: scores, no decision, and a line that says why.
match 0 --gallery gal ann.png bob.png cat.png
says 'no decisions: one model has no default threshold'
check "best image of ann" grep -q '^ann.png  *ann  *1.000000  gal/ann/2024/2.png$' "$out"
check "identity of an image in the gallery itself" grep -q '^cat.png  *cat  *1.000000  gal/cat.png$' "$out"
check "no decision column" [ "$(head -1 "$out" | grep -c DECISION)" = 0 ]
match 0 --gallery gal --json ann.png
prints '^{"query": "ann.png", "decision": null, "score": [0-9.]*, "threshold": null, "matches": \['
prints '"matches": \[{"identity": "ann", "score": [0-9.]*, "path": "gal/ann/2024/2.png"}, '
match 0 -q --gallery gal --json ann.png
check "-q silences it" [ ! -s "$err" ]

# Decisions at a threshold, top k, ties in the order of the gallery.
match 0 --gallery gal --threshold 0.99999 --json -k 2 ann.png bob.png stranger.png
cut -d, -f1,2 "$out" | cut -d'"' -f4,8 >got
printf '%s\n' 'ann.png"match' 'bob.png"match' 'stranger.png"unknown' >wanted
same got wanted
check "two identities each" [ "$(grep -o '"identity"' "$out" | wc -l)" = 6 ]
sed -n 2p "$out" | grep -o '"identity": "[a-z]*"' >got
printf '"identity": "%s"\n' bob zed >wanted
same got wanted
check "the threshold" [ "$(grep -c '"threshold": 0.99999,' "$out")" = 3 ]
match 0 --gallery gal --threshold -1 -k 1 stranger.png
check "table with a decision" grep -q '^stranger.png  *match ' "$out"
lines "$out" 2
match 0 --gallery gal -k 100 ann.png
lines "$out" 5

# A query that is a gallery image itself (the same file, by any name) is not compared with itself.
ln -s gal/ann/1.png link.png
ln gal/cat.png hard.png
match 0 --gallery gal -k 1 --json gal/ann/1.png link.png gal/ann/2024/../1.png
check "never itself" [ "$(grep -c 'gal/ann/1.png"}' "$out")" = 0 ]
match 0 --gallery gal -k 1 --json --keep-self gal/ann/1.png link.png
check "--keep-self" [ "$(grep -c 'gal/ann/1.png"}' "$out")" = 2 ]
match 0 --gallery gal -k 9 --json hard.png
check "hard link: cat has no other image" [ "$(grep -c '"identity": "cat"' "$out")" = 0 ]
mkdir single
cp ann.png single/
match 0 --gallery single --json --threshold 0.5 single/ann.png
prints '"decision": "unknown", "score": null, "threshold": 0.5, "matches": \[\]}'
match 0 --gallery single --threshold 0.5 single/ann.png
prints 'single/ann.png  *unknown  *nothing to compare with'

# Two models: 0.6 and 0.4 of the two cosines of the same image, threshold 0.40; both can be set.
near() { awk -v d="$1" 'BEGIN { exit !(d < 1e-7 && d > -1e-7) }'; }
mix() { awk -v a="$a" -v b="$b" -v s="$(score)" "BEGIN { printf \"%.12f\", $1 * a + $2 * b - s }"; }
score() { sed 's/.*"score": \([0-9.e-]*\), "threshold".*/\1/' "$out"; }
match 0 -q --gallery single --json bob.png
a=$(score)
run 0 match -q --size 64x64 -m w2.safetensors --gallery single --json bob.png
b=$(score)
run 0 match $two --gallery single --json bob.png
check "0.6 a + 0.4 b" near "$(mix 0.6 0.4)"
prints '"threshold": 0.4,'
run 0 match $two --score-weights 0.1,0.9 --threshold 0.7 --gallery single --json bob.png
check "0.1 a + 0.9 b" near "$(mix 0.1 0.9)"
check "and nothing else" [ "$(near "$(mix 0.6 0.4)"; echo $?)" = 1 ]
prints '"threshold": 0.7,'

# An embeddings file as gallery gives the same answers; its metadata must be there and agree.
run 0 embed $one gal -o g.npy
run 0 embed $two gal -o g2.npy
match 0 --gallery gal --json ann.png bob.png stranger.png gal/ann/1.png
cp "$out" wanted
match 0 --gallery g.npy --json ann.png bob.png stranger.png gal/ann/1.png
same "$out" wanted
run 0 match $two --gallery gal --json ann.png stranger.png
cp "$out" wanted
run 0 match $two --gallery g2.npy --json ann.png stranger.png
same "$out" wanted
refuse() { run 2 match "$@"; silent; }
print1=$(grep -o '"fingerprint": "[^"]*' g.meta.json | cut -d'"' -f4)
refuse -m w2.safetensors --size 64x64 --gallery g.npy ann.png
says "g.npy was made by $print1"
says 'w2.safetensors with these options makes'
refuse -m w.safetensors --gallery g.npy ann.png
says 'cannot be compared'
refuse $one --flip --gallery g.npy ann.png
says 'cannot be compared'
refuse --size 64x64 -m w2.safetensors -m w.safetensors --gallery g2.npy ann.png
says 'cannot be compared'
refuse $two --gallery g.npy ann.png
says 'made with 1 model, but -m gives 2'
run 0 embed $one --raw gal -o raw.npy
refuse $one --gallery raw.npy ann.png
says 'contains raw embeddings'
copy() { rm -f c.*; cp g.npy c.npy; cp g.ids.txt c.ids.txt; cp g.meta.json c.meta.json; }
copy; rm c.meta.json
refuse $one --gallery c.npy ann.png
says 'c.meta.json: cannot open: .*o such file or directory; without it a .npy file cannot be used, because its model is'
copy; rm c.ids.txt
refuse $one --gallery c.npy ann.png
says 'c.ids.txt: cannot open'
copy; sed 1d g.ids.txt >c.ids.txt
refuse $one --gallery c.npy ann.png
says 'do not belong together'
copy; printf 'no end' >>c.ids.txt
refuse $one --gallery c.npy ann.png
says 'c.ids.txt: the last line does not end in a newline'
copy; head -c 5000 g.npy >c.npy
refuse $one --gallery c.npy ann.png
says 'c.npy: holds 4872 bytes of data, but its header says 6 x 1280 floats'
copy; printf '\300\177' | dd of=c.npy bs=1 seek=202 conv=notrunc 2>/dev/null
refuse $one --gallery c.npy ann.png
says 'row 0 has length .* instead of 1: the file is damaged'
copy; printf '\310\102' | dd of=c.npy bs=1 seek=5250 conv=notrunc 2>/dev/null # a value of row 1
refuse $one --gallery c.npy ann.png
says 'row 1 has length 100'
copy; head -c 300 g.meta.json >c.meta.json
refuse $one --gallery c.npy ann.png
says 'c.meta.json: line [0-9]*: '
copy; echo '{}' >c.meta.json
refuse $one --gallery c.npy ann.png
says 'is not the metadata of embeddings'
copy; echo text >c.npy
refuse $one --gallery c.npy ann.png
says 'is not a .npy file'
refuse $one --gallery ann.png bob.png
says 'a gallery is a folder, a .npy, .fvecs or .jsonl file'
refuse $one --gallery lost.npy bob.png
says 'lost.meta.json: cannot open'

# Boxes as queries; failures on either side; empty galleries; --strict.
printf 'path,x,y,width,height\nann.png,0,0,60,50\nann.png,10,10,20,20\n' >boxes.csv
match 0 --gallery gal --json --threshold 0.99999 --boxes boxes.csv
prints '"query": "ann.png#0", "decision": "match"'
: >bad.png
match 1 --gallery gal --json bad.png ann.png missing.png
says 'bad.png: the file is empty'
says 'missing.png: cannot open'
lines "$out" 1
match 2 --gallery gal --json bad.png
mkdir none
match 2 --gallery none ann.png
says 'none: no images in this folder'
says 'none: the gallery is empty'
cp -r gal broken
: >broken/bob/3.png
match 1 --gallery broken --json ann.png
says 'broken/bob/3.png: the file is empty'
lines "$out" 1
match 1 --gallery broken --strict ann.png
silent
match 1 --gallery gal --strict ann.png bad.png
silent
# Results are kept in a temporary file until all queries have succeeded. A full disk is an error, even if the results
# fit into stdio's buffer.
(ulimit -f 0; "$REID" match $one --gallery gal --strict --json ann.png; echo "exit $?") 2>&1 | cat >got
check "results that could not wait are missed" grep -q 'a temporary file in .*: cannot write: File too large' got
check "exit 2, and no result" [ "$(tail -n 1 got)" = 'exit 2' ]
match 2 ann.png
says 'no --gallery'
match 2 --gallery gal
says 'no QUERY'
match 2 --gallery gal --score-weights 0.5,0.5 ann.png
says '2 shares for 1 model'
run 2 match $two --score-weights 1 --gallery gal ann.png
says '1 share for 2 models'
{ "$REID" match $one --gallery gal --json ann.png ann.png ann.png 2>"$err"; echo $? >code; } | true
check "a reader that leaves is no crash" [ "$(cat code)" -le 2 ]


# --- into a file: the same matches as lines of JSON, or as CSV; whole, or not there ---
picture ann.png 40 40 1
long=$(printf '%060d' 7).png
cp ann.png "$long"
match 0 --gallery gal -k 2 --threshold 0.5 --json ann.png "$long"
cp "$out" wanted.jsonl
match 0 --gallery gal -k 2 --threshold 0.5 -o found.jsonl ann.png "$long"
silent
same found.jsonl wanted.jsonl
match 0 --gallery gal -k 2 --threshold 0.5 -o found.csv ann.png "$long"
silent
lines found.csv 5
check "the header" [ "$(head -n 1 found.csv)" = query,decision,rank,identity,score,probability,picture ]
check "a line" grep -qE "^$long,(match|unknown),2,[a-z]+,-?[0-9.]+,,gal/" found.csv
match 0 --gallery gal -k 1 "$long"
check "a long path does not touch the next column" grep -qE "^$long  [a-z]" "$out"
run 0 embed $one gal -o all.jsonl
cp all.jsonl kept.jsonl
cp boxes.csv kept.csv
match 2 --gallery all.jsonl -o all.jsonl ann.png
says 'all.jsonl is both input and output'
same all.jsonl kept.jsonl
match 2 --gallery gal --boxes boxes.csv -o boxes.csv
says 'boxes.csv is both input and output'
same boxes.csv kept.csv
match 1 --gallery gal -o part.csv ann.png nothing.png
lines part.csv 5
match 1 --gallery gal --strict -o strict.csv nothing.png ann.png
absent strict.csv
mkdir -p herd/ann herd/Unknown && cp ann.png herd/ann && cp ann.png herd/Unknown/two.png
match 0 --gallery herd ann.png
says '"Unknown" counts as one individual'
match 0 -k 9 --gallery herd --unknown Unknown gal/bob/1.png
check "no warning" [ "$(grep -c individual "$err")" = 0 ]
check "strangers are not in the gallery" [ "$(grep -c Unknown "$out")" = 0 ]
prints 'herd/ann'
mkdir -p all/ann && cp ann.png all/ann
match 2 --gallery all --unknown ann ann.png
says 'all: the gallery is empty'
mkdir -p asked/Unknown && cp gal/bob/1.png asked/Unknown/
match 0 --gallery herd --unknown Unknown --threshold 0.99999 -o found.html asked
check "a stranger on the page" grep -q 'class="card new"' found.html
rm found.html
match 2 --gallery gal -o found.txt ann.png
says 'must end in .csv, .jsonl or .html'

# --- the page: images of queries and of their three best matches, and what is right where that is known ---
pictures() { grep -o 'src="data:image/jpeg;base64,/9j/' found.html | wc -l; }
cards() { grep -c "class=\"card $1\|class=\"card$1\"" found.html; }
mkdir -p ask/ann ask/bob
cp gal/ann/2024/2.png ask/ann/1.png
cp gal/ann/2024/2.png ask/bob/2.png
picture ask/other.png 50 50 77
match 0 --gallery gal --threshold 0.9999 -o found.html ask
silent
check "an image for each query and three matches" [ "$(pictures)" = 12 ]
check "one is right" [ "$(cards yes)" = 1 ]
check "one is wrong" [ "$(cards no)" = 1 ]
check "one is neither" [ "$(grep -c 'class="card doubt"\|class="card"' found.html)" = 1 ]
check "no script" [ "$(grep -ci '<script' found.html)" = 0 ]
check "what the alt text says" grep -q 'alt="The query ask/bob/2.png, which shows bob"' found.html
check "well-formed" sh -c '! command -v python3 >/dev/null ||
    python3 -c "import xml.dom.minidom as x; x.parse(\"found.html\")"'
printf 'path,identity\nask/other.png,somebody\nask/bob/2.png,ann\n' >who.csv
match 0 --gallery gal --threshold 0.9999 --labels who.csv -o found.html ask
check "a stranger who is unknown" grep -q 'class="card new' found.html
check "two are right by the table" [ "$(cards yes)" = 2 ]
check "nothing is wrong" grep -q 'disabled="disabled"/><label for="wrong">Only wrong (0)' found.html
match 0 --gallery gal -o found.html ask
check "without a threshold nothing is decided" grep -q 'No decisions' found.html
match 1 --gallery gal -o found.html ann.png nothing.png
check "what could not be read" grep -q '<h2>Not compared: 1</h2>' found.html
printf 'path,identity\nann.png,ann\nann.png,bob\n' >who.csv
rm found.html
match 2 --gallery gal --labels who.csv -o found.html ann.png
says 'who.csv: ann.png is both "ann" and "bob"'
absent found.html
match 2 --gallery gal --labels who.csv -o found.csv ann.png
says '[-]-labels is only for -o FILE.html'
run 0 embed $one gal -o moved.npy
mv gal elsewhere
match 0 --gallery moved.npy -o found.html ann.png
mv elsewhere gal
check "images that are elsewhere" [ "$(grep -o '>no image<' found.html | wc -l)" = 3 ]

# A crop is named by its photo, camera and time, where they are known.
mkdir -p trap/CAM01
picture trap/CAM01/IMG_1.png 60 50 5
printf 'path,x,y,width,height\nCAM01/IMG_1.png,5,5,30,30\n' >trap.csv
printf 'path,identity,camera,time,id\ngal/ann/2024/2.png,ann,east,2026-05-01T10:00:00Z,crops/east/1-0.png\n' >enrol.csv
run 0 gallery create seen.gallery -m w.safetensors --size 64x64
run 0 gallery add seen.gallery -m w.safetensors --size 64x64 --list enrol.csv
match 0 --gallery seen.gallery --boxes trap.csv trap -o found.html
check "the query's photo and camera" grep -q '<p class="soft">IMG_1.png, CAM01</p>' found.html
check "the gallery's photo, camera and time" \
    grep -q '<span class="soft">2.png, east, 2026-05-01 10:00:00</span>' found.html
check "no id of a crop" [ "$(grep -c 'crops/east' found.html)" = 0 ]
match 2 --gallery gal -o no/such/found.csv ann.png
says 'no/such/found.csv: '
no_leftovers
finish
