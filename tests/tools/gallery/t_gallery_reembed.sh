# t_gallery_reembed.sh: reid gallery reembed on a real PostgreSQL: workers that share the templates, are killed, stopped
# and taken for dead while the server goes away, write every row once and with the bits of reid embed; failures are
# reported; --compare, --switch, --back and --drop.
. tests/lib/python.sh
. tests/lib/postgres.sh
need_postgres
. tests/lib/cli_lib.sh
own_postgres || exit 1

b0 w.safetensors
b0 w2.safetensors 2
one="-m w.safetensors --size 64x64" two="-m w2.safetensors --size 64x64"
re() { status=$1 base=$2; shift 2; run "$status" gallery reembed "$(pg_url "$base")" "$@"; }

# statements DATABASE: those on stdin
statements() { "$pg_programs/psql" -X -q -v ON_ERROR_STOP=1 -h "$pg_host" -U postgres -d "$1" > "$work/none"; }
fingerprint() { # fingerprint OPTION...: prints that of these models
    "$REID" embed -q "$@" a/1.png -o one.npy
    grep -o '"fingerprint": "[0-9a-f]*"' one.meta.json | cut -d '"' -f 4
}
gallery() { # gallery DATABASE [--fp16]: makes one for w.safetensors, without templates
    sql postgres "CREATE DATABASE $1"
    run 0 gallery create "$(pg_url "$1")" $one ${2:+"$2"}
}
# template DATABASE IDENTITY SOURCE [ID]: adds one without a row
template() {
    echo "INSERT INTO reid.identity (name) VALUES ('$2') ON CONFLICT DO NOTHING;
          INSERT INTO reid.template (id, identity_id, source) SELECT '${4:-$3}', identity_id, '$3' FROM reid.identity
          WHERE name = '$2';" | statements "$1"
}
# rows DATABASE FINGERPRINT: prints their bytes, in the order of templates
rows() {
    sql "$1" "SELECT encode(row, 'hex') FROM reid.embedding_$2 ORDER BY template_id" | tr -d '\n'
}
npy() { od -An -v -tx1 -j 128 "$1" | tr -d ' \n'; } # of float32 in a .npy file
equal() { [ "${1#* }" -gt 0 ] && [ "$1" = "$2" ]; } # compares two outputs of cksum, which must not be about nothing
count() { sql "$1" "SELECT count(*) FROM reid.embedding_$2"; }

mkdir a
for i in 1 2 3 4 5 6; do picture a/$i.png 60 50 $i; done
now=$(fingerprint $one) next=$(fingerprint $two)

# --- one worker -------------------------------------------------------------------------------------------------------
gallery g
for i in 1 2 3 4 5 6; do template g "x$((i % 2))" a/$i.png; done
re 0 g $one
prints '^embedded 6, failed 0; templates with a row of these models: 6 of 6$'
re 0 g $two --batch 2 --json
prints '^{"embedded": 6, "failed": 0, "templates": 6, "rows": 6, "missing": 0}$'
"$REID" embed -q $two a -o next.npy
"$REID" embed -q $one a -o now.npy
check "bits of reid embed" equal "$(rows g "$next" | cksum)" "$(npy next.npy | cksum)"
check "bits of reid embed, of the gallery's own model" equal "$(rows g "$now" | cksum)" "$(npy now.npy | cksum)"
re 0 g $two
prints '^embedded 0, failed 0; templates with a row of these models: 6 of 6$'
check "no worker is left" [ "$(sql g 'SELECT count(*) FROM reid.worker')" = 0 ]
# Each model gets the JPEG decoders of the workers that embedded with it, not of workers without work.
by() { sql "$1" "SELECT array_to_string(jpeg, '+') FROM reid.model WHERE fingerprint = '$2'"; }
gallery j
run 0 gallery add "$(pg_url j)" $one --jpeg stb a
sql j "UPDATE reid.model SET jpeg = '{another one}'"
re 0 j $two --jpeg stb
check "the new model's" [ "$(by j "$next") $(by j "$now")" = 'stb_image another one' ]
sql j "UPDATE reid.model SET jpeg = '{}'"
re 0 j $two --jpeg stb
check "nothing to warn of" [ "$(grep -c decoded "$err")" = 0 ]
check "of nothing to do" [ -z "$(by j "$next")" ]
sql j "UPDATE reid.model SET jpeg = '{another one}' WHERE fingerprint = '$next'"
re 0 j $two --jpeg stb
says ': its JPEG images were decoded by another one, those of this command by stb_image (--jpeg)'
re 0 j --status --json
prints '"role": "now", .*"jpeg": null, '
prints '"role": "other", .*"jpeg": "another one", '
re 0 j --status
check "of one of two" [ "$(grep -c '^        JPEG files decoded by another one$' "$out")" = 1 ]
re 0 j --switch
run 0 gallery verify "$(pg_url j)"
prints '^JPEG files decoded by another one$'

# --- compare, switch, back, drop --------------------------------------------------------------------------------------
re 0 g --status
prints '^6 templates$'
prints "^now     $now (efficientnet_b0): 6 rows, 0 missing; no threshold$"
prints "^other   $next (efficientnet_b0): 6 rows, 0 missing; no threshold$"
re 0 g --compare --fmr 0.2
prints '^6 templates of 2 identities$'
prints '^next  threshold 0\.[0-9]*, accepts '
re 0 g --compare --fmr 0.2 --json $two
cp "$out" compared
check "JSON" "$python" -c 'import json; c = json.load(open("compared")); assert c["templates"] == 6, c'
# Its results equal those from the files of embeddings: nearest neighbours by numpy's products of the .npy files.
cat > nearest.py << 'END'
import json
import struct

def rows(name):
    data = open(name, "rb").read()[128:]
    values = struct.unpack(f"<{len(data) // 4}f", data)
    return [values[i:i + 1280] for i in range(0, len(values), 1280)]

ids = [f"a/{i}.png" for i in range(1, 7)]
said = json.load(open("compared"))
changed = {c["id"]: c for c in said["changes"]}
for side, name in (("now", "now.npy"), ("next", "next.npy")):
    r, right = rows(name), 0
    for q in range(6):
        scores = [(sum(x * y for x, y in zip(r[q], r[g])), g) for g in range(6) if g != q]
        best = max(scores)
        right += (best[1] - q) % 2 == 0
        if ids[q] in changed:
            told = changed[ids[q]][side]
            assert told["id"] == ids[best[1]] and abs(told["score"] - best[0]) < 1e-5, (told, best)
    assert said[side]["nearest_right"] == right, (side, right, said[side])
    impostors = sorted(sum(x * y for x, y in zip(r[q], r[g])) for q in range(6) for g in range(q) if (q - g) % 2)
    t = said[side]["calibration"]["threshold"]
    assert sum(s > t + 1e-6 for s in impostors) == 1 and said[side]["calibration"]["impostor"] == 9, (t, impostors)
END
check "the comparison, computed again" "$python" nearest.py
sql g 'UPDATE reid.embedder SET threshold = 0.9 WHERE embedder_id = 1'
re 2 g --switch
says 'the gallery decides by a threshold, 0.9, which does not apply to the other model'
re 0 g --switch --threshold 0.7 --json
prints "^{\"now\": \"$next\"}$"
re 0 g --status
prints "^now     $next .*: 6 rows, 0 missing; threshold 0.7$"
prints "^before  $now .*; threshold 0.9$"
template g y a/1.png late
re 2 g --back
says '1 of 7 templates have no row for the other model yet'
sql g 'CREATE ROLE helper LOGIN IN ROLE reid_writer'
run 0 gallery reembed "$(pg_url g | sed s/postgres@/helper@/)" $one # the role of a writer is enough
prints '^embedded 1, '
re 0 g --back
prints "^now $now$"
re 2 g --switch
says 'the only other models are those before the last switch; --back returns to them'
re 2 g --switch $two
says '1 of 7 templates have no row'
re 2 g --drop "$now"
says 'the gallery uses these models'
re 2 g --drop nobody
says 'has no models "nobody"'
re 0 g --drop "$next"
check "its table is gone" [ "$(sql g "SELECT to_regclass('reid.embedding_$next') IS NULL")" = t ]
re 2 g --back
says 'was never switched, or its previous models were dropped'

# --- three models: any number may wait, and -m chooses one of them --------------------------------------------------
b0 w3.safetensors 3
three="-m w3.safetensors --size 64x64"
last=$(fingerprint $three)
gallery h
for i in 1 2 3; do template h "x$((i % 2))" a/$i.png; done
for models in "$one" "$two" "$three"; do re 0 h $models; done
re 0 h --status
check "two wait" [ "$(grep -c '^other ' "$out")" = 2 ]
for action in --compare --switch; do
    re 2 h $action
    says "$action: there are 2 other models; choose one with -m"
done
re 0 h --switch $three
prints "^now $last$"
re 0 h --switch $two
re 0 h --status
prints "^now     $next .*: 3 rows, 0 missing"
prints "^before  $last .*: 3 rows, 0 missing"
prints "^other   $now .*: 3 rows, 0 missing"
run 0 gallery search "$(pg_url h)" $two a/1.png
re 2 h $one -m w2.safetensors -m w3.safetensors
says 'at most 2 models can be used together: leave out -m w3.safetensors'

# --- an ensemble, of which one model's rows are there; halves ---------------------------------------------------------
gallery e --fp16
for i in 1 2 3; do template e x a/$i.png; done
re 0 e $one
re 0 e --size 64x64 -m w.safetensors -m w2.safetensors
prints '^embedded 3, '
re 0 e --status
prints "^other   $now+$next (efficientnet_b0 + efficientnet_b0): 3 rows"
check "half as many bytes" [ "$(rows e "$now" | wc -c)" = $((3 * 1280 * 4)) ]
"$python" -c 'import struct; d = open("next.npy", "rb").read()[128:128 + 3 * 5120]
print("".join(struct.pack("<e", v).hex() for v in struct.unpack("<3840f", d)), end="")' > halves
check "rounded bits of reid embed" equal "$(rows e "$next" | cksum)" "$(cksum < halves)"
re 0 e --switch
re 0 e --drop "$now"
check "the ensemble keeps its model" [ "$(count e "$now")" = 3 ]

# --- what cannot be embedded; boxes -----------------------------------------------------------------------------------
gallery f
printf 'path,x,y,width,height\na/1.png,3,4,30,40\n' > boxes.csv
"$REID" embed -q $two --boxes boxes.csv -o box.npy
template f x a/1.png#xywh=3,4,30,40 box
template f x a/9.png
template f x '' none
template f x a/2.png a/2.png#0
template f x a/3.png
template f x a/4.png
sql f "UPDATE reid.template SET source_size = 7, source_hash = 8 WHERE id = 'a/3.png'"
re 1 f $two
prints '^embedded 2, failed 4; templates with a row of these models: 2 of 6$'
says 'a/9.png: a/9.png: cannot open: No such file'
says 'none: the gallery has no path for its image'
says 'a/2.png#0: is a box of an image, but the gallery has no box for it'
says 'a/3.png: a/3.png: the image has changed since it was added'
check "bits of a box" equal "$(rows f "$next" | head -c 10240 | cksum)" "$(npy box.npy | cksum)"
re 0 f --status --json
prints '"missing": 4, "failed": 4, .*{"id": "a/9.png", "why": "a/9.png: cannot open: No such file or directory"}'
re 2 f --switch
says '4 of 6 templates could not be embedded by the other model'
picture a/9.png 60 50 9
re 1 f $two # once more, each
prints '^embedded 1, failed 3; '
mkdir elsewhere && mv a elsewhere/a
re 2 f $two --root nowhere
says 'nowhere: No such file or directory'
template f x /a/5.png
re 1 f $two --root elsewhere
prints '^embedded 1, failed 3; templates with a row of these models: 4 of 7$'
mv elsewhere/a a
re 0 f --switch --partial
re 0 f --status
prints "^now     $next (efficientnet_b0): 4 rows, 3 missing, 3 of them failed; no threshold$"
prints '^        none: the gallery has no path for its image$'

# --- the whole way, with images and boxes that gallery add has seen -------------------------------------------------
gallery w
g() { status=$1 part=$2; shift 2; run "$status" gallery "$part" "$(pg_url w)" "$@"; }
mkdir -p who/ann who/bob
cp a/1.png a/2.png who/ann && cp a/3.png a/4.png who/bob
printf 'path,x,y,width,height,identity\nwho/ann/2.png,3,4,30,40,ann\n' > some.csv
printf 'path,x,y,width,height,identity\nwho/bob/3.png,5,6,20,21,bob\n' > more.csv
g 0 add $one who
g 0 add $one --boxes some.csv
g 0 add $one --boxes more.csv
g 0 list --json
prints '"source": "who/ann/2.png#xywh=3,4,30,40"'
prints '"source": "who/bob/3.png#xywh=5,6,20,21"'
re 0 w $two
prints '^embedded 6, failed 0; templates with a row of these models: 6 of 6$'
g 0 search $one --threshold 0.5 a/1.png
re 0 w --switch
g 2 search $one --threshold 0.5 a/1.png
says 'their embeddings cannot be compared'
g 2 add $one a/5.png
g 0 add $two a/5.png
g 0 search $two --keep-self -k 1 a/5.png
prints '^a/5.png	5	1.0000	a/5.png$'
g 0 search $two --other-camera --camera x -k 1 a/1.png
g 0 export -o w.npy
for from in who '--boxes some.csv' '--boxes more.csv'; do
    "$REID" embed -q $two $from -o part.npy
    npy part.npy
done > wanted
check "bits of reid embed, boxes too" equal "$(npy w.npy | head -c $((6 * 10240)) | cksum)" "$(cksum < wanted)"
g 0 verify
rm a/5.png
re 1 w --size 64x64 -m w.safetensors -m w2.safetensors
re 0 w --status
prints "^other   $now+$next (efficientnet_b0 + efficientnet_b0): 6 rows, 1 missing, 1 of them failed"
re 0 w --switch --partial
g 0 search --size 64x64 -m w.safetensors -m w2.safetensors --keep-self -k 9 a/1.png
says '1 of its templates could not be embedded by its models'
check "it is left out" [ "$(grep -c 'a/5.png' "$out")" = 0 ]
picture a/5.png 60 50 5

# --- what is refused --------------------------------------------------------------------------------------------------
run 2 gallery reembed a.gallery $one
says 'a.gallery: reembed is for a gallery in PostgreSQL'
re 2 f
says 'gallery reembed: no model: give -m'
re 2 f --status --back
says 'give only one of --status'
re 2 f --partial $one
says '\-\-partial and --threshold belong to --switch'
run 2 gallery list a.gallery --status
says 'cannot be used here, only with reembed'
sql w "UPDATE reid.model SET dim = 8 WHERE fingerprint = '$now'"
re 2 w $one
says "is damaged: it says that embeddings by model $now have 8 values, but they have 1280"
sql w "UPDATE reid.model SET dim = 1280 WHERE fingerprint = '$now'"
re 2 postgres $one
says 'reid'
re 2 missing --status
says 'database "missing" does not exist'

# --- many workers, some of which die, and a server that goes away -----------------------------------------------------
mkdir many
i=0
while [ $((i += 1)) -le 160 ]; do picture many/$i.png 60 50 $i; done
large="-m w2.safetensors --size 192x192"
"$REID" embed -q $large many -o many.npy
gallery m
{
    echo "INSERT INTO reid.identity (name) VALUES ('x');"
    while read -r path; do
        echo "INSERT INTO reid.template (id, identity_id, source) VALUES ('$path', 1, '$path');"
    done < many.ids.txt
} | statements m
big=$(grep -o '"fingerprint": "[0-9a-f]*"' many.meta.json | cut -d '"' -f 4)
worker() { # worker NAME: $pid, its messages are in NAME.err
    "$REID" gallery reembed "$(pg_url m)" $large --threads 1 --batch 1 --lease 2 > "$1.out" 2> "$1.err" &
    pid=$!
    pids="$pids $pid"
}
wait_for() { # wait_for ROWS
    for _ in $(seq 600); do
        [ "$(count m "$big" 2> "$work/none" || echo 0)" -ge "$1" ] && return
        sleep 0.02
    done
    check "$1 rows in time" false
}
ends_well() { # ends_well PID NAME
    wait "$1"
    got=$?
    check "the $2 worker ends well ($got)" [ $got = 0 ]
}
claims_of() { sql m "SELECT count(*) FROM reid.claim JOIN reid.worker USING (worker_id) WHERE name LIKE '%:$1'"; }
stop_it() { # stop_it PID: while it has claimed something
    kill -STOP "$1"
    while [ "$(claims_of "$1")" = 0 ] && kill -CONT "$1"; do
        sleep 0.05
        kill -STOP "$1"
    done
}
worker killed
killed=$pid
wait_for 8
stop_it "$killed"
kill -9 "$killed"
wait "$killed" 2> "$work/none"
check "the dead one holds claims" [ "$(claims_of "$killed")" -gt 0 ]
worker frozen
frozen=$pid
worker steady
steady=$pid
wait_for 32
stop_it "$frozen"
wait_for 48
stop_postgres QUIT
again_postgres
worker late
late=$pid
wait_for 64
echo "INSERT INTO reid.template (id, identity_id, source) VALUES ('new', 1, 'many/1.png');" | statements m
ends_well "$late" late
ends_well "$steady" steady
kill -CONT "$frozen"
ends_well "$frozen" frozen
check "its lease expired" grep -q "this worker's lease had expired" frozen.err
check "its claims were released" grep -q 'the lease of worker .* has expired' steady.err late.err frozen.err
check "each template once" [ "$(count m "$big")" = 161 ]
check "bits of reid embed, after all that" \
    equal "$(rows m "$big" | head -c $((160 * 10240)) | cksum)" "$(npy many.npy | cksum)"
check "nothing is left over" [ "$(sql m 'SELECT (SELECT count(*) FROM reid.worker) + (SELECT count(*) FROM reid.claim)
    + (SELECT count(*) FROM reid.failure)')" = 0 ]

# After a signal it writes finished rows and gives up the other claims at once.
echo "DELETE FROM reid.embedding_$big" | statements m
worker asked
wait_for 4
kill -TERM "$pid"
wait "$pid"
check "it ends by the signal" [ $? = 143 ]
check "its claims are free" [ "$(sql m 'SELECT count(*) FROM reid.claim')" = 0 ]
check "and so is its place" [ "$(sql m 'SELECT count(*) FROM reid.worker')" = 0 ]
finish
