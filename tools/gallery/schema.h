/* The tables of a gallery in PostgreSQL: schema/N.sql makes version N out of the one before. */
#ifndef REID_TOOLS_SCHEMA_H
#define REID_TOOLS_SCHEMA_H

#include "base/text.h"

enum { SCHEMA_VERSION = 1 };

/* The text of a version's file, from 1 to SCHEMA_VERSION. */
void schema_text(text *t, int version);
/* What makes SCHEMA_VERSION out of version `from` (0: nothing is there), each file as one transaction. */
void schema_script(text *t, int from);

#endif
