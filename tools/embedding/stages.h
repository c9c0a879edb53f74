/* The stages of a command's work as --stats shows them: what each did, how busy it was, which one was the bottleneck
   and what would help. */
#ifndef REID_TOOLS_STAGES_H
#define REID_TOOLS_STAGES_H

#include "base/json_write.h"

typedef struct stage {
    const char *name, *unit;
    double items, busy; /* items, counted in `unit`; busy share of its threads' time */
    double queue;       /* average length of its queue; below 0: it has none */
} stage;

typedef struct stages {
    const stage *at;
    int count;
    double seconds;     /* from start to end */
    int bottleneck;     /* its index */
    const char *advice; /* what would help, without a full stop */
} stages;

/* a / b, or 0 if b is 0. */
double stages_ratio(double a, double b);
/* Writes a table for people; `below`, lines that end in a newline, is printed between the table and the bottleneck. */
void stages_table(const stages *s, const char *below, text *out);
/* Writes the members of an object from "stages" to "advice". */
void stages_json(const stages *s, json_writer *w);

#endif
