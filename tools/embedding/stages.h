/* The stages of a command's work as --stats shows them: what each has done, how busy it was, which one was the
   bottleneck and what would help. */
#ifndef REID_TOOLS_STAGES_H
#define REID_TOOLS_STAGES_H

#include "base/json_write.h"

typedef struct stage {
    const char *name, *unit;
    double items, busy; /* items of its own unit; share of its threads' time */
    double queue;       /* things that wait in front of it, on average; below 0: it has no queue */
} stage;

typedef struct stages {
    const stage *at;
    int count;
    double seconds;     /* of the whole */
    int bottleneck;     /* one of them */
    const char *advice; /* what would help, without a full stop */
} stages;

/* a / b, 0 where nothing was counted. */
double stages_ratio(double a, double b);
/* For people, with the words of below, which end in a newline, between the table and the bottleneck. */
void stages_table(const stages *s, const char *below, text *out);
/* Members of an object, from "stages" to "advice". */
void stages_json(const stages *s, json_writer *w);

#endif
