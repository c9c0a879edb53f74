#include "gallery/push.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/unicode.h"
#include "gallery/makers.h"
#include "gallery/database.h"
#include "gallery/pq.h"
#include "gallery/pq_binary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 8,
    PIECE = 1 << 20,
    INDEXED = 4000,                  /* longest row that HNSW can index */
    SAFE_TOGETHER = 8 * PUSH_TOGETHER /* the most templates that a crash of the server can lose */
};

typedef enum outcome { FAILED, DONE, AGAIN } outcome; /* AGAIN: repeat it, because other clients were faster */

/* The outcome for a template of the file. PUSHED: it was NEW, and its transaction is done. */
typedef enum push_state { UNKNOWN, NEW, EQUAL, REFUSED, PUSHED } push_state;

typedef struct pushing {
    const push_request *r;
    push_report *report;
    const gallery_store *from;
    const store_meta *meta;
    database *db;
    pq *c;
    int64_t *identities; /* [store_identity_count]: their numbers in the database; 0: not yet known */
    uint16_t *halves;    /* [dim] */
    float *floats;       /* [dim] */
    size_t first, count; /* of the transaction */
    size_t safe;         /* templates before this one are safely on the server's disk */
    unsigned char *past; /* [store_count]: the fate in transactions that are done, perhaps not safely; else UNKNOWN */
    push_state states[PUSH_TOGETHER];
    text out, why;
} pushing;

/* --- comparing with the database ---------------------------------------------------------------------------------- */

static size_t value_size(const pushing *p) { return p->meta->halves ? 2 : 4; }

static const char *row_of(const pushing *p, size_t at) {
    size_t values = at * (size_t)p->meta->dim;
    return p->meta->halves ? (const char *)(store_halves(p->from) + values)
                           : (const char *)(store_floats(p->from) + values);
}

static void refuse_template(pushing *p, size_t at, const char *why) {
    store_item item = store_at(p->from, at);
    say_error("%s: %s", shown(item.id), why);
    p->states[at - p->first] = REFUSED;
}

/* The name of a difference between a template and the one in a row of an answer; NULL: none. */
static const char *difference(const pushing *p, size_t at, const pq_result *r, size_t row) {
    store_item item = store_at(p->from, at);
    const char *values = row_of(p, at);
    if (!name_same(pq_text_at(r, row, 1), item.identity)) return "identity";
    if (!name_same(pq_text_at(r, row, 2), item.camera)) return "camera";
    if (pq_time_at(r, row, 3, STORE_NO_TIME) != item.time) return "time";
    if (strcmp(pq_text_at(r, row, 4), item.source) != 0) return "source";
    if (pq_number_at(r, row, 5) != (int64_t)item.source_size ||
        pq_number_at(r, row, 6) != (int64_t)item.source_hash) return "image";
    for (int m = 0; m < p->meta->models; m++) {
        int dim = p->meta->model[m].dim;
        size_t len, bytes = (size_t)dim * value_size(p);
        const char *theirs = pq_bytes_at(r, row, 7 + m, &len);
        if (!theirs || len != bytes) return "embedding";
        binary_to_row(theirs, p->floats, dim, (int)value_size(p));
        if (memcmp(p->floats, values, bytes) != 0) return "embedding";
        values += bytes;
    }
    return NULL;
}

/* Compares this transaction's templates with those in the database. */
static void judge(pushing *p, const pq_result *r) {
    for (size_t row = 0; row < pq_rows(r); row++) {
        size_t at = store_find(p->from, pq_text_at(r, row, 0));
        if (at < p->first || at >= p->first + p->count || p->states[at - p->first] != NEW) continue;
        const char *what = difference(p, at, r, row);
        text t = TEXT_INIT;
        text_printf(&t, "is already in the database, with a different %s", what ? what : "");
        if (what) refuse_template(p, at, t.s);
        else p->states[at - p->first] = EQUAL;
        text_free(&t);
    }
}

/* Writes an array of the ids of the NEW templates. */
static void new_ids(pushing *p, text *to) {
    int n = 0;
    for (size_t i = 0; i < p->count; i++) n += p->states[i] == NEW;
    text_clear(to);
    binary_array(to, BINARY_TEXT, n);
    for (size_t i = 0; i < p->count; i++) {
        const char *id = store_at(p->from, p->first + i).id;
        if (p->states[i] == NEW) binary_bytes(to, id, strlen(id));
    }
}

/* Runs a statement with the array in p->out as its argument. */
static pq_result *ask_array(pushing *p, const char *sql, const char *shape) {
    if (text_failed(&p->out)) return text_no_memory(&p->why), NULL;
    const pq_argument argument = {p->out.s, (int)p->out.len};
    return pq_ask(p->c, sql, &argument, 1, shape, &p->why);
}

static int look_up(pushing *p) {
    text sql = TEXT_INIT;
    new_ids(p, &p->out);
    text_puts(&sql, "SELECT t.id, i.name, t.camera, t.seen, t.source, t.source_size, t.source_hash");
    for (int m = 0; m < p->meta->models; m++) text_printf(&sql, ", e%d.row", m);
    text_puts(&sql, " FROM reid.template t JOIN reid.identity i USING (identity_id)");
    for (int m = 0; m < p->meta->models; m++)
        text_printf(&sql, " LEFT JOIN reid.%s e%d ON e%d.template_id = t.template_id",
                    database_table(p->db, m), m, m);
    text_puts(&sql, " WHERE t.id = ANY ($1)");
    pq_result *r = text_failed(&sql) ? (text_no_memory(&p->why), NULL)
                                    : ask_array(p, sql.s, p->meta->models > 1 ? "=*ssst?scny?y?" : "=*ssst?scny?");
    if (r) judge(p, r);
    pq_free(r);
    text_free(&sql);
    return r != NULL;
}

/* Refuses a template that PostgreSQL cannot store, or should not. */
static void check_new(pushing *p, size_t at) {
    store_item item = store_at(p->from, at);
    text unused = TEXT_INIT;
    const char *texts[] = {item.id, item.identity, item.camera, item.source};
    static const char *const names[] = {"its id is", "its identity is", "its camera is", "the path of its image is"};
    text why = TEXT_INIT;
    const void *row = row_of(p, at);
    size_t dim = (size_t)p->meta->dim;
    if (p->meta->halves) reid_from_halves(row, p->floats, dim);
    else memcpy(p->floats, row, dim * sizeof *p->floats);
    for (int i = 0; i < 4 && !why.len; i++)
        if (!utf8_valid(texts[i])) text_printf(&why, "%s not UTF-8, which databases need", names[i]);
    if (!why.len && item.source_size > INT64_MAX) text_puts(&why, "the size of its image file is invalid");
    if (!why.len && item.time != STORE_NO_TIME && !binary_time(&unused, item.time))
        text_puts(&why, "its time is outside PostgreSQL's range");
    if (!why.len) row_is_unit(p->meta, p->floats, &why);
    if (why.len) refuse_template(p, at, why.s);
    text_free(&why);
    text_free(&unused);
}

/* --- storing ------------------------------------------------------------------------------------------------------ */

/* Takes the numbers of identities from an answer. */
static void take_identities(pushing *p, const uint32_t *asked, int count, const pq_result *r) {
    for (size_t row = 0; row < pq_rows(r); row++) {
        int64_t place = pq_number_at(r, row, 1);
        if (place <= count) p->identities[asked[place - 1]] = pq_number_at(r, row, 0);
    }
}

/* Gives every identity of a new template a number. asked: room for the identities that have none. */
static int name_identities(pushing *p, uint32_t *asked) {
    int n = 0;
    text names = TEXT_INIT;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t identity = store_identities(p->from)[p->first + i];
        if (p->states[i] != NEW || p->identities[identity]) continue;
        const char *name = store_at(p->from, p->first + i).identity;
        binary_bytes(&names, name, strlen(name));
        p->identities[identity] = -1; /* in `asked` */
        asked[n++] = identity;
    }
    text_clear(&p->out);
    binary_array(&p->out, BINARY_TEXT, n);
    text_join(&p->out, &names);
    text_free(&names);
    if (!n) return 1;
    pq_result *r = ask_array(p, "INSERT INTO reid.identity (name) SELECT n FROM unnest($1::text[]) n "
                                "ON CONFLICT DO NOTHING", "=*");
    if (r) {
        pq_free(r);
        r = ask_array(p, "SELECT i.identity_id, n.place FROM unnest($1::text[]) WITH ORDINALITY n (name, place) "
                         "JOIN reid.identity i ON i.name = n.name", "=*kk");
    }
    if (r) take_identities(p, asked, n, r);
    for (int i = 0; i < n; i++)
        if (p->identities[asked[i]] < 0) p->identities[asked[i]] = 0; /* removed: the foreign key will fail */
    pq_free(r);
    return r != NULL;
}

static int put(pushing *p, int all) {
    if (!all && p->out.len < PIECE) return 1;
    if (text_failed(&p->out)) return pq_copy_cancel(p->c), text_no_memory(&p->why);
    int good = pq_copy_put(p->c, p->out.s, p->out.len, &p->why);
    text_clear(&p->out);
    return good;
}

static void template_row(pushing *p, size_t at, int64_t number) {
    store_item item = store_at(p->from, at);
    binary_row(&p->out, 8);
    binary_bigint(&p->out, number);
    binary_bytes(&p->out, item.id, strlen(item.id));
    binary_bigint(&p->out, p->identities[store_identities(p->from)[at]]);
    binary_bytes(&p->out, item.camera, strlen(item.camera));
    if (item.time == STORE_NO_TIME || !binary_time(&p->out, item.time)) binary_null(&p->out);
    binary_bytes(&p->out, item.source, strlen(item.source));
    binary_bigint(&p->out, (int64_t)item.source_size);
    binary_bigint(&p->out, (int64_t)item.source_hash);
}

/* numbers: ids of the new templates, in their order. */
static int copy_templates(pushing *p, const pq_result *numbers) {
    int good = pq_copy_in(p->c, "COPY reid.template (template_id, id, identity_id, camera, seen, source, source_size, "
                                "source_hash) FROM STDIN (FORMAT binary)", &p->why);
    size_t next = 0;
    text_clear(&p->out);
    binary_begin(&p->out);
    for (size_t i = 0; good && i < p->count; i++) {
        if (p->states[i] != NEW) continue;
        template_row(p, p->first + i, pq_number_at(numbers, next++, 0));
        good = put(p, 0);
    }
    if (good) binary_end(&p->out);
    return good && put(p, 1) && pq_copy_end(p->c, &p->why);
}

/* Writes a row of a model's table: the template's number, the halves, and the row itself. */
static void embedding_row(pushing *p, size_t at, int m, int64_t number) {
    int dim = p->meta->model[m].dim;
    const char *row = row_of(p, at) + (m ? (size_t)p->meta->model[0].dim * value_size(p) : 0);
    if (p->meta->halves) memcpy(p->halves, row, (size_t)dim * sizeof *p->halves);
    else reid_to_halves((const float *)(const void *)row, p->halves, (size_t)dim);
    binary_row(&p->out, 3);
    binary_bigint(&p->out, number);
    binary_halfvec(&p->out, p->halves, dim);
    binary_row_bytes(&p->out, row, dim, (int)value_size(p));
}

static int copy_embeddings(pushing *p, int m, const pq_result *numbers) {
    text sql = TEXT_INIT;
    size_t next = 0;
    text_printf(&sql, "COPY reid.%s (template_id, half, row) FROM STDIN (FORMAT binary)", database_table(p->db, m));
    int good = text_failed(&sql) ? text_no_memory(&p->why) : pq_copy_in(p->c, sql.s, &p->why);
    text_free(&sql);
    text_clear(&p->out);
    binary_begin(&p->out);
    for (size_t i = 0; good && i < p->count; i++) {
        if (p->states[i] != NEW) continue;
        embedding_row(p, p->first + i, m, pq_number_at(numbers, next++, 0));
        good = put(p, 0);
    }
    if (good) binary_end(&p->out);
    return good && put(p, 1) && pq_copy_end(p->c, &p->why);
}

/* Copies n new templates, which get ascending numbers. */
static int copy_all(pushing *p, int n) {
    text_clear(&p->out);
    text_printf(&p->out, "%d", n);
    const pq_argument argument = {p->out.s, -1};
    pq_result *numbers = text_failed(&p->out) ? (text_no_memory(&p->why), NULL)
                                              : pq_ask(p->c, "SELECT nextval('reid.template_template_id_seq') "
                                                             "FROM generate_series(1, $1::int)", &argument, 1,
                                                       "=*k", &p->why);
    int good = numbers != NULL && (pq_rows(numbers) == (size_t)n ||
                                    refuse(&p->why, "is damaged: the server gave %zu number%s for %d template%s",
                                           pq_rows(numbers), plural(pq_rows(numbers)), n, plural((size_t)n))) &&
               copy_templates(p, numbers);
    for (int m = 0; good && m < p->meta->models; m++) good = copy_embeddings(p, m, numbers);
    pq_free(numbers);
    return good;
}

/* --- transactions ------------------------------------------------------------------------------------------------- */

/* Decides the fate of each template. Returns how many are new, -1 on failure. */
static int decide_fates(pushing *p, int first_time) {
    int n = 0, refused = 0;
    for (size_t i = 0; i < p->count; i++) {
        int told = p->past[p->first + i] == REFUSED; /* in an earlier attempt, before the connection was lost */
        if (first_time) p->states[i] = told ? REFUSED : NEW;
        else if (p->states[i] != REFUSED) p->states[i] = NEW;
        if (first_time && !told) check_new(p, p->first + i);
    }
    if (!look_up(p)) return -1;
    for (size_t i = 0; i < p->count; i++) n += p->states[i] == NEW, refused += p->states[i] == REFUSED;
    return p->r->strict && refused ? 0 : n;
}

/* Tries to connect again for a minute: a large database takes long to restart after a crash. p->why keeps the reason
   why the connection was lost, which is more useful than why it cannot be restored. */
static int come_back(pushing *p) {
    enum { WAITS = 6 };
    text unused = TEXT_INIT;
    int again = 0;
    for (int i = 0; i < WAITS && !again && !interrupted(); i++) again = database_again(p->db, &unused);
    text_free(&unused);
    return again;
}

/* 1 if a commit waits for the disk: the last one, and one every SAFE_TOGETHER templates, which makes all before it
   safe. In between, the server writes while it receives the next rows. */
static int waits_for_disk(const pushing *p) {
    size_t behind = p->first + p->count;
    return behind == store_count(p->from) || behind - p->safe >= SAFE_TOGETHER;
}

/* Stores the file's decoders in every transaction that has some of its templates, because the server may have lost the
   earlier transaction that stored them. */
static int keep_decoders(pushing *p, int n) {
    const char *ours = p->meta->jpeg;
    for (size_t i = 0; i < p->count && !n; i++) n = p->states[i] == EQUAL;
    if (!n || !*ours || strcmp(ours, database_info(p->db)->jpeg) == 0) return 1;
    return database_keep_decoders(p->c, p->meta->model, p->meta->models, ours, &p->why);
}

/* One attempt. If other clients have stored the same ids or identities, or removed them, since they were looked up, or
   if the connection was restored, the next attempt looks them up again. */
static outcome try_push(pushing *p, int first_time, uint32_t *asked) {
    /* Tables that grow this fast have no statistics yet, so the planner would choose to read them whole every time. */
    static const char by_index[] = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; "
                                   "SET LOCAL enable_mergejoin = off";
    static const char *const others[] = {"23505", "23P01", "23503", "40001", "40P01"};
    int good = database_begin(p->db, &p->why) && pq_script(p->c, by_index, &p->why) &&
               (waits_for_disk(p) || pq_script(p->c, "SET LOCAL synchronous_commit = off", &p->why));
    int unknown = 0, losses = database_losses(p->db);
    int n = good ? decide_fates(p, first_time) : -1;
    good = n == 0 || (n > 0 && name_identities(p, asked) && copy_all(p, n));
    good = good && keep_decoders(p, n);
    if (good && database_commit(p->db, &unknown, &p->why)) return DONE;
    char state[6];
    memcpy(state, pq_state(p->c), sizeof state);
    memset(p->identities, 0, store_identity_count(p->from) * sizeof *p->identities);
    if (unknown || interrupted()) return FAILED;
    if (pq_lost(p->c)) return come_back(p) ? AGAIN : FAILED;
    database_rollback(p->db);
    if (losses != database_losses(p->db)) return AGAIN;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(state, others[i]) == 0) return AGAIN;
    return FAILED;
}

static int is_refused(const pushing *p) { return memchr(p->past + p->first, REFUSED, p->count) != NULL; }

/* Pushes one transaction. Returns 1; 0: it failed; -1: templates from p->safe on may be lost and must be pushed
   again. */
static int push_some(pushing *p, uint32_t *asked) {
    int losses = database_losses(p->db);
    outcome end = AGAIN;
    for (int i = 0; end == AGAIN && i < TRIES && !interrupted() && losses == database_losses(p->db); i++)
        end = try_push(p, i == 0, asked);
    for (size_t i = 0; i < p->count; i++)
        if (p->states[i] == REFUSED) p->past[p->first + i] = REFUSED;
    for (size_t i = 0; i < p->count && end == DONE && !(p->r->strict && is_refused(p)); i++) {
        unsigned char *past = &p->past[p->first + i];
        if (*past == UNKNOWN || *past == EQUAL) *past = p->states[i] == NEW ? PUSHED : EQUAL;
    }
    if (end == DONE && waits_for_disk(p)) p->safe = p->first + p->count;
    if (end == AGAIN && losses != database_losses(p->db)) return -1;
    return end == DONE;
}

/* Called after a push that stopped early. Templates that are stored but cannot be made safe are not counted. */
static void make_safe(pushing *p) {
    int losses = database_losses(p->db);
    text unused = TEXT_INIT;
    pq_steady(p->c, 1); /* also when the reason is a signal */
    if (pq_lost(p->c) || !database_begin(p->db, &unused) || !database_commit(p->db, NULL, &unused) ||
        losses != database_losses(p->db))
        for (size_t i = p->safe; i < store_count(p->from); i++)
            if (p->past[i] != REFUSED) p->past[i] = UNKNOWN;
    pq_steady(p->c, 0);
    text_free(&unused);
}

static void count_fates(pushing *p) {
    push_report *r = p->report;
    r->pushed = r->equal = r->refused = 0;
    for (size_t i = 0; i < store_count(p->from); i++)
        r->pushed += p->past[i] == PUSHED, r->equal += p->past[i] == EQUAL, r->refused += p->past[i] == REFUSED;
}

static int push_rows(pushing *p) {
    enum { AGAINS = 100 };
    size_t total = store_count(p->from);
    uint32_t *asked = mem_array(PUSH_TOGETHER, sizeof *asked);
    int good = asked || text_no_memory(&p->why), left = AGAINS, stopped = 0;
    double start = clock_seconds();
    progress_start("pushing", total);
    for (p->first = 0; good > 0 && !stopped && p->first < total && !interrupted();) {
        p->count = total - p->first < PUSH_TOGETHER ? total - p->first : PUSH_TOGETHER;
        good = push_some(p, asked);
        stopped = p->r->strict && is_refused(p);
        p->first = good < 0 ? p->safe : p->first + p->count;
        if (good < 0) good = left-- > 0;
        progress_update(p->first, 0);
    }
    progress_stop();
    if (p->safe < total) make_safe(p);
    count_fates(p);
    p->report->seconds = clock_seconds() - start;
    free(asked);
    return good && !interrupted();
}

/* --- the index ---------------------------------------------------------------------------------------------------- */

/* 1: this model's table is empty and has an index; -1 on failure. Asked in a transaction of its own: two clients that
   both hold a reader's lock would deadlock when they drop the index. */
static int is_index_idle(pushing *p, const char *table) {
    text sql = TEXT_INIT;
    text_printf(&sql, "SELECT to_regclass('reid.%s_hnsw') IS NOT NULL AND NOT EXISTS (SELECT FROM reid.%s)", table,
                table);
    pq_result *r = text_failed(&sql) ? (text_no_memory(&p->why), NULL) : pq_ask(p->c, sql.s, NULL, 0, "1b", &p->why);
    int idle = r ? pq_true_at(r, 0, 0) : -1;
    pq_free(r);
    text_free(&sql);
    return idle;
}

/* Drops the index if the table is still empty once no other client is using it. */
static int drop_index(pushing *p, const char *table) {
    text sql = TEXT_INIT;
    text_printf(&sql, "DO $$ BEGIN SET LOCAL lock_timeout = '5s'; LOCK TABLE reid.%s IN ACCESS EXCLUSIVE MODE; "
                      "IF NOT EXISTS (SELECT FROM reid.%s) THEN DROP INDEX IF EXISTS reid.%s_hnsw; END IF; END $$",
                table, table, table);
    int good = text_failed(&sql) ? text_no_memory(&p->why) : pq_script(p->c, sql.s, &p->why);
    text_free(&sql);
    return good;
}

/* An empty table is filled faster without the index, which is then built at the end. If the index may not be dropped,
   or others are using the table, rows are added to it one by one. */
static int drop_indexes(pushing *p) {
    for (int m = 0; m < p->meta->models; m++) {
        const char *table = database_table(p->db, m);
        int idle = is_index_idle(p, table);
        if (idle < 0) return 0;
        if (!idle || drop_index(p, table)) continue;
        if (strcmp(pq_state(p->c), "42501") != 0 && strcmp(pq_state(p->c), "55P03") != 0) return 0;
        say_warning("the index of reid.%s stays while rows are stored, which takes longer: %s", table, p->why.s);
    }
    return 1;
}

/* Sets the memory for building the graph: as much as it needs, up to MOST_MB, or more if the server is configured with
   more. */
static int build_memory(pushing *p, int dim) {
    enum { NODE = 1600, MOST_MB = 2048 }; /* NODE: bytes of a template in the graph, m = 16, besides its halves */
    double wanted = (double)store_count(p->from) * ((double)NODE + 2.0 * dim) / (1 << 20);
    text sql = TEXT_INIT;
    text_printf(&sql, "SELECT set_config('maintenance_work_mem', greatest(%d, setting::int / 1024) || 'MB', true) "
                      "FROM pg_settings WHERE name = 'maintenance_work_mem'",
                wanted < (double)MOST_MB ? (int)wanted + 1 : MOST_MB);
    int good = text_failed(&sql) ? text_no_memory(&p->why) : pq_script(p->c, sql.s, &p->why);
    text_free(&sql);
    return good;
}

/* Builds the missing index of a model. Parallel processes share the graph in /dev/shm, which may be too small in a
   container; then one process builds it. */
static int build_index(pushing *p, int m, int parallel) {
    text sql = TEXT_INIT;
    const char *name = p->meta->model[m].fingerprint;
    text_printf(&sql, "SELECT reid.add_index('%s')", name);
    int good = pq_script(p->c, "BEGIN", &p->why) && build_memory(p, p->meta->model[m].dim) &&
               (parallel || pq_script(p->c, "SET LOCAL max_parallel_maintenance_workers = 0", &p->why)) &&
               (text_failed(&sql) ? text_no_memory(&p->why) : pq_script(p->c, sql.s, &p->why)) &&
               pq_script(p->c, "COMMIT", &p->why);
    text_free(&sql);
    if (good) return 1;
    int no_memory = strncmp(pq_state(p->c), "53", 2) == 0;
    text unused = TEXT_INIT;
    pq_script(p->c, "ROLLBACK", &unused);
    text_free(&unused);
    return parallel && no_memory && !interrupted() && build_index(p, m, 0);
}

/* 1 if this model's table has an index, or can have none; -1 on failure. */
static int has_index(pushing *p, int m) {
    text name = TEXT_INIT;
    text_printf(&name, "reid.%s_hnsw", database_table(p->db, m));
    const pq_argument argument = {name.s, -1};
    pq_result *r = text_failed(&name) ? (text_no_memory(&p->why), NULL)
                                      : pq_ask(p->c, "SELECT to_regclass($1) IS NOT NULL", &argument, 1, "1b",
                                               &p->why);
    int has = r ? pq_true_at(r, 0, 0) : -1;
    pq_free(r);
    text_free(&name);
    return has == 0 && p->meta->model[m].dim > INDEXED ? 1 : has;
}

static int build_indexes(pushing *p) {
    double start = clock_seconds();
    for (int m = 0; m < p->meta->models; m++) {
        int has = has_index(p, m);
        if (has < 0) return 0;
        if (has) continue;
        say_info("building the index of reid.%s", database_table(p->db, m));
        if (!build_index(p, m, 1)) return 0;
        p->report->index_seconds = clock_seconds() - start;
    }
    return 1;
}

/* --- the whole push ----------------------------------------------------------------------------------------------- */

/* Warns when the thresholds differ. The database keeps its own, because it may have been set there later. */
static void compare_thresholds(const pushing *p) {
    double ours = p->meta->threshold, theirs = database_info(p->db)->threshold;
    if (isnan(ours) && isnan(theirs)) return;
    if (ours != theirs) say_warning("%s keeps its own threshold, which differs from the file's", shown(p->r->url));
}

static int open_all(pushing *p) {
    const store_meta *theirs = database_info(p->db);
    if (!makers_agree(p->meta, p->r->path, theirs, NULL, p->r->url)) return 0;
    if (theirs->halves != p->meta->halves) {
        say_error("%s keeps %s, but %s has %s: the stored templates would differ from the file's", shown(p->r->url),
                  theirs->halves ? "fp16" : "fp32", shown(p->r->path), p->meta->halves ? "fp16" : "fp32");
        return 0;
    }
    compare_thresholds(p);
    makers_note_decoders(p->meta->jpeg, p->r->path, theirs->jpeg, p->r->url);
    size_t dim = (size_t)p->meta->dim;
    p->c = database_connection(p->db);
    p->past = need_zeroed(store_count(p->from), sizeof *p->past);
    p->identities = p->past ? need_zeroed(store_identity_count(p->from), sizeof *p->identities) : NULL;
    p->floats = p->identities ? need_array(dim, sizeof *p->floats) : NULL;
    p->halves = p->floats ? need_array(dim, sizeof *p->halves) : NULL;
    return p->halves != NULL;
}

/* Reports why the push failed, and how many templates are stored anyway. */
static void say_failure(const pushing *p) {
    if (!interrupted())
        say_error("%s: %s; templates stored so far: %zu; push again to continue after them", shown(p->r->url),
                  p->why.s ? shown(p->why.s) : "out of memory", p->report->pushed + p->report->equal);
}

/* Creates a gallery like the file if the database has none. One that another program creates at the same time is used
   as well. Other errors are reported. */
static int create_where_none_is(pushing *p) {
    text unused = TEXT_INIT;
    int is_free = database_is_free(p->r->url, &p->why);
    if (is_free > 0) {
        p->report->created = database_create(p->r->url, p->meta, &p->why);
        if (!p->report->created) is_free = database_is_free(p->r->url, &unused);
        text_free(&unused);
    }
    if (is_free == 0 || p->report->created) return 1;
    if (!interrupted()) say_error("%s: %s", shown(p->r->url), p->why.s ? shown(p->why.s) : "cannot be reached");
    return 0;
}

int gallery_push(const push_request *r, push_report *report) {
    pushing *p = need_zeroed(1, sizeof *p);
    memset(report, 0, sizeof *report);
    if (!p) return 0;
    p->r = r, p->report = report, p->from = r->from, p->meta = store_info(r->from);
    if (create_where_none_is(p)) p->db = database_open(r->url);
    int good = p->db && open_all(p);
    if (good) {
        good = drop_indexes(p) && push_rows(p) && build_indexes(p);
        if (!good) say_failure(p);
    }
    database_close(p->db);
    free(p->identities), free(p->halves), free(p->floats), free(p->past);
    text_free(&p->out);
    text_free(&p->why);
    free(p);
    return good;
}
