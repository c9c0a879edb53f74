/* Counters for Prometheus, in its text format 0.0.4. */
#ifndef REID_TOOLS_PROMETHEUS_H
#define REID_TOOLS_PROMETHEUS_H

#include "server/service.h"

enum { FRONT_STATUSES = 600 };

/* Counters of the HTTP side. */
typedef struct front_counts {
    uint64_t accepted;                   /* connections */
    uint64_t rests;                      /* pauses in accepting, because no file descriptor was free */
    uint64_t answered[FRONT_STATUSES]; /* responses by status */
    uint64_t reloads, failed_reloads;    /* both are changed by other threads */
    uint64_t log_dropped;                /* lines */
    int connections;                     /* open now */
    size_t bodies;                       /* bytes of bodies that were received and are not yet processed */
    size_t unsent;                       /* bytes of answers that are being sent */
} front_counts;

void prometheus_text(text *t, const service *s, const front_counts *front);

#endif
