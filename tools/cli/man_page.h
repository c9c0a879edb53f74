/* The man page, in the man(7) macros. */
#ifndef REID_TOOLS_MAN_PAGE_H
#define REID_TOOLS_MAN_PAGE_H

#include "base/text.h"
#include "cli/options.h"

void man_page(text *t, const command_table *table);

#endif
