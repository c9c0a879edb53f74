/* Code shared by reid serve and reid worker: named models, a gallery, and the options for both. */
#ifndef REID_TOOLS_ANSWERING_H
#define REID_TOOLS_ANSWERING_H

#include "commands/requests.h"
#include "server/service.h"

/* The models under the names that clients use, and the gallery. */
typedef struct answering {
    reid_desc models[MAX_SERVED];
    text own[MAX_SERVED];
    const char *names[MAX_SERVED]; /* the texts in own */
    gallery_request gallery;
} answering;

/* These return 0 after saying what is wrong; messages begin with `who`. */

int answering_check(const options *o, const char *who);
/* Reads NAME=FILE, or FILE alone, whose name without folder and extension then names the model. Free it even after a
   failure. */
int answering_name(answering *a, const options *o, const char *who);
/* What service_open takes; it points into both arguments. */
service_request answering_request(answering *a, const options *o);
void answering_free(answering *a);

#endif
