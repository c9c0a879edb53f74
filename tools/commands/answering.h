/* Code shared by reid serve and reid worker: named models, a gallery, and the options for both. */
#ifndef REID_TOOLS_ANSWERING_H
#define REID_TOOLS_ANSWERING_H

#include "commands/requests.h"
#include "server/service.h"

/* The models under the names that clients use. */
typedef struct answering {
    reid_desc models[MAX_MODELS];
    text names[MAX_MODELS];
} answering;

/* All return 0 after saying what is wrong; messages begin with `who`. */

int answering_check(const options *o, const char *who);
/* Reads NAME=FILE, or FILE alone, whose name without folder and extension then names the model. Free it even after a
   failure. */
int answering_name(answering *a, const options *o, const char *who);
/* Calls service_open; close the service even after a failure. */
int answering_open(service *s, const answering *a, const options *o);
void answering_free(answering *a);

#endif
