/* Recognising the format of a checkpoint, and what all of them end with. */
#include "weights/checkpoint_open.h"

#include "weights/foreign_file.h"
#include "weights/onnx_file.h"
#include "weights/torch_file.h"

#include <stdlib.h>
#include <string.h>

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

/* Strided convolutions of Keras pad on one side only, or its ResNet has its strides elsewhere. */
#define KERAS \
    "an HDF5 file (Keras), not a PyTorch checkpoint; Keras pads and strides its networks differently, so that its " \
    "weights make other embeddings here under any names: take weights that were trained with PyTorch"

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
    {0, 4, "\x89HDF", NULL, KERAS}, {0, 6, "\x93NUMPY", NULL, "a NumPy array" OTHER},
    {0, 4, "GGUF", NULL, "a GGUF file" OTHER}, {4, 4, "TFL3", NULL, "a TensorFlow Lite file" OTHER},
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
    if (is_onnx(start, size)) return read_onnx(c, why);
    if (starts_with_count(start, size)) return read_wts(c, why);
    size_t zeros = 0;
    while (zeros < size && !start[zeros]) zeros++;
    if (zeros == size) return refuse(why, "the file begins with zeros only: a download that was not completed?");
    return refuse(why, is_text(start, size) ? "text; give the file with the network's weights"
                                            : "no checkpoint that is known here (PyTorch, safetensors, ONNX, .wts)");
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int by_group_and_name(const void *a, const void *b) {
    const tensor *x = a, *y = b;
    return x->group != y->group ? (x->group < y->group ? -1 : 1) : strcmp(x->name, y->name);
}

int checkpoint_sort(checkpoint *c, text *why) {
    if (!c->tensor_count) return refuse(why, "there are no tensors in it");
    qsort(c->tensors, c->tensor_count, sizeof *c->tensors, by_group_and_name);
    for (size_t i = 1; i < c->tensor_count; i++)
        if (by_group_and_name(c->tensors + i - 1, c->tensors + i) == 0)
            return refuse(why, "two tensors are named \"%.200s\"", c->tensors[i].name);
    for (size_t i = c->tensor_count; i-- > 0;) c->groups[c->tensors[i].group].first = i;
    return 1;
}

static int finish_open(checkpoint *c, text *why) {
    if (read_any(c, why) && checkpoint_sort(c, why)) return 1;
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
