# t_decisions_database.sh: decisions in a gallery in PostgreSQL: the cases of t_decisions.c, with several writers that
# are killed; reid review, --import and cluster as with a file; rights; a server that is stopped abruptly.
. tests/lib/python.sh
. tests/lib/postgres.sh
need_postgres
. tests/lib/cli_lib.sh
need_eval_files
own_postgres || exit 1
unset PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGOPTIONS PGSERVICE

for i in 1 2 3 4; do echo "a/$i.png ann" && echo "b/$i.png bob"; done >list
"$EVAL_FILES" crops.npy 16 7 0.3 <list
sql postgres 'CREATE DATABASE deer'
url=$(pg_url deer)
"$REID" gallery create "$url" --like crops.npy || exit 1
table() { sql deer 'SELECT line::text FROM reid.decision ORDER BY seq'; }

# --- the cases of a file ----------------------------------------------------------------------------------------------
source=tests/tools/journal/t_decisions.c
line=$(awk '/^ +cc / { sub(/^ +cc /, ""); on = 1 } !on { next } /^$/ { exit } { gsub(/-o +[^ ]+/, ""); print }' \
    "$repository/$source")
# shellcheck disable=SC2086 # several words
(cd "$repository" && ${CC:-cc} -O1 -g1 $line -o "$work/t_decisions") || exit 1
check "t_decisions with a table" ./t_decisions "$url"
sql deer 'DELETE FROM reid.decision'

# --- the command: the same journal in a file and in a table -----------------------------------------------------------
python3 - >saved.jsonl <<'END'
import zlib
whats = ['"what": "same", "crops": ["a/1.png", "b/1.png"]', '"what": "different", "crops": ["a/2.png", "a/3.png"]',
         '"what": "not a crop", "crops": ["b/4.png"]', '"what": "name", "crops": ["a/3.png"], "name": "o\'Brien; --"',
         '"what": "undo", "undoes": 2', '"what": "different", "crops": ["a/2.png", "a/4.png"]']
for i, what in enumerate(whats):
    line = '{"seq": %d, %s, "by": "eve", "when": "2026-05-31T06:30:00Z", "models": ["%s"]' % (i + 1, what, "0" * 32)
    print('%s, "crc": "%08x"}' % (line, zlib.crc32(line.encode())))
END
run 0 review --import saved.jsonl --decisions "$url"
says '^reid: 6 decisions added to postgresql://postgres@/deer?host=[^ ]*, 0 already in it$'
run 0 review --import saved.jsonl --decisions "$url"
says '0 decisions added to .*, 6 already in it'
table >now
same now saved.jsonl
run 0 review --import "$url" --decisions back.jsonl
says '6 decisions added to back.jsonl, 0 already in it'
same back.jsonl saved.jsonl
mkdir -p a && picture a/1.png 8 8 1 # a page without any image is refused
for at in saved.jsonl "$url"; do
    run 0 cluster crops.npy --threshold 0.6 --decisions "$at" -o "${at%%:*}.csv" -q
    run 0 review crops.npy --threshold 0.6 --decisions "$at" --html "${at%%:*}.html"
done
same postgresql.csv saved.jsonl.csv
check "the page has the decisions" grep -q '"decisions": \[{"seq": 1, .*"seq": 6' postgresql.html

# --- what is refused --------------------------------------------------------------------------------------------------
run 2 cluster crops.npy --threshold 0.6 --decisions 'postgresql://me:hunter2@localhost:1/x'
says '^reid: postgresql://me:\*\*\*@localhost:1/x: connection to server at '
run 2 review crops.npy --threshold 0.6 --decisions 'postgresql://me:hunter2@localhost:1/x'
check "no password" sh -c "! grep hunter '$err'"
run 2 review --import 'postgresql://me:hunter2@localhost:1/x' --decisions back.jsonl
check "no password" sh -c "! grep hunter '$err'"
sql postgres 'CREATE DATABASE bare'
run 2 review crops.npy --threshold 0.6 --decisions "$(pg_url bare)"
says 'contains no gallery; create one with "reid gallery create"'
sql postgres 'CREATE ROLE ann LOGIN IN ROLE reid_reader; CREATE ROLE bob LOGIN IN ROLE reid_writer'
as() { pg_url deer | sed "s/postgres@/$1@/"; }
run 0 cluster crops.npy --threshold 0.6 --decisions "$(as ann)" -o ann.csv -q
run 2 review --import saved.jsonl --decisions "$(as ann)"
says 'you may read this gallery.s decisions but not add any; its owner can grant you reid_writer'
sql deer 'DELETE FROM reid.decision'
run 0 review --import saved.jsonl --decisions "$(as bob)"
for what in 'DELETE FROM reid.decision' 'UPDATE reid.decision SET seq = seq' 'TRUNCATE reid.decision'; do
    check "a writer may not: $what" sh -c "'$pg_programs/psql' -X -h '$pg_host' -U bob -d deer -c '$what' 2>&1 |
        grep 'permission denied'"
done
sql deer "UPDATE reid.decision SET line = '{\"seq\": 3}' WHERE seq = 3"
run 2 cluster crops.npy --threshold 0.6 --decisions "$url" -o no.csv
says 'deer.*: line 3: "crc": the checksum at its end is wrong: the line is damaged'
sql deer 'DELETE FROM reid.decision'

# --- a page whose database server is stopped abruptly, again and again ------------------------------------------------
"$REID" review crops.npy --threshold 0.6 --decisions "$url" >page 2>"$work/log" &
pids=$!
for _ in $(seq 200); do
    [ -s page ] && break
    sleep 0.05
done
page=$(cat page) site=$(sed 's|\(http://[^/]*\)/.*|\1|' page)
i=0
while [ $i -lt 600 ] && [ ! -e enough ]; do
    i=$((i + 1))
    curl -s -H "Origin: $site" -H 'Content-Type: application/json' "${page}decide" \
        --data-binary "{\"what\": \"name\", \"crops\": [\"b/2.png\"], \"name\": \"n$i\", \"seen\": 999999}"
done >answers 2>/dev/null &
asker=$!
pids="$pids $asker"
answered() { grep -c '^{"seq"' answers; }
more() { # so that every stop comes in the middle of answers
    wanted=$(($(answered) + 7))
    for _ in $(seq 1200); do
        [ "$(answered)" -lt $wanted ] || return
        sleep 0.05
    done
}
for round in 1 2 3; do
    more
    stop_postgres QUIT
    [ $round != 2 ] || sleep 1
    again_postgres || exit 1
done
more
: >enough
wait $asker
table >now
check "what was acknowledged is there" python3 -c "
import json, re
told = [l for l in open('answers') if not l.startswith('{\"error')]
told = [int(n) for l in told for n in re.findall(r'^\{\"seq\": (\d+)', l)]
names = [json.loads(l)['name'] for l in open('now')]
failed = sum(l.startswith('{\"error') for l in open('answers'))
print(len(told), 'acknowledged,', len(names), 'stored,', failed, 'failed')
assert failed < 4, 'a lost connection did not come back'
assert len(told) > 20 and max(told) <= len(names), (told[-1:], len(names))
assert len(set(names)) == len(names), 'one is listed twice'
"
cat "$work/check"
run 0 cluster crops.npy --threshold 0.6 --decisions "$url" -o after.csv -q
finish
