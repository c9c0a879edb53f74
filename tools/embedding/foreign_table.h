/* Text with a row of numbers on each line, as pandas, numpy.savetxt and spreadsheets write it, with a header or
   without, with columns that name the row or without. */
#ifndef REID_TOOLS_FOREIGN_TABLE_H
#define REID_TOOLS_FOREIGN_TABLE_H

#include "embedding/foreign_rows.h"

/* Returns 0 with the reason in why. */
int foreign_table_read(foreign_rows *f, const char *path, text *why);

#endif
