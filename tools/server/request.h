/* Reads requests of clients from bytes that are not trusted: the JSON of the Open Inference Protocol (KServe v2) with
   its binary extension, and the query strings of the plain endpoints. Pure functions; every reason names its field. */
#ifndef REID_TOOLS_REQUEST_H
#define REID_TOOLS_REQUEST_H

#include "base/text.h"
#include "reid.h"

#include <stddef.h>

/* A status is an HTTP status code, also for the worker, which does not speak HTTP: programs know these codes. */
enum {
    STATUS_OK = 200,
    STATUS_BAD = 400,
    STATUS_NOT_FOUND = 404,
    STATUS_TOO_LARGE = 413,
    STATUS_FAILED = 500,
    STATUS_BUSY = 503,
    STATUS_EXPIRED = 504,
    STATUS_NO_ROOM = 507 /* of memory, for a model that is to be loaded */
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
    int binary;               /* 1: the client wants the output as bytes, not as JSON */
    size_t count;             /* images, at least 1 */
    span *pictures;           /* [count] encoded images; NULL: pixels */
    const unsigned char *rgb; /* (count, height, width, 3) when there are no encoded images */
    int height, width;
    text own;                 /* data decoded from JSON; the spans point into it, or else into the body */
    int status;               /* if it was refused: STATUS_BAD, STATUS_TOO_LARGE or STATUS_BUSY (no memory) */
} infer_request;

/* Reads a body whose first json_len bytes are JSON; the rest belongs to the tensor. most: the limit of images in a
   request. Returns 0 with the reason in why; free it in any case. The body must outlive it. */
int infer_read(infer_request *r, const unsigned char *body, size_t len, size_t json_len, size_t most, text *why);
void infer_free(infer_request *r);

/* The query string of POST /embed and POST /match. */
typedef struct plain_request {
    text model;           /* s NULL: none was given */
    reid_box *boxes;      /* [count]; none: the whole image */
    size_t count, cap;
    int priority;
    long long timeout_us; /* 0: none was given */
    int top;              /* 0: none was given */
    int form;             /* 1: the fields that are added come from a form */
    unsigned seen;        /* the fields that were given, as bits */
    int status;
} plain_request;

/* Reads "box=1,2,30,40&box=...&priority=0"; NULL counts as an empty query. with_top: `top` is allowed. Returns 0 with
   the reason in why; free it in any case. */
int plain_read(plain_request *r, const char *query, int with_top, size_t most, text *why);
/* Adds a field that was given elsewhere, after plain_read; otherwise like it. */
int plain_add(plain_request *r, const char *name, const char *text_value, int with_top, size_t most, text *why);
void plain_free(plain_request *r);

/* Appends s with %41 and the like decoded. Returns 0 for a malformed escape, for %00, and when memory runs out. */
int percent_decode(const char *s, size_t len, text *out);

#endif
