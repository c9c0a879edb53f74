/* Completion scripts for shells, made from the tables of commands and options. */
#ifndef REID_TOOLS_COMPLETION_H
#define REID_TOOLS_COMPLETION_H

#include "base/text.h"
#include "cli/options.h"

/* Writes the script for bash, zsh or fish. Returns 0 for any other shell, and writes nothing. */
int completion_script(text *t, const char *shell, const command_table *table);

#endif
