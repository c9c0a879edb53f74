/* reid calibrate --int8. */
#ifndef REID_TOOLS_CALIBRATE_INT8_H
#define REID_TOOLS_CALIBRATE_INT8_H

#include "cli/options.h"

/* Measures the ranges of activations on o's inputs and writes them to o->output.path. Returns the exit status. */
int calibrate_int8(const options *o);

#endif
