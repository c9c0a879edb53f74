# t_gallery_database.sh: a gallery in a real PostgreSQL: unsuitable servers, rights, hostile texts, concurrent clients,
# conflicts, lost connections, a killed server, a full disk. Templates that are reported as stored are stored exactly
# once.
. tests/lib/python.sh
. tests/lib/postgres.sh
need_postgres
. tests/lib/cli_lib.sh
pg_options='-c fsync=off' # the machine stays up, and a killed server would first sync everything
own_postgres || exit 1
unset PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGOPTIONS PGSERVICE
g() { status=$1; shift; run "$status" gallery "$@"; }
rows() { "$python" "$repository/tests/tools/gallery/gallery_rows.py" "$@"; }
url_of() { pg_url "$2" | sed "s/postgres@/$1@/"; } # url_of USER DATABASE
# base NAME: a database with an empty gallery for rows of 8 values, whose address is $url
base() {
    sql postgres "CREATE DATABASE $1"
    url=$(pg_url "$1")
    "$REID" gallery create "$url" --like few.npy || exit 1
}
fill() { "$REID" gallery add -q "$url" "$1.npy" > "$work/none" || exit 1; }
ids() { "$REID" gallery list "$url" --json | sed 's/^{"id": "\([^"]*\)".*/\1/'; } # of the gallery at $url
acknowledged() { sed 's/^{"added": "\([^"]*\)".*/\1/' "$@"; }
waits() { # waits STATEMENT: until it answers t, 10 s at most
    for _ in $(seq 200); do
        [ "$(sql "$base" "$1")" = t ] && return
        sleep 0.05
    done
    return 1
}
rows few 20 8 1
rows more 20 8 2
rows long 3000 8 3
embedding=reid.embedding_0123456789abcdef0000000000000008

# --- addresses: no message shows a password ---------------------------------------------------------------------------
hidden() { check "no password in: $1" [ "$(cat "$out" "$err" | grep -c -e 'hunter' -e 'ss@' -e 'w#r')" = 0 ]; }
for address in 'postgresql://me:hunter2@/nowhere?host=/none' 'postgres://me:hunter2@localhost:1/x' \
    'postgresql://me:hun/ter@localhost/x' 'postgresql://me:hunter@ss@localhost:1/x' \
    'postgresql://me:hunter?x@localhost:1/x' \
    'postgresql://localhost:1/x?password=hunter2&user=me' 'postgresql://localhost:1/x?sslpassword=hunter2' \
    'postgresql://me:hunter%zz@localhost:1/x' 'postgresql://me:hunter2' 'postgresql://localhost:1/x?password=a@hunter' \
    'postgresql://localhost:1/x?pass%77ord=hunter2'; do
    for part in list verify; do
        g 2 $part "$address"
        says '^reid: '
        hidden "$address"
    done
done
g 2 list 'postgresql://me:hunter2@localhost:1/x'
says '^reid: postgresql://me:\*\*\*@localhost:1/x: connection to server at '
run 2 match -m none --gallery 'postgresql://me:hunter2@localhost:1/x' q.png
hidden match
run 2 cluster 'postgresql://me:hunter2@localhost:1/x'
hidden cluster

# --- unsuitable servers, databases without a gallery ------------------------------------------------------------------
sql postgres 'CREATE DATABASE bare'
sql postgres "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
g 2 list "$(pg_url bare)"
says 'bare.*: contains no gallery; create one with "reid gallery create"$'
g 2 create "$(pg_url latin)" --like few.npy
says 'is encoded in LATIN1; a gallery needs a database in UTF8$'
mkdir -p old/extension empty/extension
control=$(find "$pg_programs/.." -name vector.control | head -n 1)
sed "s/^default_version.*/default_version = '0.8.1'/" "$control" > old/extension/vector.control
chmod -R a+rX old empty
PGOPTIONS="-c extension_control_path=$work/empty" "$REID" gallery create "$(pg_url bare)" --like few.npy 2> "$err"
says 'the server has no pgvector; a gallery needs 0.8.4 or newer '
PGOPTIONS="-c extension_control_path=$work/old" "$REID" gallery create "$(pg_url bare)" --like few.npy 2> "$err"
says 'has pgvector 0.8.1; a gallery needs 0.8.4 or newer'
check "nothing was made" [ "$(sql bare "SELECT count(*) FROM pg_namespace WHERE nspname = 'reid'")" = 0 ]
sql bare 'CREATE SCHEMA reid'
g 2 list "$(pg_url bare)"
says 'has a schema "reid" that is not a gallery$'

base versions
sql versions "UPDATE pg_extension SET extversion = '0.8.3' WHERE extname = 'vector'"
g 2 list "$url"
says 'has pgvector 0.8.3; a gallery needs 0.8.4 or newer, .*ALTER EXTENSION vector UPDATE'
sql versions "UPDATE pg_extension SET extversion = '0.10' WHERE extname = 'vector'"
g 0 list "$url"
sql versions 'UPDATE reid.schema_version SET version = 0'
for part in 'list' 'verify' 'add few.npy' 'remove x' 'compact' 'create --like few.npy'; do
    # shellcheck disable=SC2086 # several words
    g 2 ${part%% *} "$url" ${part#"${part%% *}"}
    says 'has tables of version 0, but version 1 is needed: run the output of "reid gallery sql 0"$'
done
sql versions 'UPDATE reid.schema_version SET version = 7'
g 2 add "$url" few.npy
says 'has tables of version 7; this program supports versions up to 1$'

# Tables created by hand; then create only adds the model.
sql postgres 'CREATE DATABASE by_hand'
"$REID" gallery sql |
    "$pg_programs/psql" -X -q -v ON_ERROR_STOP=1 -h "$pg_host" -U postgres -d by_hand > "$out" 2> "$err"
check "psql runs reid gallery sql" [ $? = 0 ]
g 2 list "$(pg_url by_hand)"
says 'contains no gallery'
g 0 create "$(pg_url by_hand)" --like few.npy --threshold 0.25
g 0 verify "$(pg_url by_hand)"
prints '^stored as fp32, threshold 0.25$'
g 2 sql 1
says 'version 1 is the newest'
g 2 sql new
says '"new" is not a version of the tables'

# --- rights -----------------------------------------------------------------------------------------------------------
sql postgres 'DROP ROLE IF EXISTS reid_nobody' 2> "$work/none"
sql postgres 'CREATE ROLE ann LOGIN IN ROLE reid_reader; CREATE ROLE bob LOGIN IN ROLE reid_writer;
    CREATE ROLE eve LOGIN; CREATE ROLE owner LOGIN'
base rights
fill few
for part in 'list' 'verify' 'search few.npy' 'export -o e.npy'; do
    # shellcheck disable=SC2086 # several words
    g 0 ${part%% *} "$(url_of ann rights)" ${part#"${part%% *}"}
done
for part in 'add more.npy' 'remove few0' 'set --threshold 0.5'; do
    # shellcheck disable=SC2086 # several words
    g 2 ${part%% *} "$(url_of ann rights)" ${part#"${part%% *}"}
    says 'you may read this gallery but not change it; its owner can grant you reid_writer$'
done
g 2 list "$(url_of eve rights)"
says 'permission denied for schema reid; the owner of the gallery can grant you reid_reader or reid_writer$'
sed 's/"models":/"jpeg": "stb_image", "models":/' more.meta.json > said && cp said more.meta.json
g 0 add "$(url_of bob rights)" more.npy
prints '^added 20$'
g 0 remove "$(url_of bob rights)" few0 more0
g 0 set "$(url_of bob rights)" --threshold 0.5
g 0 verify "$(url_of bob rights)"
prints '^38 records, 0 damaged, 38 templates'
prints '^JPEG files decoded by stb_image$'
for what in 'CREATE TABLE reid.x ()' 'DELETE FROM reid.gallery' 'DROP TABLE reid.template' \
    'UPDATE reid.template SET id = 1' 'UPDATE reid.model SET preset = 1'; do
    check "a writer may not: $what" [ "$("$pg_programs/psql" -X -h "$pg_host" -U bob -d rights -c "$what" 2>&1 |
        grep -c 'permission denied\|must be owner')" = 1 ]
done
# A user who may not create roles can still create a gallery; if pgvector is not a trusted extension, a superuser
# installs it.
sql postgres 'CREATE DATABASE own OWNER owner'
sql own 'CREATE EXTENSION vector'
g 0 create "$(url_of owner own)" --like few.npy
g 0 add "$(url_of owner own)" few.npy
g 2 create "$(url_of owner own)" --like few.npy
says 'already exists$'

# --- texts ------------------------------------------------------------------------------------------------------------
# A database keeps every text that a file can hold, except those that are not UTF-8, which are refused by name.
"$python" - << 'EOF'
import csv
texts = ["'; DROP TABLE reid.template; --", 'a"b', "back\\slash", "\\N", "\\.", "{a,b}", "NULL", "$1", "=1+1", "@x",
         "-2", "a\nb", "a\tb", " blank ", "\u202e", "\U0001f43b", "é", "e\u0302", "A", "a", "x" * 60000, "%s%n", "\x01"]
with open("texts.jsonl", "w") as f, open("few.npy", "rb") as rows:
    import array, json
    rows.read(128)
    values = array.array("f", rows.read())
    for i, text in enumerate(texts):
        row = list(values[8 * (i % 20):8 * (i % 20) + 8])
        f.write(json.dumps({"path": text, "identity": text[::-1] if i % 2 else text, "camera": text,
                            "time": "0001-01-01T00:00:00Z" if i == 1 else "9999-12-31T23:59:59.999Z",
                            "embeddings": [row]}) + "\n")
with open("few.meta.json") as f:
    meta = json.load(f)
del meta["identities"]
meta["rows"] = len(texts)
with open("texts.jsonl.meta.json", "w") as f:
    json.dump(meta, f)
EOF
base texts
"$REID" gallery create texts.gallery --like few.npy
g 0 add texts.gallery texts.jsonl
g 0 add "$url" texts.jsonl
prints '^added 23$'
g 0 list texts.gallery --json
cp "$out" wanted
g 0 list "$url" --json
same "$out" wanted
g 0 list texts.gallery --identity
cp "$out" wanted
g 0 list "$url" --identity
same "$out" wanted
g 0 verify "$url"
g 0 export texts.gallery -o wanted.npy
g 0 export "$url" -o got.npy
same got.npy wanted.npy
same got.ids.txt wanted.ids.txt
g 2 add "$url" texts.jsonl --json
silent
check "each is there already" [ "$(grep -c 'is already in the gallery' "$err")" = 22 ] # a line ends after 4 KiB
g 0 remove "$url" "'; DROP TABLE reid.template; --" '\.' '\N' A
g 0 remove "$url" --identity 'b"a'
prints '^removed 1$'
g 2 remove "$url" "$(printf 'bad\377')"
says 'bad\\xff: is not in the gallery'
g 2 remove "$url" --identity "$(printf 'bad\377')"
g 0 verify "$url"
prints '^18 records, 0 damaged'

# Two spellings of one name in Unicode are one, in a database as in a file.
one=$(printf 'Zo\303\253') other=$(printf 'Zoe\314\210') # Zoë
base forms
python3 - "$one" "$other" <<'EOF' || exit 1
import json, sys
one, other = sys.argv[1:]
with open("few.meta.json") as f:
    meta = json.load(f)
del meta["identities"]
rows = [[float(i == k) for i in range(meta["dim"])] for k in range(4)]
for name, ids in (("one", [(one + "/a", one), (one + "/b", one)]), ("other", [(other + "/c", other)]),
                  ("again", [(other + "/a", one)])):
    with open(name + ".jsonl", "w") as f:
        for (at, identity), row in zip(ids, rows):
            f.write(json.dumps({"path": at, "identity": identity, "camera": identity, "embeddings": [row]}) + "\n")
    with open(name + ".jsonl.meta.json", "w") as f:
        json.dump(dict(meta, rows=len(ids)), f)
EOF
g 0 add "$url" one.jsonl
g 0 add "$url" other.jsonl
g 2 add "$url" again.jsonl
says "^reid: $other/a: is already in the gallery"
g 0 list "$url"
check 'an identity keeps its first spelling' [ "$(cut -f 2 "$out" | grep -c "^$one$")" = 3 ]
g 0 search "$url" one.jsonl --only "$other" --keep-self -k 9
check 'a filter finds both spellings' [ "$(grep -c 1.0000 "$out")" = 2 ]
g 0 search "$url" one.jsonl --in-camera "$other" --keep-self -k 9
check 'of a camera, too' [ "$(grep -c 1.0000 "$out")" = 2 ]
g 0 remove "$url" "$other/a"
prints '^removed 1$'
g 0 remove "$url" --identity "$other"
prints '^removed 2$'
b0 w.safetensors
picture "$(printf 'l\351.png')" 60 50 1
picture ok.png 60 50 2
sql postgres 'CREATE DATABASE latin_path'
url=$(pg_url latin_path)
g 0 create "$url" -m w.safetensors --size 64x64
g 1 add "$url" -m w.safetensors --size 64x64 "$(printf 'l\351.png')" ok.png
says 'l\\xe9.png: its id is not UTF-8, which databases need$'
prints '^added 1$'
printf 'path,identity,camera,id\nok.png,x\351,,1\nok.png,x,c\351,2\n' > bad.csv
g 2 add "$url" -m w.safetensors --size 64x64 --list bad.csv
says '^reid: 1: its identity is not UTF-8'
says '^reid: 2: its camera is not UTF-8'

# --- everything that takes a gallery ----------------------------------------------------------------------------------
run 0 match -m w.safetensors --size 64x64 --gallery "$url" --keep-self --json ok.png
prints '"identity": "ok"'
base groups
fill few
"$REID" gallery create groups.gallery --like few.npy
g 0 add groups.gallery few.npy
run 0 cluster groups.gallery --threshold 0.3
cp "$out" wanted
run 0 cluster "$url" --threshold 0.3
same "$out" wanted
g 0 create copy.gallery --like "$url"
g 0 search "$url" more.npy -k 5 --json --keep-self --by mean
cp "$out" got
g 0 search groups.gallery more.npy -k 5 --json --keep-self --by mean
same got "$out"

# --- several at once --------------------------------------------------------------------------------------------------
# Two add overlapping lists in different orders, one removes, one reads: all succeed, and each id was added by one.
base=several
base several
rows both 600 8 4 id
"$REID" gallery add "$url" both.npy --json > first 2> first.err &
one=$!
"$REID" gallery add "$url" both.npy --json > second 2> second.err &
two=$!
reads=0
while kill -0 $one 2> "$work/none" || kill -0 $two 2> "$work/none"; do
    "$REID" gallery verify "$url" > "$out" 2> "$err" || { reads=failed && break; }
    reads=$((reads + 1))
done
wait $one
check "the first writer has added all, or said what the other one had (was $?)" [ $? -le 2 ]
wait $two
check "readers saw whole templates ($reads times)" [ "$reads" != failed ]
acknowledged first second | sort > got
sort both.ids.txt > wanted
same got wanted
ids | sort > got
same got wanted
check "and the others were told" [ $(($(grep -c 'is already in the gallery' first.err) + \
    $(grep -c 'is already in the gallery' second.err))) = 600 ]

# An id that another client adds between the look-up and the commit is refused at the commit; with --strict the whole
# commit is. hold SQL: a session keeps writers out until one of them waits, then does SQL and lets them go on.
hold() {
    sql "$base" "BEGIN; SELECT pg_advisory_xact_lock(1919248740, 1); DO \$\$ BEGIN FOR i IN 1..200 LOOP
        EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted);
        PERFORM pg_sleep(0.05); END LOOP; END \$\$; $1; COMMIT" > "$work/none" &
    holder=$!
    waits "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted)"
}
early="INSERT INTO reid.identity (name) VALUES ('early'); INSERT INTO reid.template (id, identity_id)
    SELECT 'more3', identity_id FROM reid.identity WHERE name = 'early'"
base=late
base late
hold "$early"
g 1 add "$url" more.npy --json
wait $holder
says '^reid: more3: is already in the gallery$'
lines "$out" 19
check "it is not reported as added" [ "$(grep -c '"more3"' "$out")" = 0 ]
base=strictly
base strictly
hold "$early"
g 1 add "$url" more.npy --strict
wait $holder
says '^reid: more3: is already in the gallery$'
says 'nothing was added (--strict)$'
check "nothing was added" [ "$(ids)" = more3 ]
base=gone
base gone
fill few
hold "DELETE FROM reid.template WHERE id = 'few3'"
g 1 remove "$url" few2 few3
wait $holder
says '^reid: few3: is not in the gallery$'
prints '^removed 1$'
hold "UPDATE reid.gallery SET embedder = embedder" # does not affect the writers
g 0 set "$url" --threshold 0.75
wait $holder
# After a switch to other models, embeddings by the old ones are not stored.
hold "SELECT reid.add_model(repeat('ab', 16), 'n', 'p', 'fp32', 8, 'fp32');
    INSERT INTO reid.embedder (model_a) SELECT max(model_id) FROM reid.model;
    UPDATE reid.gallery SET embedder = (SELECT max(embedder_id) FROM reid.embedder)"
g 2 add "$url" more.npy
wait $holder
says "the gallery has been switched to other models in the meantime; \
the gallery is unchanged except for 0 templates added before\$"

# After a temporary conflict the transaction is repeated; a lasting one is reported.
base=again
base again
sql again "CREATE SEQUENCE reid.tries; CREATE FUNCTION reid.fail() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
    IF nextval('reid.tries') <= 3 THEN RAISE EXCEPTION 'could not serialize' USING ERRCODE = '40001'; END IF;
    RETURN NULL; END \$\$;
    CREATE TRIGGER fail AFTER INSERT ON reid.template EXECUTE FUNCTION reid.fail()"
g 0 add "$url" few.npy
prints '^added 20$'
check "it was tried four times" [ "$(sql again 'SELECT last_value FROM reid.tries')" = 4 ]
sql again 'ALTER SEQUENCE reid.tries RESTART MINVALUE -1000 START -1000; ALTER SEQUENCE reid.tries RESTART'
g 2 add "$url" more.npy
says 'could not serialize; the gallery is unchanged except for 0 templates added before$'
check "nothing of it is there" [ "$(ids | wc -l)" = 20 ]

# --- lost connections -------------------------------------------------------------------------------------------------
kill_them="SELECT bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'reid' AND"
# ... while a writer waits for others,
base=lost
base lost
hold "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reid'"
g 0 add "$url" few.npy --json
wait $holder
lines "$out" 20
ids > got
same got few.ids.txt
# ... in the middle of a COPY,
sql lost "CREATE SEQUENCE reid.tries; CREATE FUNCTION reid.slow() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
    IF nextval('reid.tries') = 7 THEN PERFORM pg_sleep(20); END IF; RETURN NEW; END \$\$;
    CREATE TRIGGER slow BEFORE INSERT ON $embedding FOR EACH ROW EXECUTE FUNCTION reid.slow()"
"$REID" gallery add "$url" more.npy --json > "$out" 2> "$err" &
pid=$!
waits "$kill_them query LIKE 'COPY%' AND wait_event = 'PgSleep'"
wait $pid
check "added in spite of a COPY that broke" [ $? = 0 ]
lines "$out" 20
ids > got
cat few.ids.txt more.ids.txt > wanted
same got wanted
sql lost "DROP TRIGGER slow ON $embedding"
# ... of a reader, which says so,
"$pg_programs/psql" -X -q -h "$pg_host" -U postgres -d lost -c "BEGIN; LOCK reid.template; SELECT pg_sleep(20)" \
    > "$work/none" 2>&1 &
locker=$!
pids=$locker
waits "SELECT EXISTS (SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation =
    'reid.template'::regclass)"
"$REID" gallery list "$url" > "$out" 2> "$err" &
pid=$!
waits "$kill_them wait_event_type = 'Lock'"
wait $pid
check "a reader fails" [ $? = 2 ]
silent
says 'terminating connection'
waits "SELECT bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%LOCK reid%' AND
    application_name = 'psql' AND pid <> pg_backend_pid()"
wait $locker
# ... before a COMMIT takes effect,
sql lost "ALTER SEQUENCE reid.tries RESTART;
    CREATE FUNCTION reid.at_end() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
    IF nextval('reid.tries') = 1 THEN PERFORM pg_sleep(20); END IF; RETURN NULL; END \$\$;
    CREATE CONSTRAINT TRIGGER at_end AFTER INSERT ON reid.stored DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION reid.at_end()"
rows third 5 8 5
"$REID" gallery add "$url" third.npy --json > "$out" 2> "$err" &
pid=$!
waits "$kill_them query = 'COMMIT' AND wait_event = 'PgSleep'"
wait $pid
check "added in spite of a COMMIT that broke" [ $? = 0 ]
lines "$out" 5
sql lost 'DROP TRIGGER at_end ON reid.stored'
# ... and after it took effect, but without an answer: here it waits for a replica that does not exist.
rows fourth 5 8 6
sql lost "ALTER SYSTEM SET synchronous_standby_names = 'nobody'"
sql lost 'SELECT pg_reload_conf()' > "$work/none"
waits "SELECT current_setting('synchronous_standby_names') = 'nobody'"
"$REID" gallery add "$url" fourth.npy --json > "$out" 2> "$err" &
pid=$!
waits "$kill_them wait_event = 'SyncRep'"
sql lost 'ALTER SYSTEM RESET synchronous_standby_names'
sql lost 'SELECT pg_reload_conf()' > "$work/none"
wait $pid
check "what was committed is said to be" [ $? = 0 ]
acknowledged "$out" > got
same got fourth.ids.txt
cat few.ids.txt more.ids.txt third.ids.txt fourth.ids.txt > wanted
ids > got
same got wanted
check "no token is left" [ "$(sql lost 'SELECT count(*) FROM reid.stored')" = 0 ]

# --- a server that is killed ------------------------------------------------------------------------------------------
# If it comes back, everything is added. If not, there is an error, and reported templates are still there afterwards.
base=killed
base killed
: > "$out"
"$REID" gallery add "$url" long.npy --json > "$out" 2> "$err" &
pid=$!
while [ ! -s "$out" ] && kill -0 $pid 2> "$work/none"; do sleep 0.02; done
stop_postgres QUIT
again_postgres
wait $pid
check "added in spite of a killed server" [ $? = 0 ]
lines "$out" 3000
ids > got
same got long.ids.txt
base=down
base down
: > "$out"
"$REID" gallery add "$url" long.npy --json > "$out" 2> "$err" &
pid=$!
while [ ! -s "$out" ] && kill -0 $pid 2> "$work/none"; do sleep 0.02; done
stop_postgres QUIT
wait $pid
check "a server that stays away" [ $? -ge 1 ]
says "the gallery is unchanged except for [0-9]* templates* added before\$\
\\|it is unknown whether the last templates were stored; [0-9]* templates* had been added before\$"
again_postgres
acknowledged "$out" | sort > got
ids | sort > there
check "nothing that was acknowledged is lost" [ -z "$(comm -23 got there)" ]
g 0 verify "$url"

# --- one large transaction, and a disk that is full -------------------------------------------------------------------
base=large
base large
g 0 add "$url" long.npy --strict
prints '^added 3000$'
ids > got
same got long.ids.txt
limited=$(head -n 1 "$pg_host/data/postmaster.pid")
if as_server prlimit --pid "$limited" --fsize=16777216: 2> "$work/none"; then # no file may be larger than the log's
    rows wide 600 5000 7
    sql postgres 'CREATE DATABASE full_disk'
    url=$(pg_url full_disk)
    g 0 create "$url" --like wide.npy
    "$REID" gallery add "$url" wide.npy --json > "$out" 2> "$err"
    check "add to a full disk" [ $? = 1 ]
    as_server prlimit --pid "$limited" --fsize=unlimited:
    says 'could not extend file .*File too large.*; the gallery is unchanged except for [0-9]* templates* added before$'
    acknowledged "$out" > got
    ids > there
    same got there
    check "something was added" [ -s got ]
    g 0 verify "$url"
else
    echo "skipped: a full disk: prlimit cannot limit the files of the server here"
fi
finish
