/* reid bench --tune. */
#ifndef REID_TOOLS_BENCH_TUNE_H
#define REID_TOOLS_BENCH_TUNE_H

#include "cli/options.h"

/* Measures tiles and writes them to their file in the cache. Call it with one model and no operands. Returns the exit
   status. */
int bench_tune(const options *o);

#endif
