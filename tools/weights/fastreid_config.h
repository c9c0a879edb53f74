/* What fast-reid's configuration next to a checkpoint says: how the network pools and strides, which the tensors do not
   reveal, and what its test transform does to images. What the tensors do reveal must agree with them. */
#ifndef REID_TOOLS_FASTREID_CONFIG_H
#define REID_TOOLS_FASTREID_CONFIG_H

#include "weights/dialects.h"
#include "weights/stated.h"

typedef struct fastreid_config {
    const char *name;  /* "config.yaml" or "config.yml"; NULL: there is none, and the rest is zero */
    char network[48];  /* such as "resnet50-ibn-fastreid-gem"; "": the tensors alone determine it */
    int last_stride;
    stated input;
    char no_size[160]; /* why no preset does what it says about sizes; "": `input` has the size */
} fastreid_config;

/* The input of fast-reid's defaults, which is the preset fastreid. */
extern const stated FASTREID_INPUT;

/* Reads config.yaml, else config.yml, in the folder of a checkpoint, if fast-reid trained it. Returns 0 with the reason
   in why if the file cannot be read, contradicts the tensors, or describes something that the networks here do not
   compute. */
int fastreid_config_read(fastreid_config *f, const char *path, const checkpoint *c, const mapping *m, text *why);

#endif
