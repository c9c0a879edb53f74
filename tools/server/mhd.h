/* The use of libmicrohttpd that the server and the review page share: whether it is compiled in, checks of an announced
   body, and responses. */
#ifndef REID_TOOLS_MHD_H
#define REID_TOOLS_MHD_H

#include "base/text.h"

#include <stddef.h>

#if defined(__has_include)
#if __has_include(<microhttpd.h>)
#define HAVE_MICROHTTPD
#include <microhttpd.h>
#endif
#endif

/* 1 if libmicrohttpd is compiled in. */
int mhd_is_there(void);

#ifdef HAVE_MICROHTTPD

/* A header field of the request; NULL if it is missing. */
const char *mhd_header(struct MHD_Connection *c, const char *name);

/* What the body of a request may be. */
typedef struct mhd_body {
    size_t most;        /* bytes */
    const char *option; /* the option that sets `most`, or NULL */
    int required;       /* 0: a request without Content-Length has no body */
} mhd_body;

/* Checks the header fields that announce a body, before any byte of it is read. Returns 0 with its length in *bytes,
   or the status with which to refuse the request, and why. */
unsigned mhd_check_body(struct MHD_Connection *c, const mhd_body *allowed, size_t *bytes, text *why);

/* A response that owns the text from now on; the text is empty afterwards. NULL if memory runs out. */
struct MHD_Response *mhd_response(text *body);

/* For MHD_OPTION_UNESCAPE_CALLBACK: paths are left as they were sent, because libmicrohttpd would end one at %00. */
size_t mhd_leave_escaped(void *user, struct MHD_Connection *c, char *s);

#endif
#endif
