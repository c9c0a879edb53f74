/* Writes answers to clients: JSON, or JSON followed by bytes. Numbers are written so that the same float32 is read
   back. */
#ifndef REID_TOOLS_ANSWER_H
#define REID_TOOLS_ANSWER_H

#include "server/job.h"

/* {"error": "why"} and a newline. */
void answer_error(text *t, const char *why);
/* {"what": true} or {"what": false}, and a newline. */
void answer_state(text *t, const char *what, int is);
/* {"name": "model", "ready": true} and a newline. */
void answer_model_state(text *t, const char *name, int ready);

/* The answer to a request of the Open Inference Protocol. id: NULL for none. binary: the floats follow the JSON as
   bytes. Returns the length of the JSON. */
size_t answer_infer(text *t, const service *s, int index, const char *id, const job_result *rows, int binary);
/* {"fingerprint": ..., "embeddings": [[...], ...]} */
void answer_embed(text *t, const service *s, int index, const job_result *rows);
/* {"fingerprint": ..., "shape": [n, d]}, followed by the rows as float32. Returns the length of the JSON. */
size_t answer_embed_floats(text *t, const service *s, int index, const job_result *rows);
/* Searches the gallery for every row. Returns 0 with the reason in why. */
int answer_match(text *t, service *s, const job_result *rows, int top, text *why);

/* Metadata of the server and of a model, and its configuration and statistics, as that protocol defines them. */
void answer_server(text *t);
/* The model of these two must be open. */
void answer_model(text *t, const service *s, int index);
void answer_config(text *t, const service *s, int index);
/* index -1: of all models. Those of a model that is not open are 0. */
void answer_stats(text *t, const service *s, int index);

#endif
