/* HTTP/1.1 for a page on this machine: a few threads of libmicrohttpd, each of which answers a request at once. It
   does not know what the answers contain. */
#ifndef REID_TOOLS_WEB_H
#define REID_TOOLS_WEB_H

#include "base/text.h"

#include <stddef.h>

/* Header fields are NULL where there is none. */
typedef struct web_request {
    const char *method, *path; /* as it was sent: no escape is undone, and there is no ?query in it */
    const char *host, *origin, *type;
    const char *body; /* a 0 follows it */
    size_t len;
} web_request;

/* Zeroed; the function that answers fills it in. */
typedef struct web_reply {
    unsigned status;
    const char *type;   /* Content-Type */
    const char *allow;  /* with 405 */
    const char *policy; /* Content-Security-Policy; NULL: nothing may be loaded */
    int keep;           /* the browser may keep it for an hour */
    text body;
} web_reply;

/* On any of the threads, several at a time. */
typedef void (*web_fn)(void *user, const web_request *r, web_reply *out);

typedef struct web web;

/* fd listens, and is closed by this. max_body: bytes; what is larger is refused with 413 before it is asked for. NULL
   after reporting an error. */
web *web_start(int fd, int threads, size_t max_body, web_fn answer, void *user);
/* When it returns, no request is being answered any more. NULL is allowed. */
void web_stop(web *w);

#endif
