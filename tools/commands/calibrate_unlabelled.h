/* reid calibrate without labels: from a folder of reid track, or files of embeddings. */
#ifndef REID_TOOLS_CALIBRATE_UNLABELLED_H
#define REID_TOOLS_CALIBRATE_UNLABELLED_H

#include "cli/options.h"
#include "scores/calibration_file.h"

/* Returns 1 if there are no labels: --unlabelled, --decisions or --same-time is given, or the operands are files
   without identities. Returns 0 otherwise, also for files that cannot be read, and -1 after saying what is wrong with
   the options. */
int calibrate_is_unlabelled(const options *o);
/* Makes the calibration and a table for people. Returns 0 after saying what is wrong, or without a message when
   interrupted(); free both in any case. */
int calibrate_unlabelled(options *o, calibration *c, text *table);

#endif
