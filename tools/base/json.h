/* A strict, forward-only JSON reader (RFC 8259) over text in memory. After the first error every call returns 0, and
   json.error names the error and its line. */
#ifndef REID_TOOLS_JSON_H
#define REID_TOOLS_JSON_H

#include "base/text.h"

typedef struct json {
    const char *text;
    size_t len, at;
    int fresh;       /* just after { or [: no comma is due */
    char error[512]; /* empty while all is well */
} json;

void json_begin(json *j, const char *bytes, size_t len);
/* The kind of the next value: one of { [ " 0 t n, or 0 at the end or after an error. Booleans are t, numbers 0. */
int json_peek(json *j);

/* for (json_object(&j); json_key(&j, &key);) …read exactly one value… */
int json_object(json *j);
int json_key(json *j, text *key);
/* for (json_array(&j); json_item(&j);) …read exactly one value… */
int json_array(json *j);
int json_item(json *j);

int json_string(json *j, text *out);
int json_number(json *j, double *out);
int json_bool(json *j, int *out);
/* Reads and drops any value. */
int json_skip(json *j);
/* Accepts only white space up to the end. Returns 1 if the whole text was valid. */
int json_end(json *j);

/* Reports a value that is valid JSON but wrong. Always returns 0. */
int json_fail(json *j, const char *what);

#endif
