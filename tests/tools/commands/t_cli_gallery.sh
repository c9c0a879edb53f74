# t_cli_gallery.sh: reid gallery: every part, round trips through every format, exclusions, and refused input. $kind
# says where galleries are kept: `file`, or `database` in t_cli_gallery_database.sh, where each is a database named like
# the file. All messages must be the same.
. tests/lib/cli_lib.sh
: "${kind:=file}"
if [ $kind = file ]; then
    place() { echo "$1"; }                 # the place of a gallery, as an argument for reid
    keep() { cp "$1" kept; }               # saves its state; the next two check it and restore it
    is_kept() { same "$1" kept; }
    bring_back() { cp kept "$1"; }
else
    . "$repository/tests/tools/gallery/gallery_database.sh"
fi
b0 w.safetensors
"$CLI_FILES" weights w2.safetensors efficientnet_b0 file 2
one="-m w.safetensors --size 64x64"
two="--size 64x64 -m w.safetensors -m w2.safetensors"
g() { status=$1; shift; run "$status" gallery "$@"; }

mkdir -p gal/ann gal/bob
picture gal/ann/1.png 60 50 1
picture gal/ann/2.png 60 50 2
picture gal/bob/1.png 60 50 3
picture gal/cat.png 60 50 5
cp gal/ann/2.png ann.png
picture near.png 60 50 77

# Create, add, list.
g 0 create a.gallery $one
silent
g 2 create a.gallery $one
says 'a.gallery: already exists'
g 0 list a.gallery
silent
g 0 add a.gallery $one gal
prints '^added 4$'
g 0 list a.gallery
printf 'gal/ann/1.png\tann\t\t\ngal/ann/2.png\tann\t\t\ngal/bob/1.png\tbob\t\t\ngal/cat.png\tcat\t\t\n' >wanted
same "$out" wanted
g 0 list a.gallery --identity
printf 'ann\t2\nbob\t1\ncat\t1\n' >wanted
same "$out" wanted
g 0 list a.gallery --json
prints '^{"id": "gal/ann/1.png", "identity": "ann", "camera": null, "time": null, "source": "gal/ann/1.png"}$'

# An existing id is named, and the others are added; --strict adds nothing. JSON lists what is on disk.
picture gal/new.png 60 50 9
g 1 add a.gallery $one --strict gal
says 'gal/ann/1.png: is already in the gallery'
says 'nothing was added'
g 1 add a.gallery $one --json gal missing.png
says 'gal/cat.png: is already in the gallery'
says 'missing.png: cannot open'
printf '{"added": "gal/new.png", "identity": "new"}\n' >wanted
same "$out" wanted
g 2 add a.gallery $one missing.png
says 'missing.png: cannot open'

# Lists, cameras and times.
printf 'identity,path,time,camera,id\nann,near.png,2024-02-29T23:59:59.5Z,west,ann/w\nbob,ann.png,86400,,\n' >list.csv
g 0 add a.gallery $one --list list.csv --camera east --time 1999-12-31
g 0 list a.gallery
prints '^ann/w	ann	west	2024-02-29T23:59:59.500Z$'
prints '^ann.png	bob	east	1970-01-02T00:00:00Z$'
for bad in 'path,name\nx,y' 'path,identity,path\nx,y,z' 'path\nx' 'path,identity\nx' 'path,identity\n,x' \
    'path,identity,time\nx,y,2023-02-29' 'path,identity,time\nx,y,yesterday' 'path,identity\n"x,y'; do
    printf "$bad\n" >bad.csv
    g 2 add a.gallery $one --list bad.csv
    says 'bad.csv: .*'
done
: >bad.csv
g 2 add a.gallery $one --list bad.csv
says 'bad.csv: the list is empty'
g 2 add a.gallery $one --time 2024-13-01 near.png
says '\-\-time takes'

# Search leaves out the query's own image, whatever its name is.
g 0 search a.gallery $one gal/ann/2.png
says 'no decisions: one model has no default threshold'
check "neither it nor its copies" [ "$(grep -c 'gal/ann/2.png$\|	ann.png$' "$out")" = 0 ]
g 0 search a.gallery $one --keep-self --json -k 2 --by template ann.png
sed 's/^.*"matches": //' "$out" | grep -o '"id": "[^"]*"' | head -2 >got
printf '"id": "gal/ann/2.png"\n"id": "ann.png"\n' >wanted
same got wanted
g 0 search a.gallery $one --keep-self --threshold 0.99999 -k 1 ann.png near.png
printf 'QUERY\tDECISION\tIDENTITY\tSCORE\tTEMPLATE\nann.png\tmatch\tann\t1.0000\tgal/ann/2.png\n' >wanted
printf 'near.png\tmatch\tann\t1.0000\tann/w\n' >>wanted
same "$out" wanted
g 0 search a.gallery $one --by mean -k 9 near.png
lines "$out" 5
g 0 search a.gallery $one --by top --best 2 -k 9 near.png
lines "$out" 5
g 0 search a.gallery $one --other-camera --camera east --keep-self --by template -k 99 near.png
check "nothing of camera east" [ "$(grep -c '	ann.png$' "$out")" = 0 ]
lines "$out" 7
g 0 search a.gallery $one --keep-self --all --threshold 0.99999 --json ann.png
check "two identities reach it" [ "$(grep -o '"identity"' "$out" | wc -l)" = 2 ]
g 0 search a.gallery $one --all --threshold 1 --json ann.png
prints '"decision": "unknown", "score": null, "threshold": 1, "matches": \[\]}'
g 1 search a.gallery $one near.png missing.png
lines "$out" 5
g 1 search a.gallery $one --strict near.png missing.png
silent
g 2 search a.gallery $one missing.png
g 2 search a.gallery $one --all near.png
says '\-\-all needs a --threshold'
g 2 search a.gallery $one --other-camera near.png
says 'its camera is not known'

# Search and reid match give the same scores, and both use the gallery's threshold.
g 0 set a.gallery --threshold 0.999
g 0 search a.gallery $one --json --keep-self -k 3 near.png
sed 's/"id"/"path"/g' "$out" >got
run 0 match $one --gallery a.gallery --json --keep-self -k 3 near.png
same_scores() {
    a=$(grep -o '"score": [0-9.]*' "$1" | awk '{printf "%.6f ", $2}') b=$(grep -o '"score": [0-9.]*' "$2" |
        awk '{printf "%.6f ", $2}')
    [ -n "$a" ] && [ "$a" = "$b" ]
}
check "scores as reid match has them" same_scores got "$out"
prints '"decision": "match", .*"threshold": 0.999,'

# Remove.
g 1 remove a.gallery ann.png nobody
prints '^removed 1$'
says 'nobody: is not in the gallery'
g 2 remove a.gallery nobody
g 1 remove a.gallery gal/cat.png nobody --strict
g 0 remove a.gallery --identity --json new
prints '^{"removed": 1}$'
g 0 list a.gallery
cut -f1 "$out" >got
printf '%s\n' gal/ann/1.png gal/ann/2.png gal/bob/1.png gal/cat.png ann/w >wanted
same got wanted

# Compact, verify.
g 0 verify a.gallery
records=11 kept=6 # including removals, thresholds and a JPEG decoder
[ $kind = file ] || records=5 kept=5
prints "^$records records, 0 damaged, 5 templates, "
prints '^made by [0-9a-f]\{32\} (efficientnet_b0, effnet-b0), 1280 floats$'
prints '^stored as fp32, threshold 0.999$'
g 0 list a.gallery --json
cp "$out" before
g 0 compact a.gallery
prints '^5 templates; [0-9]* bytes before, [0-9]* now$'
g 0 list a.gallery --json
same "$out" before
g 0 verify a.gallery --json
prints "^{\"records\": $kept, \"damaged\": 0, \"templates\": 5, .*\"threshold\": 0.999, \"damage\": \[\]}$"
if [ $kind = file ]; then
    # A symbolic link stays a link: the file that it points to is compacted.
    mkdir shelf
    cp a.gallery shelf/own.gallery
    ln -s shelf/own.gallery link.gallery
    g 0 list a.gallery
    g 0 remove link.gallery "$(head -n 1 "$out" | cut -f 1)"
    before=$(wc -c <shelf/own.gallery)
    g 0 compact link.gallery
    check "the link is still there" [ -L link.gallery ]
    check "the file itself is compact" [ "$(wc -c <shelf/own.gallery)" -lt "$before" ]
    check "nothing is left beside it" [ "$(ls shelf)" = own.gallery ]
fi

# Export and import, in every format, give the same gallery; so does fp16 with its rounding.
for format in npy fvecs jsonl; do
    g 0 export a.gallery -o x.$format
    g 0 create b.$format.gallery --like x.$format --threshold 0.999
    g 0 add b.$format.gallery x.$format
    prints '^added 5$'
    g 0 export b.$format.gallery -o y.$format
    same x.$format y.$format
    [ $format = jsonl ] || same x.ids.txt y.ids.txt
    g 0 list b.$format.gallery --json
    sed 's/"source": .*//' before >wanted
    sed 's/"source": .*//' "$out" >got
    same got wanted
    g 0 search b.$format.gallery x.$format -k 1 --json
    lines "$out" 5
    check "not itself" [ "$(grep -c '"query": "gal/ann/1.png".*"id": "gal/ann/1.png"' "$out")" = 0 ]
    g 0 search b.$format.gallery x.$format -k 1 --keep-self
    check "each finds itself" [ "$(awk -F'\t' '$1 == $5' "$out" | wc -l)" = 5 ]
done
rm x.meta.json
g 2 add a.gallery x.npy
says 'x.meta.json: cannot open: .*o such file or directory; without it a .npy file cannot be used, because its model is'
g 0 create h.gallery --like a.gallery --fp16
g 0 add h.gallery x.jsonl
g 0 verify h.gallery
prints '^stored as fp16'
if [ $kind = file ]; then
    head=16656 # bytes before the first record
    check "half the space" [ $(($(wc -c <h.gallery) - head)) -lt $((($(wc -c <a.gallery) - head) * 6 / 10)) ]
else
    check "half the space" [ "$(row_bytes h.gallery) $(row_bytes a.gallery)" = '2560 5120' ]
fi
run 0 match $one --gallery h.gallery --json --keep-self -k 3 near.png
run 0 embed $one near.png -o near.npy
g 0 search h.gallery near.npy -k 1
prints '^near.png	ann	1.0000	ann/w$'
run 0 match $one --gallery x.jsonl --json --keep-self -k 3 near.png

# Two models.
g 0 create two.gallery $two
g 0 add two.gallery $two gal
g 0 search two.gallery $two --json --keep-self -k 4 ann.png
prints '"threshold": 0.4,'
sed 's/"id"/"path"/g' "$out" >got
run 0 match $two --gallery gal --json --keep-self -k 4 ann.png
check "scores of an ensemble" same_scores got "$out"
g 2 search two.gallery $one ann.png
says 'made with 2 models, but -m gives 1'
g 2 search two.gallery $two --score-weights 1 ann.png
says '1 share for 2 models'

# Other models, other files, damage, mistakes: refused, and the gallery stays as it is.
keep a.gallery
g 2 add a.gallery -m w2.safetensors near.png
says 'a.gallery was made by .* embeddings cannot be compared'
g 2 add a.gallery -m w.safetensors --size 96x96 near.png
says 'cannot be compared'
g 2 add a.gallery two.gallery $one
g 2 search a.gallery -m w2.safetensors near.png
says 'cannot be compared'
run 0 embed -m w2.safetensors near.png -o other.npy
g 2 add a.gallery other.npy
says 'other.npy was made by .*, but a.gallery holds embeddings by .*: their embeddings cannot be compared'
g 2 search a.gallery other.npy
says 'cannot be compared'
g 2 list x.npy
says 'x.npy: is not a gallery'
g 2 list lost.gallery
says "lost.gallery: cannot open\|lost.gallery: .*does not exist"
g 2 list gal
says 'gal: is not a regular file\|gal: cannot open\|gal: cannot read'
is_kept a.gallery
g 0 add a.gallery -q $one near.png
bring_back a.gallery
if [ $kind = file ]; then
    head -c 24120 kept >cut.gallery
    g 2 list cut.gallery
    says 'cut.gallery: is truncated: it has 24120 bytes and had [0-9]*; "reid gallery verify"'
    g 2 verify cut.gallery
    says 'is truncated'
    g 0 compact cut.gallery --salvage
    says 'record 3 at byte [0-9]* is damaged: its length is impossible'
    g 0 list cut.gallery
    lines "$out" 1
    cp kept flipped.gallery
    printf 'X' | dd of=flipped.gallery bs=1 seek=24120 conv=notrunc 2>/dev/null
    for command in list search add remove export compact; do
        case $command in
        search) g 2 search flipped.gallery $one near.png ;;
        add) g 2 add flipped.gallery $one near.png ;;
        remove) g 2 remove flipped.gallery gal/ann/1.png ;;
        export) g 2 export flipped.gallery -o z.npy ;;
        *) g 2 $command flipped.gallery ;;
        esac
        says 'flipped.gallery: record 3 at byte 21888 ("gal/ann/2.png") is damaged: its checksum is wrong; "reid'
    done
    absent z.npy z.meta.json z.ids.txt
    # The id in a damaged record is printed, but not obeyed: here it turns the direction of writing.
    turned=$(printf 'gal/\342\200\256gnp.png')
    cp near.png "$turned"
    g 0 create turned.gallery $one
    g 0 add turned.gallery $one "$turned"
    printf 'X' | dd of=turned.gallery bs=1 seek=$((16656 + 100)) conv=notrunc 2>/dev/null
    cp turned.gallery again.gallery
    g 1 verify turned.gallery
    prints 'record 1 at byte 16656 ("gal/\\u202egnp.png") is damaged'
    g 0 compact turned.gallery --salvage
    says 'record 1 at byte 16656 ("gal/\\u202egnp.png") is damaged'
    check "no raw mark" [ "$(cat "$out" "$err" | grep -c "$(printf '\342\200\256')")" = 0 ]
    g 1 verify again.gallery --json
    check "no raw mark in JSON" [ "$(cat "$out" "$err" | grep -c "$(printf '\342\200\256')")" = 0 ]
    rm "$turned"

    g 1 verify flipped.gallery
    prints '^record 3 at byte 21888 ("gal/ann/2.png") is damaged: its checksum is wrong$'
    prints '^6 records, 1 damaged, 4 templates'
    says 'flipped.gallery: 1 damaged record$'
    g 1 verify flipped.gallery --json
    prints '"damaged": 1, .*"damage": \["record 3 at byte 21888 (\\"gal/ann/2.png\\") is damaged: its checksum'
    run 2 match $one --gallery flipped.gallery near.png
    says 'is damaged'
    g 0 compact flipped.gallery --salvage
    g 0 verify flipped.gallery
    prints '^5 records, 0 damaged, 4 templates'
else
    damage_is_told
fi
for words in '' 'burn a.gallery' 'list' 'list a.gallery b' 'list a.gallery --fp16' 'export a.gallery' \
    'export a.gallery -o x.txt' 'create c.gallery' 'set a.gallery' 'remove a.gallery' 'add a.gallery' \
    'search a.gallery' "create c.gallery $one --like x.npy" "search a.gallery $one --best 2 near.png" \
    "add a.gallery $one --list list.csv near.png" 'verify a.gallery --salvage' 'search empty x.npy'; do
    g 2 $words
    says '^reid: '
done
if [ $kind = file ]; then
    g 2 create missing/c.gallery --like a.gallery
    says 'missing/c.gallery: cannot write here: No such file'
fi

# A full disk: the gallery stays intact, and reported templates are in it.
( ulimit -f 8; "$REID" gallery export "$(place a.gallery)" -o big.npy >"$out" 2>"$err" )
check "export to a full disk" [ $? = 2 ]
says 'big.npy: cannot write: File too large'
if [ $kind = file ]; then # a database's disk: t_gallery_database.sh
    cp kept full.gallery
    ( ulimit -f 40; "$REID" gallery add full.gallery $one gal/new.png near.png gal/ann >"$out" 2>"$err" )
    check "add to a full disk" [ $? = 2 ]
    says 'full.gallery: cannot write: File too large; the gallery is unchanged except for 0 templates added before'
    same full.gallery kept
fi
if [ -e /dev/full ]; then
    "$REID" gallery list "$(place a.gallery)" >/dev/full 2>"$err"
    check "a full stdout" [ $? = 2 ]
fi

# SIGTERM (background jobs of a shell ignore SIGINT): reported templates are stored; the signal ends the program.
i=0
while [ $i -lt 3000 ]; do echo "gal/ann/1.png,many,id$i" && i=$((i + 1)); done >many.rows
{ echo path,identity,id; cat many.rows; } >many.csv
g 0 create int.gallery $one
int=$(place int.gallery)
"$REID" gallery add "$int" $one --json --list many.csv >acked 2>"$err" &
pid=$!
while [ ! -s acked ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -TERM $pid
wait $pid
check "ended by the signal" [ $? = 143 ]
g 0 list int.gallery
cut -f1 "$out" >got
sed 's/{"added": "\([^"]*\)".*/\1/' acked >wanted
check "something was added" [ -s wanted ]
same got wanted

# kill -9 at any moment: reported templates are stored, and nothing is damaged.
g 0 create killed.gallery $one
: >wanted
for i in 1 2 3 4 5 6 7 8 9 10; do
    sed "s/,id/,$i-/" many.csv | sed '1s/.*/path,identity,id/' >again.csv
    killed=$(place killed.gallery)
    : >acked
    "$REID" gallery add "$killed" $one --json --list again.csv >acked 2>"$err" &
    pid=$!
    while [ ! -s acked ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
    sleep 0.0$i
    kill -KILL $pid
    wait $pid 2>/dev/null
    sed 's/{"added": "\([^"]*\)".*/\1/' acked >>wanted
    "$REID" gallery verify "$killed" >"$out" 2>"$err"
    check "not damaged by kill $i" [ $? = 0 ]
done
g 0 list killed.gallery
cut -f1 "$out" | sort >got
sort wanted | comm -23 - got >lost
check "nothing that was acknowledged is lost" [ ! -s lost ]
check "every run acknowledged something" [ "$(wc -l <wanted)" -ge 10 ]

# Two writers both succeed; with a file, the second one waits and says so.
g 0 create both.gallery --like a.gallery
mkfifo pipe
"$REID" gallery add "$(place both.gallery)" $one --list pipe >first 2>first.err &
pid=$!
exec 9>pipe # the first one has the lock and reads its list
sleep 0.3
"$REID" gallery add "$(place both.gallery)" $one near.png >second 2>second.err 9>&- &
other=$!
sleep 0.5
printf 'path,identity\nann.png,ann\n' >&9
exec 9>&-
wait $pid
check "the first writer" [ $? = 0 ]
wait $other
check "the second writer" [ $? = 0 ]
[ $kind = database ] || check "it waited" grep -q 'both.gallery: waiting for another writer' second.err
g 0 list both.gallery
lines "$out" 2

check "nothing left over" [ -z "$(find . -name '*.part*')" ]

# --- the decoders of the JPEG files behind the templates ---
quiet() { check "no warning of decoders" [ "$(grep -c decoded "$err")" = 0 ]; }
decoded() { # decoded GALLERY NAMES: as verify tells, for people and for programs; "": unknown
    g 0 verify "$1"
    mark=
    case $2 in *,*) mark=', so scores among its templates shift slightly' ;; esac
    if [ -n "$2" ]; then prints "^JPEG files decoded by $2$mark$"
    else check "$1 knows no decoder" [ "$(grep -c decoded "$out")" = 0 ]; fi
    g 0 verify "$1" --json
    if [ -n "$2" ]; then prints ", \"jpeg\": \"$2\", "; else prints ', "jpeg": null, '; fi
}
# by_turbo FILE.npy PICTURE...: embedded with --jpeg turbo, or, where libturbojpeg is not installed, as if it were
by_turbo() {
    file=$1
    shift
    "$REID" embed -q $one --jpeg turbo "$@" -o "$file" 2>"$err" && return
    "$REID" embed -q $one --jpeg stb "$@" -o "$file"
    sed 's/stb_image/libjpeg-turbo/' "${file%.npy}.meta.json" >meta && mv meta "${file%.npy}.meta.json"
}
by_turbo turbo.npy gal/ann/2.png
by_turbo other.npy gal/bob/1.png
run 0 embed $one --jpeg stb gal/cat.png -o stb.npy
run 0 embed $one --jpeg stb gal/new.png -o unknown.npy
sed '/"jpeg":/d' unknown.meta.json >meta && mv meta unknown.meta.json
stb="$one --jpeg stb"
g 0 create d.gallery $one
decoded d.gallery ''
g 2 add d.gallery $stb missing.png
decoded d.gallery '' # nothing was added
g 0 add d.gallery $stb gal/ann/1.png
quiet
decoded d.gallery stb_image
g 0 add d.gallery unknown.npy
quiet
g 0 add d.gallery stb.npy
quiet
g 0 search d.gallery $stb near.png
quiet
g 0 search d.gallery unknown.npy
quiet
run 0 match $stb --gallery d.gallery near.png
quiet
run 0 cluster d.gallery --threshold 0.5 -o groups.csv
quiet
decoded d.gallery stb_image
g 0 search d.gallery turbo.npy
says 'turbo.npy: its JPEG images were decoded by libjpeg-turbo, those of d.gallery by stb_image'
run 0 cluster d.gallery turbo.npy --threshold 0.5 -o groups.csv
says 'turbo.npy: its JPEG images were decoded by libjpeg-turbo, those of d.gallery by stb_image'
# Refused templates do not add their decoder.
keep d.gallery
by_turbo known.npy gal/cat.png
g 2 add d.gallery known.npy
says 'gal/cat.png: is already in the gallery'
g 1 add d.gallery --strict turbo.npy known.npy
says 'nothing was added'
is_kept d.gallery
decoded d.gallery stb_image
# A second decoder causes a warning and is reported from then on; an export lists both.
g 0 add d.gallery turbo.npy
says 'turbo.npy: its JPEG images were decoded by libjpeg-turbo, those of d.gallery by stb_image (--jpeg)'
prints '^added 1$'
both='libjpeg-turbo, stb_image'
decoded d.gallery "$both"
run 0 match $stb --gallery d.gallery near.png
says "d.gallery: its JPEG images were decoded by $both, those of this command by stb_image (--jpeg)"
lines "$err" 2 # the other one: no decisions
g 0 search d.gallery $stb near.png
says "d.gallery: its JPEG images were decoded by $both, those of this command by stb_image (--jpeg)"
g 0 add d.gallery $stb near.png
says "d.gallery: its JPEG images were decoded by $both, those of this command by stb_image (--jpeg)"
run 0 cluster d.gallery --threshold 0.5 -o groups.csv
says "d.gallery: its JPEG images were decoded by $both: scores among them shift slightly"
for format in npy fvecs jsonl; do
    g 0 export d.gallery -o d.$format
    side=d.meta.json
    [ $format != jsonl ] || side=d.jsonl.meta.json
    check "an export names both" grep -q "^  \"jpeg\": \"$both\",$" $side
    g 0 create d.$format.gallery --like d.gallery
    decoded d.$format.gallery ''
    g 0 add d.$format.gallery d.$format
    quiet
    decoded d.$format.gallery "$both"
done
g 0 compact d.gallery
decoded d.gallery "$both"
# In one command; by names of groups; the other way round.
g 0 create e.gallery $one
g 0 add e.gallery stb.npy turbo.npy other.npy
says "turbo.npy: its JPEG images were decoded by libjpeg-turbo, those of e.gallery by stb_image (--jpeg)"
says "other.npy: its JPEG images were decoded by libjpeg-turbo, those of e.gallery by $both (--jpeg)"
decoded e.gallery "$both"
g 0 create f.gallery $one
printf 'id,group,name\ngal/bob/1.png,1,bob\n' >names.csv
g 0 add f.gallery other.npy --groups names.csv
decoded f.gallery libjpeg-turbo
printf 'id,group,name\ngal/cat.png,1,cat\n' >names.csv
g 0 add f.gallery stb.npy --groups names.csv
says 'stb.npy: its JPEG images were decoded by stb_image, those of f.gallery by libjpeg-turbo'
decoded f.gallery "$both"
g 0 create turbo.gallery $one
g 0 add turbo.gallery turbo.npy
decoded turbo.gallery libjpeg-turbo
run 0 match $stb --gallery turbo.gallery near.png
says 'turbo.gallery: its JPEG images were decoded by libjpeg-turbo, those of this command by stb_image (--jpeg)'
"$REID" doctor $stb --device cpu --gallery "$(place turbo.gallery)" --threshold 0.9 >"$out" 2>"$err"
check "doctor reports it" grep -q 'decoded by libjpeg-turbo, those of this command by stb_image' "$out"
for bad in '"a,b"' '""x' '" a"' '"a\u0000b"' '"a\nb"' '"a, b, c, d, e"' '7'; do
    by_turbo bad.npy near.png
    sed "s/\"libjpeg-turbo\"/$(printf %s "$bad" | sed 's/\\/&&/g')/" bad.meta.json >meta && mv meta bad.meta.json
    g 2 add e.gallery bad.npy
    says 'bad.meta.json: '
done
decoded e.gallery "$both"

# --- strangers are not added ---
if [ $kind = file ]; then
    mkdir -p herd/ann herd/unknown
    cp near.png herd/ann/1.png && cp near.png herd/unknown/2.png
    g 0 create strangers.gallery $one
    g 0 add strangers.gallery $one --unknown unknown herd
    prints '^added 1$'
    prints '^left out 1 image of strangers$'
    g 0 add strangers.gallery $one herd/unknown/2.png
    g 0 list --identity strangers.gallery
    check "nobody is called unknown" [ "$(grep -c unknown "$out")" = 0 ]
    g 2 list strangers.gallery --unknown unknown
    says '[-]-unknown'
    g 0 create warned.gallery $one
    g 0 add warned.gallery $one herd
    says '"unknown" counts as one individual'
fi

finish
