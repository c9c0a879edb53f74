/* The parts of a checkpoint that all formats share: checking tensors and delivering values. */
#include "weights/checkpoint.h"

#include "base/crc32.h"
#include "base/memory.h"
#include "weights/onnx_graph.h"

#include <stdlib.h>
#include <string.h>

const dtype DTYPES[] = {
    {"F32", "FloatStorage", "float32", 4},       {"F16", "HalfStorage", "float16", 2},
    {"BF16", "BFloat16Storage", "bfloat16", 2},  {"F64", "DoubleStorage", "float64", 8},
    {"I64", "LongStorage", "int64", 8},          {"I32", "IntStorage", "int32", 4},
    {"I16", "ShortStorage", "int16", 2},         {"I8", "CharStorage", "int8", 1},
    {"U8", "ByteStorage", "uint8", 1},           {"BOOL", "BoolStorage", "bool", 1},
    {"U8", "UntypedStorage", "uint8", 1},        {"U64", "", "uint64", 8},
    {"U32", "", "uint32", 4},                    {"U16", "", "uint16", 2},
    {"F8_E4M3", "", "float8_e4m3fn", 1},         {"F8_E5M2", "", "float8_e5m2", 1},
    {"C64", "ComplexFloatStorage", "complex64", 8},
    {NULL, "ComplexDoubleStorage", "complex128", 16},
    {NULL, "QInt8Storage", "qint8", 1},          {NULL, "QUInt8Storage", "quint8", 1},
    {NULL, "QInt32Storage", "qint32", 4},        {NULL, NULL, NULL, 0},
};

const dtype *dtype_named(const char *name) {
    for (const dtype *d = DTYPES; d->bytes; d++)
        if (d->name && strcmp(d->name, name) == 0) return d;
    return NULL;
}

/* --- building ----------------------------------------------------------------------------------------------------- */

int add_group(checkpoint *c, const char *path) {
    if (c->group_count == MAX_GROUPS || !GROW(c->groups, c->group_count, c->group_cap)) return -1;
    tensor_group *g = &c->groups[c->group_count];
    memset(g, 0, sizeof *g);
    g->path = mem_copy(path, strlen(path));
    return g->path ? (int)c->group_count++ : -1;
}

int set_contiguous(tensor *t) {
    t->count = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        t->stride[i] = t->count;
        if (!checked_mul(t->count, t->shape[i], &t->count)) return 0;
    }
    return 1;
}

/* Sets *reach to the number of elements from the first to the last one that the tensor refers to, 0 for an empty
   tensor. Returns 0 if the number overflows. */
static int reach_of(const tensor *t, uint64_t *reach) {
    uint64_t step;
    *reach = t->count > 0;
    for (int i = 0; i < t->ndim && t->count; i++) {
        if (!checked_mul(t->shape[i] - 1, t->stride[i], &step) || step > UINT64_MAX - *reach) return 0;
        *reach += step;
    }
    return 1;
}

static int check_tensor(const checkpoint *c, const tensor *t, text *why) {
    uint64_t reach, first, bytes;
    if (t->opaque || t->is_text) return 1;
    const storage *s = &c->storages[t->storage];
    if (!reach_of(t, &reach) || !checked_mul(reach, (uint64_t)t->type->bytes, &bytes) ||
        !checked_mul(t->offset, (uint64_t)t->type->bytes, &first))
        return refuse(why, "tensor \"%.200s\": its size overflows", t->name);
    if (first <= s->bytes && bytes <= s->bytes - first) return 1;
    return refuse(why, "tensor \"%.200s\" covers %llu bytes from byte %llu on, but its storage has %llu", t->name,
                  (unsigned long long)bytes, (unsigned long long)first, (unsigned long long)s->bytes);
}

int add_tensor(checkpoint *c, tensor *t, text *why) {
    if (!check_tensor(c, t, why)) return 0;
    if (c->tensor_count == MAX_TENSORS) return refuse(why, "it contains more than %d tensors", MAX_TENSORS);
    if (!GROW(c->tensors, c->tensor_count, c->tensor_cap)) return text_no_memory(why);
    c->tensors[c->tensor_count++] = *t;
    c->groups[t->group].tensors++;
    memset(t, 0, sizeof *t);
    return 1;
}

void checkpoint_close(checkpoint *c) {
    for (size_t i = 0; i < c->storage_count; i++) free(c->storages[i].key);
    for (size_t i = 0; i < c->tensor_count; i++) {
        free(c->tensors[i].name);
        free(c->tensors[i].opaque);
    }
    for (size_t i = 0; i < c->group_count; i++) {
        free(c->groups[i].path);
        free(c->groups[i].model);
    }
    for (size_t i = 0; i < c->key_count; i++) free(c->keys[i]);
    free(c->storages);
    free(c->tensors);
    free(c->groups);
    free(c->keys);
    free(c->arch);
    free(c->preset);
    text_free(&c->stated);
    free(c->last_stride);
    free(c->network);
    onnx_graph_free(c->graph);
    free(c->head_activation);
    source_close(&c->source);
    memset(c, 0, sizeof *c);
    c->source.fd = -1;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

enum { PIECE = 1 << 18 }; /* bytes; a multiple of the size of every element */

static void swap_bytes(unsigned char *p, size_t size, size_t element) {
    for (; size >= element; p += element, size -= element)
        for (size_t i = 0; i < element / 2; i++) {
            unsigned char t = p[i];
            p[i] = p[element - 1 - i];
            p[element - 1 - i] = t;
        }
}

typedef struct delivery {
    const checkpoint *c;
    const tensor *t;
    int (*put)(void *user, const void *bytes, size_t size);
    void *user;
    text *why;
    unsigned char *piece;
    size_t filled;
} delivery;

static int deliver(delivery *d) {
    if (d->c->big_endian) swap_bytes(d->piece, d->filled, (size_t)d->t->type->bytes);
    int good = d->put(d->user, d->piece, d->filled);
    d->filled = 0;
    return good;
}

static int is_contiguous(const tensor *t) {
    uint64_t expected = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->stride[i] != expected) return 0;
        expected *= t->shape[i];
    }
    return 1;
}

static int deliver_contiguous(delivery *d, uint64_t at, uint64_t bytes) {
    while (bytes) {
        d->filled = bytes < PIECE ? (size_t)bytes : PIECE;
        if (!source_read(&d->c->source, at, d->piece, d->filled, d->why)) return 0;
        at += d->filled;
        bytes -= d->filled;
        if (!deliver(d)) return 0;
    }
    return 1;
}

/* Delivers a view with strides: reads the part of the storage that it covers, then gathers its elements. */
static int deliver_strided(delivery *d, uint64_t at) {
    const tensor *t = d->t;
    uint64_t reach, index[MAX_DIMS] = {0}, from = 0;
    size_t size = (size_t)t->type->bytes;
    if (!reach_of(t, &reach)) return refuse(d->why, "its size overflows");
    unsigned char *all = mem_array((size_t)reach, size);
    int good = all ? 1 : text_no_memory(d->why);
    const storage *s = &d->c->storages[t->storage];
    if (good && s->is_value) memcpy(all, &s->value, sizeof s->value);
    else good = good && source_read(&d->c->source, at, all, (size_t)(reach * size), d->why);
    for (uint64_t n = 0; good && n < t->count; n++) {
        memcpy(d->piece + d->filled, all + from * size, size);
        d->filled += size;
        if (d->filled + size > PIECE || n + 1 == t->count) good = deliver(d);
        for (int i = t->ndim - 1; i >= 0; i--) { /* moves to the next element, like an odometer */
            from += t->stride[i];
            if (++index[i] < t->shape[i]) break;
            from -= t->stride[i] * t->shape[i];
            index[i] = 0;
        }
    }
    free(all);
    return good;
}

static int hex_digit(int c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Delivers hexadecimal words, which read_wts has checked. */
static int deliver_text(delivery *d, const storage *s) {
    cursor c;
    uint64_t done = 0;
    cursor_begin(&c, &d->c->source, s->at, s->at + s->bytes, d->why);
    for (int byte = cursor_next(&c); byte >= 0 && done < d->t->count;) {
        uint32_t word = 0;
        while (byte >= 0 && hex_digit(byte) < 0) byte = cursor_next(&c);
        for (; hex_digit(byte) >= 0; byte = cursor_next(&c)) word = word << 4 | (uint32_t)hex_digit(byte);
        for (int i = 0; i < 4; i++) d->piece[d->filled++] = (unsigned char)(word >> 8 * i);
        done++;
        if ((d->filled == PIECE || done == d->t->count) && !deliver(d)) return 0;
    }
    return done == d->t->count || (c.failed ? 0 : refuse(d->why, "the file changed while it was read"));
}

int checkpoint_values(const checkpoint *c, const tensor *t, int (*put)(void *user, const void *bytes, size_t size),
                      void *user, text *why) {
    delivery d = {c, t, put, user, why, NULL, 0};
    const storage *s = &c->storages[t->storage];
    uint64_t size = (uint64_t)t->type->bytes, at = s->at + t->offset * size;
    int good = 1;
    if (!t->count) return 1;
    d.piece = mem_alloc(PIECE);
    if (!d.piece) return text_no_memory(why);
    if (t->is_text) good = deliver_text(&d, s);
    else if (is_contiguous(t) && !s->is_value) good = deliver_contiguous(&d, at, t->count * size);
    else good = deliver_strided(&d, at);
    free(d.piece);
    return good;
}

/* --- checksums ---------------------------------------------------------------------------------------------------- */

static int crc_matches(const checkpoint *c, uint64_t at, uint64_t bytes, uint32_t wanted, unsigned char *piece,
                       int *matches, text *why) {
    uint32_t crc = 0;
    while (bytes) {
        size_t n = bytes < PIECE ? (size_t)bytes : PIECE;
        if (!source_read(&c->source, at, piece, n, why)) return 0;
        crc = crc32_more(crc, piece, n);
        at += n;
        bytes -= n;
    }
    *matches = crc == wanted;
    return 1;
}

int checkpoint_verify(const checkpoint *c, int *unchecked, text *why) {
    unsigned char *piece = mem_alloc(PIECE);
    const char *wrong = NULL;
    int right = 0, good = 1, matches = 0;
    *unchecked = !c->has_pickle_crc;
    if (!piece) return text_no_memory(why);
    if (c->has_pickle_crc) {
        good = crc_matches(c, c->pickle_at, c->pickle_bytes, c->pickle_crc, piece, &matches, why);
        if (matches) right++;
        else wrong = "data.pkl";
    }
    for (size_t i = 0; i < c->storage_count && good; i++) {
        const storage *s = &c->storages[i];
        if (!s->needed || !s->has_crc) continue;
        good = crc_matches(c, s->at, s->bytes, s->crc, piece, &matches, why);
        if (matches) right++;
        else wrong = s->key;
    }
    free(piece);
    if (good && wrong && right) good = refuse(why, "zip member \"%.200s\" has a wrong checksum; the file is damaged",
                                              wrong);
    if (wrong && !right) *unchecked = 1;
    return good;
}
