# t_gallery_push.sh: reid gallery push and pull: pull returns the bytes that were pushed; a push can be continued after
# kill -9 of either side; two at once store everything once; templates that differ or cannot be stored are refused by
# name.
. tests/lib/python.sh
. tests/lib/postgres.sh
need_postgres
. tests/lib/cli_lib.sh
need_eval_files
own_postgres || exit 1
g() { status=$1; shift; run "$status" gallery "$@"; }
base() { sql postgres "CREATE DATABASE $1" && pg_url "$1"; }
count() { sql "$1" 'SELECT count(*) FROM reid.template'; }
compacted() { "$REID" gallery compact "$1" > compacted.said; } # the expected result of a pull
# made FILE ROWS DIM SEED [OPTION]...: makes a gallery with that many templates
made() {
    file=$1 rows=$2 dim=$3 seed=$4
    shift 4
    awk -v n="$rows" 'BEGIN { for (i = 0; i < n; i++) printf "crops/%06d.jpg deer-%d\n", i, i * 7 % 500 }' |
        "$EVAL_FILES" "$file.npy" "$dim" "$seed" 0.5
    "$REID" gallery create "$file" --like "$file.npy" "$@" && "$REID" gallery add "$file" "$file.npy" > /dev/null
}

# Everything that a template can have: images with sizes and hashes, cameras, times before 1970 and with milliseconds,
# all kinds of names; a threshold; removed templates stay removed.
b0 w.safetensors
mkdir -p gal/ann "gal/O'Brien; DROP TABLE reid.template; --"
picture gal/ann/1.png 60 50 1
picture gal/ann/2.png 60 50 2
picture "gal/O'Brien; DROP TABLE reid.template; --/ü \"3\".png" 60 50 3
picture late.png 60 50 4
one="-m w.safetensors --size 64x64"
printf 'path,identity,camera,time,id\nlate.png,"a,b",\\N,1969-12-31T23:59:59.001Z,"late\nline"\n' > list.csv
for precision in fp32 fp16; do
    flag=
    [ $precision = fp32 ] || flag=--fp16
    "$REID" gallery create $precision.gallery $one $flag && "$REID" gallery add $precision.gallery $one gal \
        --camera "west 'n \"wild\"" --time 2024-05-31T06:30:00.125Z > /dev/null
    g 0 add $precision.gallery $one --list list.csv
    g 0 remove $precision.gallery gal/ann/1.png
    g 0 set $precision.gallery --threshold 0.4375
    url=$(base $precision)
    g 0 push $precision.gallery "$url"
    prints '^pushed 3, in .* rows/s); the index took '
    g 0 pull "$url" $precision.back
    prints '^pulled 3, '
    compacted $precision.gallery
    same $precision.back $precision.gallery
    "$REID" gallery list $precision.gallery --json > wanted
    g 0 list "$url" --json
    same "$out" wanted
    g 0 verify "$url"
done
[ -z "$(find . -name '*.part*')" ]
check "nothing of a pull is left" [ $? = 0 ]

# Ensembles; an empty gallery; a second push of the same.
made two.gallery 500 24+8 5
url=$(base two)
g 0 push two.gallery "$url" --json
prints '^{"pushed": 500, "equal": 0, "refused": 0, "created": true, '
g 0 push two.gallery "$url" --json
prints '^{"pushed": 0, "equal": 500, "refused": 0, "created": false, '
g 0 pull "$url" two.back
compacted two.gallery
same two.back two.gallery
"$REID" gallery create none.gallery --like two.gallery.npy
url=$(base none)
g 0 push none.gallery "$url"
g 0 pull "$url" none.back --json
prints '^{"pulled": 0, '
compacted none.gallery
same none.back none.gallery

# JPEG decoders: files with none, one and two, and a database that already has another one.
decoders() { "$REID" gallery verify "$1" --json | sed 's/.*"jpeg": \("[^"]*"\|null\),.*/\1/'; }
g 0 verify "$(pg_url two)" --json
prints '"jpeg": null'
"$REID" embed -q $one --jpeg stb gal -o stb.npy
"$REID" embed -q $one --jpeg stb late.png -o late.npy
sed 's/stb_image/another one/' late.meta.json > meta && mv meta late.meta.json
"$REID" gallery create by_one.gallery $one
"$REID" gallery add by_one.gallery stb.npy > said
"$REID" gallery create by_two.gallery $one
"$REID" gallery add by_two.gallery late.npy stb.npy > said 2>&1
"$REID" gallery create by_other.gallery $one
"$REID" gallery add by_other.gallery late.npy > said
for by in by_one by_two; do
    url=$(base $by)
    g 0 push $by.gallery "$url"
    check "no warning" [ "$(grep -c decoded "$err")" = 0 ]
    g 0 pull "$url" $by.back
    compacted $by.gallery
    same $by.back $by.gallery
done
check "of one decoder" [ "$(decoders by_one.back)" = '"stb_image"' ]
check "of two" [ "$(decoders by_two.back)" = '"another one, stb_image"' ]
url=$(pg_url by_one)
g 0 push by_other.gallery "$url"
says 'by_other.gallery: its JPEG images were decoded by another one, those of .* by stb_image'
check "of both" [ "$(decoders "$url")" = '"another one, stb_image"' ]
sql by_one "UPDATE reid.model SET jpeg = '{}'" # a gallery that was filled by rows without such names
g 0 push by_other.gallery "$url"
prints '^pushed 0; already there: 1'
check "equal templates have the file's" [ "$(decoders "$url")" = '"another one"' ]

# kill -9 of the push at some transaction: whole transactions are stored, and pushing again stores the others.
made many.gallery 30000 32 6
compacted many.gallery
url=$(base killed)
"$REID" gallery push many.gallery "$url" > killed.out 2>&1 &
push=$!
while kill -0 $push 2> /dev/null && [ "$(count killed 2> /dev/null || echo 0)" -lt 4096 ]; do :; done
kill -9 $push 2> /dev/null
wait $push 2> /dev/null
alive() { sql killed "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'reid'"; }
while [ "$(alive)" -gt 0 ]; do sleep 0.05; done
there=$(count killed)
check "some of it is there ($there)" [ "$there" -ge 4096 ]
check "whole transactions of it ($there)" [ "$there" = 30000 -o $((there % 4096)) = 0 ]
g 0 push many.gallery "$url" --json
prints "^{\"pushed\": $((30000 - there)), \"equal\": $there, \"refused\": 0"
g 0 pull "$url" killed.back
same killed.back many.gallery
index() { sql "$1" "SELECT count(*) FROM pg_indexes WHERE schemaname = 'reid' AND indexdef LIKE '%hnsw%'"; }
check "the index was built behind it" [ "$(index killed)" = 1 ]

# The server is killed in the middle and started again: the push waits for it and stores everything once.
url=$(base crashed)
"$REID" gallery push many.gallery "$url" --json > crashed.out 2> crashed.err &
push=$!
while kill -0 $push 2> /dev/null && [ "$(count crashed 2> /dev/null || echo 0)" -lt 4096 ]; do :; done
stop_postgres QUIT && again_postgres
wait $push
got=$?
[ $got = 0 ] || cat crashed.err
check "the push outlives the server (exit $got)" [ $got = 0 ]
rm -f crashed.back
g 0 pull "$url" crashed.back
same crashed.back many.gallery

# Two at once, into a database without a gallery and into an empty one, whose tables are locked until both wait to see
# whether they are empty.
two_at_once() { # two_at_once DATABASE
    "$REID" gallery push two.gallery "$url" > both.1 2>&1 &
    push=$!
    g 0 push two.gallery "$url"
    wait $push
    got=$?
    [ $got = 0 ] || cat both.1
    check "the other one, too (exit $got)" [ $got = 0 ]
    check "all are there once" [ "$(count "$1")" = 500 ]
    check "one index for each model" [ "$(index "$1")" = 2 ]
}
url=$(base twice)
two_at_once twice
url=$(base empty)
g 0 create "$url" --like two.gallery.npy
sql empty "DO \$\$ DECLARE name text; BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relname ~ '^embedding_[^_]*\$' LOOP
        EXECUTE format('LOCK TABLE reid.%I', name);
    END LOOP;
    FOR i IN 1..400 LOOP
        EXIT WHEN (SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted) >= 2;
        PERFORM pg_sleep(0.05);
    END LOOP; END \$\$" &
holder=$!
locked() { sql empty "SELECT count(*) FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock'"; }
while kill -0 $holder 2> /dev/null && [ "$(locked)" -lt 2 ]; do sleep 0.05; done
two_at_once empty
wait $holder

# Templates that differ are refused by id; the others are stored.
made first.gallery 20 16 7
made second.gallery 30 16 7
url=$(base differs)
g 0 push first.gallery "$url"
sql differs "UPDATE reid.template SET camera = 'east' WHERE id = 'crops/000003.jpg';
    UPDATE reid.identity SET name = 'doe' WHERE name = 'deer-7'"
g 1 push second.gallery "$url" --strict
says 'crops/000001.jpg: is already in the database, with a different identity'
check "nothing is stored with --strict" [ "$(count differs)" = 20 ]
g 1 push second.gallery "$url" --json
says 'crops/000001.jpg: is already in the database, with a different identity'
says 'crops/000003.jpg: is already in the database, with a different camera'
prints '^{"pushed": [0-9]*, "equal": [0-9]*, "refused": 2, '
check "the others are stored" [ "$(count differs)" = 30 ]
made other.gallery 20 16 8
g 1 push other.gallery "$url" --json
says 'crops/000000.jpg: is already in the database, with a different embedding'
prints '"pushed": 0, "equal": 0, "refused": 20'

# Texts that a database cannot store; other models, precisions and thresholds.
printf 'crops/\377.jpg deer\nfine.jpg deer\n' | "$EVAL_FILES" bytes.npy 16 9 0.5
"$REID" gallery create bytes.gallery --like bytes.npy 2> /dev/null
"$REID" gallery add bytes.gallery bytes.npy > /dev/null
url=$(base bytes)
g 1 push bytes.gallery "$url"
says 'crops/\\xff.jpg: its id is not UTF-8'
check "the other one is stored" [ "$(sql bytes 'SELECT id FROM reid.template')" = fine.jpg ]
made half.gallery 5 16 7 --fp16
g 2 push half.gallery "$url"
says 'keeps fp32, but half.gallery has fp16'
g 2 push two.gallery "$url"
says 'two.gallery: made with 2 models'
"$REID" gallery set bytes.gallery --threshold 0.25
g 1 push bytes.gallery "$url"
says 'keeps its own threshold'

# Invalid places.
g 2 push bytes.gallery
says 'gallery push: expected a file and a database'
g 2 push bytes.gallery two.gallery
says 'two.gallery is not a database'
g 2 push "$url" "$url"
says 'both are databases, but one must be a file'
g 2 pull "$url" bytes.gallery
says 'bytes.gallery: already exists'
g 2 pull "$url" no/such/folder.gallery
says 'no/such/folder.gallery: cannot write here'
sql postgres 'CREATE ROLE reader LOGIN'
base bare > bare.url
g 2 push bytes.gallery "$(sed s/postgres@/reader@/ bare.url)"
says 'permission'
g 2 pull "$(pg_url nowhere)" new.gallery
says 'database "nowhere" does not exist'
absent new.gallery
g 2 push missing.gallery "$url"
says 'missing.gallery: cannot open'
finish
