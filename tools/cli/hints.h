/* Suggestions for options and commands that do not exist: renamed ones, those of other tools, and misspelled ones. */
#ifndef REID_TOOLS_HINTS_H
#define REID_TOOLS_HINTS_H

#include "base/text.h"
#include "cli/options.h"

/* Appends "; did you mean --threshold?" or the like to out if there is something to suggest. name: len bytes, without
   dashes. */
void hint_option(text *out, const command *c, const char *name, size_t len);
void hint_command(text *out, const command_table *t, const char *name);

#endif
