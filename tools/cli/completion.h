/* The completion script for bash. */
#ifndef REID_TOOLS_COMPLETION_H
#define REID_TOOLS_COMPLETION_H

#include "base/text.h"
#include "cli/options.h"

void bash_completion(text *t, const command_table *table);

#endif
