/* The results of reid bench as a page for the browser, in light and dark mode: how near each operation comes to the
   limits of the machine (a roofline), and the time of all operations together. */
#ifndef REID_TOOLS_BENCH_PAGE_H
#define REID_TOOLS_BENCH_PAGE_H

#include "base/text.h"

#include <stddef.h>

/* An operation of a call. A fused operation has no entry: its time belongs to the operation that computes it. */
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
    const char *head;    /* lines that say what was measured, and on which machine */
    double gflops, gbs;  /* the ceilings; 0: unknown */
    const bench_batch *at;
    int count;
} bench_page;

void bench_page_html(const bench_page *p, text *out);

#endif
