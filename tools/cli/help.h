/* The texts of `reid help`, made from the tables of commands and options. */
#ifndef REID_TOOLS_HELP_H
#define REID_TOOLS_HELP_H

#include "base/text.h"
#include "cli/options.h"

void help_overview(text *t, const command_table *table);
void help_command(text *t, const command *c);
/* The environment variables and the file that set the options of a command which has --config. */
void help_environment(text *t, const command *c);
void help_topic_page(text *t, const help_topic *topic);

#endif
