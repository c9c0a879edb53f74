/* The one table of options. */
#ifndef REID_TOOLS_OPTION_TABLE_H
#define REID_TOOLS_OPTION_TABLE_H

#include "cli/options.h"

extern const option OPTIONS[]; /* ends with a NULL help */

int option_applies(const option *spec, const command *c);

#endif
