/* Latency against throughput as a picture. */
#ifndef REID_TOOLS_LOAD_CHART_H
#define REID_TOOLS_LOAD_CHART_H

#include "base/text.h"

#define LOAD_RATES 64

/* What one rate has given. */
typedef struct load_point {
    double answered;       /* in a second */
    double median, p99;    /* seconds */
} load_point;

/* An SVG document: answers in a second to the right, latency upwards on a logarithmic scale, a line for the median and
   one for the 99th percentile. */
void load_chart(text *out, const char *title, const load_point *points, int count);

#endif
