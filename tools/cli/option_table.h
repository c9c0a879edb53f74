/* The one table of options. */
#ifndef REID_TOOLS_OPTION_TABLE_H
#define REID_TOOLS_OPTION_TABLE_H

#include "cli/options.h"

extern const option OPTIONS[]; /* ends with a NULL help */

int option_applies(const option *spec, const command *c);
/* The command's option with that name of len bytes, or, if name is NULL, with that letter. NULL if there is none. */
const option *option_find(const command *c, char letter, const char *name, size_t len);

#endif
