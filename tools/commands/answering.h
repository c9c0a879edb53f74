/* What reid serve and reid worker have in common: models with names, a gallery, and the options about both. */
#ifndef REID_TOOLS_ANSWERING_H
#define REID_TOOLS_ANSWERING_H

#include "commands/requests.h"
#include "server/service.h"

/* What clients call the models. */
typedef struct answering {
    reid_desc models[MAX_MODELS];
    text names[MAX_MODELS];
} answering;

/* All return 0 after saying what is wrong; who is how messages begin. */

int answering_check(const options *o, const char *who);
/* Reads NAME=FILE, or FILE alone, whose name without folder and extension is then the model's. Free it in any case. */
int answering_name(answering *a, const options *o, const char *who);
/* service_open; close it in any case. */
int answering_open(service *s, const answering *a, const options *o);
void answering_free(answering *a);

#endif
