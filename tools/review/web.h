/* HTTP/1.1 for a page on this machine: a few threads of libmicrohttpd, each of which answers a request at once. It
   does not know what the answers contain. */
#ifndef REID_TOOLS_WEB_H
#define REID_TOOLS_WEB_H

#include "base/text.h"

#include <stddef.h>

/* Missing header fields are NULL. */
typedef struct web_request {
    const char *method, *path; /* as it was sent, with its escapes, without a ?query */
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

/* Called on any of the threads, on several at a time. */
typedef void (*web_fn)(void *user, const web_request *r, web_reply *out);

typedef struct web web;

/* fd: a listening socket, which this closes. max_body: bytes; larger bodies are refused with 413 before they are sent.
   Returns NULL after reporting an error. */
web *web_start(int fd, int threads, size_t max_body, web_fn answer, void *user);
/* Returns after the last request was answered. NULL is allowed. */
void web_stop(web *w);

#endif
