/* The preprocessing that files of Hugging Face state next to a checkpoint. */
#ifndef REID_TOOLS_BESIDE_H
#define REID_TOOLS_BESIDE_H

#include "base/text.h"

typedef struct beside {
    double mean[3], std[3];  /* of values from 0 to 1, red first */
    int height, width;       /* 0 if the file does not state them */
    double crop;             /* timm's crop_pct; 0 if the file does not state it */
    const char *filter;      /* "bilinear" or "bicubic" */
    int has_other_filter;    /* 1: it names a filter that presets do not have */
    const char *name;        /* of the file, "config.json" */
    int is_impossible;       /* 1: no image can be prepared with its mean, std or crop */
} beside;

/* Reads timm's pretrained_cfg in config.json, or preprocessor_config.json, in the folder of a checkpoint that has one
   of Hugging Face's names (model.safetensors, pytorch_model.bin). Returns 0 if neither states a normalisation. */
int beside_read(beside *b, const char *checkpoint);

#endif
