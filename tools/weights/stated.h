/* The preprocessing that a checkpoint itself states: in the metadata of a safetensors file, as torchvision's transforms
   or timm's pretrained_cfg in a pickle, or as a mean and a standard deviation that training code stored with the
   weights. The readers of the formats collect it as text; this file reads that text. */
#ifndef REID_TOOLS_STATED_H
#define REID_TOOLS_STATED_H

#include <stddef.h>

enum { MAX_STATED = 1 << 16 }; /* bytes that are collected of one file */

typedef struct stated {
    double mean[3], std[3];  /* of values from 0 to 1, red first */
    int height, width;       /* 0: not stated */
    int resize;              /* torchvision's resize_size, the short side before the crop; 0: not stated */
    int is_straight;         /* 1: images are resized to height x width whatever their shape */
    double crop;             /* timm's crop_pct; 0: not stated */
    const char *filter;      /* "bilinear" or "bicubic" */
    int has_other_filter;    /* 1: it names a filter that presets do not have */
    const char *name;        /* of the file next to the checkpoint, "config.json"; NULL: the checkpoint itself */
    int is_impossible;       /* 1: no image can be prepared with its mean, std or crop */
    char unused[120];        /* "Resize, CenterCrop": transforms whose arguments are not used; or "" */
    char why_unused[120];    /* the reason if there is a particular one; or "" */
    char problem[240];       /* why nothing that the checkpoint states is used; or "" */
} stated;

/* Reads what was collected of a checkpoint: records that a form feed separates, each a text like "mean=0.5,0.5,0.5",
   JSON, or how Python prints transforms. NULL is allowed. Returns 1 if it states a usable normalisation. */
int stated_read(stated *s, const char *records);
/* Sets the filter by its name in Python ("bicubic", "InterpolationMode.BICUBIC") or its number in Pillow. */
void stated_filter(stated *s, const char *name, size_t len);
/* 1 if images can be prepared with it. */
int stated_is_possible(const stated *s);
/* 1 for a key that readers of formats collect when a dict has it. */
int stated_has_key(const char *key, size_t len);

#endif
