#include "gallery/embedders.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "gallery/database.h"
#include "gallery/pq_binary.h"
#include "reid.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 1000 };

/* --- helpers ------------------------------------------------------------------------------------------------------ */

/* Reports an error; always returns 0. */
static int fail(const embedder_list *l, const text *why) {
    if (!interrupted()) say_error("%s: %s", shown(l->url), shown(why->len ? why->s : "the connection is lost"));
    return 0;
}

static size_t count_at(const pq_result *r, size_t row, int column) { return (size_t)pq_number_at(r, row, column); }

void embedder_name(const embedder *e, char out[2 * 33]) {
    const store_model *m = e->makers.model;
    snprintf(out, 2 * 33, e->makers.models > 1 ? "%s+%s" : "%s", m[0].fingerprint, m[1].fingerprint);
}

const embedder *embedders_named(const embedder_list *l, const char *name) {
    char own[2 * 33];
    for (size_t i = 0; i < l->count; i++) {
        embedder_name(&l->at[i], own);
        if (strcmp(own, name) == 0) return &l->at[i];
    }
    return NULL;
}

const embedder *embedders_of(const embedder_list *l, const store_meta *makers) {
    embedder like = {.makers = *makers};
    char name[2 * 33];
    embedder_name(&like, name);
    return embedders_named(l, name);
}

/* --- lookups ------------------------------------------------------------------------------------------------------ */

static void copy_text(char *to, size_t size, const char *from) { snprintf(to, size, "%s", from); }

/* Takes a model from columns first … first + 4; none when the fingerprint is NULL. */
static void take_model(store_meta *makers, const pq_result *r, size_t row, int first) {
    if (pq_is_null(r, row, first)) return;
    store_model *m = &makers->model[makers->models++];
    copy_text(m->fingerprint, sizeof m->fingerprint, pq_text_at(r, row, first));
    copy_text(m->network, sizeof m->network, pq_text_at(r, row, first + 1));
    copy_text(m->preset, sizeof m->preset, pq_text_at(r, row, first + 2));
    copy_text(m->precision, sizeof m->precision, pq_text_at(r, row, first + 3));
    m->dim = (int)count_at(r, row, first + 4);
    makers->dim += m->dim;
}

static int take_embedders(embedder_list *l, text *why) {
    pq_result *r = pq_ask(l->connection,
        "SELECT e.embedder_id, CASE WHEN e.embedder_id = g.embedder THEN 0 WHEN e.embedder_id = g.previous THEN 1 "
        "ELSE 2 END AS role, e.threshold, g.precision = 'fp16', a.fingerprint, a.network, a.preset, a.precision, "
        "a.dim, b.fingerprint, b.network, b.preset, b.precision, b.dim, "
        "(SELECT count(*) FROM reid.failure f WHERE f.embedder_id = e.embedder_id), "
        "(SELECT count(*) FROM reid.claim c WHERE c.embedder_id = e.embedder_id), "
        "array_to_string(a.jpeg || b.jpeg, ', ') "
        "FROM reid.gallery g CROSS JOIN reid.embedder e JOIN reid.model a ON a.model_id = e.model_a "
        "LEFT JOIN reid.model b ON b.model_id = e.model_b ORDER BY role, e.embedder_id", NULL, 0,
        "*icr?bssssis?s?s?s?i?ccs?", why);
    if (!r) return 0;
    size_t n = pq_rows(r);
    if (!n) {
        pq_free(r);
        return refuse(why, "contains no gallery; create one with \"reid gallery create\"");
    }
    l->at = mem_zeroed(n, sizeof *l->at);
    l->count = l->at ? n : 0;
    for (size_t i = 0; i < l->count; i++) {
        embedder *e = &l->at[i];
        e->id = (int)count_at(r, i, 0);
        e->role = (embedder_role)count_at(r, i, 1);
        e->makers.threshold = pq_real_at(r, i, 2);
        e->makers.halves = pq_true_at(r, i, 3);
        take_model(&e->makers, r, i, 4);
        take_model(&e->makers, r, i, 9);
        e->failed = count_at(r, i, 14);
        e->claimed = count_at(r, i, 15);
        store_join_decoders(e->makers.jpeg, pq_text_at(r, i, 16));
    }
    pq_free(r);
    return l->at ? 1 : text_no_memory(why);
}

static int take_workers(embedder_list *l, text *why) {
    pq_result *r = pq_ask(l->connection,
        "SELECT name, embedder_id, made, failed, extract(epoch FROM clock_timestamp() - beat), "
        "extract(epoch FROM lease) FROM reid.worker ORDER BY worker_id", NULL, 0, "*siccrr", why);
    if (!r) return 0;
    size_t n = pq_rows(r);
    l->worker = mem_zeroed(n, sizeof *l->worker);
    for (size_t i = 0; l->worker && i < n; i++) {
        embedder_worker *w = &l->worker[l->workers];
        w->name = mem_copy(pq_text_at(r, i, 0), strlen(pq_text_at(r, i, 0)));
        if (!w->name) break;
        w->embedder = (int)count_at(r, i, 1);
        w->made = count_at(r, i, 2);
        w->failed = count_at(r, i, 3);
        w->silent = pq_real_at(r, i, 4);
        w->lease = pq_real_at(r, i, 5);
        l->workers++;
    }
    pq_free(r);
    return l->workers == n ? 1 : text_no_memory(why);
}

/* SQL condition: template t lacks a row of e. The tables' names are made of 32 hexadecimal digits each. */
static void missing_sql(text *t, const embedder *e) {
    text_putc(t, '(');
    for (int i = 0; i < e->makers.models; i++)
        text_printf(t, "%sNOT EXISTS (SELECT FROM reid.embedding_%s e WHERE e.template_id = t.template_id)",
                    i ? " OR " : "", e->makers.model[i].fingerprint);
    text_putc(t, ')');
}

/* untried: missing ones for which no failure is recorded. */
static int count_missing(embedder_list *l, const embedder *e, size_t *templates, size_t *missing, size_t *untried,
                         text *why) {
    text sql = TEXT_INIT;
    pq_number id = pq_number_of(e->id);
    const pq_argument a[] = {pq_text(id.s)};
    text_puts(&sql, "SELECT (SELECT count(*) FROM reid.template), count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT "
                    "FROM reid.failure f WHERE f.template_id = t.template_id AND f.embedder_id = $1::int)) "
                    "FROM reid.template t WHERE ");
    missing_sql(&sql, e);
    pq_result *r = text_failed(&sql) ? text_no_memory(why), NULL : pq_ask(l->connection, sql.s, a, 1, "1ccc", why);
    if (r) *templates = count_at(r, 0, 0), *missing = count_at(r, 0, 1), *untried = count_at(r, 0, 2);
    pq_free(r);
    text_free(&sql);
    return r != NULL;
}

static int look(embedder_list *l, int counted, text *why) {
    size_t untried;
    if (!pq_script(l->connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", why) || !take_embedders(l, why) ||
        !take_workers(l, why))
        return 0;
    for (size_t i = 0; counted && i < l->count; i++) {
        embedder *e = &l->at[i];
        if (!count_missing(l, e, &l->templates, &e->missing, &untried, why)) return 0;
        e->rows = l->templates - e->missing;
    }
    return pq_script(l->connection, "COMMIT", why);
}

int embedders_open(embedder_list *l, const char *url, int counted) {
    text why = TEXT_INIT;
    memset(l, 0, sizeof *l);
    l->url = need_copy(url, strlen(url));
    l->database = l->url ? database_open(url) : NULL;
    if (!l->database) return 0;
    l->connection = database_connection(l->database);
    int good = look(l, counted, &why) || fail(l, &why);
    text_free(&why);
    return good;
}

void embedders_close(embedder_list *l) {
    for (size_t i = 0; i < l->workers; i++) free(l->worker[i].name);
    free(l->worker), free(l->at), free(l->url);
    database_close(l->database);
    memset(l, 0, sizeof *l);
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

/* 1 if the switch is allowed, 0 with the reason in why. */
static int may_switch(embedder_list *l, const embedder *to, double threshold, int partial, text *why) {
    size_t templates, missing, untried;
    const embedder *now = &l->at[0];
    if (!count_missing(l, to, &templates, &missing, &untried, why)) return 0;
    text_clear(why);
    if (untried)
        text_printf(why, "%zu of %zu template%s no row for the other model yet: run \"reid gallery reembed\" with -m "
                         "first", untried, templates, templates == 1 ? " has" : "s have");
    else if (missing && !partial)
        text_printf(why, "%zu of %zu template%s could not be embedded by the other model (see --status); with "
                         "--partial, searches leave them out", missing, templates, plural(templates));
    else if (missing == templates && templates) text_puts(why, "no template has a row for the other model");
    else if (!isnan(now->makers.threshold) && isnan(to->makers.threshold) && isnan(threshold))
        text_printf(why, "the gallery decides by a threshold, %.9g, which does not apply to the other model: give its "
                         "--threshold; --compare suggests one", now->makers.threshold);
    return why->len == 0;
}

static int change_gallery(embedder_list *l, const embedder *to, double threshold, text *why) {
    pq_number id = pq_number_of(to->id), old = pq_number_of(l->at[0].id);
    char real[32];
    snprintf(real, sizeof real, "%.17g", threshold);
    const pq_argument both[] = {pq_text(id.s), pq_text(old.s)};
    const pq_argument own[] = {pq_text(id.s), pq_text(real)};
    pq_result *r = pq_ask(l->connection, "UPDATE reid.gallery SET previous = embedder, embedder = $1::int "
                                         "WHERE embedder = $2::int", both, 2, "*", why);
    int good = r && pq_changed(r) == 1;
    if (r && !good) text_puts(why, "the gallery was switched by another client in the meantime");
    pq_free(r);
    return good && (isnan(threshold) || pq_do(l->connection, "UPDATE reid.embedder SET threshold = $2::float8 "
                                                             "WHERE embedder_id = $1::int", own, 2, why));
}

/* The lock waits for writers, and writers wait for it. */
static int lock_gallery(embedder_list *l, text *why) {
    return pq_script(l->connection, "BEGIN", why) &&
           pq_script(l->connection, "SELECT pg_advisory_xact_lock(1919248740, 1)", why);
}

/* Rolls back and reports an error; always returns 0. */
static int give_up(embedder_list *l, const text *why) {
    text unused = TEXT_INIT;
    fail(l, why);
    if (!pq_lost(l->connection)) pq_script(l->connection, "ROLLBACK", &unused);
    text_free(&unused);
    return 0;
}

/* A COMMIT during which the connection was lost may have taken effect. */
static int commit(embedder_list *l, const char *what, text *why) {
    if (pq_script(l->connection, "COMMIT", why)) return 1;
    if (pq_lost(l->connection)) text_printf(why, "; \"reid gallery reembed --status\" shows whether %s", what);
    return 0;
}

int embedders_switch(embedder_list *l, const embedder *to, double threshold, int partial) {
    text why = TEXT_INIT;
    int good = lock_gallery(l, &why) && may_switch(l, to, threshold, partial, &why) &&
               change_gallery(l, to, threshold, &why) && commit(l, "the gallery was switched", &why);
    if (!good) give_up(l, &why);
    text_free(&why);
    return good;
}

int embedders_drop(embedder_list *l, const embedder *gone) {
    text why = TEXT_INIT;
    pq_number id = pq_number_of(gone->id);
    const pq_argument a[] = {pq_text(id.s)};
    int good = lock_gallery(l, &why);
    pq_result *r = good ? pq_ask(l->connection, "SELECT FROM reid.gallery WHERE embedder = $1::int", a, 1, "*", &why)
                        : NULL;
    good = r && !pq_rows(r);
    if (r && !good) text_puts(&why, "the gallery uses these models");
    pq_free(r);
    good = good && pq_do(l->connection, "SELECT reid.drop_embedder($1::int)", a, 1, &why) &&
           commit(l, "they were dropped", &why);
    if (!good) give_up(l, &why);
    text_free(&why);
    return good;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

int embedders_failures(embedder_list *l, const embedder *e, size_t most, failure_fn fn, void *user) {
    text why = TEXT_INIT;
    pq_number id = pq_number_of(e->id), limit = pq_number_of((int64_t)most);
    const pq_argument a[] = {pq_text(id.s), pq_text(limit.s)};
    pq_result *r = pq_ask(l->connection, "SELECT t.id, f.why FROM reid.failure f JOIN reid.template t USING "
                                         "(template_id) WHERE f.embedder_id = $1::int ORDER BY template_id LIMIT "
                                         "$2::bigint", a, 2, "*ss", &why);
    int good = r != NULL || fail(l, &why);
    for (size_t i = 0; r && good && i < pq_rows(r); i++) good = fn(user, pq_text_at(r, i, 0), pq_text_at(r, i, 1));
    pq_free(r);
    text_free(&why);
    return good;
}

/* Writes a SELECT with the rows of both embedders in columns 6, 7, … */
static void rows_sql(text *t, const embedder *both[2]) {
    text_puts(t, "SELECT t.template_id, t.id, i.name, t.camera, t.source_size, t.source_hash");
    for (int k = 0; k < 2; k++)
        for (int m = 0; m < both[k]->makers.models; m++) text_printf(t, ", e%d%d.row", k, m);
    text_puts(t, " FROM reid.template t JOIN reid.identity i USING (identity_id)");
    for (int k = 0; k < 2; k++)
        for (int m = 0; m < both[k]->makers.models; m++)
            text_printf(t, " JOIN reid.embedding_%s e%d%d ON e%d%d.template_id = t.template_id",
                        both[k]->makers.model[m].fingerprint, k, m, k, m);
    text_printf(t, " WHERE t.template_id > $1::bigint ORDER BY t.template_id LIMIT %d", ROWS_AT_ONCE);
}

/* Reads the models' parts side by side as floats. Returns 0 if a row has the wrong length. */
static int take_row(const embedder *e, const pq_result *r, size_t row, int *column, uint16_t *half, float *to) {
    for (int m = 0; m < e->makers.models; m++) {
        int dim = e->makers.model[m].dim, size = e->makers.halves ? (int)sizeof *half : (int)sizeof *to;
        size_t len = 0;
        const char *bytes = pq_bytes_at(r, row, (*column)++, &len);
        if (!bytes || len != (size_t)dim * (size_t)size) return 0;
        binary_to_row(bytes, e->makers.halves ? (void *)half : to, dim, size);
        if (e->makers.halves) reid_from_halves(half, to, (size_t)dim);
        to += dim;
    }
    return 1;
}

/* values: room for both rows; half: room for the longer one. */
static int give_rows(const pq_result *r, const embedder *both[2], float *values, uint16_t *half, embedder_row_fn fn,
                     void *user, text *why) {
    for (size_t i = 0; i < pq_rows(r); i++) {
        int column = 6;
        float *other = values + both[0]->makers.dim;
        if (!take_row(both[0], r, i, &column, half, values) || !take_row(both[1], r, i, &column, half, other)) {
            text_printf(why, "a row of %s has the wrong length", pq_text_at(r, i, 1));
            return 0;
        }
        const embedder_row row = {pq_text_at(r, i, 1), pq_text_at(r, i, 2), pq_text_at(r, i, 3),
                                  (uint64_t)pq_number_at(r, i, 4),
                                  (uint64_t)pq_number_at(r, i, 5), values, other};
        if (!fn(user, &row)) return 0;
    }
    return 1;
}

int embedders_rows(embedder_list *l, const embedder *one, const embedder *other, embedder_row_fn fn, void *user) {
    const embedder *both[] = {one, other};
    text why = TEXT_INIT, sql = TEXT_INIT, shape = TEXT_INIT;
    pq_number after = pq_number_of(0);
    size_t both_dims = (size_t)one->makers.dim + (size_t)other->makers.dim;
    float *values = need_array(both_dims, sizeof *values);
    uint16_t *half = values ? need_array(both_dims, sizeof *half) : NULL;
    rows_sql(&sql, both);
    text_puts(&shape, "=*kssscn");
    for (int i = one->makers.models + other->makers.models; i > 0; i--) text_puts(&shape, "y?");
    int good = half && need_text(&sql) && need_text(&shape), more = 1;
    if (good && !pq_script(l->connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &why))
        good = fail(l, &why);
    while (good && more) {
        const pq_argument a[] = {pq_text(after.s)};
        pq_result *r = pq_ask(l->connection, sql.s, a, 1, shape.s, &why);
        good = r && give_rows(r, both, values, half, fn, user, &why);
        more = good && pq_rows(r) == ROWS_AT_ONCE;
        if (more) after = pq_number_of(pq_number_at(r, ROWS_AT_ONCE - 1, 0));
        pq_free(r);
        if (!good && (!r || why.len)) fail(l, &why); /* else fn has reported the error */
    }
    good = good && (pq_script(l->connection, "COMMIT", &why) || fail(l, &why));
    free(values), free(half);
    text_free(&why), text_free(&sql), text_free(&shape);
    return good;
}
