# t_unicode.sh: names that differ only in how Unicode writes their characters are one name. The forms are those of
# Python's unicodedata, for all characters and random names; a folder that Apple's tools made (NFD) and tables from
# elsewhere (NFC) agree, and the other way round, in every command that compares names.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "skipped: no python3 here"; exit 77; }

# --- the forms ---
(
    cd "$repository" || exit 1
    set -- base/unicode base/text base/random
    # shellcheck disable=SC2046 # several words
    ${CC:-cc} -std=c99 -D_GNU_SOURCE -O1 -g -fsanitize=address,undefined -I. -Itools \
        tests/tools/base/unicode_forms.c $(printf 'tools/%s.c ' "$@") -o "$work/forms" -lm -lpthread
) || exit 1
version=$(sed -n 's/.*UNICODE_TABLE_VERSION "\(.*\)"/\1/p' "$repository/tools/base/unicode_table.h")
check 'the forms of Python' python3 "$repository/tests/tools/base/unicode_forms.py" "$version" ./forms

# --- photos and tables ---
composed=$(printf 'Zo\303\253') decomposed=$(printf 'Zoe\314\210') # Zoë
mkdir "$composed"
if [ -e "$decomposed" ]; then
    [ "$failed" = 0 ] || finish
    echo 'skipped: this file system does not distinguish forms of Unicode'
    exit 77
fi
rmdir "$composed"
b0 w.safetensors
small="-m w.safetensors --size 64x64"

# journal LINE...: a journal of decisions, of lines without seq, by, when, models and checksum
journal() {
    python3 - "$@" <<'END'
import sys, zlib
for i, what in enumerate(sys.argv[1:]):
    line = '{"seq": %d, %s, "by": "eve", "when": "2026-05-31T06:30:00Z", "models": ["%s"]' % (i + 1, what, "0" * 32)
    print('%s, "crc": "%08x"}' % (line, zlib.crc32(line.encode())))
END
}

# tables NAME: what other programs write about photos/NAME/a.png, b.png and photos/Ann/a.png
tables() {
    printf 'path,identity\nphotos/%s/a.png,%s\nphotos/%s/b.png,%s\nphotos/Ann/a.png,Ann\nphotos/Ann/b.png,Ann\n' \
        "$1" "$1" "$1" "$1" >labels.csv
    printf 'path,x,y,width,height\n%s/a.png,0,0,30,30\n%s/b.png,0,0,30,30\nAnn/a.png,0,0,30,30\n' "$1" "$1" >boxes.csv
    printf '{"images": [{"file": "%s/a.png", "detections": [{"category": "1", "conf": 0.9, "bbox": [0, 0, 1, 1]}]},
        {"file": "photos\\\\%s\\\\b.png", "detections": [{"category": "1", "conf": 0.9, "bbox": [0, 0, 1, 1]}]}],
        "detection_categories": {"1": "animal"}}' "$1" "$1" >md.json
    printf '{"images": [{"id": 1, "file_name": "%s/a.png", "width": 40, "height": 40}], "categories": [],
        "annotations": [{"image_id": 1, "bbox": [0, 0, 30, 30]}]}' "$1" >coco.json
    printf 'path,time\n%s/a.png,2026-05-01T10:00:00Z\n%s/b.png,2026-05-01T10:00:01Z\n' "$1" "$1" >times.csv
    printf 'first,second,same\nphotos/%s/a.png,photos/%s/b.png,1\nphotos/%s/a.png,photos/Ann/a.png,0\n' \
        "$1" "$1" "$1" >pairs.csv
}

# both DISK TABLE: photos are spelled like DISK, tables and the command line like TABLE
both() {
    rm -rf photos out ./*.npy ./*.txt ./*.meta.json g ./*.csv ./*.jsonl
    mkdir -p "photos/$1" photos/Ann
    i=0
    for photo in "$1/a" "$1/b" Ann/a Ann/b; do
        picture "photos/$photo.png" 40 40 $((i += 1))
    done
    tables "$2"
    run 0 embed $small photos -o all.npy
    check 'the ids are spelled like the files' grep -q "^photos/$1/a.png$" all.ids.txt

    run 0 eval all.npy --labels labels.csv
    prints '^4 .* 2 identities: a table of labels'
    run 0 eval $small --labels labels.csv
    prints '^4 .* 2 identities: a table of labels'
    run 2 calibrate all.npy --pairs pairs.csv -o pairs.json
    says '1 pair of two identities cannot show a false-match rate'
    run 0 cluster all.npy --threshold 0.5 --labels labels.csv -o groups.csv
    prints 'of 2 known identities'
    for boxes in boxes.csv md.json coco.json; do
        run 0 embed $small --boxes $boxes photos
        check "$boxes finds the photo" grep -q "\"path\": \"$1/a.png#0\"" "$out"
    done
    run 0 embed $small "photos/$2/a.png"
    printf '%s\n' "photos/$2/a.png" >list
    "$REID" embed $small - <list >"$out" 2>"$err"
    check 'a list on stdin' [ $? = 0 ]
    run 0 embed $small "photos/$2"

    run 0 track $small --threshold 0.5 photos --detections md.json --times times.csv -o out
    check 'the photos have their times' grep -q "2026-05-01.*10:00:01" out/crops.csv
    run 0 review out --html page.html --by eve --decisions d.jsonl

    run 0 gallery create g --like all.npy
    run 0 gallery add g all.npy
    printf 'path,identity\nphotos/%s/a.png,%s\n' "$2" "$2" >list.csv
    run 2 gallery add g $small --list list.csv
    says 'is already in the gallery'
    picture photos/new.png 40 40 9
    printf 'path,identity\nphotos/new.png,%s\n' "$2" >list.csv
    run 0 gallery add g $small --list list.csv
    run 0 gallery list g
    check 'the identity keeps the spelling that the gallery has' [ "$(cut -f 2 "$out" | grep -c "^$1$")" = 3 ]
    run 0 gallery remove g "photos/$2/a.png"
    run 0 gallery remove g --identity "$2"
    run 0 gallery list g
    lines "$out" 2

    # Groups that people named, and their decisions.
    printf 'id,group,name\nphotos/%s/a.png,0,%s\nphotos/%s/b.png,0,%s\n' "$2" "$2" "$1" "$1" >named.csv
    run 0 gallery add g all.npy --groups named.csv
    prints 'added 2 crops of 1 named individual; already in the gallery: 0; left out without a name: 2'
    run 0 gallery add g all.npy --groups named.csv
    prints 'added 0 crops .* already in the gallery: 2'
    run 0 cluster all.npy --threshold 0.5 --carry named.csv -o groups.csv
    journal "\"what\": \"different\", \"crops\": [\"photos/$2/a.png\", \"photos/$2/b.png\"]" \
        "\"what\": \"same\", \"crops\": [\"photos/$1/a.png\", \"photos/$1/b.png\"]" >d.jsonl
    run 0 cluster all.npy --threshold 0.999 --decisions d.jsonl -o groups.csv
    check 'the later decision overrules the earlier' [ "$(grep -c '/Zo.*,2,' groups.csv)" = 2 ]
}

# --- two identities that look the same ---
twice() {
    rm -rf photos g
    mkdir -p "photos/$composed" "photos/$decomposed" photos/Ann
    for photo in "$composed/a" "$decomposed/b" Ann/c; do picture "photos/$photo.png" 40 40 "${#photo}"; done
    run 0 embed $small photos -o all.npy -v
    says '2 identities'
    says '^reid: the identity Zo.* is spelled in two forms of Unicode, which look the same; they count as one identity'
    run 0 eval all.npy
    prints '^3 .* 2 identities'
    says '^reid: the identity Zo'
    run 0 cluster all.npy --threshold 0.5 --own-labels -o groups.csv
    prints 'of 2 known identities'
    run 0 gallery create g --like all.npy
    run 0 gallery add g all.npy
    run 0 gallery list g
    check 'a gallery has one of them' [ "$(cut -f 2 "$out" | sort -u | wc -l)" = 2 ]
    run 0 match $small --gallery photos photos/Ann
    says '^reid: the identity Zo'
}
both "$decomposed" "$composed"
both "$composed" "$decomposed"
twice
finish
