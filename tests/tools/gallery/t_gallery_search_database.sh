# t_gallery_search_database.sh: reid gallery search in a database: by HNSW with exact scores, with filters, for
# ensembles; small galleries and --exact give the same bytes as files; too few candidates are reported.
. tests/lib/python.sh
. tests/lib/postgres.sh
need_postgres
. tests/lib/cli_lib.sh
need_eval_files
own_postgres || exit 1
g() { status=$1; shift; run "$status" gallery "$@"; }
base() { sql postgres "CREATE DATABASE $1" && pg_url "$1"; }
# rows FILE.npy FROM TO DIM SEED: individual i % 300 in every row i
rows() {
    awk -v from="$2" -v to="$3" 'BEGIN { for (i = from; i < to; i++) printf "crops/%05d.jpg deer-%d\n", i, i % 300 }' |
        "$EVAL_FILES" "$1" "$4" "$5" 1.2
}

# 12,000 templates, of three cameras and three days; the queries have ids of the gallery, so that these templates are
# left out, but other embeddings.
dim=24
for i in 0 1 2; do
    rows part$i.npy $((i * 4000)) $((i * 4000 + 4000)) $dim $((20 + i))
    [ -e a.gallery ] || "$REID" gallery create a.gallery --like part0.npy --threshold 0.5
    "$REID" gallery add a.gallery part$i.npy --camera "cam '$i'" --time 2024-06-0$((i + 1)) > /dev/null
done
rows q.npy 3900 4100 $dim 77
url=$(base a)
"$REID" gallery push a.gallery "$url" > /dev/null || exit 1
scans() { sql a "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname LIKE '%hnsw'"; }

# recall FILE WANTED AT_LEAST OF: at least so many hits are in both files, with the same scores; no score differs
recall() {
    check "$1 has at least $3 of $4 hits" "$python" - "$1" "$2" "$3" "$4" << 'EOF'
import json, sys
def hits(path):
    return [[(m["id"], m["score"]) for m in json.loads(line)["matches"]] for line in open(path)]
got, wanted = hits(sys.argv[1]), hits(sys.argv[2])
both = sum(len(set(a) & set(b)) for a, b in zip(got, wanted))
wrong = sum(dict(b).get(id, score) != score for a, b in zip(got, wanted) for id, score in a)
print(both, "of", sum(map(len, wanted)), "hits,", wrong, "other scores")
sys.exit(len(got) != len(wanted) or sum(map(len, wanted)) != int(sys.argv[4]) or both < int(sys.argv[3]) or wrong > 0)
EOF
}

# Every scoring: --exact gives the file's output byte for byte, and the index finds nearly all of it, with the same
# scores.
for by in template max mean top; do
    g 0 search a.gallery q.npy --by $by -k 10 --json
    mv "$out" wanted
    g 0 search "$url" q.npy --by $by -k 10 --json --exact
    same "$out" wanted
    before=$(scans)
    g 0 search "$url" q.npy --by $by -k 10 --json
    mv "$out" near
    recall near wanted 1980 2000
    check "the index was asked ($by)" [ "$(scans)" -ge $((before + 200)) ]
    check "every query tells its candidates" [ "$(grep -c '"candidates": [1-9][0-9]*, "too_few": false' near)" = 200 ]
done
g 0 search "$url" q.npy -k 10 -v --keep-self
says '200 queries, each compared with [0-9.]* templates from the index on average; '

# Filters: the index is searched, or everything if few templates are left, with the result of a file.
for filter in "--in-camera|cam '1'" '--from|2024-06-02' '--until|2024-06-02T00:00:00.001Z' '--only|deer-17'; do
    option=${filter%%|*} value=${filter#*|}
    g 0 search a.gallery q.npy "$option" "$value" --json
    mv "$out" wanted
    check "$option leaves something" grep -q '"identity"' wanted
    g 0 search "$url" q.npy "$option" "$value" --json
    same "$out" wanted
    n=1000
    [ "$option" != --only ] || n=200
    g 0 search "$url" q.npy "$option" "$value" --json --candidates 300
    mv "$out" near
    recall near wanted $((n * 97 / 100)) $n
done
g 0 search a.gallery q.npy --other-camera --camera "cam '1'" --json
mv "$out" wanted
g 0 search "$url" q.npy --other-camera --camera "cam '1'" --json
mv "$out" near
recall near wanted 990 1000
g 0 search "$url" q.npy --in-camera "x' OR 'a' = 'a" --json
check "no camera of that name" [ "$(grep -c '"matches": \[\]' "$out")" = 200 ]

# Too few hits are reported, with the number of templates examined.
g 0 search "$url" q.npy -k 5 --candidates 3 --json
says 'too few identities were found for 200 of 200 queries, among 3 templates from the index on average; --exact'
check "each query says so" [ "$(grep -c '"candidates": 3, "too_few": true' "$out")" = 200 ]

# A query that is in the gallery does not take the place of a candidate: with one candidate each, queries find another
# row, and find themselves with --keep-self.
rows self.npy 0 100 $dim 20
# ones FILE: queries whose best match has a score of 1
ones() {
    sed 's/.*"matches": \[{[^}]*"score": \([-0-9.e]*\).*/\1/' "$1" | awk '$1 > 0.99999 { n++ } END { print n + 0 }'
}
g 0 search "$url" self.npy -k 1 --candidates 1 --json --keep-self
check "with --keep-self every query finds itself" [ "$(ones "$out")" = 100 ]
g 0 search "$url" self.npy -k 1 --candidates 1 --json
check "no query finds itself" [ "$(ones "$out")" = 0 ]
check "a query does not take the place of its only candidate" [ "$(grep -c '"matches": \[{' "$out")" -ge 95 ]

# Options.
g 2 search "$url" q.npy --exact --candidates 9
says 'give either --exact or --candidates'
g 2 search "$url" q.npy --from yesterday
says '\-\-from takes 2024-05-31T06:30:00Z'
g 2 list "$url" --only deer-1
says 'cannot be used here, only with search'
rows other.npy 0 3 16 1
g 2 search "$url" other.npy
says 'other.npy'

# Without the index, searches are only slower.
sql a 'DROP INDEX reid."'"$(sql a "SELECT indexrelname FROM pg_stat_user_indexes WHERE indexrelname LIKE '%hnsw'")"'"'
g 0 search a.gallery q.npy -k 10 --json
mv "$out" wanted
g 0 search "$url" q.npy -k 10 --json
mv "$out" near
recall near wanted 2000 2000

# An ensemble: candidates of both indexes. Queries are compared with all of its 2,000 templates, unless candidates are
# asked for: the 60 nearest by each model have 497 of the hits, those of the first one alone 398.
rows two.npy 0 2000 16+8 5
rows two_q.npy 5000 5100 16+8 6
for flag in '' --fp16; do
    rm -f two.gallery
    # shellcheck disable=SC2086 # none, or one
    "$REID" gallery create two.gallery --like two.npy $flag && "$REID" gallery add two.gallery two.npy > /dev/null
    url=$(base "two${flag#--}")
    "$REID" gallery push two.gallery "$url" > /dev/null
    g 0 search two.gallery two_q.npy --json
    mv "$out" wanted
    g 0 search "$url" two_q.npy --json
    same "$out" wanted
    g 0 search "$url" two_q.npy --json --candidates 60
    mv "$out" near
    recall near wanted 480 500
done

# A database that states another length for our model's embeddings: no row of it is read, and none is stored.
url=$(base forged)
"$REID" gallery create "$url" --like q.npy
for n in 8 16000; do
    sql forged "UPDATE reid.model SET dim = $n"
    g 2 search "$url" q.npy --candidates 10
    says "q.npy: its rows by model [0-9]* have $dim values, but those of postgresql:.* have $n: one of the two was"
    g 2 add "$url" q.npy
    says "q.npy: its rows by model [0-9]* have $dim values, but those of postgresql:.* have $n"
    run 2 cluster q.npy "$url" --threshold 0.9
    says "forged.*: its rows by model [0-9]* have $n values, but those of q.npy have $dim"
done
sql forged 'ALTER TABLE reid.model DROP CONSTRAINT model_dim_check'
for n in -8 2000000000; do
    sql forged "UPDATE reid.model SET dim = $n"
    g 2 search "$url" q.npy
    says "forged.*: is damaged: model [0-9]* has embeddings of $n values; expected 1 to 16000"
done
check "nothing was stored" [ "$(sql forged 'SELECT count(*) FROM reid.template')" = 0 ]
finish
