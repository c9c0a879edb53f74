/* The bodies of the Open Inference Protocol's extension for repositories of models, as Triton defines it: its index,
   and the requests to load and unload a model. */
#ifndef REID_TOOLS_REPOSITORY_H
#define REID_TOOLS_REPOSITORY_H

#include "server/service.h"

/* Reads the body of a request for the index. Returns 0 with the reason in why. */
int repository_read_index(const text *body, int *only_ready, text *why);
/* Reads the body of a request to load a model, or to unload one. Returns 0 with the reason in why. */
int repository_read_change(const text *body, text *why);
/* Writes the index: all models, or only those that are ready. */
void repository_index(text *t, const service *s, int only_ready);

#endif
