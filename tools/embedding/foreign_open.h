/* Recognises the kind of a file of rows, by what it contains, not what it is called, and opens it with the reader of
   that kind. */
#ifndef REID_TOOLS_FOREIGN_OPEN_H
#define REID_TOOLS_FOREIGN_OPEN_H

#include "embedding/foreign_rows.h"

/* Returns 0 with the reason in why; close the rows in any case. */
int foreign_rows_open(foreign_rows *f, const char *path, text *why);

#endif
