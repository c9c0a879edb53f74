/* Recognises the format of a checkpoint, and checks what must hold in all formats. */
#include "weights/checkpoint_open.h"

#include "base/file_kind.h"
#include "weights/foreign_file.h"
#include "weights/onnx_file.h"
#include "weights/torch_file.h"

#include <stdlib.h>
#include <string.h>

/* --- the kind of the file ----------------------------------------------------------------------------------------- */

/* Formats that begin with a signature; ONNX, safetensors and .wts have none. */
static const struct { size_t at, len; const char *bytes; int (*read)(checkpoint *c, text *why); } SIGNATURES[] = {
    {0, 4, "PK\3\4", read_torch_zip}, {257, 5, "ustar", read_torch_tar}, {0, 1, "\x80", read_torch_stream},
    {0, 4, "PK\5\6", NULL}, /* an archive without members */
};

/* Keras pads strided convolutions on one side only, and its ResNet has its strides in other layers. */
static const char KERAS[] =
    "this is an HDF5 file (Keras), not a PyTorch checkpoint; Keras pads and strides its networks differently, so its "
    "weights would give other embeddings here: use weights trained with PyTorch";

static int refuse_kind(const file_kind *kind, text *why) {
    switch (kind->is) {
    case FILE_PICTURE: return refuse(why, "this is an image; give the file with the network's weights");
    case FILE_PACKED: return refuse(why, "this is %s; unpack it first", kind->what);
    case FILE_WEB_PAGE:
    case FILE_XML:
        return refuse(why, "this is a web page, perhaps left by a failed download; download the file again");
    case FILE_LFS_POINTER:
        return refuse(why, "this is a Git LFS pointer, not the file itself; fetch it with: git lfs pull");
    case FILE_JSON:
        return refuse(why, "this is JSON text, perhaps the index of a weight file; give the weight file itself");
    case FILE_HDF5: return refuse(why, "%s", KERAS);
    default:
        return refuse(why, "this is %s, not a PyTorch checkpoint; save the network's state_dict with PyTorch",
                      kind->what);
    }
}

/* 1 if the file begins with a line that is a count, as .wts does. */
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
    unsigned char start[FILE_KIND_START];
    size_t size = c->source.size < sizeof start ? (size_t)c->source.size : sizeof start;
    if (size == 0) return refuse(why, "the file is empty");
    if (!source_read(&c->source, 0, start, size, why)) return 0;
    if (is_safetensors(start, size)) return read_safetensors(c, why); /* first, because its first eight bytes can be
                                                                         anything */
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof *SIGNATURES; i++) {
        if (size < SIGNATURES[i].at + SIGNATURES[i].len ||
            memcmp(start + SIGNATURES[i].at, SIGNATURES[i].bytes, SIGNATURES[i].len) != 0) continue;
        return SIGNATURES[i].read ? SIGNATURES[i].read(c, why) : refuse(why, "this is an empty zip archive");
    }
    const file_kind *kind = file_kind_of(start, size);
    if (kind) return refuse_kind(kind, why);
    if (is_onnx(start, size)) return read_onnx(c, why);
    if (starts_with_count(start, size)) return read_wts(c, why);
    size_t zeros = 0;
    while (zeros < size && !start[zeros]) zeros++;
    if (zeros == size) return refuse(why, "the file begins with nothing but zeros; was it downloaded completely?");
    return refuse(why, is_text(start, size) ? "this is text; give the file with the network's weights"
                                            : "the format is unknown; expected PyTorch, safetensors, ONNX or .wts");
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int by_group_and_name(const void *a, const void *b) {
    const tensor *x = a, *y = b;
    return x->group != y->group ? (x->group < y->group ? -1 : 1) : strcmp(x->name, y->name);
}

int checkpoint_sort(checkpoint *c, text *why) {
    if (!c->tensor_count) return refuse(why, "it contains no tensors");
    if (c->tensor_count) qsort(c->tensors, c->tensor_count, sizeof *c->tensors, by_group_and_name);
    for (size_t i = 1; i < c->tensor_count; i++)
        if (by_group_and_name(c->tensors + i - 1, c->tensors + i) == 0)
            return refuse(why, "two tensors are named \"%.200s\"", c->tensors[i].name);
    for (size_t i = c->tensor_count; i-- > 0;) c->groups[c->tensors[i].group].first = i;
    return 1;
}

static int finish_open(checkpoint *c, int lone, text *why) {
    if (read_any(c, why) && checkpoint_sort(c, why)) {
        if (lone || !c->is_lone) return 1;
        refuse(why, "this is a single tensor, not the state_dict of a network");
    }
    if (!why->len) refuse(why, "cannot be read");
    checkpoint_close(c);
    return 0;
}

int checkpoint_open(checkpoint *c, const char *path, text *why) {
    memset(c, 0, sizeof *c);
    text_clear(why);
    return source_open(&c->source, path, why) && finish_open(c, 0, why);
}

int checkpoint_open_tensor(checkpoint *c, const char *path, text *why) {
    memset(c, 0, sizeof *c);
    text_clear(why);
    return source_open(&c->source, path, why) && finish_open(c, 1, why);
}

int checkpoint_open_memory(checkpoint *c, const void *bytes, size_t size, text *why) {
    memset(c, 0, sizeof *c);
    text_clear(why);
    source_memory(&c->source, bytes, size);
    return finish_open(c, 0, why);
}
