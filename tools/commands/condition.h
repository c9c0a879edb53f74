#ifndef REID_TOOLS_CONDITION_H
#define REID_TOOLS_CONDITION_H

#include "cli/options.h"

/* reid inspect --condition WEIGHTS IMAGE... Returns the exit status. */
int inspect_condition(options *o);

#endif
