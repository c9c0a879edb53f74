#include "gallery/store_record.h"

#include "gallery/store_decoders.h"

#include <stdio.h>
#include <string.h>

enum { MAX_RECORD = TEMPLATE_HEAD + 4 * STORE_MAX_DIM + 4 * STORE_MAX_TEXT + 8 };

int record_template_lengths(const store_meta *meta, const unsigned char *payload, size_t size, size_t length[4]) {
    size_t sum = TEMPLATE_HEAD + store_row_bytes(meta);
    if (size < sum) return 0;
    for (int i = 0; i < 4; i++) sum += length[i] = bytes_get(payload + 2 * i, 2);
    return bytes_rounded(sum) == size && length[0] && length[1];
}

int record_values_are_finite(const store_meta *meta, const unsigned char *row) {
    int bad = 0;
    if (meta->halves)
        for (int i = 0; i < meta->dim; i++) bad |= (row[2 * i + 1] & 0x7c) == 0x7c;
    else
        for (int i = 0; i < meta->dim; i++) bad |= ((row[4 * i + 3] & 0x7f) == 0x7f) & (row[4 * i + 2] >> 7);
    return !bad;
}

/* 1 if a header among the records agrees with the first one, except for the threshold. */
static int header_agrees(const store_meta *meta, const unsigned char *payload) {
    unsigned char ours[HEADER_BYTES];
    store_meta its;
    if (!header_parse(payload, &its)) return 0;
    its.threshold = meta->threshold;
    header_write(&its, ours);
    unsigned char wanted[HEADER_BYTES];
    header_write(meta, wanted);
    return memcmp(ours, wanted, sizeof ours) == 0;
}

/* 1 for a valid name, followed by zeros up to the end, at least one. */
static int is_decoder_record(const record *r) {
    const char *name = (const char *)r->payload;
    size_t n = strnlen(name, r->size);
    if (n == r->size || bytes_rounded(n + 1) != r->size || !decoder_is_name(name, n)) return 0;
    while (n < r->size)
        if (name[n++]) return 0;
    return 1;
}

/* Checks what a checksum cannot: that the contents of the record are valid. */
static int record_is_sound(const store_meta *meta, const record *r) {
    size_t length[4], text;
    switch (r->type) {
    case TEMPLATE:
        if (!record_template_lengths(meta, r->payload, r->size, length)) return 0;
        text = TEMPLATE_HEAD + store_row_bytes(meta);
        return record_values_are_finite(meta, r->payload + TEMPLATE_HEAD) &&
               !memchr(r->payload + text, 0, length[0] + length[1] + length[2] + length[3]);
    case REMOVAL: return r->size && r->payload[0] && memchr(r->payload + r->size - 8, 0, 8) != NULL;
    case HEADER: return r->size == HEADER_BYTES && header_agrees(meta, r->payload);
    case DECODER: return is_decoder_record(r);
    default: return r->type == THRESHOLD && r->size == 8;
    }
}

int record_read(view *v, const store_meta *meta, uint64_t place, record *r, int *fatal, char why[STORE_WHY]) {
    uint64_t left = v->end - place;
    const unsigned char *bytes;
    r->size = 0;
    *fatal = 0;
    if (left < RECORD_HEAD) return store_fail(why, "it is truncated");
    bytes = store_view_at(v, place, RECORD_HEAD, why);
    *fatal = !bytes;
    if (!bytes) return 0;
    r->type = (uint32_t)bytes_get(bytes, 4);
    size_t size = (size_t)bytes_get(bytes + 4, 4);
    if (size % 8 || size > MAX_RECORD || size > left - RECORD_HEAD) return store_fail(why, "its length is impossible");
    bytes = store_view_at(v, place, RECORD_HEAD + size, why);
    *fatal = !bytes;
    if (!bytes) return 0;
    r->size = (uint32_t)size;
    r->payload = bytes + RECORD_HEAD;
    if (bytes_get(bytes + 8, 8) != bytes_checksum(place, bytes, RECORD_HEAD + size, 8))
        return store_fail(why, "its checksum is wrong");
    return record_is_sound(meta, r) || store_fail(why, "its contents are invalid");
}

uint64_t record_next(view *v, const store_meta *meta, uint64_t place, const record *damaged, int *fatal,
                            char why[STORE_WHY]) {
    record r;
    uint64_t next = place + RECORD_HEAD + damaged->size;
    if (damaged->size && (next == v->end || record_read(v, meta, next, &r, fatal, why))) return next;
    for (next = place + 8; next < v->end; next += 8)
        if (record_read(v, meta, next, &r, fatal, why) || *fatal) return next;
    return v->end;
}

void record_probable_id(const store_meta *meta, const record *r, char out[80]) {
    size_t length[4], n;
    out[0] = 0;
    if (!r->size || r->type != TEMPLATE || !record_template_lengths(meta, r->payload, r->size, length)) return;
    const unsigned char *id = r->payload + TEMPLATE_HEAD + store_row_bytes(meta);
    for (n = 0; n < length[0]; n++)
        if (id[n] < 0x20 || id[n] == 0x7f) return;
    snprintf(out, 80, " (\"%.*s\")", (int)(length[0] < 70 ? length[0] : 70), (const char *)id);
}
