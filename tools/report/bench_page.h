/* What reid bench has measured as one page to look at, in a browser, by day and by night: how near each operation comes
   to what the machine allows (a roofline), and what they take together. */
#ifndef REID_TOOLS_BENCH_PAGE_H
#define REID_TOOLS_BENCH_PAGE_H

#include "base/text.h"

#include <stddef.h>

/* An operation of a call. An operation that another one computes has no row; its time is in that one's. */
typedef struct bench_op {
    const char *name, *kind, *kernel;
    double us;           /* microseconds */
    double flops, bytes; /* computed, and read and written */
} bench_op;

typedef struct bench_batch {
    int images;
    double ms;           /* of a call as a whole */
    bench_op *ops;       /* [count], in the order of their execution */
    size_t count;
} bench_batch;

typedef struct bench_page {
    const char *head;    /* what was measured, on what: lines */
    double gflops, gbs;  /* the ceilings; 0: unknown */
    const bench_batch *at;
    int count;
} bench_page;

void bench_page_html(const bench_page *p, text *out);

#endif
