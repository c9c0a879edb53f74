/* Reads multipart/form-data (RFC 7578), which is not trusted. Pure functions; every reason names the part. */
#ifndef REID_TOOLS_FORM_H
#define REID_TOOLS_FORM_H

#include "server/request.h"

typedef struct form_part {
    text name;
    span content; /* inside the body */
} form_part;

typedef struct form {
    form_part *parts;
    size_t count, cap;
    int status; /* if it was refused: STATUS_BAD, STATUS_TOO_LARGE or STATUS_BUSY (no memory) */
} form;

/* 1 for a Content-Type that announces a form. */
int form_is_type(const char *content_type);
/* Sets boundary to that of such a Content-Type. Returns 0 with the reason in why. */
int form_boundary(text *boundary, const char *content_type, text *why);
/* Reads a body with at most that many parts. Returns 0 with the reason in why; free it in any case. The body must
   outlive it. */
int form_read(form *f, const unsigned char *body, size_t len, const text *boundary, size_t most, text *why);
void form_free(form *f);

#endif
