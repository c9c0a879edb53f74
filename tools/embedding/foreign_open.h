/* Recognises the format of a file of rows by its content, not by its name, and opens it with the reader of that
   format. */
#ifndef REID_TOOLS_FOREIGN_OPEN_H
#define REID_TOOLS_FOREIGN_OPEN_H

#include "embedding/foreign_rows.h"

/* Returns 0 with the reason in why; close the rows in any case. */
int foreign_rows_open(foreign_rows *f, const char *path, text *why);

#endif
