/* Parses the words of a command line into a command and its options. */
#ifndef REID_TOOLS_PARSE_H
#define REID_TOOLS_PARSE_H

#include "cli/options.h"

/* NULL if there is no such command. */
const command *command_find(const command_table *t, const char *name);
/* Says that there is no such command, and which one may have been meant. */
void command_unknown(const command_table *t, const char *name);

/* Returns 0 after saying what is wrong; argv starts after the command's name. */
int options_parse(options *o, const command *c, int argc, char **argv);
void options_free(options *o);

#endif
