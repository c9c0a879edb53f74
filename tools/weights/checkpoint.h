/* A checkpoint of any format as a list of named tensors. Every tensor has been checked: its values lie within the file.
   Nothing in a file is executed. checkpoint_open.h makes a checkpoint from a file; the readers of the formats build it
   with the functions at the end of this header. */
#ifndef REID_TOOLS_CHECKPOINT_H
#define REID_TOOLS_CHECKPOINT_H

#include "base/source.h"

enum { MAX_DIMS = 8, MAX_NAME = 511, MAX_TENSORS = 1 << 17, MAX_GROUPS = 1 << 16 };
#define MAX_HEADER ((uint64_t)100 << 20) /* bytes of a safetensors header, as in the reference implementation */

typedef struct dtype {
    const char *name;    /* in safetensors, such as "F32"; NULL: this command does not use its values */
    const char *storage; /* such as FloatStorage */
    const char *torch;   /* such as float32 */
    int bytes;
} dtype;

extern const dtype DTYPES[]; /* ends with bytes 0 */
/* Finds a dtype by its name in safetensors; NULL if there is none. */
const dtype *dtype_named(const char *name);

/* A range of bytes of the file that holds the values of tensors. */
typedef struct storage {
    char *key;      /* the file's name for it; NULL if the file has none */
    uint64_t at, bytes;
    uint32_t crc;
    int has_crc, needed;
    int element;    /* bytes per element, according to the first tensor that refers to it */
    int order;      /* index in the file */
    int is_value;   /* 1: it has no bytes in the file, only the float `value`, which a tensor with strides 0 repeats */
    float value;
} storage;

typedef struct tensor {
    char *name;
    int group;
    char *opaque;        /* what it is if it is not a plain tensor ("an object of class ..."); the members below are
                            then unset */
    const dtype *type;
    int ndim;            /* -1: the file does not say (.wts) */
    uint64_t shape[MAX_DIMS], stride[MAX_DIMS], offset; /* in elements */
    uint64_t count;
    size_t storage;
    int is_text;         /* 1: its storage holds hexadecimal words */
} tensor;

/* The tensors of one dict or of one pickled model. */
typedef struct tensor_group {
    char *path; /* "state_dict", "optimizer.state.0"; "" for the outermost */
    size_t tensors, first; /* their number, and the index of the first */
    char *model; /* the class if a whole model was pickled, else NULL */
} tensor_group;

typedef struct checkpoint {
    source source;
    char format[64];
    int big_endian;
    int is_lone;      /* 1: torch.save was given one tensor, which has no name */
    storage *storages;
    tensor *tensors;
    tensor_group *groups;
    char **keys;      /* text keys of the outermost dict: "epoch", "rank1", ... */
    size_t storage_count, storage_cap, tensor_count, tensor_cap, group_count, group_cap, key_count, key_cap;
    char *arch;       /* the text under the key "arch", or NULL: timm's training script stores the network's name
                         there */
    text stated;      /* the preprocessing that the file states, for stated.h */
    char *preset, *last_stride, *network, *head_activation; /* of a safetensors file that reid convert wrote */
    uint64_t pickle_at, pickle_bytes; /* the member data.pkl, to verify its checksum */
    uint32_t pickle_crc;
    int has_pickle_crc;
    struct onnx_graph *graph; /* of an ONNX file; see onnx_graph.h */
} checkpoint;

/* Zeroed ones are allowed. */
void checkpoint_close(checkpoint *c);

/* Delivers the tensor's values row by row, little-endian, in pieces. put returns 0 to stop. Returns 0 if put stopped
   it, or with the reason in why. */
int checkpoint_values(const checkpoint *c, const tensor *t, int (*put)(void *user, const void *bytes, size_t size),
                      void *user, text *why);

/* Compares the checksums of data.pkl and of every storage marked `needed` with the zip archive's directory. If all
   checksums are wrong, the file was written without them (torch.serialization.set_crc32_options): *unchecked is 1. If
   only some are wrong, the file is damaged: returns 0 with the reason in why. */
int checkpoint_verify(const checkpoint *c, int *unchecked, text *why);

/* --- for the readers of the formats ------------------------------------------------------------------------------- */

/* Adds an empty group and returns its index; -1 if there are too many or memory ran out. */
int add_group(checkpoint *c, const char *path);
/* Takes ownership of a tensor, with its name and opaque, after checking that its values lie in its storage. Returns 0
   with the reason in why. */
int add_tensor(checkpoint *c, tensor *t, text *why);
/* Sets the strides for values row by row, and count. Returns 0 if the count overflows. */
int set_contiguous(tensor *t);

#endif
