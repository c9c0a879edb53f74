#!/bin/sh
# t_gallery_broken.sh: plants bugs in the code for galleries in PostgreSQL, one at a time, in a copy of a file that is
# linked into a command of its own; the named test must fail.
#
#   sh tests/tools/gallery/t_gallery_broken.sh    a share of the bugs; of the others, that their pattern matches
#   REID_ALL=1 sh tests/tools/gallery/t_gallery_broken.sh [WORD]    all, or those whose description holds WORD
#
# It assumes that the tests pass without a bug, which tests/run checks.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/check.sh
unset REID_WRITE # messages of a command with a bug must not become expected ones
. tests/lib/python.sh
. tests/lib/postgres.sh
need_postgres
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$dir/tmp"
chmod 755 "$dir" "$dir/tmp" # the server runs as another user
word=${1-} limit=300 log=$dir/log

# notices TEST: whether the test fails or hangs; it is stopped after its first failure
notices() {
    REID=$dir/reid TMPDIR=$dir/tmp timeout $limit sh "$(find tests/tools -name "$1.sh")" > "$log" 2>&1 &
    test=$!
    while kill -0 $test 2> /dev/null; do
        if grep -q '^FAILED' "$log"; then kill $test 2> /dev/null; break; fi
        sleep 0.1
    done
    wait $test
    ended=$?
    grep -q '^FAILED' "$log" || [ $ended = 124 ]
}

# bug DESCRIPTION FILE TEST SED_SCRIPT
bug() {
    case $1 in *"$word"*) ;; *) return ;; esac
    what=$1 file=tools/$2 test_name=$3
    rm -f "$log"
    plant_in "$file" "$dir/$file" "$4" || { bad "$what: the pattern matches nothing in $file"; return; }
    my_turn || return
    if ! command_with "$dir/$file" "$file" "$dir/reid" > "$log" 2>&1; then bad "$what: does not compile"
    elif notices "$test_name"; then
        good
        echo "$test_name catches: $what: $(grep -m 1 '^FAILED' "$log" | cut -c 1-120)"
    else bad "$what: $test_name does not notice"; fi
}

# --- push and pull ---
bug 'a push skips a template behind every transaction' gallery/push.c t_gallery_push \
    's/p->safe : p->first + p->count;/p->safe : p->first + p->count + 1;/'
bug 'a push goes on behind the place where it began again' gallery/push.c t_gallery_push \
    's/else p->states\[at - p->first\] = EQUAL;/else p->states[at - p->first] = REFUSED;/'
bug 'another camera is no difference' gallery/push.c t_gallery_push 's/return "camera"/return NULL/'
bug 'a push takes a transaction for committed' gallery/push.c t_gallery_push \
    's/if (good \&\& database_commit(p->db, \&unknown, \&p->why)) return DONE;/if (good) return DONE;/'
bug 'a push does not wait for a server that is started again' gallery/push.c t_gallery_push \
    's/return come_back(p) ? AGAIN : FAILED;/return FAILED;/'
bug 'what a server has lost is not pushed again' gallery/push.c t_gallery_push \
    's/good < 0 ? p->safe : p->first/p->first/'
bug 'the index is not built again' gallery/push.c t_gallery_push 's/push_rows(p) \&\& build_indexes(p)/push_rows(p)/'
bug 'two pushes at once wait for each other' gallery/push.c t_gallery_push \
    's/LOCK TABLE reid.%s IN ACCESS EXCLUSIVE MODE; "/PERFORM FROM reid.%s; "/
    s/idle = is_index_idle(p, table);/idle = ((void)is_index_idle, 1);/'
bug 'a push forgets the decoders of JPEG files' gallery/push.c t_gallery_push \
    's/good = good \&\& keep_decoders(p, n);/(void)keep_decoders;/'
# --- search ---
bug 'the camera is no filter' gallery/nearest.c t_gallery_search_database 's/^    if (f->camera) {/    if (0) {/'
bug 'the time has no end' gallery/nearest.c t_gallery_search_database \
    's/if (f->until != STORE_NO_TIME) text_printf/if (0) text_printf/'
bug 'a query is found as itself' gallery/nearest.c t_gallery_search_database \
    's/^    if (q->id) {/    if (0) {/'
bug 'too few are not told' gallery/nearest.c t_gallery_search_database 's/\*too_few = s \&\& .*/*too_few = 0;/'
bug 'candidates of the first model alone' gallery/nearest.c t_gallery_search_database \
    's/both ? " UNION SELECT template_id FROM c1" : ""/""/'
# --- addresses, reading, writing ---
bug 'a password is shown' base/text.c t_gallery_database 's/if (!is_plain_url(place)) return/if (0) return/'
bug 'verify does not look at the halves' gallery/database_read.c t_cli_gallery_database \
    's/if (!halves_agree(r, .*/if (0)/'
bug 'an embedding of another length is none that is damaged' gallery/database_read.c t_cli_gallery_database \
    's/if (!row_is_unit(meta, r->floats, \&wrong))/if (0)/'
bug 'no memory is not told' gallery/database_read.c t_gallery_memory 's/: text_no_memory(why);/: 0;/'
bug 'what others have changed meanwhile is no reason to try again' gallery/pq.c t_gallery_database \
    's/return strcmp(c->state, "40001") == 0.*/return 0 * (int)strlen(c->state); }/'
bug 'a database knows one spelling of a name' gallery/database_write.c t_gallery_database \
    's/, normalize(\$1, NFC), normalize(\$1, NFD)//'
bug 'what is added has no decoder of JPEG files' gallery/database_write.c t_cli_gallery_database \
    's/return store_decoders(w) \&\& (/return (void)store_decoders, (/'
bug 'NULL is accepted anywhere' gallery/pq.c t_gallery_hostile 's/missing ? (null ? NULL : "is NULL")/missing ? NULL/'
bug 'a number may have any width' gallery/pq_binary.c t_gallery_hostile 's/if (binary \&\& len != 8) return 0;//'
bug 'a message of any length is shown' gallery/pq.c t_gallery_hostile \
    's/kept = n <= MOST_SAID ? n : MOST_SAID/kept = n/'
bug 'any number of notices is shown' gallery/pq.c t_gallery_hostile 's/if (c->notices == MOST_NOTICES) return;//'
bug 'missing columns are not noticed' gallery/pq.c t_gallery_hostile \
    's/if (lib.PQnfields(r) != columns)/if (0)/; s/for (int i = 0; i < columns; i++)/columns = lib.PQnfields(r); &/'
bug 'a signal does not end a connection attempt' gallery/pq.c t_gallery_hostile \
    's/ \&\& !(heed_signals \&\& interrupted())//'
bug 'the command waits for a server that does not cancel' gallery/pq.c t_gallery_hostile \
    's/^        cut(c);/        (void)cut;/'
# --- decisions ---
bug 'a missing privilege to add decisions is reported late' journal/decisions_table.c t_decisions_database \
    's/return may || refuse/return 1 || refuse/'
bug 'a connection that decisions have lost stays lost' journal/decisions_table.c t_decisions_database \
    's/if (pq_lost(c)) {/if (0) {/'
bug 'a damaged line of decisions is passed over' journal/decisions_table.c t_decisions_database \
    's/if (good \&\& used != line.len)/if (0)/; s/if (good \&\& pq_number_at/if (0 \&\& pq_number_at/'
# --- other models ---
bug 'a claim ends never' gallery/reembed.c t_gallery_reembed 's/"beat + lease < now() FOR/"false FOR/'
bug 'a worker that was taken for dead goes on' gallery/reembed.c t_gallery_reembed \
    's/if (r) \*dead = !pq_changed(r), /if (r) /'
bug 'models are switched although rows are missing' gallery/embedders.c t_gallery_reembed \
    's/else if (missing \&\& !partial)/else if (0)/'
say_left_out 'planted bugs'
finish
