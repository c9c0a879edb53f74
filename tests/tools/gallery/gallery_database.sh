# gallery_database.sh: functions for t_cli_gallery.sh when its galleries are databases, in a PostgreSQL of the test's
# own. Sourced in the folder where the test works, after `. tests/lib/postgres.sh`, need_postgres and cli_lib.sh;
# NAME.gallery is the database of that name.
trap 'stop_postgres QUIT; rm -rf "$work"' EXIT
chmod 755 "$work"
pg_options='-c fsync=off' # the machine stays up
start_postgres "$work/pg" || exit 1
host=$(echo "$pg_host" | sed 's|/|%2F|g')

place() { pg_url "$1"; }
keep() { "$REID" gallery list "$(place "$1")" --json > kept; }
is_kept() {
    "$REID" gallery list "$(place "$1")" --json > now
    same now kept
}
bring_back() { # removes templates that were added since keep
    "$REID" gallery list "$(place "$1")" --json | comm -13 kept - | sed 's/^{"id": "\([^"]*\)".*/\1/' > added
    while read -r id; do "$REID" gallery remove "$(place "$1")" "$id" > /dev/null; done < added
}

# Like run of cli_lib.sh, but each argument NAME.gallery becomes a URL, and in the output such a URL becomes the name.
run() {
    want=$1
    if [ "$2-$3" = gallery-create ] && [ ! -e "$4.made" ]; then
        sql postgres "CREATE DATABASE \"$4\""
        : > "$4.made"
    fi
    shift
    count=$#
    for word; do
        case $word in *.gallery) word=$(pg_url "$word") ;; esac
        set -- "$@" "$word"
    done
    shift "$count"
    "$REID" "$@" > "$out" 2> "$err"
    got=$?
    sed -i "s#postgresql://postgres@/\([a-z.]*\)?host=$host#\1#g" "$out" "$err"
    check "exit $want (was $got): reid $*" [ "$got" = "$want" ]
}

table() { echo "reid.embedding_$(sql "$1" 'SELECT fingerprint FROM reid.model ORDER BY model_id LIMIT 1')"; }
row_bytes() { sql "$1" "SELECT max(octet_length(row)) FROM $(table "$1")"; }

# In place of the test's truncated and flipped files: an embedding that is gone, and one with a changed byte. The server
# finds damage to its own files by its checksums.
damage_is_told() {
    sql postgres 'CREATE DATABASE "cut.gallery" TEMPLATE "a.gallery"'
    sql cut.gallery "DELETE FROM $(table cut.gallery) WHERE template_id = (SELECT template_id FROM reid.template
        WHERE id = 'gal/ann/2.png')"
    g 2 search cut.gallery $one near.png
    says 'cut.gallery: template "gal/ann/2.png" is damaged: it has no embedding by [0-9a-f]*; "reid gallery verify"'
    g 0 list cut.gallery
    lines "$out" 5
    sql postgres 'CREATE DATABASE "flipped.gallery" TEMPLATE "a.gallery"'
    sql flipped.gallery "UPDATE $(table flipped.gallery) SET row = set_byte(row, 3, 64) WHERE template_id =
        (SELECT template_id FROM reid.template WHERE id = 'gal/ann/2.png')"
    g 2 search flipped.gallery $one near.png
    says 'flipped.gallery: template "gal/ann/2.png" is damaged: its embedding has length [0-9.]* instead of 1; "reid'
    g 2 export flipped.gallery -o z.npy
    absent z.npy z.meta.json z.ids.txt
    run 2 match $one --gallery flipped.gallery near.png
    says 'is damaged'
    sql flipped.gallery "UPDATE $(table flipped.gallery) SET half = (SELECT half FROM $(table flipped.gallery) JOIN
        reid.template USING (template_id) WHERE id = 'gal/ann/1.png') WHERE template_id =
        (SELECT template_id FROM reid.template WHERE id = 'gal/bob/1.png')"
    g 1 verify flipped.gallery
    prints '^template 2 ("gal/ann/2.png") is damaged: its embedding has length'
    prints '^template 3 ("gal/bob/1.png") is damaged: the halves that are searched are not those of its embedding$'
    prints '^5 records, 2 damaged, 3 templates'
    says 'flipped.gallery: 2 damaged templates'
    g 1 verify flipped.gallery --json
    prints '"damaged": 2, .*"damage": \["template 2 (\\"gal/ann/2.png\\") is damaged: .*", "template 3 '
    g 2 compact flipped.gallery --salvage
    says '\-\-salvage is for gallery files; remove the templates that "reid gallery verify" names'
    g 0 remove flipped.gallery gal/ann/2.png gal/bob/1.png
    g 0 verify flipped.gallery
    prints '^3 records, 0 damaged, 3 templates'
    # Invalid JPEG decoders of a gallery; five are too many for the table.
    for names in '{"a,b"}' '{" a"}' '{12345678901234567890123456789012}' '{ä}'; do
        sql flipped.gallery "UPDATE reid.model SET jpeg = '$names'"
        g 2 list flipped.gallery
        says 'flipped.gallery: is damaged: invalid decoder names, or more than 4'
    done
    sql flipped.gallery "UPDATE reid.model SET jpeg = '{a,b,c,d,e}' RETURNING 'done'" >said 2>&1
    check "five decoders" grep -q 'violates check constraint' said
}
