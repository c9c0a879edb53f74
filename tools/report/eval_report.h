/* An evaluation in words and as JSON. */
#ifndef REID_TOOLS_EVAL_REPORT_H
#define REID_TOOLS_EVAL_REPORT_H

#include "base/json_write.h"
#include "evaluate/evaluation.h"

void report_table(const evaluation *e, const eval_set *set, const evaluation_rules *o, text *t);
/* One object on several lines. key: as json_put_object has it. */
void report_json(const evaluation *e, const eval_set *set, const evaluation_rules *o, const double *weights,
                 json_writer *w, const char *key);

/* Several of one thing: what changes against the first. All in parts of 1. */
typedef struct change {
    double rank1, map;
    interval rank1_interval, map_interval;
    double lowest_cosine; /* of a picture's two embeddings; NAN when they have other sizes */
    int fails;            /* a loss above the limit, or a cosine below the least that is allowed */
    int certain;          /* the intervals lie on one side of the limit */
} change;

/* Returns 0 after saying that there is no memory. */
int change_of(change *out, const evaluation *e, const evaluation *reference, double limit, int draws);
void change_table(const change *c, const char *name, int width, text *t);
void change_json(const change *c, json_writer *w, const char *key);

#endif
