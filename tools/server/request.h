/* What clients ask for, read from bytes that nobody trusts: the JSON of the Open Inference Protocol (KServe v2) with
   its binary extension, and the query strings of the plain endpoints. Pure functions; every reason names its field. */
#ifndef REID_TOOLS_REQUEST_H
#define REID_TOOLS_REQUEST_H

#include "base/text.h"
#include "reid.h"

#include <stddef.h>

/* A status is a number of HTTP, also where no HTTP is spoken: programs know what these mean. */
enum {
    STATUS_OK = 200,
    STATUS_BAD = 400,
    STATUS_NOT_FOUND = 404,
    STATUS_TOO_LARGE = 413,
    STATUS_FAILED = 500,
    STATUS_BUSY = 503,
    STATUS_EXPIRED = 504
};

enum { PRIORITY_FIRST = 0, PRIORITY_USUAL = 3, PRIORITY_LAST = 7 };

/* Bytes inside a larger block. */
typedef struct span {
    const unsigned char *at;
    size_t len;
} span;

/* The body of POST /v2/models/M/infer. */
typedef struct infer_request {
    text id;                  /* s NULL: the client gave none */
    int priority;             /* PRIORITY_FIRST ... PRIORITY_LAST */
    long long timeout_us;     /* 0: none was given */
    int binary;               /* 1: the output is wanted as bytes, not as JSON */
    size_t count;             /* images, at least 1 */
    span *pictures;           /* [count] encoded pictures; NULL: pixels */
    const unsigned char *rgb; /* (count, height, width, 3) when there are no pictures */
    int height, width;
    text own;                 /* what was decoded from JSON: the spans point into it, else into the body */
    int status;               /* why it was refused: STATUS_BAD, STATUS_TOO_LARGE or STATUS_BUSY (no memory) */
} infer_request;

/* Reads a body whose first json_len bytes are JSON; the rest is the tensor's. most: images that a request may have.
   Returns 0 with the reason in why; free it in any case. The body has to outlive it. */
int infer_read(infer_request *r, const unsigned char *body, size_t len, size_t json_len, size_t most, text *why);
void infer_free(infer_request *r);

/* The query string of POST /embed and POST /match. */
typedef struct plain_request {
    text model;           /* s NULL: none was named */
    reid_box *boxes;      /* [count]; none: the whole picture */
    size_t count, cap;
    int priority;
    long long timeout_us; /* 0: none was given */
    int top;              /* 0: none was given */
    int status;
} plain_request;

/* Reads "box=1,2,30,40&box=...&priority=0"; a NULL query is an empty one. with_top: `top` is allowed. Returns 0 with
   the reason in why; free it in any case. */
int plain_read(plain_request *r, const char *query, int with_top, size_t most, text *why);
void plain_free(plain_request *r);

/* Appends what %41 and the like stand for. Returns 0 for a malformed one, for %00 and without memory. */
int percent_decode(const char *s, size_t len, text *out);

#endif
