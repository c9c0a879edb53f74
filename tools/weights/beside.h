/* What files of Hugging Face beside a checkpoint say about the pixels that its network was trained on. */
#ifndef REID_TOOLS_BESIDE_H
#define REID_TOOLS_BESIDE_H

#include "base/text.h"

typedef struct beside {
    double mean[3], std[3];  /* of values from 0 to 1, red first */
    int height, width;       /* 0: it does not say; so for those below */
    double crop;
    const char *filter;      /* "bilinear" or "bicubic" */
    const char *name;        /* of the file, "config.json" */
} beside;

/* Reads timm's pretrained_cfg in config.json, or preprocessor_config.json, in the folder of a checkpoint that has one
   of Hugging Face's names (model.safetensors, pytorch_model.bin). Returns 0 if there is nothing of the kind. */
int beside_read(beside *b, const char *checkpoint);

#endif
