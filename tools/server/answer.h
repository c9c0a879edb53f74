/* What clients are told: JSON, or JSON with bytes behind it. Numbers read back to the same float32. */
#ifndef REID_TOOLS_ANSWER_H
#define REID_TOOLS_ANSWER_H

#include "server/job.h"

/* {"error": "why"} and a newline. */
void answer_error(text *t, const char *why);
/* {"what": true} or false, and a newline. */
void answer_state(text *t, const char *what, int is);

/* What answers a request of the Open Inference Protocol. id: NULL for none. Returns the bytes of JSON, behind which the
   floats follow when they are wanted as bytes. */
size_t answer_infer(text *t, const service *s, int index, const char *id, const job_result *rows, int binary);
/* {"fingerprint": ..., "embeddings": [[...], ...]} */
void answer_embed(text *t, const service *s, int index, const job_result *rows);
/* {"fingerprint": ..., "shape": [n, d]}, and behind it the rows as float32. Returns the bytes of JSON. */
size_t answer_embed_floats(text *t, const service *s, int index, const job_result *rows);
/* Asks the gallery about every row. Returns 0 with the reason in why. */
int answer_match(text *t, service *s, const job_result *rows, int top, text *why);

/* What the server, a model, its configuration and its statistics are, as that protocol has them. */
void answer_server(text *t);
void answer_model(text *t, const service *s, int index);
void answer_config(text *t, const service *s, int index);
/* index -1: of all models. */
void answer_stats(text *t, const service *s, int index);
/* A few lines for people. */
void answer_help(text *t, const service *s);

#endif
