/* What was found out about a machine: one line each, with how bad it is and the way out. */
#ifndef REID_TOOLS_FINDINGS_H
#define REID_TOOLS_FINDINGS_H

#include "base/text.h"

typedef enum severity {
    FOUND_GOOD,
    FOUND_NOTE,    /* something is not there that only some work needs */
    FOUND_WARNING, /* it works, but slower, or not as most would want it */
    FOUND_ERROR    /* what was asked for cannot work */
} severity;

typedef struct finding {
    severity how;
    const char *about; /* a word; not copied */
    char *what, *remedy; /* remedy: NULL where nothing needs one */
} finding;

typedef struct findings {
    finding *at;
    size_t count, cap;
    int no_memory; /* one of them is missing; said */
} findings;

/* remedy: what to do, NULL: nothing. */
void findings_add(findings *f, severity how, const char *about, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
severity findings_worst(const findings *f);
void findings_table(const findings *f, text *out);
/* One object, line ended. */
void findings_json(const findings *f, text *out);
/* Zeroed ones are allowed. */
void findings_free(findings *f);

#endif
