/* The tables of a gallery in PostgreSQL: schema/N.sql upgrades version N - 1 to version N. */
#ifndef REID_TOOLS_SCHEMA_H
#define REID_TOOLS_SCHEMA_H

#include "base/text.h"

enum { SCHEMA_VERSION = 1 };

/* Appends the text of the file for `version`, 1 to SCHEMA_VERSION. */
void schema_text(text *t, int version);
/* Appends the script that upgrades version `from` (0: no tables) to SCHEMA_VERSION, each file as one transaction. */
void schema_script(text *t, int from);

#endif
