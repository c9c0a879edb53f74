/* The parts of `reid gallery`. path is the gallery; o's operands are those behind it. They return the exit status. */
#ifndef REID_TOOLS_GALLERY_COMMAND_H
#define REID_TOOLS_GALLERY_COMMAND_H

#include "cli/options.h"

int gallery_add(options *o, const char *path);
int gallery_search(options *o, const char *path);
int gallery_export(options *o, const char *path);
int gallery_reembed(options *o, const char *path);
int gallery_push_command(options *o, const char *path);
int gallery_pull_command(options *o, const char *url);

#endif
