/* A checkpoint of any kind as a list of named tensors. Every tensor is checked: its values lie within the file. Nothing
   in a file is executed. checkpoint_open.h makes a checkpoint from a file; the readers of the formats build it with the
   functions at the end of this page. */
#ifndef REID_TOOLS_CHECKPOINT_H
#define REID_TOOLS_CHECKPOINT_H

#include "base/source.h"

enum { MAX_DIMS = 8, MAX_NAME = 511, MAX_TENSORS = 1 << 17, MAX_GROUPS = 1 << 16 };
#define MAX_HEADER ((uint64_t)100 << 20) /* bytes of a safetensors header, as in the reference implementation */

typedef struct dtype {
    const char *name;    /* in safetensors, "F32"; NULL: this command has no use for its values */
    const char *storage; /* torch.FloatStorage */
    const char *torch;   /* torch.float32 */
    int bytes;
} dtype;

extern const dtype DTYPES[]; /* ends with bytes 0 */
/* By its name in safetensors; NULL if there is none. */
const dtype *dtype_named(const char *name);

/* Bytes of the file that tensors look into. */
typedef struct storage {
    char *key;      /* what the file calls it; NULL for a tensor's own */
    uint64_t at, bytes;
    uint32_t crc;
    int has_crc, needed;
    int element;    /* bytes of one, as the first tensor that names it has it */
    int order;      /* in the file */
    int is_value;   /* no bytes of the file: one float, `value`, which a tensor of strides 0 repeats */
    float value;
} storage;

typedef struct tensor {
    char *name;
    int group;
    char *opaque;        /* what it is instead of a plain tensor ("an object of class ..."); the rest is unset then */
    const dtype *type;
    int ndim;            /* -1: the file does not say (.wts) */
    uint64_t shape[MAX_DIMS], stride[MAX_DIMS], offset; /* in elements */
    uint64_t count;
    size_t storage;
    int is_text;         /* its storage holds hexadecimal words */
} tensor;

/* The tensors that stand together in one dict, or in one pickled model. */
typedef struct tensor_group {
    char *path; /* "state_dict", "optimizer.state.0"; "" for the outermost */
    size_t tensors, first; /* so many, from this one on */
    char *model; /* the class of a whole pickled model, else NULL */
} tensor_group;

typedef struct checkpoint {
    source source;
    char format[64];
    int big_endian;
    storage *storages;
    tensor *tensors;
    tensor_group *groups;
    char **keys;      /* text keys of the outermost dict: "epoch", "rank1", ... */
    size_t storage_count, storage_cap, tensor_count, tensor_cap, group_count, group_cap, key_count, key_cap;
    char *arch;       /* the text under "arch", if there is one: timm's training script writes the network's name */
    char *preset, *last_stride, *network, *head_activation; /* of a safetensors file that was converted before */
    uint64_t pickle_at, pickle_bytes; /* the member data.pkl, for its checksum */
    uint32_t pickle_crc;
    int has_pickle_crc;
    struct onnx_graph *graph; /* of an ONNX file: onnx_graph.h */
} checkpoint;

/* Zeroed ones are allowed. */
void checkpoint_close(checkpoint *c);

/* The tensor's values, row after row, little-endian, in pieces. put returns 0 to stop. Returns 0 then, or with the
   reason in why. */
int checkpoint_values(const checkpoint *c, const tensor *t, int (*put)(void *user, const void *bytes, size_t size),
                      void *user, text *why);

/* Compares the checksums of data.pkl and of every storage marked `needed` with the zip archive's directory. If all
   checksums are wrong, the file was written without them (torch.serialization.set_crc32_options): *unchecked is 1. If
   only some are wrong, the file is damaged: returns 0 with the reason in why. */
int checkpoint_verify(const checkpoint *c, int *unchecked, text *why);

/* --- for the readers of the formats ------------------------------------------------------------------------------- */

/* An empty group; its number. -1: there are too many, or memory ran out. */
int add_group(checkpoint *c, const char *path);
/* Takes a tensor over, name and opaque included, after checking that its values lie in its storage. */
int add_tensor(checkpoint *c, tensor *t, text *why);
/* Strides of rows after rows, and count. 0 if the count overflows. */
int set_contiguous(tensor *t);

#endif
