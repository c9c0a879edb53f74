#include "gallery/gallery_jsonl.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/when.h"

#include <string.h>

/* The fields of one line. */
typedef struct line {
    text id, identity, camera, time;
    size_t floats;
} line;

static void read_values(json *j, gallery_file *f, size_t at) {
    double value;
    size_t n = 0;
    for (json_array(j); json_item(j);)
        for (json_array(j); json_item(j); n++) {
            if (!json_number(j, &value)) break;
            if (n < f->columns) f->rows[at * f->columns + n] = (float)value;
        }
    if (n != f->columns) json_fail(j, "the number of values differs from the metadata");
}

static void read_line(json *j, gallery_file *f, line *l, size_t at) {
    text key = TEXT_INIT;
    int has_values = 0;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "path") == 0 || strcmp(key.s, "id") == 0) json_string(j, &l->id);
        else if (strcmp(key.s, "identity") == 0) json_string(j, &l->identity);
        else if (strcmp(key.s, "camera") == 0) json_string(j, &l->camera);
        else if (strcmp(key.s, "time") == 0) json_string(j, &l->time);
        else if (strcmp(key.s, "embeddings") != 0) json_skip(j);
        else has_values = 1, read_values(j, f, at);
    }
    json_end(j);
    text_free(&key);
    if (!has_values || !l->id.len) json_fail(j, "a line needs a path and embeddings");
    else if (strlen(l->id.s) != l->id.len || (l->identity.len && strlen(l->identity.s) != l->identity.len))
        json_fail(j, "a zero byte in a name");
}

/* Makes room for the next row, without counting it yet. */
static int make_room(gallery_file *f) {
    return f->count < f->row_cap || mem_grow(&f->rows, f->columns * sizeof *f->rows, &f->row_cap);
}

static int keep(char ***names, size_t *count, size_t *cap, const text *name) {
    char *copy = GROW(*names, *count, *cap) ? mem_copy(name->s ? name->s : "", name->len) : NULL;
    if (copy) (*names)[(*count)++] = copy;
    return copy != NULL;
}

static int keep_line(gallery_file *f, const line *l, long long when) {
    if (!keep(&f->ids, &f->id_count, &f->id_cap, &l->id) ||
        !keep(&f->identities, &f->identity_count, &f->identity_cap, &l->identity) ||
        !keep(&f->cameras, &f->camera_count, &f->camera_cap, &l->camera) ||
        !GROW(f->times, f->time_count, f->time_cap)) return 0;
    f->times[f->time_count++] = when;
    f->count++;
    return 1;
}

static int take_line(gallery_file *f, json *j, line *l) {
    long long when = STORE_NO_TIME;
    text_clear(&l->id), text_clear(&l->identity), text_clear(&l->camera), text_clear(&l->time);
    if (!make_room(f)) return json_fail(j, "out of memory");
    read_line(j, f, l, f->count);
    if (!j->error[0] && l->time.len && !when_parse(l->time.s, &when)) json_fail(j, "not a valid time");
    if (!j->error[0] && !keep_line(f, l, when)) json_fail(j, "out of memory");
    return !j->error[0];
}

int gallery_jsonl_read(gallery_file *f, const text *content, text *why) {
    line l = {TEXT_INIT, TEXT_INIT, TEXT_INIT, TEXT_INIT, 0};
    size_t number = 0;
    text_clear(why);
    for (size_t at = 0; at < content->len && !why->len;) {
        const char *start = content->s + at, *end = memchr(start, '\n', content->len - at);
        size_t n = end ? (size_t)(end - start) : content->len - at;
        json j;
        number++;
        at += n + 1;
        json_begin(&j, start, n);
        if (n && !take_line(f, &j, &l)) { /* the JSON reader counts lines from its own start */
            const char *said = strncmp(j.error, "line 1: ", 8) == 0 ? j.error + 8 : j.error;
            text_printf(why, "line %zu: %s", number, said);
        }
    }
    text_free(&l.id), text_free(&l.identity), text_free(&l.camera), text_free(&l.time);
    return why->len == 0;
}
