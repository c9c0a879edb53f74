#include "gallery/reembed.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "gallery/database.h"
#include "gallery/makers.h"
#include "gallery/pq_binary.h"
#include "reid.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 50 };
static const double RECONNECT_SECONDS = 60;

struct reembed {
    char *url;
    store_meta makers; /* halves: how the gallery keeps rows */
    double lease, beaten;
    database *d; /* NULL if lost, like c, its connection */
    pq *c;
    int embedder;
    int64_t worker, after; /* after: claim templates after this one */
    size_t made, failed;
    text missing, claim; /* SQL: condition for a template t without a row; statement that claims templates */
    char name[128];
    char theirs[STORE_JPEG]; /* decoders of the JPEG files behind the rows already stored */
};

/* --- transactions ------------------------------------------------------------------------------------------------- */

/* Runs the statements of one transaction; may be called several times. Returns 0 with the reason in why. */
typedef int (*step_fn)(reembed *w, void *user, text *why);

static void pause_ms(int ms) { poll(NULL, 0, ms); }

static int say_failure(const reembed *w, const text *why) {
    const char *state = w->c ? pq_state(w->c) : "";
    int gone = strcmp(state, "42P01") == 0 || strcmp(state, "23503") == 0; /* no such table; foreign key fails */
    if (!interrupted() || why->len)
        say_error("%s: %s%s", shown(w->url), gone ? "these models were removed from the gallery in the meantime: " : "",
                  shown(why->len ? why->s : "the connection is lost"));
    return 0;
}

static int connect_to(reembed *w, text *why) {
    database_close(w->d);
    w->d = database_try(w->url, why);
    w->c = w->d ? database_connection(w->d) : NULL;
    return w->c != NULL;
}

/* Tries to connect again, because a server that restarts refuses connections for a moment. *until: when to give up, 0
   at first. */
static int connect_again(reembed *w, double *until, text *why) {
    if (*until == 0) {
        *until = clock_seconds() + RECONNECT_SECONDS;
        if (why->len) say_info("connecting again: %s", shown(why->s));
    }
    while (!connect_to(w, why) && clock_seconds() < *until && !interrupted()) pause_ms(250);
    if (w->c && interrupted()) pq_steady(w->c, 1);
    return w->c != NULL;
}

/* Runs step as one transaction until it succeeds. If the connection is lost during COMMIT, the step may run again
   although it took effect; steps allow for that. Returns 0 after reporting an error. */
static int transact(reembed *w, step_fn step, void *user) {
    text why = TEXT_INIT, unused = TEXT_INIT;
    double until = 0;
    int good = 0;
    for (int tries = 0; !good; tries++) {
        good = w->c && pq_script(w->c, "BEGIN", &why) && step(w, user, &why) && pq_script(w->c, "COMMIT", &why);
        if (good) break;
        if (!w->c || pq_lost(w->c)) {
            if (!connect_again(w, &until, &why)) break;
            continue;
        }
        int again = pq_try_again(w->c) || strcmp(pq_state(w->c), "23505") == 0; /* another worker was faster */
        pq_steady(w->c, 1);
        pq_script(w->c, "ROLLBACK", &unused); /* if this loses the connection, the next BEGIN fails */
        pq_steady(w->c, interrupted() != 0);
        if (!again || tries == TRIES) break;
        pause_ms(5 + 7 * tries);
    }
    if (!good) say_failure(w, &why);
    text_free(&why);
    text_free(&unused);
    return good;
}

/* --- registering -------------------------------------------------------------------------------------------------- */

/* Reads what the database states about a model that may have been registered before: the decoders, and the length of
   its embeddings, which must be that of the rows to be written. */
static int take_registered(reembed *w, const store_model *m, text *why) {
    const pq_argument a[] = {pq_text(m->fingerprint)};
    pq_result *r = pq_ask(w->c, "SELECT array_to_string(jpeg, ', '), dim FROM reid.model WHERE fingerprint = $1", a, 1,
                          "1si", why);
    int good = r && store_join_decoders(w->theirs, pq_text_at(r, 0, 0));
    if (r && !good) text_puts(why, "is damaged: invalid decoder names, or more than 4");
    if (good && pq_number_at(r, 0, 1) != m->dim) {
        text_printf(why, "is damaged: it says that embeddings by model %s have %lld values, but they have %d",
                    m->fingerprint, (long long)pq_number_at(r, 0, 1), m->dim);
        good = 0;
    }
    pq_free(r);
    return good;
}

/* Registers the models and the embedder that consists of them. */
static int register_models(reembed *w, text *why) {
    pq_number ids[STORE_MODELS] = {{""}, {""}};
    for (int i = 0; i < w->makers.models; i++) {
        const store_model *m = &w->makers.model[i];
        pq_number dim = pq_number_of(m->dim);
        const pq_argument a[] = {pq_text(m->fingerprint), pq_text(m->network), pq_text(m->preset),
                                 pq_text(m->precision), pq_text(dim.s),
                                 pq_text(w->makers.halves ? "fp16" : "fp32")};
        pq_result *r = pq_ask(w->c, "SELECT reid.add_model($1, $2, $3, $4, $5, $6)", a, 6, "1i", why);
        if (!r) return 0;
        ids[i] = pq_number_of(pq_number_at(r, 0, 0));
        pq_free(r);
        if (!take_registered(w, m, why)) return 0;
    }
    const pq_argument both[] = {pq_text(ids[0].s), {w->makers.models > 1 ? ids[1].s : NULL, -1}};
    const char *find = "SELECT embedder_id FROM reid.embedder WHERE model_a = $1::int "
                       "AND model_b IS NOT DISTINCT FROM $2::int";
    pq_result *r = pq_ask(w->c, find, both, 2, "?i", why);
    if (r && !pq_rows(r)) {
        pq_free(r);
        r = pq_ask(w->c, "INSERT INTO reid.embedder (model_a, model_b) VALUES ($1::int, $2::int) "
                         "RETURNING embedder_id", both, 2, "1i", why);
    }
    w->embedder = r ? (int)pq_number_at(r, 0, 0) : 0;
    pq_free(r);
    return w->embedder != 0;
}

static int insert_worker(reembed *w, void *user, text *why) {
    pq_number embedder = pq_number_of(w->embedder), made = pq_number_of((int64_t)w->made), failed;
    char lease[32];
    (void)user;
    failed = pq_number_of((int64_t)w->failed);
    snprintf(lease, sizeof lease, "%.3f", w->lease);
    const pq_argument a[] = {pq_text(embedder.s), pq_text(w->name), pq_text(lease),
                             pq_text(made.s), pq_text(failed.s)};
    pq_result *r = pq_ask(w->c, "INSERT INTO reid.worker (embedder_id, name, lease, made, failed) VALUES ($1::int, $2, "
                                "make_interval(secs => $3::float8), $4::bigint, $5::bigint) RETURNING worker_id",
                          a, 5, "1k", why);
    w->worker = r ? pq_number_at(r, 0, 0) : 0;
    w->beaten = clock_seconds();
    pq_free(r);
    return w->worker != 0;
}

static int register_all(reembed *w, void *user, text *why) {
    if (!pq_script(w->c, "SELECT pg_advisory_xact_lock(1919248740, 2)", why)) return 0; /* one worker at a time */
    return register_models(w, why) && insert_worker(w, user, why);
}

/* Writes the SQL that contains table names, which are made of fingerprints: 32 hexadecimal digits each. */
static int write_statements(reembed *w) {
    text *m = &w->missing;
    text_putc(m, '(');
    for (int i = 0; i < w->makers.models; i++)
        text_printf(m, "%sNOT EXISTS (SELECT FROM reid.embedding_%s e WHERE e.template_id = t.template_id)",
                    i ? " OR " : "", w->makers.model[i].fingerprint);
    text_putc(m, ')');
    text_printf(&w->claim,
                "WITH next AS (SELECT t.template_id FROM reid.template t WHERE t.template_id > $3::bigint AND %s "
                "AND NOT EXISTS (SELECT FROM reid.claim c WHERE c.template_id = t.template_id "
                "AND c.embedder_id = $1::int) AND NOT EXISTS (SELECT FROM reid.failure f WHERE "
                "f.template_id = t.template_id AND f.embedder_id = $1::int AND f.at >= "
                "(SELECT started FROM reid.worker WHERE worker_id = $2::bigint)) "
                "ORDER BY t.template_id LIMIT $4::bigint FOR NO KEY UPDATE OF t SKIP LOCKED), "
                "taken AS (INSERT INTO reid.claim (template_id, embedder_id, worker_id) "
                "SELECT template_id, $1::int, $2::bigint FROM next ON CONFLICT DO NOTHING RETURNING template_id) "
                "SELECT template_id, id, source, source_size, source_hash FROM taken JOIN reid.template "
                "USING (template_id) ORDER BY template_id", text_failed(m) ? "" : m->s);
    return need_text(m) && need_text(&w->claim);
}

static int is_fingerprint(const char *s) { return strlen(s) == 32 && strspn(s, "0123456789abcdef") == 32; }

static int begin(reembed *w) {
    text why = TEXT_INIT;
    int good = 1;
    char host[64] = "";
    for (int i = 0; i < w->makers.models && good; i++) good = is_fingerprint(w->makers.model[i].fingerprint);
    if (!good) text_puts(&why, "a model has no valid fingerprint");
    if (gethostname(host, sizeof host - 1)) host[0] = 0;
    size_t n = visible(w->name, sizeof w->name - 24, host);
    snprintf(w->name + n, sizeof w->name - n, ":%ld", (long)getpid());
    good = (good && connect_to(w, &why)) || say_failure(w, &why);
    if (good) w->makers.halves = database_info(w->d)->halves;
    text_free(&why);
    good = good && write_statements(w) && transact(w, register_all, NULL);
    if (good) makers_note_decoders(w->theirs, w->url, w->makers.jpeg, NULL);
    return good;
}

reembed *reembed_open(const reembed_request *r) {
    reembed *w = need_zeroed(1, sizeof *w);
    if (!w) return NULL;
    w->makers = *r->makers;
    w->lease = r->lease;
    w->url = need_copy(r->url, strlen(r->url));
    if (w->url && begin(w)) return w;
    reembed_close(w);
    return NULL;
}

/* --- claims ------------------------------------------------------------------------------------------------------- */

static int take_task(const pq_result *r, size_t row, reembed_batch *b) {
    reembed_task *t = &b->at[b->count];
    const char *id = pq_text_at(r, row, 1), *source = pq_text_at(r, row, 2);
    t->template_id = pq_number_at(r, row, 0);
    t->id = mem_copy(id, strlen(id));
    t->source = mem_copy(source, strlen(source));
    t->size = (uint64_t)pq_number_at(r, row, 3);
    t->hash = (uint64_t)pq_number_at(r, row, 4);
    b->count++;
    return t->id && t->source;
}

static int take_tasks(reembed *w, const pq_result *r, reembed_batch *b, text *why) {
    size_t n = pq_rows(r);
    if (!n) return 1;
    b->at = mem_zeroed(n, sizeof *b->at);
    b->rows = b->at ? mem_array(n, (size_t)w->makers.dim * sizeof *b->rows) : NULL;
    for (size_t i = 0; b->rows && i < n; i++)
        if (!take_task(r, i, b)) return text_no_memory(why);
    return b->rows ? 1 : text_no_memory(why);
}

/* Removes workers whose lease has expired, except those that are updating their row right now. */
static int take_out_the_dead(reembed *w, text *why) {
    pq_result *r = pq_ask(w->c, "DELETE FROM reid.worker WHERE worker_id IN (SELECT worker_id FROM reid.worker WHERE "
                                "beat + lease < now() FOR UPDATE SKIP LOCKED) RETURNING name, worker_id", NULL, 0,
                          "*sk", why);
    for (size_t i = 0; r && i < pq_rows(r); i++)
        if (pq_number_at(r, i, 1) != w->worker)
            say_warning("the lease of worker %s has expired; its claims are released",
                        shown(pq_text_at(r, i, 0)));
    pq_free(r);
    return r != NULL;
}

typedef struct claiming {
    size_t most;
    reembed_batch *b;
    int dead;
} claiming;

/* Renews the lease. *dead: 1 if the worker has been removed. Returns 0 with the reason in why. */
static int show_oneself(reembed *w, int *dead, text *why) {
    pq_number worker = pq_number_of(w->worker);
    const pq_argument a[] = {pq_text(worker.s)};
    pq_result *r = pq_ask(w->c, "UPDATE reid.worker SET beat = now() WHERE worker_id = $1::bigint", a, 1, "*", why);
    if (r) *dead = !pq_changed(r), w->beaten = clock_seconds();
    pq_free(r);
    return r != NULL;
}

static int count_others(reembed *w, reembed_batch *b, text *why) {
    pq_number embedder = pq_number_of(w->embedder);
    const pq_argument a[] = {pq_text(embedder.s)};
    pq_result *r = pq_ask(w->c, "SELECT count(*) FROM reid.claim WHERE embedder_id = $1::int", a, 1, "1c", why);
    if (r) b->others = (size_t)pq_number_at(r, 0, 0);
    pq_free(r);
    return r != NULL;
}

static int claim_from(reembed *w, claiming *k, text *why) {
    pq_number embedder = pq_number_of(w->embedder), worker = pq_number_of(w->worker), after = pq_number_of(w->after);
    pq_number most = pq_number_of((int64_t)k->most);
    const pq_argument a[] = {pq_text(embedder.s), pq_text(worker.s), pq_text(after.s),
                             pq_text(most.s)};
    pq_result *r = pq_ask(w->c, w->claim.s, a, 4, "*ksscn", why);
    int good = r && take_tasks(w, r, k->b, why);
    pq_free(r);
    return good;
}

/* Claims templates. Earlier claims of this worker come from a COMMIT whose answer was lost, not from a batch in
   progress, and are deleted. */
static int claim_step(reembed *w, void *user, text *why) {
    claiming *k = user;
    pq_number worker = pq_number_of(w->worker);
    const pq_argument a[] = {pq_text(worker.s)};
    reembed_batch_free(k->b);
    k->dead = 0;
    if (!show_oneself(w, &k->dead, why)) return 0;
    if (k->dead) return 1;
    if (!take_out_the_dead(w, why) ||
        !pq_do(w->c, "DELETE FROM reid.claim WHERE worker_id = $1::bigint", a, 1, why) || !claim_from(w, k, why))
        return 0;
    if (!k->b->count && w->after) { /* start over, because other workers may have given up claims */
        w->after = 0;
        if (!claim_from(w, k, why)) return 0;
    }
    return k->b->count || count_others(w, k->b, why);
}

/* Registers the worker again under a new number, after it was taken for dead. */
static int rise(reembed *w) {
    say_warning("this worker's lease had expired; its claims are embedded again");
    return transact(w, insert_worker, NULL);
}

int reembed_claim(reembed *w, size_t most, reembed_batch *b) {
    claiming k = {most, b, 1};
    while (k.dead)
        if (!transact(w, claim_step, &k) || (k.dead && !rise(w))) return 0;
    if (b->count) w->after = b->at[b->count - 1].template_id;
    return 1;
}

static int beat_step(reembed *w, void *user, text *why) { return show_oneself(w, user, why); }

/* Ignores *dead: a worker that was taken for dead notices when it writes. */
int reembed_beat(reembed *w) {
    int dead;
    return clock_seconds() - w->beaten < w->lease / 5 || transact(w, beat_step, &dead);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

typedef struct writing {
    const reembed_batch *b;
    unsigned char *ours; /* [count]: 1 for tasks that may be written */
    int dead;
    text rows; /* for COPY */
} writing;

static int by_number(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sets flag for the tasks whose template_id is in the answer's first column, which is sorted for the comparison. */
static int mark(const writing *k, const pq_result *r, unsigned char flag, text *why) {
    size_t n = pq_rows(r);
    int64_t *ids = mem_array(n, sizeof *ids);
    if (!ids) return text_no_memory(why);
    for (size_t i = 0; i < n; i++) ids[i] = pq_number_at(r, i, 0);
    qsort(ids, n, sizeof *ids, by_number);
    for (size_t i = 0; i < k->b->count; i++)
        if (bsearch(&k->b->at[i].template_id, ids, n, sizeof *ids, by_number)) k->ours[i] = flag;
    free(ids);
    return 1;
}

static int take_claims(reembed *w, writing *k, text *why) {
    pq_number worker = pq_number_of(w->worker);
    const pq_argument a[] = {pq_text(worker.s)};
    pq_result *r = pq_ask(w->c, "DELETE FROM reid.claim WHERE worker_id = $1::bigint RETURNING template_id", a, 1,
                          "*k", why);
    memset(k->ours, 0, k->b->count);
    int good = r && mark(k, r, 1, why);
    pq_free(r);
    memset(k->ours + k->b->first_open, 0, k->b->count - k->b->first_open);
    return good;
}

/* Writes the tasks that may be written, as a text array for SQL. */
static void list_tasks(const writing *k, text *t) {
    text_putc(t, '{');
    for (size_t i = 0; i < k->b->count; i++)
        if (k->ours[i]) text_printf(t, "%s%" PRId64, t->len > 1 ? "," : "", k->b->at[i].template_id);
    text_putc(t, '}');
}

/* Writes template_id, half and row of one template. */
static void put_row(text *t, const store_model *m, int halves, const float *values, uint16_t *half, int64_t id) {
    reid_to_halves(values, half, (size_t)m->dim);
    binary_row(t, 3);
    binary_bigint(t, id);
    binary_halfvec(t, half, m->dim);
    if (halves) binary_row_bytes(t, half, m->dim, sizeof *half);
    else binary_row_bytes(t, values, m->dim, sizeof *values);
}

/* Copies the rows of model m, whose part begins at `column`, except rows that already exist because another embedder
   has the same model. */
static int copy_rows(reembed *w, writing *k, int m, size_t column, text *why) {
    const store_model *by = &w->makers.model[m];
    uint16_t *half = mem_array((size_t)by->dim, sizeof *half);
    int rows = 0;
    text sql = TEXT_INIT;
    text_clear(&k->rows);
    binary_begin(&k->rows);
    for (size_t i = 0; half && i < k->b->count; i++)
        if (k->ours[i] == 1 && !k->b->at[i].failure)
            rows++, put_row(&k->rows, by, w->makers.halves, k->b->rows + i * (size_t)w->makers.dim + column, half,
                            k->b->at[i].template_id);
    binary_end(&k->rows);
    text_printf(&sql, "COPY reid.embedding_%s (template_id, half, row) FROM STDIN (FORMAT binary)",
                by->fingerprint);
    int good = half && !text_failed(&k->rows) && !text_failed(&sql);
    if (!good) text_no_memory(why);
    good = good && pq_copy_in(w->c, sql.s, why) && pq_copy_put(w->c, k->rows.s, k->rows.len, why) &&
           pq_copy_end(w->c, why) && (!rows || database_keep_decoders(w->c, by, 1, w->makers.jpeg, why));
    free(half);
    text_free(&sql);
    return good;
}

static int write_rows(reembed *w, writing *k, const char *ids, text *why) {
    size_t column = 0;
    for (int m = 0; m < w->makers.models; m++) {
        const pq_argument a[] = {pq_text(ids)};
        text sql = TEXT_INIT;
        for (size_t i = 0; i < k->b->count; i++) k->ours[i] = k->ours[i] != 0;
        text_printf(&sql, "SELECT template_id FROM reid.embedding_%s WHERE template_id = ANY ($1::bigint[])",
                    w->makers.model[m].fingerprint);
        pq_result *r = text_failed(&sql) ? text_no_memory(why), NULL : pq_ask(w->c, sql.s, a, 1, "*k", why);
        int good = r && mark(k, r, 2, why) && copy_rows(w, k, m, column, why);
        pq_free(r);
        text_free(&sql);
        if (!good) return 0;
        column += (size_t)w->makers.model[m].dim;
    }
    return 1;
}

/* Deletes the old failures of these tasks, then writes the new ones. */
static int write_failures(reembed *w, const writing *k, const char *ids, size_t *failed, text *why) {
    pq_number embedder = pq_number_of(w->embedder);
    const pq_argument all[] = {pq_text(embedder.s), pq_text(ids)};
    int good = pq_do(w->c, "DELETE FROM reid.failure WHERE embedder_id = $1::int AND template_id = ANY ($2::bigint[])",
                     all, 2, why);
    for (size_t i = 0; good && i < k->b->count; i++) {
        if (!k->ours[i] || !k->b->at[i].failure) continue;
        pq_number id = pq_number_of(k->b->at[i].template_id);
        text reason = TEXT_INIT;
        text_visible(&reason, k->b->at[i].failure); /* it may contain a file name that is not UTF-8 */
        const pq_argument a[] = {pq_text(embedder.s), pq_text(id.s),
                                 pq_text(reason.s ? reason.s : "")};
        good = pq_do(w->c, "INSERT INTO reid.failure (embedder_id, template_id, why) VALUES ($1::int, $2::bigint, $3)",
                     a, 3, why);
        text_free(&reason);
        ++*failed;
    }
    return good;
}

static int write_totals(reembed *w, size_t made, size_t failed, text *why) {
    pq_number worker = pq_number_of(w->worker), more_made = pq_number_of((int64_t)made);
    pq_number more = pq_number_of((int64_t)failed);
    const pq_argument a[] = {pq_text(worker.s), pq_text(more_made.s), pq_text(more.s)};
    pq_result *r = pq_ask(w->c, "UPDATE reid.worker SET made = made + $2::bigint, failed = failed + $3::bigint "
                                "WHERE worker_id = $1::bigint RETURNING made, failed", a, 3, "?cc", why);
    if (r && pq_rows(r)) w->made = (size_t)pq_number_at(r, 0, 0), w->failed = (size_t)pq_number_at(r, 0, 1);
    pq_free(r);
    return r != NULL;
}

/* If it runs again after a COMMIT that took effect, it finds no claims and writes nothing. */
static int write_step(reembed *w, void *user, text *why) {
    writing *k = user;
    text ids = TEXT_INIT;
    size_t done = 0, failed = 0;
    if (!show_oneself(w, &k->dead, why)) return 0;
    if (k->dead) return 1;
    if (!take_claims(w, k, why)) return 0;
    list_tasks(k, &ids);
    for (size_t i = 0; i < k->b->count; i++) done += k->ours[i];
    int good = text_failed(&ids) ? text_no_memory(why) : 1;
    good = good && (!done || (write_rows(w, k, ids.s, why) && write_failures(w, k, ids.s, &failed, why))) &&
           write_totals(w, done - failed, failed, why);
    text_free(&ids);
    return good;
}

int reembed_write(reembed *w, const reembed_batch *b) {
    writing k = {.b = b, .ours = need_zeroed(b->count + 1, 1)};
    if (w->c && interrupted()) pq_steady(w->c, 1);
    int good = k.ours && transact(w, write_step, &k);
    if (good && k.dead) good = rise(w);
    text_free(&k.rows);
    free(k.ours);
    return good;
}

/* --- counts and closing ------------------------------------------------------------------------------------------- */

static int count_step(reembed *w, void *user, text *why) {
    reembed_counts *c = user;
    pq_number embedder = pq_number_of(w->embedder);
    const pq_argument a[] = {pq_text(embedder.s)};
    text sql = TEXT_INIT;
    text_printf(&sql, "SELECT (SELECT count(*) FROM reid.template), (SELECT count(*) FROM reid.template t WHERE %s), "
                      "(SELECT count(*) FROM reid.failure WHERE embedder_id = $1::int)", w->missing.s);
    pq_result *r = text_failed(&sql) ? text_no_memory(why), NULL : pq_ask(w->c, sql.s, a, 1, "1ccc", why);
    if (r) {
        c->templates = (size_t)pq_number_at(r, 0, 0);
        c->missing = (size_t)pq_number_at(r, 0, 1);
        c->failed = (size_t)pq_number_at(r, 0, 2);
    }
    pq_free(r);
    text_free(&sql);
    return r != NULL;
}

int reembed_count(reembed *w, reembed_counts *c) { return transact(w, count_step, c); }

void reembed_totals(const reembed *w, size_t *made, size_t *failed) { *made = w->made, *failed = w->failed; }

void reembed_batch_free(reembed_batch *b) {
    for (size_t i = 0; i < b->count; i++) free(b->at[i].id), free(b->at[i].source), free(b->at[i].failure);
    free(b->at), free(b->rows);
    memset(b, 0, sizeof *b);
}

void reembed_close(reembed *w) {
    if (!w) return;
    text unused = TEXT_INIT;
    char leave[80]; /* not prepared, so that it works without memory: the worker may be ending for lack of it */
    snprintf(leave, sizeof leave, "DELETE FROM reid.worker WHERE worker_id = %lld", (long long)w->worker);
    if (w->c && interrupted()) pq_steady(w->c, 1);
    if (w->c && w->worker) pq_script(w->c, leave, &unused);
    database_close(w->d);
    text_free(&unused), text_free(&w->missing), text_free(&w->claim);
    free(w->url);
    free(w);
}
