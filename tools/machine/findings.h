/* Findings about a machine: one line each, with severity and remedy. */
#ifndef REID_TOOLS_FINDINGS_H
#define REID_TOOLS_FINDINGS_H

#include "base/text.h"

typedef enum severity {
    FOUND_GOOD,
    FOUND_NOTE,    /* something is missing that only some tasks need */
    FOUND_WARNING, /* it works, but slower or worse than it could */
    FOUND_ERROR    /* something requested cannot work */
} severity;

typedef struct finding {
    severity how;
    const char *about; /* the subject, one word; not copied */
    char *what, *remedy; /* remedy: NULL if none is needed */
} finding;

typedef struct findings {
    finding *at;
    size_t count, cap;
    int no_memory; /* a finding is missing; reported */
} findings;

/* remedy: what to do; NULL: nothing. */
void findings_add(findings *f, severity how, const char *about, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
severity findings_worst(const findings *f);
void findings_table(const findings *f, text *out);
/* Appends one object and a line end. */
void findings_json(const findings *f, text *out);
/* A zeroed struct is allowed. */
void findings_free(findings *f);

#endif
