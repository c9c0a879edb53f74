/* An evaluation as text and as JSON. */
#ifndef REID_TOOLS_EVAL_REPORT_H
#define REID_TOOLS_EVAL_REPORT_H

#include "base/json_write.h"
#include "evaluate/evaluation.h"

void report_table(const evaluation *e, const eval_set *set, const evaluation_rules *o, text *t);
/* Writes one object on several lines. key: as in json_put_object. */
void report_json(const evaluation *e, const eval_set *set, const evaluation_rules *o, const double *weights,
                 json_writer *w, const char *key);

/* The change of an evaluation compared with the first one. All values are fractions of 1. */
typedef struct change {
    double rank1, map;
    interval rank1_interval, map_interval;
    double lowest_cosine; /* the lowest cosine of any image's two embeddings; NAN if their sizes differ */
    int fails;            /* the loss is above the limit, or the lowest cosine is too low */
    int certain;          /* each interval is completely on one side of the limit */
} change;

/* Returns 0 after reporting that memory ran out. */
int change_of(change *out, const evaluation *e, const evaluation *reference, double limit, int draws);
void change_table(const change *c, const char *name, int width, text *t);
void change_json(const change *c, json_writer *w, const char *key);

#endif
