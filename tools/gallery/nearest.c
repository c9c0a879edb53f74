#include "gallery/nearest.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/unicode.h"
#include "base/when.h"
#include "gallery/database.h"
#include "gallery/makers.h"
#include "gallery/pq_binary.h"
#include "reid.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* EF: how many candidates an index keeps while it searches; MOST_EF: the most that pgvector allows. SCANNED: templates
   that an index examines before it gives up. */
enum { ARGUMENTS = 12, SCANNED = 40000, EF = 800, MOST_EF = 1000, STEP = 4 };

struct nearest {
    const nearest_request *r;
    database *db;
    const store_meta *meta;
    int ef;              /* hnsw.ef_search of the session */
    text from, until;    /* times of the filter, as text for PostgreSQL */
    text halves[STORE_MODELS], size, hash;
    uint16_t *half_row;  /* [dim] */
    float *row, *floats; /* [dim]; row may hold halves instead */
    pq_argument arguments[ARGUMENTS];
    int count;           /* of arguments */
    text sql, why;
};

/* --- filters ------------------------------------------------------------------------------------------------------ */

int filter_is_set(const template_filter *f) {
    return f->identity || f->camera || f->from != STORE_NO_TIME || f->until != STORE_NO_TIME;
}

int filter_takes(const template_filter *f, const store_item *item) {
    if (f->identity && !name_same(f->identity, item->identity)) return 0;
    if (f->camera && !name_same(f->camera, item->camera)) return 0;
    if (f->from != STORE_NO_TIME && (item->time == STORE_NO_TIME || item->time < f->from)) return 0;
    return f->until == STORE_NO_TIME || (item->time != STORE_NO_TIME && item->time < f->until);
}

/* --- statements --------------------------------------------------------------------------------------------------- */

/* Adds an argument; returns its number in the statement. */
static int argue(nearest *n, const void *bytes, int len) {
    n->arguments[n->count].bytes = bytes;
    n->arguments[n->count].len = len;
    return ++n->count;
}

/* Appends "IN (…)" with the spellings (base/unicode.h) of argument `at`, each between two texts; a name in ASCII has
   one. */
static void add_spellings(nearest *n, int at, const char *name, const char *before, const char *after) {
    text_printf(&n->sql, " IN (%s$%d%s", before, at, after);
    if (name_has_forms(name))
        text_printf(&n->sql, ", %snormalize($%d, NFC)%s, %snormalize($%d, NFD)%s", before, at, after, before, at,
                    after);
    text_putc(&n->sql, ')');
}

/* Appends "AND …" for a template t. Texts become arguments, so that no user input is part of a statement. */
static void add_filter(nearest *n) {
    const template_filter *f = &n->r->filter;
    if (f->identity) {
        const int several = name_has_forms(f->identity); /* then a gallery may have two identities of that name */
        text_printf(&n->sql, " AND t.identity_id = %s(SELECT identity_id FROM reid.identity WHERE name",
                    several ? "ANY (ARRAY" : "");
        add_spellings(n, argue(n, f->identity, -1), f->identity, "", "");
        text_puts(&n->sql, several ? "))" : ")");
    }
    if (f->camera) {
        int at = argue(n, f->camera, -1);
        text_puts(&n->sql, " AND left(t.camera, 100)");
        add_spellings(n, at, f->camera, "left(", ", 100)");
        text_puts(&n->sql, " AND t.camera");
        add_spellings(n, at, f->camera, "", "");
    }
    if (f->from != STORE_NO_TIME) text_printf(&n->sql, " AND t.seen >= $%d", argue(n, n->from.s, -1));
    if (f->until != STORE_NO_TIME) text_printf(&n->sql, " AND t.seen < $%d", argue(n, n->until.s, -1));
}

/* Appends the conditions of the query itself. */
static void add_exclusions(nearest *n, const nearest_query *q) {
    if (q->other_camera) {
        text_puts(&n->sql, " AND t.camera NOT");
        add_spellings(n, argue(n, q->other_camera, -1), q->other_camera, "", "");
    }
    if (q->id) {
        text_puts(&n->sql, " AND t.id NOT");
        add_spellings(n, argue(n, q->id, -1), q->id, "", "");
    }
    if (!q->size) return;
    text_clear(&n->size), text_clear(&n->hash);
    text_printf(&n->size, "%lld", (long long)q->size);
    text_printf(&n->hash, "%lld", (long long)q->hash);
    int size = argue(n, n->size.s, -1), hash = argue(n, n->hash.s, -1);
    text_printf(&n->sql, " AND NOT (t.source_size = $%d::bigint AND t.source_hash = $%d::bigint)", size, hash);
}

/* Appends the columns of a template, in the order in which take_template reads them. */
static void add_columns(nearest *n) {
    text_puts(&n->sql, "SELECT t.id, i.name, t.camera, t.seen, t.source, t.source_size, t.source_hash");
    for (int m = 0; m < n->meta->models; m++) text_printf(&n->sql, ", e%d.row", m);
}

static void add_tables(nearest *n) {
    text_puts(&n->sql, " JOIN reid.identity i USING (identity_id)");
    for (int m = 0; m < n->meta->models; m++)
        text_printf(&n->sql, " JOIN reid.%s e%d ON e%d.template_id = t.template_id", database_table(n->db, m), m, m);
}

static pq_result *ask(nearest *n, const char *shape) {
    if (text_failed(&n->sql)) return text_no_memory(&n->why), NULL;
    return pq_ask(database_connection(n->db), n->sql.s, n->arguments, n->count, shape, &n->why);
}

static void begin_statement(nearest *n) {
    text_clear(&n->sql);
    n->count = 0;
}

static void say_why(const nearest *n) {
    if (!interrupted()) say_error("%s: %s", shown(n->r->url), n->why.s ? shown(n->why.s) : "cannot be searched");
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* Reads the embedding in a row of an answer into n->row. Returns 0 with a description of the damage in why. */
static int take_row(nearest *n, const pq_result *r, size_t at, char why[STORE_WHY]) {
    int size = n->meta->halves ? 2 : 4;
    char *to = (char *)n->row;
    text wrong = TEXT_INIT;
    for (int m = 0; m < n->meta->models; m++) {
        size_t len, bytes = (size_t)n->meta->model[m].dim * (size_t)size;
        const char *row = pq_bytes_at(r, at, 7 + m, &len);
        if (!row || len != bytes) {
            snprintf(why, STORE_WHY, "it has no embedding by %s", n->meta->model[m].fingerprint);
            return 0;
        }
        binary_to_row(row, to, n->meta->model[m].dim, size);
        to += bytes;
    }
    if (n->meta->halves) reid_from_halves((uint16_t *)(void *)n->row, n->floats, (size_t)n->meta->dim);
    int good = row_is_unit(n->meta, n->meta->halves ? n->floats : n->row, &wrong);
    if (!good) snprintf(why, STORE_WHY, "its embedding %s", wrong.s);
    text_free(&wrong);
    return good;
}

/* *damaged: 1 if why describes damage to the template itself. */
static int take_template(nearest *n, gallery_store *s, const pq_result *r, size_t at, int *damaged,
                         char why[STORE_WHY]) {
    store_item item = {pq_text_at(r, at, 0), pq_text_at(r, at, 1), pq_text_at(r, at, 2), pq_text_at(r, at, 4),
                       pq_time_at(r, at, 3, STORE_NO_TIME), (uint64_t)pq_number_at(r, at, 5),
                       (uint64_t)pq_number_at(r, at, 6)};
    *damaged = !take_row(n, r, at, why);
    return !*damaged && store_add(s, &item, n->row, why);
}

/* A gallery in memory with the templates of an answer; NULL with the reason in n->why. */
static gallery_store *take_all(nearest *n, const pq_result *r) {
    char why[STORE_WHY] = "";
    gallery_store *s = store_in_memory(n->meta, why);
    size_t at = 0;
    int good = s != NULL, damaged = 0;
    for (; good && at < pq_rows(r); at++) good = take_template(n, s, r, at, &damaged, why);
    text_clear(&n->why);
    if (good) good = store_settle(s, why);
    else if (s)
        text_printf(&n->why, "template \"%.70s\"%s: ", shown(pq_text_at(r, at - 1, 0)),
                    damaged ? " is damaged" : "");
    if (good) return s;
    text_puts(&n->why, why);
    store_close(s);
    return NULL;
}

/* --- all templates that pass the filter --------------------------------------------------------------------------- */

int nearest_are_few(nearest *n, int filtered) {
    begin_statement(n);
    text_puts(&n->sql, "SELECT count(*) FROM (SELECT FROM reid.template t WHERE true");
    if (filtered) add_filter(n);
    text_printf(&n->sql, " LIMIT %d) few", NEAREST_FEW + 1);
    pq_result *r = ask(n, "1c");
    int few = r ? pq_number_at(r, 0, 0) <= NEAREST_FEW : -1;
    if (few < 0) say_why(n);
    pq_free(r);
    return few;
}

gallery_store *nearest_all(nearest *n) {
    begin_statement(n);
    add_columns(n);
    text_puts(&n->sql, " FROM reid.template t");
    add_tables(n);
    text_puts(&n->sql, " WHERE true");
    add_filter(n);
    text_puts(&n->sql, " ORDER BY t.template_id");
    pq_result *r = ask(n, n->meta->models > 1 ? "=*ssst?scnyy" : "=*ssst?scny");
    gallery_store *s = r ? take_all(n, r) : NULL;
    if (!s) say_why(n);
    pq_free(r);
    return s;
}

/* --- templates near a query --------------------------------------------------------------------------------------- */

/* Sets how many candidates the indexes keep: at least as many as they are asked for. */
static int set_search(nearest *n, int most) {
    int ef = most < EF ? EF : most < MOST_EF ? most : MOST_EF;
    if (ef == n->ef) return 1;
    text t = TEXT_INIT;
    text_printf(&t, "SET hnsw.ef_search = %d; SET hnsw.iterative_scan = relaxed_order; SET hnsw.max_scan_tuples = %d; "
                    "SET hnsw.scan_mem_multiplier = 8", ef, most * STEP > SCANNED ? most * STEP : SCANNED);
    int good = text_failed(&t) ? text_no_memory(&n->why) : pq_script(database_connection(n->db), t.s, &n->why);
    text_free(&t);
    if (good) n->ef = ef;
    return good;
}

/* Converts the query's parts to halves, as in the indexes. */
static int set_query(nearest *n, const nearest_query *q) {
    const float *row = q->row;
    for (int m = 0; m < n->meta->models; row += n->meta->model[m++].dim) {
        int dim = n->meta->model[m].dim;
        reid_to_halves(row, n->half_row, (size_t)dim);
        text_clear(&n->halves[m]);
        binary_halfvec_argument(&n->halves[m], n->half_row, dim);
        if (text_failed(&n->halves[m])) return text_no_memory(&n->why);
    }
    return 1;
}

/* Writes the statement: candidates from the index of each model, their union, and the columns of these templates. The
   last column is the length of the shortest candidate list. */
static void near_statement(nearest *n, const nearest_query *q, int most) {
    begin_statement(n);
    for (int m = 0; m < n->meta->models; m++) {
        text_printf(&n->sql, "%s c%d AS MATERIALIZED (SELECT t.template_id FROM reid.%s e JOIN reid.template t "
                             "USING (template_id) WHERE true", m ? "," : "WITH", m, database_table(n->db, m));
        add_filter(n);
        add_exclusions(n, q);
        text_printf(&n->sql, " ORDER BY e.half <#> $%d LIMIT %d)",
                    argue(n, n->halves[m].s, (int)n->halves[m].len), most);
    }
    int both = n->meta->models > 1;
    text_printf(&n->sql, ", c AS MATERIALIZED (SELECT template_id FROM c0%s)",
                both ? " UNION SELECT template_id FROM c1" : "");
    if (n->r->whole)
        text_puts(&n->sql, ", w AS MATERIALIZED (SELECT DISTINCT t.identity_id FROM c JOIN reid.template t "
                           "USING (template_id))");
    text_putc(&n->sql, ' ');
    add_columns(n);
    text_printf(&n->sql, ", least((SELECT count(*) FROM c0), (SELECT count(*) FROM c%d)) FROM %s", both,
                n->r->whole ? "w JOIN reid.template t USING (identity_id)"
                            : "c JOIN reid.template t USING (template_id)");
    add_tables(n);
    if (n->r->whole) {
        text_puts(&n->sql, " WHERE true");
        add_filter(n);
        add_exclusions(n, q);
    }
    text_puts(&n->sql, " ORDER BY t.template_id");
}

/* 1 if there are as many templates and identities as requested. */
static int suffices(const nearest *n, const gallery_store *s) {
    return store_count(s) >= (size_t)n->r->templates && store_identity_count(s) >= (size_t)n->r->identities;
}

/* Runs one statement. *found: length of the shortest candidate list. NULL with the reason in n->why. */
static gallery_store *find_near(nearest *n, const nearest_query *q, int most, int64_t *found) {
    near_statement(n, q, most);
    pq_result *r = set_search(n, most) ? ask(n, n->meta->models > 1 ? "=*ssst?scnyyc" : "=*ssst?scnyc") : NULL;
    gallery_store *s = r ? take_all(n, r) : NULL;
    *found = r && pq_rows(r) ? pq_number_at(r, 0, 7 + n->meta->models) : 0;
    pq_free(r);
    return s;
}

gallery_store *nearest_of(nearest *n, const nearest_query *q, int *too_few) {
    int most = n->r->candidates ? n->r->candidates : NEAREST_DEFAULT;
    int64_t found;
    gallery_store *s = set_query(n, q) ? find_near(n, q, most, &found) : NULL;
    while (s && !suffices(n, s) && found >= most && !n->r->candidates && most <= INT_MAX / STEP) {
        store_close(s);
        most *= STEP;
        s = find_near(n, q, most, &found);
    }
    if (!s) say_why(n);
    *too_few = s && !suffices(n, s);
    return s;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

const store_meta *nearest_info(const nearest *n) { return n->meta; }

static int prepare(nearest *n) {
    const template_filter *f = &n->r->filter;
    if (f->from != STORE_NO_TIME) when_text(&n->from, f->from);
    if (f->until != STORE_NO_TIME) when_text(&n->until, f->until);
    if (!need_text(&n->from) || !need_text(&n->until)) return 0;
    n->half_row = need_array((size_t)n->meta->dim, sizeof *n->half_row);
    n->row = n->half_row ? need_array((size_t)n->meta->dim, sizeof *n->row) : NULL;
    n->floats = n->row ? need_array((size_t)n->meta->dim, sizeof *n->floats) : NULL;
    return n->floats != NULL;
}

nearest *nearest_open(const nearest_request *r) {
    nearest *n = need_zeroed(1, sizeof *n);
    if (!n) return NULL;
    n->r = r;
    n->db = database_open(r->url);
    if (n->db) {
        n->meta = database_info(n->db);
        if (prepare(n)) return n;
    }
    nearest_close(n);
    return NULL;
}

void nearest_close(nearest *n) {
    if (!n) return;
    database_close(n->db);
    text_free(&n->from), text_free(&n->until), text_free(&n->size), text_free(&n->hash);
    for (int m = 0; m < STORE_MODELS; m++) text_free(&n->halves[m]);
    text_free(&n->sql), text_free(&n->why);
    free(n->half_row), free(n->row), free(n->floats);
    free(n);
}
