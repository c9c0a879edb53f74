/* Settings measured with a user's own models and pictures: what tune_choose asks on a real machine. */
#ifndef REID_TOOLS_TRIAL_H
#define REID_TOOLS_TRIAL_H

#include "embedding/stream.h"
#include "machine/chooser.h"

typedef struct trial_request {
    const reid_desc *models; /* [model_count]; their batch and threads are those of the setting */
    int model_count;
    const inputs *list;      /* at least two pictures */
    decode_settings decode;  /* its threads are the setting's decoders */
    double seconds;          /* of all of it, for the progress bar */
} trial_request;

typedef struct trial trial;

/* NULL after saying what is wrong: no picture can be read, no model opened, no memory. */
trial *trial_start(const trial_request *r);
/* What the library takes by itself, and on which device, "cpu" or "cuda:0". */
const reid_info *trial_info(const trial *t);
/* A tune_fn; user is the trial. */
tune_result trial_measure(void *user, const tune_setting *at, double seconds, tune_measure *to);
/* NULL is allowed. */
void trial_end(trial *t);

#endif
