# t_gallery_memory.sh: reid gallery with a database, with each allocation failing in turn, first alone, then together
# with all later ones. It must either succeed, or report that memory ran out and change nothing; another push continues
# a failed one. REID_SEED chooses a share of the allocations; --all takes more.
. tests/lib/python.sh
. tests/lib/postgres.sh
need_postgres
if grep -q __asan_init "${REID:-build/reid}"; then
    echo 'skipped: AddressSanitizer has its own malloc'
    exit 77
fi
. tests/lib/cli_lib.sh
need_eval_files
${CC:-cc} -std=c99 -D_GNU_SOURCE -O2 -shared -fPIC "$repository/tests/lib/refuse_memory.c" -o refuse.so || exit 1
pg_options='-c fsync=off' # the machine stays up
own_postgres || exit 1
most=3
[ "${REID_ALL:-0}" = 0 ] || most=60

# rows FILE FROM TO SEED: embeddings of 16 values
rows() {
    awk -v from="$2" -v to="$3" 'BEGIN { for (i = from; i < to; i++) printf "crops/%03d.jpg deer-%d\n", i, i % 9 }' |
        "$EVAL_FILES" "$1" 16 "$4" 0.5
}
rows a.npy 0 40 1
rows new.npy 40 45 2
rows q.npy 90 95 3
"$REID" gallery create a.gallery --like a.npy --threshold 0.5 && "$REID" gallery add a.gallery a.npy > made || exit 1
"$REID" gallery create big.gallery --like a.npy --threshold 0.5 && "$REID" gallery add big.gallery a.npy new.npy > made
sql postgres 'CREATE DATABASE base' && sql postgres 'CREATE DATABASE empty'
"$REID" gallery push a.gallery "$(pg_url base)" > made || exit 1

# fresh NAME: makes the database x, at $url, a copy of NAME
fresh() {
    sql postgres 'DROP DATABASE IF EXISTS x WITH (FORCE)' 2> none
    sql postgres "CREATE DATABASE x TEMPLATE $1"
    url=$(pg_url x)
}
table=reid.embedding_$(sql base 'SELECT fingerprint FROM reid.model')
# Prints the contents of x as a line.
state() {
    if [ "$(sql x "SELECT to_regclass('reid.template') IS NOT NULL")" = t ]; then
        sql x "SELECT count(*), (SELECT count(*) FROM reid.identity),
                md5(string_agg(concat_ws('|', t.id, i.name, camera, seen, source, e.row, e.half), ',' ORDER BY t.id)),
                (SELECT string_agg(threshold::text, ',') FROM reid.embedder),
                (SELECT string_agg(embedder::text, ',') FROM reid.gallery),
                (SELECT string_agg(jpeg::text, ',' ORDER BY model_id) FROM reid.model),
                (SELECT count(*) FROM pg_tables WHERE schemaname = 'reid')
            FROM reid.template t JOIN reid.identity i USING (identity_id) LEFT JOIN $table e USING (template_id)"
    else
        echo none
    fi
}

# refused AT REST ARGUMENT...: runs reid with that allocation failing
refused() {
    at=$1 rest=$2
    shift 2
    LD_PRELOAD=$work/refuse.so REFUSE_AT=$at REFUSE_REST=$rest "$REID" "$@" > "$out" 2> "$err"
    got=$?
}
complain() { # complain WHAT: of the call that was refused
    echo "FAILED: $what, allocation $at of $calls$([ "$rest" = 0 ] || echo ' and all after it'): $1 (exit $got)"
    sed 's/^/    stderr: /' "$err" | head -3
    failed=$((failed + 1))
}
lacks_memory() {
    grep -q -i memory "$err" || complain 'its message does not name lack of memory'
    ! grep -q damaged "$err" || complain 'its message reports damage'
}

# counted NAME ARGUMENT...: runs the call undisturbed, counts its allocations in $calls, and writes its output to wanted
counted() {
    what=$1
    shift
    LD_PRELOAD=$work/refuse.so REFUSE_COUNT=$work/calls "$REID" "$@" > wanted 2> "$err"
    check "$what succeeds" [ $? = 0 ]
    calls=$(cat calls)
    check "$what allocates memory ($calls times)" [ "$calls" -gt 2 ]
}
# each ARGUMENT...: calls `$one AT REST ARGUMENT...` for a share of the allocations that were counted
each() {
    step=$(((calls + most - 1) / most))
    at=$((${REID_SEED:-0} % step + 1))
    while [ $at -le "$calls" ]; do
        for rest in 0 1; do
            $one $at $rest "$@"
            [ $got -le 2 ] || complain 'it crashed'
            passed=$((passed + 1))
        done
        at=$((at + step))
    done
}

# --- what only reads --------------------------------------------------------------------------------------------------
one=read_one
read_one() {
    refused "$@"
    if [ $got = 0 ]; then cmp -s "$out" wanted || complain 'it says something else'
    else lacks_memory; fi
}
reads() { # reads NAME ARGUMENT...
    counted "$@"
    shift
    each "$@"
}
fresh base
before=$(state)
reads list gallery list "$url" --json
reads search gallery search "$url" q.npy --json
reads 'search by the index' gallery search "$url" q.npy --json --candidates 20
reads 'search of some' gallery search "$url" q.npy --json --only deer-3
reads verify gallery verify "$url"
reads status gallery reembed "$url" --status
reads sql gallery sql
check "reading changes nothing" [ "$(state)" = "$before" ]

# pull leaves a complete gallery file or none.
one=pull_one
pull_one() {
    rm -f got.gallery
    refused "$@"
    if [ $got = 0 ]; then cmp -s got.gallery pulled || complain 'the file is another one'
    else
        lacks_memory
        [ -z "$(ls got.gallery* 2> none)" ] || cmp -s got.gallery pulled || complain 'a part of a file is left'
    fi
}
"$REID" gallery pull "$url" pulled > made
counted pull gallery pull "$url" got.gallery
each gallery pull "$url" got.gallery

# --- what writes ------------------------------------------------------------------------------------------------------
# All inputs, or none, or all except the named ones, with exit status 1.
one=write_one
write_one() {
    refused "$@"
    shift 2
    now=$(state)
    if [ "$now" = "$before" ]; then
        [ $got != 0 ] || complain 'it says that all is well, and has done nothing'
        lacks_memory
        return
    fi
    [ $got = 0 ] || lacks_memory
    [ "$now" = "$after" ] || [ $got:$((${now%%|*} + $(grep -c '^reid: crops/.*: out of memory' "$err"))) = 1:45 ] ||
        complain "it has done a part of it, and does not name the rest: $now"
    fresh "$from"
}
# writes NAME FROM ARGUMENT...: `each` on copies of the database FROM
writes() {
    call=$1 from=$2
    shift 2
    fresh "$from"
    before=$(state)
    counted "$call" "$@"
    after=$(state)
    check "$call changes something" [ "$before" != "$after" ]
    fresh "$from"
    each "$@"
}
fresh base
writes create empty gallery create "$url" --like a.npy
writes add base gallery add "$url" new.npy
writes remove base gallery remove "$url" crops/003.jpg crops/004.jpg
writes set base gallery set "$url" --threshold 0.25

# A failed push may have stored whole batches; pushing again stores the rest.
one=push_one
push_one() {
    refused "$@"
    shift 2
    [ $got = 0 ] || lacks_memory
    [ $got != 0 ] || [ "$(state)" = "$after" ] || complain 'it says that all is stored'
    "$REID" "$@" > again 2>&1 || complain "and pushing again fails: $(cat again)"
    [ "$(state)" = "$after" ] || complain 'and pushing again does not store it all'
    fresh "$from"
}
writes push base gallery push big.gallery "$url"
writes 'push into nothing' empty gallery push big.gallery "$url"

# --- other models -----------------------------------------------------------------------------------------------------
# A worker without memory keeps its finished work, and leaves the rest to the next one.
b0 w.safetensors && b0 w2.safetensors 2 && mkdir -p gal/ann gal/bob
for i in 1 2 3 4; do picture gal/ann/$i.png 20 20 $i && picture gal/bob/$i.png 20 20 1$i; done
"$REID" embed -q -m w2.safetensors --size 32x32 gal/ann/1.png -o one.npy
table=reid.embedding_$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' one.meta.json)
sql postgres 'CREATE DATABASE models'
"$REID" gallery create "$(pg_url models)" -m w.safetensors --size 32x32
"$REID" gallery add "$(pg_url models)" -m w.safetensors --size 32x32 gal > made || exit 1
done_by() { sql x "SELECT count(*), md5(string_agg(encode(row, 'hex'), ',' ORDER BY template_id)) FROM $table" 2>&1; }
one=reembed_one
reembed_one() {
    refused "$@"
    shift 2
    [ $got = 0 ] || lacks_memory
    [ $got != 0 ] || [ "$(done_by)" = "$after" ] || complain 'it says that all is done'
    [ "$(sql x 'SELECT count(*) FROM reid.worker' 2> none)" != 1 ] || complain 'it has not signed off'
    "$REID" "$@" > again 2>&1 || complain "and the next one fails: $(cat again)"
    [ "$(done_by)" = "$after" ] || complain 'and the next one does not do it all'
    fresh models
}
most=$((most / 3 + 1))
fresh models
counted reembed gallery reembed "$url" -m w2.safetensors --size 32x32
after=$(done_by)
check "all rows are there ($after)" [ "${after%%|*}" = 8 ]
sql postgres 'CREATE DATABASE second TEMPLATE x'
fresh models
each gallery reembed "$url" -m w2.safetensors --size 32x32
one=read_one
fresh second
reads compare gallery reembed "$url" --compare --fmr 0.2 --json
one=write_one
writes switch second gallery reembed "$url" --switch
finish
