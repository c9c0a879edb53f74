/* A chart of latency against throughput. */
#ifndef REID_TOOLS_LOAD_CHART_H
#define REID_TOOLS_LOAD_CHART_H

#include "base/text.h"

#define LOAD_RATES 64

/* The result of one request rate. */
typedef struct load_point {
    double answered;       /* per second */
    double median, p99;    /* seconds */
} load_point;

/* Writes an SVG document: answers per second on the x axis, latency on a logarithmic y axis, a line for the median and
   one for the 99th percentile. */
void load_chart(text *out, const char *title, const load_point *points, int count);

#endif
