/* What files of Hugging Face state next to a checkpoint: its preprocessing, and details without tensors. */
#ifndef REID_TOOLS_BESIDE_H
#define REID_TOOLS_BESIDE_H

#include "base/text.h"
#include "weights/stated.h"

/* Reads timm's pretrained_cfg in config.json, or preprocessor_config.json, in the folder of a checkpoint that has one
   of Hugging Face's names (model.safetensors, pytorch_model.bin). Returns 0 if neither states a normalisation. */
int beside_read(stated *b, const char *checkpoint);

/* Compares config.json next to a checkpoint of Hugging Face's transformers with the network that `layout` (dialects.h)
   means. Returns 0 with the reason in why if it states another one. *missing: 1 if that file does not exist, and the
   tensors alone do not reveal what the network computes; 0 for other layouts. */
int beside_check(const char *layout, const char *checkpoint, int *missing, text *why);

#endif
