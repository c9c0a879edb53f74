#include "gallery/database_write.h"

#include "base/memory.h"
#include "base/unicode.h"
#include "base/when.h"
#include "gallery/database.h"
#include "gallery/makers.h"
#include "gallery/pq_binary.h"
#include "reid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 10, PAUSE_US = 5000, TOGETHER = 1024, COLUMNS = 7, NUMBER = 40 };
static const char KNOWN[] = "is already in the gallery", UNKNOWN[] = "is not in the gallery";

struct database_writer {
    database *d;
    store_meta meta;                /* the gallery's, including decoders that were added */
    gallery_store *added, *removed; /* pending changes; removed has only ids and identities */
    int64_t *numbers;               /* [count of added]: template_id; 0 for an id that already existed */
    unsigned char *gone;            /* [count of removed]: 1 for an id that no longer existed */
    size_t number_cap, gone_cap;
    double threshold;
    int set_threshold;
    float *floats;                  /* [dim] */
    uint16_t *halves;               /* [dim] */
    text id, identity, out, reason;
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int begin_gathering(database_writer *w, char why[STORE_WHY]) {
    store_close(w->added), store_close(w->removed);
    w->added = store_in_memory(&w->meta, why);
    w->removed = w->added ? store_in_memory(&w->meta, why) : NULL;
    w->set_threshold = 0;
    return w->removed != NULL;
}

/* Checked early, because a long time may pass until something is stored. */
static int may_write(database *d, text *why) {
    pq_result *r = pq_ask(database_connection(d), "SELECT has_table_privilege('reid.template', 'INSERT')", NULL, 0,
                          "1b", why);
    int may = r && pq_true_at(r, 0, 0);
    if (r && !may)
        text_puts(why, "you may read this gallery but not change it; its owner can grant you reid_writer");
    pq_free(r);
    return may;
}

database_writer *database_change(const char *url, char why[STORE_WHY]) {
    database_writer *w = mem_zeroed(1, sizeof *w);
    text reason = TEXT_INIT;
    why[0] = 0;
    if (w) w->d = database_try(url, &reason);
    int good = w ? w->d && may_write(w->d, &reason) : text_no_memory(&reason);
    if (good) {
        w->meta = *database_info(w->d);
        size_t dim = (size_t)w->meta.dim;
        w->floats = mem_array(dim, sizeof *w->floats);
        w->halves = mem_array(dim, sizeof *w->halves);
        good = (w->floats && w->halves) || text_no_memory(&reason);
        good = good && begin_gathering(w, why);
        pq_steady(database_connection(w->d), 1); /* changes gathered before a signal are still stored */
    }
    if (!good && !why[0]) snprintf(why, STORE_WHY, "%s", reason.len ? reason.s : "interrupted");
    text_free(&reason);
    if (good) return w;
    database_writer_close(w);
    return NULL;
}

void database_writer_close(database_writer *w) {
    if (!w) return;
    database_close(w->d);
    store_close(w->added), store_close(w->removed);
    free(w->numbers), free(w->gone), free(w->floats), free(w->halves);
    text_free(&w->id), text_free(&w->identity), text_free(&w->out), text_free(&w->reason);
    free(w);
}

const store_meta *database_writer_info(const database_writer *w) { return &w->meta; }

static templates_result refuse_change(char why[STORE_WHY], const char *reason) {
    snprintf(why, STORE_WHY, "%s", reason);
    return TEMPLATES_REFUSED;
}

static templates_result give_up(const database_writer *w, char why[STORE_WHY]) {
    snprintf(why, STORE_WHY, "%s", w->reason.len ? w->reason.s : "the connection is lost");
    return TEMPLATES_FAILED;
}

/* A name with these bytes, or another spelling of it (base/unicode.h). */
#define SPELLINGS "IN ($1, normalize($1, NFC), normalize($1, NFD))"

/* --- lookups ------------------------------------------------------------------------------------------------------ */

/* Runs a statement with one text argument, on a new connection if the old one is lost. */
static pq_result *ask(database_writer *w, const char *sql, const char *argument, const char *shape) {
    pq *c = database_connection(w->d);
    const pq_argument a = {argument, -1};
    pq_result *r = pq_ask(c, sql, &a, 1, shape, &w->reason);
    if (r || !pq_lost(c) || !database_again(w->d, &w->reason)) return r;
    return pq_ask(c, sql, &a, 1, shape, &w->reason);
}

/* Finds a stored template by its id, or by another spelling of it (base/unicode.h); sets w->id and w->identity. */
static templates_result find_stored(database_writer *w, const char *id, char why[STORE_WHY]) {
#define BY_ID "SELECT t.id, i.name FROM reid.template t JOIN reid.identity i ON i.identity_id = t.identity_id " \
              "WHERE t.id "
    if (!utf8_valid(id)) return TEMPLATES_REFUSED; /* such an id cannot be stored */
    pq_result *r = ask(w, name_has_forms(id) ? BY_ID SPELLINGS " ORDER BY t.id <> $1 LIMIT 1" : BY_ID "= $1", id,
                       "?ss");
    if (!r) return give_up(w, why);
    int found = pq_rows(r) > 0;
    text_clear(&w->id), text_clear(&w->identity);
    if (found) text_puts(&w->id, pq_text_at(r, 0, 0)), text_puts(&w->identity, pq_text_at(r, 0, 1));
    pq_free(r);
    if (text_failed(&w->id) || text_failed(&w->identity)) return text_no_memory(&w->reason), give_up(w, why);
    return found ? TEMPLATES_DONE : TEMPLATES_REFUSED;
#undef BY_ID
}

templates_result database_find(database_writer *w, const char *id, const char **identity, char why[STORE_WHY]) {
    size_t waiting = store_find(w->added, id);
    if (waiting != SIZE_MAX) {
        *identity = store_at(w->added, waiting).identity;
        return TEMPLATES_DONE;
    }
    templates_result found = find_stored(w, id, why);
    *identity = found == TEMPLATES_DONE ? w->identity.s : NULL;
    return found;
}

/* Sets *spelled to the database's spelling of an identity, if it has one. Returns 0 when the database fails. */
static int spell_identity(database_writer *w, const char **spelled, char why[STORE_WHY]) {
    if (!name_has_forms(*spelled)) return 1;
    pq_result *r = ask(w, "SELECT name FROM reid.identity WHERE name " SPELLINGS " ORDER BY name <> $1 LIMIT 1",
                       *spelled, "?s");
    if (!r) return give_up(w, why) == TEMPLATES_DONE;
    int found = pq_rows(r) > 0;
    text_clear(&w->identity);
    if (found) text_puts(&w->identity, pq_text_at(r, 0, 0));
    pq_free(r);
    if (found && text_failed(&w->identity)) return text_no_memory(&w->reason), give_up(w, why) == TEMPLATES_DONE;
    if (found) *spelled = w->identity.s;
    return 1;
}

/* --- pending changes ---------------------------------------------------------------------------------------------- */

/* 1 if a database can store what a gallery file can. Returns 0 with the reason in why. */
static int fits_a_database(database_writer *w, const store_item *item, const void *row, char why[STORE_WHY]) {
    const char *texts[] = {item->id, item->identity, item->camera, item->source};
    static const char *const names[] = {"its id is", "its identity is", "its camera is", "the path of its image is"};
    const store_meta *meta = database_info(w->d);
    text wrong = TEXT_INIT, unused = TEXT_INIT;
    for (int i = 0; i < 4 && !wrong.len; i++)
        if (!utf8_valid(texts[i])) text_printf(&wrong, "%s not UTF-8, which databases need", names[i]);
    if (!wrong.len && item->source_size > INT64_MAX) text_puts(&wrong, "the size of its image file is invalid");
    if (!wrong.len && item->time != STORE_NO_TIME && !binary_time(&unused, item->time))
        text_puts(&wrong, "its time is outside PostgreSQL's range");
    if (meta->halves) reid_from_halves(row, w->floats, (size_t)meta->dim);
    else memcpy(w->floats, row, (size_t)meta->dim * sizeof *w->floats);
    int finite = 1;
    for (int i = 0; i < meta->dim && finite; i++) finite = isfinite(w->floats[i]) != 0;
    text length = TEXT_INIT;
    if (!wrong.len && finite && !row_is_unit(meta, w->floats, &length))
        text_printf(&wrong, "its embedding %s", length.s);
    if (wrong.len) refuse_change(why, wrong.s);
    int good = !wrong.len;
    text_free(&wrong), text_free(&unused), text_free(&length);
    return good;
}

templates_result database_add(database_writer *w, const store_item *item, const void *row, char why[STORE_WHY]) {
    const char *identity;
    if (!fits_a_database(w, item, row, why)) return TEMPLATES_REFUSED;
    templates_result there = database_find(w, item->id, &identity, why);
    if (there == TEMPLATES_FAILED) return there;
    if (there == TEMPLATES_DONE) return refuse_change(why, KNOWN);
    store_item spelled = *item;
    if (!spell_identity(w, &spelled.identity, why)) return TEMPLATES_FAILED;
    return store_add(w->added, &spelled, row, why) ? TEMPLATES_DONE : TEMPLATES_REFUSED;
}

templates_result database_add_decoders(database_writer *w, const char *names, char why[STORE_WHY]) {
    if (store_join_decoders(w->meta.jpeg, names)) return TEMPLATES_DONE;
    return refuse_change(why, "invalid decoder names, or more than 4");
}

/* Marks a template for removal. */
static templates_result queue_removal(database_writer *w, const char *id, const char *identity, char why[STORE_WHY]) {
    const store_item item = {.id = id, .identity = identity, .camera = "", .source = "", .time = STORE_NO_TIME};
    return store_add(w->removed, &item, NULL, why) ? TEMPLATES_DONE : TEMPLATES_FAILED;
}

templates_result database_remove(database_writer *w, const char *id, char why[STORE_WHY]) {
    const char *identity;
    if (store_find(w->removed, id) != SIZE_MAX) return refuse_change(why, UNKNOWN);
    templates_result there = database_find(w, id, &identity, why);
    if (there == TEMPLATES_REFUSED) return refuse_change(why, UNKNOWN);
    return there == TEMPLATES_DONE ? queue_removal(w, w->id.s, identity, why) : there;
}

templates_result database_remove_identity(database_writer *w, const char *identity, size_t *removed,
                                          char why[STORE_WHY]) {
    templates_result result = TEMPLATES_DONE;
    *removed = 0;
    if (!utf8_valid(identity)) return result;
    pq_result *r = ask(w, "SELECT t.id FROM reid.template t JOIN reid.identity i ON i.identity_id = t.identity_id "
                          "WHERE i.name " SPELLINGS " ORDER BY t.template_id", identity, "*s");
    if (!r) return give_up(w, why);
    for (size_t i = 0; i < pq_rows(r) && result == TEMPLATES_DONE; i++) {
        const char *id = pq_text_at(r, i, 0);
        if (store_find(w->removed, id) != SIZE_MAX) continue; /* the identity was given twice */
        result = queue_removal(w, id, identity, why);
        *removed += result == TEMPLATES_DONE;
    }
    pq_free(r);
    return result;
}

templates_result database_set_threshold(database_writer *w, double threshold, char why[STORE_WHY]) {
    if (isinf(threshold)) return refuse_change(why, "a threshold cannot be infinite");
    w->threshold = threshold;
    w->set_threshold = 1;
    return TEMPLATES_DONE;
}

/* --- one transaction ---------------------------------------------------------------------------------------------- */

/* Writes an array with one text of each of `count` templates from `first` on. */
static void array_of(text *t, const gallery_store *s, size_t first, size_t count,
                     const char *(*of)(const store_item *item, text *scratch)) {
    text scratch = TEXT_INIT;
    binary_array(t, BINARY_TEXT, (int)count);
    for (size_t i = first; i < first + count; i++) {
        store_item item = store_at(s, i);
        const char *value = of(&item, &scratch);
        binary_bytes(t, value, strlen(value));
    }
    if (text_failed(&scratch)) text_no_memory(t);
    text_free(&scratch);
}

static const char *id_of(const store_item *item, text *scratch) { return (void)scratch, item->id; }
static const char *name_of(const store_item *item, text *scratch) { return (void)scratch, item->identity; }
static const char *camera_of(const store_item *item, text *scratch) { return (void)scratch, item->camera; }
static const char *source_of(const store_item *item, text *scratch) { return (void)scratch, item->source; }

static const char *number_in(text *scratch, int64_t number) {
    text_clear(scratch);
    text_printf(scratch, "%lld", (long long)number);
    return scratch->s;
}
static const char *size_of(const store_item *item, text *s) { return number_in(s, (int64_t)item->source_size); }
static const char *hash_of(const store_item *item, text *s) { return number_in(s, (int64_t)item->source_hash); }

/* "" for a time that is not known: arrays have no nulls here. */
static const char *time_of(const store_item *item, text *scratch) {
    text_clear(scratch);
    text_puts(scratch, "");
    if (item->time != STORE_NO_TIME) when_text(scratch, item->time);
    return scratch->s;
}

/* Runs a statement whose arguments are arrays, one for each function in `of`. */
static pq_result *ask_arrays(database_writer *w, const char *sql, const gallery_store *s, size_t first, size_t count,
                             const char *(*const of[])(const store_item *item, text *scratch), int arrays,
                             const char *shape) {
    pq_argument arguments[COLUMNS];
    size_t ends[COLUMNS + 1] = {0};
    text_clear(&w->out);
    for (int i = 0; i < arrays; i++) {
        array_of(&w->out, s, first, count, of[i]);
        ends[i + 1] = w->out.len;
    }
    if (text_failed(&w->out)) return text_no_memory(&w->reason), NULL;
    for (int i = 0; i < arrays; i++)
        arguments[i] = (pq_argument){w->out.s + ends[i], (int)(ends[i + 1] - ends[i])};
    return pq_ask(database_connection(w->d), sql, arguments, arrays, shape, &w->reason);
}

/* Removes marked templates, and finds out which of them still existed. */
static int delete_some(database_writer *w, size_t first, size_t count) {
    static const char *(*const OF[])(const store_item *item, text *scratch) = {id_of};
    pq_result *r = ask_arrays(w, "DELETE FROM reid.template t USING unnest($1::text[]) AS w (id) WHERE t.id = w.id "
                                 "RETURNING t.id", w->removed, first, count, OF, 1, "*s");
    for (size_t i = 0; r && i < pq_rows(r); i++) {
        size_t at = store_find(w->removed, pq_text_at(r, i, 0));
        if (at != SIZE_MAX) w->gone[at] = 0;
    }
    pq_free(r);
    return r != NULL;
}

/* Inserts templates and their identities. Ids that other writers have stored are left out and get no number. Names are
   inserted in order, so that two writers do not deadlock. */
static int insert_some(database_writer *w, size_t first, size_t count) {
    static const char *(*const OF[])(const store_item *item, text *scratch) = {
        name_of, id_of, camera_of, time_of, source_of, size_of, hash_of};
    pq_result *r = ask_arrays(w, "INSERT INTO reid.identity (name) SELECT DISTINCT n COLLATE \"C\" "
                                 "FROM unnest($1::text[]) AS n ORDER BY 1 ON CONFLICT DO NOTHING",
                              w->added, first, count, OF, 1, "*");
    if (!r) return 0;
    pq_free(r);
    r = ask_arrays(w, "INSERT INTO reid.template (id, identity_id, camera, seen, source, source_size, source_hash) "
                      "SELECT w.id, i.identity_id, w.camera, nullif(w.seen, '')::timestamptz, w.source, "
                      "w.size::bigint, w.hash::bigint FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], "
                      "$5::text[], $6::text[], $7::text[]) WITH ORDINALITY "
                      "AS w (name, id, camera, seen, source, size, hash, place) "
                      "JOIN reid.identity i ON i.name = w.name ORDER BY w.place ON CONFLICT DO NOTHING "
                      "RETURNING id, template_id", w->added, first, count, OF, COLUMNS, "*sk");
    for (size_t i = 0; r && i < pq_rows(r); i++) {
        size_t at = store_find(w->added, pq_text_at(r, i, 0));
        if (at != SIZE_MAX) w->numbers[at] = pq_number_at(r, i, 1);
    }
    pq_free(r);
    return r != NULL;
}

static const char *part_of(const database_writer *w, size_t at, int first) {
    const store_meta *meta = store_info(w->added);
    size_t value = at * (size_t)meta->dim + (size_t)first;
    return meta->halves ? (const char *)(store_halves(w->added) + value)
                        : (const char *)(store_floats(w->added) + value);
}

/* Copies the rows of one model, for templates that have a number; `start` is where its part of a row begins. */
static int copy_some(database_writer *w, size_t first, size_t count, int number, int start) {
    const store_meta *meta = store_info(w->added);
    int dim = meta->model[number].dim;
    pq *c = database_connection(w->d);
    text_clear(&w->out);
    text_printf(&w->out, "COPY reid.%s (template_id, half, row) FROM STDIN (FORMAT binary)",
                database_table(w->d, number));
    if (text_failed(&w->out)) return text_no_memory(&w->reason);
    if (!pq_copy_in(c, w->out.s, &w->reason)) return 0;
    text_clear(&w->out);
    binary_begin(&w->out);
    for (size_t i = first; i < first + count; i++) {
        const void *part = part_of(w, i, start);
        if (!w->numbers[i]) continue;
        binary_row(&w->out, 3);
        binary_bigint(&w->out, w->numbers[i]);
        if (!meta->halves) reid_to_halves(part, w->halves, (size_t)dim);
        binary_halfvec(&w->out, meta->halves ? part : w->halves, dim);
        binary_row_bytes(&w->out, part, dim, meta->halves ? 2 : 4);
    }
    binary_end(&w->out);
    if (text_failed(&w->out)) return pq_copy_cancel(c), text_no_memory(&w->reason);
    return pq_copy_put(c, w->out.s, w->out.len, &w->reason) && pq_copy_end(c, &w->reason);
}

static int store_threshold(database_writer *w) {
    char threshold[NUMBER], embedder[NUMBER];
    snprintf(threshold, sizeof threshold, "%.17g", w->threshold);
    snprintf(embedder, sizeof embedder, "%d", database_embedder(w->d));
    const pq_argument arguments[] = {{isnan(w->threshold) ? NULL : threshold, -1}, {embedder, -1}};
    return pq_do(database_connection(w->d),
                 "UPDATE reid.embedder SET threshold = $1::float8 WHERE embedder_id = $2::int", arguments, 2,
                 &w->reason);
}

/* Stores the decoders of the images, if any template has a number. */
static int store_decoders(database_writer *w) {
    size_t i = 0;
    while (i < store_count(w->added) && !w->numbers[i]) i++;
    if (i == store_count(w->added) || strcmp(w->meta.jpeg, database_info(w->d)->jpeg) == 0) return 1;
    return database_keep_decoders(database_connection(w->d), w->meta.model, w->meta.models, w->meta.jpeg, &w->reason);
}

static size_t piece(size_t first, size_t count) { return count - first < TOGETHER ? count - first : TOGETHER; }

/* Stores all pending changes, within the transaction. */
static int store_all(database_writer *w) {
    const store_meta *meta = store_info(w->added);
    size_t adds = store_count(w->added), removals = store_count(w->removed);
    memset(w->numbers, 0, adds * sizeof *w->numbers);
    memset(w->gone, 1, removals);
    for (size_t i = 0; i < removals; i += TOGETHER)
        if (!delete_some(w, i, piece(i, removals))) return 0;
    for (size_t i = 0; i < adds; i += TOGETHER) {
        int start = 0;
        if (!insert_some(w, i, piece(i, adds))) return 0;
        for (int m = 0; m < meta->models; start += meta->model[m++].dim)
            if (!copy_some(w, i, piece(i, adds), m, start)) return 0;
    }
    return store_decoders(w) && (!w->set_threshold || store_threshold(w));
}

/* --- commit ------------------------------------------------------------------------------------------------------- */

static size_t count_refusals(const database_writer *w) {
    size_t n = 0;
    for (size_t i = 0; i < store_count(w->added); i++) n += !w->numbers[i];
    for (size_t i = 0; i < store_count(w->removed); i++) n += w->gone[i];
    return n;
}

static void tell_refusals(const database_writer *w, const commit_rules *rules) {
    if (!rules->refused) return;
    for (size_t i = 0; i < store_count(w->added); i++)
        if (!w->numbers[i]) rules->refused(rules->user, i, store_at(w->added, i).id, KNOWN);
    for (size_t i = 0; i < store_count(w->removed); i++)
        if (w->gone[i]) rules->refused(rules->user, i, store_at(w->removed, i).id, UNKNOWN);
}

/* One attempt. *again: it was not stored, but a repetition may succeed. */
static templates_result try_once(database_writer *w, const commit_rules *rules, int *again) {
    pq *c = database_connection(w->d);
    int unknown = 0;
    *again = 0;
    if (database_begin(w->d, &w->reason) && store_all(w)) {
        if (rules->all_or_nothing && count_refusals(w)) {
            database_rollback(w->d);
            return TEMPLATES_REFUSED;
        }
        if (database_commit(w->d, &unknown, &w->reason)) return TEMPLATES_DONE;
        if (unknown) return TEMPLATES_UNKNOWN;
        *again = pq_try_again(c) || !*pq_state(c); /* no state: a new connection, without failures */
    } else if (pq_lost(c)) {
        *again = database_again(w->d, &w->reason);
    } else {
        *again = pq_try_again(c);
    }
    database_rollback(w->d);
    return TEMPLATES_FAILED;
}

static int make_room(database_writer *w) {
    size_t adds = store_count(w->added) + 1, removals = store_count(w->removed) + 1;
    if (adds > w->number_cap) {
        free(w->numbers);
        w->numbers = mem_array(adds, sizeof *w->numbers);
        w->number_cap = w->numbers ? adds : 0;
    }
    if (removals > w->gone_cap) {
        free(w->gone);
        w->gone = mem_alloc(removals);
        w->gone_cap = w->gone ? removals : 0;
    }
    return (w->numbers && w->gone) || text_no_memory(&w->reason);
}

templates_result database_store(database_writer *w, const commit_rules *rules, char why[STORE_WHY]) {
    templates_result result = TEMPLATES_FAILED;
    int again = make_room(w);
    for (int tries = 0; again && tries < TRIES; tries++) {
        if (tries) usleep((useconds_t)(PAUSE_US << tries) / 2 + (useconds_t)(getpid() % PAUSE_US));
        result = try_once(w, rules, &again);
    }
    if (result >= TEMPLATES_REFUSED) {
        tell_refusals(w, rules);
        if (begin_gathering(w, why)) return result;
        return TEMPLATES_UNKNOWN; /* it is stored, but memory ran out */
    }
    give_up(w, why);
    return result;
}
