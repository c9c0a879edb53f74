/* Measures settings with a user's own models and images, for tune_choose on a real machine. */
#ifndef REID_TOOLS_TRIAL_H
#define REID_TOOLS_TRIAL_H

#include "embedding/stream.h"
#include "machine/chooser.h"

typedef struct trial_request {
    const reid_desc *models; /* [model_count]; batch and threads come from the setting */
    int model_count;
    const inputs *list;      /* at least two images */
    decode_settings decode;  /* threads come from the setting's decoders */
    double seconds;          /* of the whole search, for the progress bar */
} trial_request;

typedef struct trial trial;

/* NULL after saying what is wrong: no image can be read, a model cannot be opened, or memory ran out. */
trial *trial_start(const trial_request *r);
/* The library's default settings and device, "cpu" or "cuda:0". */
const reid_info *trial_info(const trial *t);
/* A tune_fn; user is the trial. */
tune_result trial_measure(void *user, const tune_setting *at, double seconds, tune_measure *to);
/* NULL is allowed. */
void trial_end(trial *t);

#endif
