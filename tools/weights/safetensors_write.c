#include "weights/safetensors_write.h"

#include "base/json_write.h"

#include <stdlib.h>
#include <string.h>

static int by_size_and_name(const void *a, const void *b) {
    const outgoing *x = a, *y = b;
    int size = y->from->type->bytes - x->from->type->bytes;
    return size ? size : strcmp(x->name, y->name);
}

static void add_metadata(json_writer *w, const char *const *metadata) {
    if (!metadata[0]) return;
    json_put_object(w, "__metadata__");
    for (int i = 0; metadata[i]; i += 2) json_put_string(w, metadata[i], metadata[i + 1]);
    json_put_end(w);
}

static void add_numbers(json_writer *w, const char *key, const uint64_t *numbers, int count) {
    json_put_array(w, key);
    for (int i = 0; i < count; i++) json_put_count(w, NULL, numbers[i]);
    json_put_end(w);
}

/* Writes the header: its length and JSON, padded with spaces to a multiple of eight bytes. */
static int make_header(text *header, const outgoing *tensors, size_t count, const char *const *metadata, text *why) {
    uint64_t range[2] = {0, 0};
    json_writer w = json_write(header);
    w.tight = 1;
    text_add(header, "\0\0\0\0\0\0\0\0", 8);
    json_put_object(&w, NULL);
    add_metadata(&w, metadata);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes;
        if (!checked_mul(tensors[i].from->count, (uint64_t)tensors[i].from->type->bytes, &bytes) ||
            bytes > UINT64_MAX / 4 - range[1])
            return refuse(why, "tensor \"%.200s\": its size overflows", tensors[i].name);
        range[0] = range[1];
        range[1] += bytes;
        json_put_object(&w, tensors[i].name);
        json_put_string(&w, "dtype", tensors[i].from->type->name);
        add_numbers(&w, "shape", tensors[i].shape, tensors[i].ndim);
        add_numbers(&w, "data_offsets", range, 2);
        json_put_end(&w);
    }
    json_put_end(&w);
    while (header->len % 8 && !text_failed(header)) text_putc(header, ' ');
    if (text_failed(header)) return text_no_memory(why);
    for (int i = 0; i < 8; i++) header->s[i] = (char)((uint64_t)(header->len - 8) >> 8 * i & 255);
    return 1;
}

typedef struct target {
    pending *file;
    uint64_t at;
    text *why;
} target;

static int put(void *user, const void *bytes, size_t size) {
    target *t = user;
    if (interrupted()) return refuse(t->why, "interrupted");
    if (!pending_write(t->file, bytes, size, (size_t)t->at, t->why)) return 0;
    t->at += size;
    return 1;
}

const output_kind WEIGHTS_FILE = {.what = "a weight file written by reid",
                                  .holds = "\"reid."}; /* a key of the metadata */

int safetensors_write(pending *p, outgoing *tensors, size_t count, const char *const *metadata, uint64_t *size,
                      text *why) {
    text header = TEXT_INIT;
    target t = {p, 0, why};
    if (count) qsort(tensors, count, sizeof *tensors, by_size_and_name);
    int good = make_header(&header, tensors, count, metadata, why) && put(&t, header.s, header.len);
    for (size_t i = 0; i < count && good; i++)
        good = checkpoint_values(tensors[i].of, tensors[i].from, put, &t, why);
    text_free(&header);
    *size = t.at;
    return good;
}
