#include "gallery/store_walk.h"

#include "gallery/store_decoders.h"
#include "gallery/store_file.h"
#include "gallery/store_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int take_template(gallery_store *s, const record *r, char why[STORE_WHY]) {
    const char *text[4];
    size_t length[4], bytes = store_row_bytes(&s->meta);
    if (!record_template_lengths(&s->meta, r->payload, r->size, length))
        return store_fail(why, "its contents are invalid");
    text[0] = (const char *)r->payload + TEMPLATE_HEAD + bytes;
    for (int i = 1; i < 4; i++) text[i] = text[i - 1] + length[i - 1];
    entry *e = entries_new(s, text, length, why);
    if (!e) return -1;
    if (entries_find(s, s->texts + e->text) != SIZE_MAX) {
        s->texts_len = e->text;
        return store_fail(why, "its id is in the gallery twice");
    }
    e->time = (int64_t)bytes_get(r->payload + 8, 8);
    e->size = bytes_get(r->payload + 16, 8);
    e->hash = bytes_get(r->payload + 24, 8);
    if (s->keep_rows) {
        if (!store_grow((void **)&s->rows, &s->rows_cap, s->count + 1, bytes, why)) return -1;
        memcpy(s->rows + s->count * bytes, r->payload + TEMPLATE_HEAD, bytes);
    }
    return entries_enter(s, why) ? 1 : -1;
}

/* Takes a record. Returns 1, 0 with a reason when it is invalid, -1 with a reason when memory runs out. */
static int take(gallery_store *s, const record *r, char why[STORE_WHY]) {
    if (r->type == TEMPLATE) return take_template(s, r, why);
    if (r->type == REMOVAL) {
        size_t at = entries_find(s, (const char *)r->payload);
        if (at != SIZE_MAX) entries_remove(s, at);
    } else if (r->type == THRESHOLD) {
        memcpy(&s->meta.threshold, r->payload, 8);
        if (isinf(s->meta.threshold)) return store_fail(why, "its threshold is infinite");
    } else if (r->type == DECODER) {
        if (!store_join_decoders(s->meta.jpeg, (const char *)r->payload))
            return store_fail(why, "more than 4 JPEG decoders");
    }
    return 1;
}

int store_walk(gallery_store *s, store_damage_fn fn, void *user, store_report *report, char why[STORE_WHY]) {
    view v = {s->fd, s->end, NULL, 0, 0, 0};
    char reason[STORE_WHY], text[STORE_WHY], id[80];
    int good = 1, fatal = 0;
    size_t number = 0;
    for (uint64_t place = FIRST_RECORD; good && place < s->end; number++) {
        record r;
        if (number % 1024 == 0 && store_stopped(&s->host, why)) good = 0;
        if (!good) break;
        int taken = record_read(&v, &s->meta, place, &r, &fatal, reason) ? take(s, &r, reason) : 0;
        if (taken > 0) {
            place += RECORD_HEAD + r.size;
            continue;
        }
        if (taken < 0 || fatal) {
            good = store_fail(why, "%.*s", STORE_WHY - 1, reason);
            break;
        }
        record_probable_id(&s->meta, &r, id);
        snprintf(text, sizeof text, "record %zu at byte %llu%s is damaged: %.200s", number + 1,
                 (unsigned long long)place, id, reason);
        report->damaged++;
        if (!fn) good = store_fail(why, "%s", text);
        if (!fn) break;
        fn(text, user);
        place = record_next(&v, &s->meta, place, &r, &fatal, reason);
        if (fatal) good = store_fail(why, "%.*s", STORE_WHY - 1, reason);
    }
    report->records = number;
    if (good && number != s->records && s->records != UINT64_MAX && !report->damaged) {
        report->damaged++;
        snprintf(text, sizeof text, "is damaged: it has %zu records and should have %llu", number,
                 (unsigned long long)s->records);
        if (fn) fn(text, user);
        else good = store_fail(why, "%s", text);
    }
    free(v.bytes);
    return good;
}
