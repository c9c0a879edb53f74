/* Tables of the tensor names that training code uses, and of what each origin (training code) does differently. */
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
    char name[48];
    char listed[48]; /* as reid_network_name has it: with the plain trunk */
    want *wants; /* sorted by name */
    size_t count;
} network;

typedef enum fate {
    FATE_USED,       /* needed, with the right shape */
    FATE_RESHAPED,   /* needed, with the same number of values in another shape (1x1 kernels; .wts has no shapes) */
    FATE_CARRIED,    /* not needed for embeddings, but part of PyTorch's network: classifier, counters */
    FATE_DROPPED,    /* known and harmless */
    FATE_NECK,       /* changes the embedding, but the network does not have it */
    FATE_UNKNOWN,
    FATE_MISMATCHED, /* needed, but with another shape or type */
    FATE_HEAD,       /* used for the head that --head describes: head_make.h */
    FATES
} fate;

extern const char *const FATE_NAMES[FATES];

typedef struct mapped {
    const tensor *from;
    char *name;         /* torchvision's name, or the file's where no rule applies */
    fate what;
    const want *wanted; /* the need that it meets; NULL: none */
    int trunk;          /* 1: unknown, but named like a part of the trunk, so this is another network */
    char note[320];     /* what it is, or why it does not fit */
} mapped;

typedef struct mapping {
    int group;
    const char *layout;   /* such as "timm EfficientNet" */
    const char *origin;   /* such as "fast-reid", or NULL */
    char prefix[64];      /* before every name of the trunk */
    const network *network;
    mapped *at;
    size_t count, by_fate[FATES];
    const want **missing;
    size_t missing_count;
    const char *preset, *preset_why; /* the origin's preset; NULL: unknown */
    int last_stride;                 /* the origin's last stride; 0: unknown */
    char others[640];                /* keys of the other networks that fit equally well, each once */
    double pixel_mean[3], pixel_std[3]; /* the file's normalisation of pixels from 0 to 255, red first; if has_pixels */
    int has_pixels;
    char differs[300];               /* what the origin's network computes differently from this one; "": nothing */
    char ambiguous[448];  /* another network has the same tensors, and nothing says which one it is; or "" */
    double exponent; /* of a pool whose training code fixes it, so that the file has no pool_layer.p; 0: none */
    char wide[200]; /* the last layer does not have 1000 classes, so it may be the embedding; or "" */
    text problem;                    /* why the mapping cannot be used; empty if it can */
} mapping;

enum { TRUNK_NAME = 24 }; /* bytes */

/* What a file's tensors say about the trunk of a ResNet, as in the names of the library's networks after "resnet":
   "50", or "101-ibn-nl". */
void trunk_of(const checkpoint *c, char trunk[TRUNK_NAME]);

/* Finds the group of tensors, the layout and the network that fit best. asked: the network's name, or NULL; key: the
   group or prefix to use, or NULL; file: the checkpoint's name, which may reveal its preset. Returns 0 with the reason
   in why if nothing fits. */
int mapping_find(mapping *m, const checkpoint *c, const network *networks, size_t count, const char *asked,
                 const char *key, const char *file, text *why);
/* Zeroed ones are allowed. */
void mapping_free(mapping *m);

#endif
