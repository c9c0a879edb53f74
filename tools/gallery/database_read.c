#include "gallery/database_read.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "gallery/makers.h"
#include "gallery/pq_binary.h"
#include "reid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPY_HEAD = 19, EXTENSION_AT = 15, TEXTS = 7, MOST_FIELDS = TEXTS + 2 * STORE_MODELS, HALFVEC_HEAD = 4 };
enum { LOOK_AROUND = 1024 /* templates */, LONGEST_FIELD = 1 << 24 /* bytes */ };

/* A field of a row, at its place in the buffer; len -1: NULL. */
typedef struct field {
    size_t at;
    long len;
} field;

typedef struct reading {
    database *d;
    const store_meta *meta;
    read_what what;
    text buffer;            /* the rows received so far; bytes before `at` have been read */
    size_t at;
    field fields[MOST_FIELDS];
    text strings, damage;
    unsigned char *row;     /* [dim] values in the gallery's precision */
    float *floats;          /* [dim] */
    uint16_t *halves;       /* [dim] */
} reading;

/* --- rows of a binary COPY ---------------------------------------------------------------------------------------- */

static unsigned long big_endian(const char *bytes, int count) {
    unsigned long value = 0;
    for (int i = 0; i < count; i++) value = value << 8 | (unsigned char)bytes[i];
    return value;
}

/* Receives until `count` bytes after r->at are in the buffer. The server may cut the stream anywhere. */
static int need_bytes(reading *r, size_t count, text *why) {
    while (r->buffer.len - r->at < count) {
        const char *piece;
        size_t len;
        int more = pq_copy_next(database_connection(r->d), &piece, &len, why);
        if (more < 0) return 0;
        if (more == 0) return text_puts(why, "the connection ended within a row"), 0;
        text_add(&r->buffer, piece, len);
        if (text_failed(&r->buffer)) return text_no_memory(why);
    }
    return 1;
}

static unsigned long take_number(reading *r, int bytes) {
    unsigned long value = big_endian(r->buffer.s + r->at, bytes);
    r->at += (size_t)bytes;
    return value;
}

static int skip_head(reading *r, text *why) {
    if (!need_bytes(r, COPY_HEAD, why)) return 0;
    size_t extension = big_endian(r->buffer.s + EXTENSION_AT, 4);
    r->at = COPY_HEAD;
    if (extension > LONGEST_FIELD) return text_puts(why, "the server sent a damaged COPY"), 0;
    if (!need_bytes(r, extension, why)) return 0;
    r->at += extension;
    return 1;
}

/* Reads the rest of the answer, so that the connection can be used again. */
static int read_to_end(reading *r, text *why) {
    const char *piece;
    size_t len;
    int more;
    while ((more = pq_copy_next(database_connection(r->d), &piece, &len, why)) > 0) continue;
    return more == 0;
}

/* Checks the columns that write_statement asks for; all but the texts are bytes, and may be NULL. */
static int has_kinds(const reading *r, int fields, text *why) {
    static const char KINDS[TEXTS + 1] = "ssstscn";
    enum { TIME = 3 };
    for (int i = 0; i < fields && i < TEXTS; i++) {
        const field *f = &r->fields[i];
        const char *wrong = f->len >= 0 ? field_misfit(KINDS[i], 1, r->buffer.s + f->at, (size_t)f->len)
                                        : i == TIME ? NULL : "is NULL";
        if (wrong) return text_printf(why, "is damaged: column %d of a template %s", i + 1, wrong), 0;
    }
    return 1;
}

/* Reads the next row's fields. Returns 1, 0 at the end, or -1 with the reason in why. */
static int next_row(reading *r, int fields, text *why) {
    if (r->at) memmove(r->buffer.s, r->buffer.s + r->at, r->buffer.len - r->at);
    r->buffer.len -= r->at;
    r->at = 0;
    if (!need_bytes(r, 2, why)) return -1;
    unsigned long count = take_number(r, 2);
    if (count == UINT16_MAX) return read_to_end(r, why) ? 0 : -1;
    if (count != (unsigned long)fields) return text_puts(why, "the server sent unexpected columns"), -1;
    for (int i = 0; i < fields; i++) {
        if (!need_bytes(r, 4, why)) return -1;
        unsigned long len = take_number(r, 4);
        r->fields[i] = (field){r->at, len == UINT32_MAX ? -1 : (long)len};
        if (len == UINT32_MAX) continue;
        if (len > LONGEST_FIELD) return text_printf(why, "the server sent a field of %lu bytes", len), -1;
        if (!need_bytes(r, len, why)) return -1;
        r->at += len;
    }
    return has_kinds(r, fields, why) ? 1 : -1;
}

/* --- a template --------------------------------------------------------------------------------------------------- */

static const char *bytes_of(const reading *r, int i) {
    return r->fields[i].len < 0 ? NULL : r->buffer.s + r->fields[i].at;
}

/* Reads id, identity, camera, seen, source, size and hash of the image file. Returns 0 with the reason in why. */
static int take_item(reading *r, store_item *item, text *why) {
    static const int TEXT_AT[4] = {0, 1, 2, 4};
    size_t start[4];
    text_clear(&r->strings);
    for (int i = 0; i < 4; i++) {
        const field *f = &r->fields[TEXT_AT[i]];
        start[i] = r->strings.len;
        text_add(&r->strings, r->buffer.s + f->at, f->len < 0 ? 0 : (size_t)f->len);
        text_add(&r->strings, "", 1);
    }
    if (text_failed(&r->strings)) return text_no_memory(why);
    item->id = r->strings.s + start[0];
    item->identity = r->strings.s + start[1];
    item->camera = r->strings.s + start[2];
    item->source = r->strings.s + start[3];
    item->time = bytes_of(r, 3) ? binary_to_milliseconds(bytes_of(r, 3)) : STORE_NO_TIME;
    item->source_size = (uint64_t)binary_to_bigint(bytes_of(r, 5));
    item->source_hash = (uint64_t)binary_to_bigint(bytes_of(r, 6));
    return 1;
}

/* 1 if a model's halves are its row, rounded. */
static int halves_agree(const reading *r, int column, int first, int dim) {
    const char *half = bytes_of(r, column);
    if (!half || r->fields[column].len != HALFVEC_HEAD + 2L * dim) return 0;
    for (int i = 0; i < dim; i++)
        if (big_endian(half + HALFVEC_HEAD + (ptrdiff_t)2 * i, 2) != r->halves[first + i]) return 0;
    return 1;
}

/* Reads the embedding, model by model; describes damage in r->damage. */
static void take_row(reading *r) {
    const store_meta *meta = r->meta;
    int size = meta->halves ? 2 : 4, step = r->what == READ_EVERYTHING ? 2 : 1, first = 0;
    for (int m = 0; m < meta->models; first += meta->model[m++].dim) {
        int column = TEXTS + m * step, dim = meta->model[m].dim;
        if (r->fields[column].len != (long)dim * size) {
            text_printf(&r->damage, "it has no embedding by %s", meta->model[m].fingerprint);
            return;
        }
        binary_to_row(bytes_of(r, column), r->row + (ptrdiff_t)first * size, dim, size);
    }
    const void *row = r->row;
    if (meta->halves) reid_from_halves(row, r->floats, (size_t)meta->dim);
    else memcpy(r->floats, row, (size_t)meta->dim * sizeof *r->floats);
    text wrong = TEXT_INIT;
    if (!row_is_unit(meta, r->floats, &wrong)) text_printf(&r->damage, "its embedding %s", wrong.s);
    text_free(&wrong);
    if (r->what != READ_EVERYTHING) return;
    reid_to_halves(r->floats, r->halves, (size_t)meta->dim);
    first = 0;
    for (int m = 0; m < meta->models && !r->damage.len; first += meta->model[m++].dim)
        if (!halves_agree(r, TEXTS + 2 * m + 1, first, meta->model[m].dim))
            text_puts(&r->damage, "the halves that are searched are not those of its embedding");
}

/* --- all templates ------------------------------------------------------------------------------------------------ */

/* Writes the statement; the table names in it have been checked. Returns the number of its columns. */
static int write_statement(const reading *r, text *sql) {
    int columns = TEXTS;
    text_puts(sql, "COPY (SELECT t.id, i.name, t.camera, t.seen, t.source, t.source_size, t.source_hash");
    for (int m = 0; m < r->meta->models && r->what != READ_TEXTS; m++) {
        text_printf(sql, r->what == READ_EVERYTHING ? ", e%d.row, e%d.half" : ", e%d.row", m, m);
        columns += r->what == READ_EVERYTHING ? 2 : 1;
    }
    text_puts(sql, " FROM reid.template t JOIN reid.identity i ON i.identity_id = t.identity_id");
    for (int m = 0; m < r->meta->models && r->what != READ_TEXTS; m++)
        text_printf(sql, " LEFT JOIN reid.%s e%d ON e%d.template_id = t.template_id", database_table(r->d, m), m, m);
    /* Templates that could not be embedded again when the gallery was switched to other models are left out; that is
       not damage. */
    for (int m = 0; m < r->meta->models && r->what != READ_TEXTS; m++)
        text_printf(sql, "%s e%d.template_id IS NOT NULL", m ? " AND" : " WHERE (", m);
    if (r->what != READ_TEXTS)
        text_printf(sql, ") OR NOT EXISTS (SELECT FROM reid.failure f WHERE f.template_id = t.template_id AND "
                         "f.embedder_id = %d)", database_embedder(r->d));
    text_puts(sql, " ORDER BY t.template_id) TO STDOUT (FORMAT binary)");
    return columns;
}

static int read_all(reading *r, int columns, template_fn fn, void *user, text *why) {
    int more = 1;
    if (!skip_head(r, why)) return 0;
    for (size_t n = 0; (more = next_row(r, columns, why)) > 0; n++) {
        store_item item;
        if (n % LOOK_AROUND == 0 && interrupted()) return 0;
        if (!take_item(r, &item, why)) return 0;
        text_clear(&r->damage);
        if (r->what != READ_TEXTS) take_row(r);
        if (!fn(user, &item, r->what == READ_TEXTS ? NULL : r->row, r->damage.len ? r->damage.s : NULL, why)) return 0;
    }
    return more == 0;
}

int database_each(database *d, read_what what, template_fn fn, void *user, text *why) {
    reading r;
    text sql = TEXT_INIT;
    memset(&r, 0, sizeof r);
    r.d = d, r.meta = database_info(d), r.what = what;
    size_t dim = (size_t)r.meta->dim;
    r.row = mem_array(dim, sizeof(float));
    r.floats = mem_array(dim, sizeof *r.floats);
    r.halves = mem_array(dim, sizeof *r.halves);
    int columns = write_statement(&r, &sql);
    text_clear(why);
    int good = r.row && r.floats && r.halves && !text_failed(&sql) ? 1 : text_no_memory(why);
    good = good && pq_copy_out(database_connection(d), sql.s, why) && read_all(&r, columns, fn, user, why);
    free(r.row), free(r.floats), free(r.halves);
    text_free(&sql), text_free(&r.buffer), text_free(&r.strings), text_free(&r.damage);
    return good;
}

/* --- into memory -------------------------------------------------------------------------------------------------- */

static int keep(void *user, const store_item *item, const void *row, const char *damage, text *why) {
    char reason[STORE_WHY] = "";
    if (!damage && store_add(user, item, row, reason)) return 1;
    text_clear(why);
    text_printf(why, "template \"%.70s\"%s: %s", shown(item->id), damage ? " is damaged" : "",
                damage ? damage : reason);
    return 0;
}

/* Reports how many templates have no embedding, because their images were missing when the models changed. */
static int tell_left_out(database *d, const char *url, text *why) {
    char embedder[16];
    snprintf(embedder, sizeof embedder, "%d", database_embedder(d));
    const pq_argument a[] = {{embedder, -1}};
    pq_result *r = pq_ask(database_connection(d), "SELECT count(*) FROM reid.failure WHERE embedder_id = $1::int", a, 1,
                          "1c", why);
    if (r && pq_number_at(r, 0, 0) != 0)
        say_warning("%s: %s of its templates could not be embedded by its models and are left out; \"reid gallery "
                    "reembed --status\" lists them", shown(url), pq_text_at(r, 0, 0));
    pq_free(r);
    return r != NULL;
}

gallery_store *database_read(const char *url, int rows, char why[STORE_WHY]) {
    text reason = TEXT_INIT;
    gallery_store *s = NULL;
    why[0] = 0;
    database *d = database_try(url, &reason);
    int good = d && pq_script(database_connection(d), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &reason) &&
               database_refresh(d, &reason);
    if (good) {
        s = store_in_memory(database_info(d), why);
        good = s && database_each(d, rows ? READ_ROWS : READ_TEXTS, keep, s, &reason) &&
               (!rows || tell_left_out(d, url, &reason)) && store_settle(s, why);
    }
    if (!good && !why[0])
        snprintf(why, STORE_WHY, "%s", interrupted() ? "interrupted" : reason.len ? reason.s : "cannot be read");
    if (!good) store_close(s);
    database_close(d);
    text_free(&reason);
    return good ? s : NULL;
}
