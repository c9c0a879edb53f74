/* reid calibrate --int8. */
#ifndef REID_TOOLS_RANGES_H
#define REID_TOOLS_RANGES_H

#include "cli/options.h"

/* Measures the ranges of activations on o's inputs and writes them to o->output. Returns the exit status. */
int ranges_main(options *o);

#endif
