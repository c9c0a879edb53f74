/* Tables of the tensor names that training code uses, and of what each origin does differently. */
#ifndef REID_TOOLS_DIALECTS_H
#define REID_TOOLS_DIALECTS_H

#include "weights/checkpoint.h"

/* A tensor that a network needs, under torchvision's name. */
typedef struct want {
    char *name;
    int ndim;
    uint64_t shape[MAX_DIMS]; /* 0: any */
} want;

/* A network of the library, with or without its head. */
typedef struct network {
    char name[32];
    want *wants; /* sorted by name */
    size_t count;
} network;

typedef enum fate {
    FATE_USED,       /* wanted, with the shape that is wanted */
    FATE_RESHAPED,   /* wanted, with as many values in another shape (1x1 kernels; .wts has no shapes) */
    FATE_CARRIED,    /* not needed for embeddings, but PyTorch's network has it: classifier, counters */
    FATE_DROPPED,    /* known and harmless */
    FATE_NECK,       /* changes the embedding, and the network does not have it */
    FATE_UNKNOWN,
    FATE_MISMATCHED, /* wanted, but of another shape or type */
    FATE_HEAD,       /* went into the head that was asked for: head_make.h */
    FATES
} fate;

extern const char *const FATE_NAMES[FATES];

typedef struct mapped {
    const tensor *from;
    char *name;         /* torchvision's, or the file's where no rule applies */
    fate what;
    const want *wanted; /* NULL: it is not */
    int trunk;          /* unknown, and named like a part of the trunk: this is another network */
    char note[320];     /* what it is, or why it does not fit */
} mapped;

typedef struct mapping {
    int group;
    const char *layout;   /* "timm EfficientNet" */
    const char *origin;   /* "fast-reid", or NULL */
    char prefix[64];      /* before every name of the trunk */
    const network *network;
    mapped *at;
    size_t count, by_fate[FATES];
    const want **missing;
    size_t missing_count;
    const char *preset, *preset_why; /* what the origin says; NULL: nothing */
    int last_stride;                 /* likewise; 0: nothing */
    char others[640];                /* keys of the other networks that fit as well, each once */
    double pixel_mean[3], pixel_std[3]; /* what the file says about its input, of pixels from 0 to 255, red first */
    int has_pixels;                  /* 1 if it does */
    char differs[300];               /* what the origin's network does differently from this one; "" for nothing */
    char ambiguous[384];  /* another network has the same tensors, and nothing says which it is; or empty */
    char wide[200]; /* the last layer does not have 1000 classes: it may be the embedding; or empty */
    text problem;                    /* why nothing can be made of it; empty if something can */
} mapping;

/* Finds the group of tensors, the layout and the network that fit best. asked: the network's name, or NULL; key: the
   group or the prefix that is wanted, or NULL; file: the checkpoint's name, which may tell its preset. Returns 0 with
   the reason in why when nothing fits at all. */
int mapping_find(mapping *m, const checkpoint *c, const network *networks, size_t count, const char *asked,
                 const char *key, const char *file, text *why);
/* Zeroed ones are allowed. */
void mapping_free(mapping *m);

#endif
