/* The parts of a checkpoint that all formats share: recognising them, checking tensors, delivering values. */
#include "weights/checkpoint.h"

#include "weights/zip.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* --- what kind of file? ------------------------------------------------------------------------------------------- */

typedef struct signature {
    size_t at, len;
    const char *bytes;
    int (*read)(checkpoint *c, text *why); /* NULL: refused, because it is … */
    const char *what;
} signature;

#define PAGE "a web page, perhaps what a failed download left; download the file again"
#define UNPACK "; unpack it first"
#define OTHER ", not a PyTorch checkpoint; save the network's state_dict with PyTorch"

static const signature SIGNATURES[] = {
    {0, 4, "PK\3\4", read_torch_zip, NULL},
    {257, 5, "ustar", read_torch_tar, NULL},
    {0, 1, "\x80", read_torch_stream, NULL},
    {0, 4, "PK\5\6", NULL, "an empty zip archive"},
    {0, 23, "version https://git-lfs", NULL, "a Git LFS pointer, not the file itself; fetch it with: git lfs pull"},
    {0, 5, "<!DOC", NULL, PAGE}, {0, 5, "<!doc", NULL, PAGE}, {0, 5, "<html", NULL, PAGE}, {0, 5, "<HTML", NULL, PAGE},
    {0, 5, "<?xml", NULL, PAGE},
    {0, 2, "{\"", NULL, "JSON text, perhaps an index; give the file with the weights that it belongs to"},
    {0, 2, "{\n", NULL, "JSON text, perhaps an index; give the file with the weights that it belongs to"},
    {0, 2, "\x1f\x8b", NULL, "gzip data" UNPACK}, {0, 6, "7z\xbc\xaf\x27\x1c", NULL, "a 7z archive" UNPACK},
    {0, 6, "\xfd" "7zXZ", NULL, "xz data" UNPACK}, {0, 3, "BZh", NULL, "bzip2 data" UNPACK},
    {0, 4, "\x28\xb5\x2f\xfd", NULL, "zstd data" UNPACK}, {0, 4, "Rar!", NULL, "a RAR archive" UNPACK},
    {0, 4, "\x89HDF", NULL, "an HDF5 file (Keras)" OTHER}, {0, 6, "\x93NUMPY", NULL, "a NumPy array" OTHER},
    {0, 4, "GGUF", NULL, "a GGUF file" OTHER}, {4, 4, "TFL3", NULL, "a TensorFlow Lite file" OTHER},
    {0, 3, "\x08\x06\x12", NULL, "an ONNX file" OTHER}, {0, 3, "\x08\x07\x12", NULL, "an ONNX file" OTHER},
    {0, 3, "\x08\x08\x12", NULL, "an ONNX file" OTHER}, {0, 3, "\x08\x09\x12", NULL, "an ONNX file" OTHER},
    {0, 3, "\x08\x0a\x12", NULL, "an ONNX file" OTHER}, {0, 3, "\x08\x0b\x12", NULL, "an ONNX file" OTHER},
    {0, 4, "\x89PNG", NULL, "a picture; give the file with the network's weights"},
    {0, 3, "\xff\xd8\xff", NULL, "a picture; give the file with the network's weights"},
    {0, 4, "\x7f" "ELF", NULL, "a program or library, or a compiled engine" OTHER},
    {0, 4, "ptrt", NULL, "a TensorRT engine" OTHER},
};

enum { LONGEST_START = 512 };

/* A first line that is a count, as .wts has it. */
static int starts_with_count(const unsigned char *p, size_t size) {
    size_t n = 0;
    while (n < size && p[n] >= '0' && p[n] <= '9') n++;
    return n > 0 && (n == size || p[n] == '\n' || p[n] == '\r' || p[n] == ' ');
}

static int is_safetensors(const unsigned char *p, size_t size) {
    return size > 8 && p[8] == '{' && le64(p) <= MAX_HEADER;
}

static int is_text(const unsigned char *p, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((p[i] < ' ' && (p[i] < '\t' || p[i] > '\r')) || p[i] > 126) return 0;
    return 1;
}

static int read_any(checkpoint *c, text *why) {
    unsigned char start[LONGEST_START];
    size_t size = c->source.size < sizeof start ? (size_t)c->source.size : sizeof start;
    if (size == 0) return refuse(why, "the file is empty");
    if (!source_read(&c->source, 0, start, size, why)) return 0;
    if (is_safetensors(start, size)) return read_safetensors(c, why); /* its first eight bytes can be any */
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof *SIGNATURES; i++) {
        const signature *s = &SIGNATURES[i];
        if (size < s->at + s->len || memcmp(start + s->at, s->bytes, s->len) != 0) continue;
        return s->read ? s->read(c, why) : refuse(why, "this is %s", s->what);
    }
    if (starts_with_count(start, size)) return read_wts(c, why);
    size_t zeros = 0;
    while (zeros < size && !start[zeros]) zeros++;
    if (zeros == size) return refuse(why, "the file begins with zeros only: a download that was not completed?");
    return refuse(why, is_text(start, size) ? "text; give the file with the network's weights"
                                            : "no checkpoint that is known here (PyTorch, safetensors, .wts)");
}

/* --- building ----------------------------------------------------------------------------------------------------- */

int add_group(checkpoint *c, const char *path) {
    if (c->group_count == MAX_GROUPS) return -1;
    GROW(c->groups, c->group_count, c->group_cap);
    tensor_group *g = &c->groups[c->group_count];
    memset(g, 0, sizeof *g);
    g->path = must_copy(path, strlen(path));
    return (int)c->group_count++;
}

int set_contiguous(tensor *t) {
    t->count = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        t->stride[i] = t->count;
        if (!checked_mul(t->count, t->shape[i], &t->count)) return 0;
    }
    return 1;
}

/* Elements from the first to the last one that a tensor looks at, which is 0 for none; 0 if the number overflows. */
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
    return refuse(why, "tensor \"%.200s\" looks at %llu bytes from byte %llu on, its storage has %llu", t->name,
                  (unsigned long long)bytes, (unsigned long long)first, (unsigned long long)s->bytes);
}

int add_tensor(checkpoint *c, tensor *t, text *why) {
    if (!check_tensor(c, t, why)) return 0;
    if (c->tensor_count == MAX_TENSORS) return refuse(why, "more than %d tensors", MAX_TENSORS);
    GROW(c->tensors, c->tensor_count, c->tensor_cap);
    c->tensors[c->tensor_count++] = *t;
    c->groups[t->group].tensors++;
    memset(t, 0, sizeof *t);
    return 1;
}

static int by_group_and_name(const void *a, const void *b) {
    const tensor *x = a, *y = b;
    return x->group != y->group ? (x->group < y->group ? -1 : 1) : strcmp(x->name, y->name);
}

/* Sorts the tensors; a name may stand once in a group. */
static int sort_tensors(checkpoint *c, text *why) {
    if (!c->tensor_count) return refuse(why, "there are no tensors in it");
    qsort(c->tensors, c->tensor_count, sizeof *c->tensors, by_group_and_name);
    for (size_t i = 1; i < c->tensor_count; i++)
        if (by_group_and_name(c->tensors + i - 1, c->tensors + i) == 0)
            return refuse(why, "two tensors are named \"%.200s\"", c->tensors[i].name);
    for (size_t i = c->tensor_count; i-- > 0;) c->groups[c->tensors[i].group].first = i;
    return 1;
}

static int finish_open(checkpoint *c, text *why) {
    if (read_any(c, why) && sort_tensors(c, why)) return 1;
    if (!why->len) refuse(why, "cannot be read");
    checkpoint_close(c);
    return 0;
}

int checkpoint_open(checkpoint *c, const char *path, text *why) {
    memset(c, 0, sizeof *c);
    text_clear(why);
    return source_open(&c->source, path, why) && finish_open(c, why);
}

int checkpoint_open_memory(checkpoint *c, const void *bytes, size_t size, text *why) {
    memset(c, 0, sizeof *c);
    text_clear(why);
    source_memory(&c->source, bytes, size);
    return finish_open(c, why);
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
    free(c->last_stride);
    free(c->network);
    source_close(&c->source);
    memset(c, 0, sizeof *c);
    c->source.fd = -1;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

enum { PIECE = 1 << 18 }; /* bytes, a multiple of every element's */

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

/* A view with strides: the part of the storage that it looks at is read whole, then its elements are gathered. */
static int deliver_strided(delivery *d, uint64_t at) {
    const tensor *t = d->t;
    uint64_t reach, index[MAX_DIMS] = {0}, from = 0;
    size_t size = (size_t)t->type->bytes;
    if (!reach_of(t, &reach)) return refuse(d->why, "its size overflows");
    unsigned char *all = must_alloc((size_t)(reach * size));
    int good = source_read(&d->c->source, at, all, (size_t)(reach * size), d->why);
    for (uint64_t n = 0; good && n < t->count; n++) {
        memcpy(d->piece + d->filled, all + from * size, size);
        d->filled += size;
        if (d->filled + size > PIECE || n + 1 == t->count) good = deliver(d);
        for (int i = t->ndim - 1; i >= 0; i--) { /* the next element: like a mileage counter */
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

/* Words that read_wts has checked. */
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
    d.piece = must_alloc(PIECE);
    if (t->is_text) good = deliver_text(&d, s);
    else if (is_contiguous(t)) good = deliver_contiguous(&d, at, t->count * size);
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
    unsigned char *piece = must_alloc(PIECE);
    const char *wrong = NULL;
    int right = 0, good = 1, matches = 0;
    *unchecked = !c->has_pickle_crc;
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
    if (good && wrong && right) good = refuse(why, "zip member \"%.200s\" has a wrong checksum: the file is damaged",
                                              wrong);
    if (wrong && !right) *unchecked = 1;
    return good;
}
