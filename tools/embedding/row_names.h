/* The names of rows that another program computed, and what else is known of each row: from a list with one name per
   line, or from a table with a column for each fact. */
#ifndef REID_TOOLS_ROW_NAMES_H
#define REID_TOOLS_ROW_NAMES_H

#include "base/csv.h"
#include "pictures/inputs.h"

/* Columns that describe a row. The row's name is its id, else its path. */
typedef enum name_column { NAME_PATH, NAME_ID, NAME_IDENTITY, NAME_CAMERA, NAME_TIME, NAME_COLUMNS } name_column;
extern const char *const NAME_COLUMN[NAME_COLUMNS];

/* Adds the row that a record describes. column: each name's index in the record, -1 for none. Returns 0 with the reason
   in why. */
int row_names_add(inputs *list, const csv *c, const int column[NAME_COLUMNS], text *why);

/* Reads a list, or a table whose header names the column path. Returns 0 with the reason in why; free the list in any
   case. */
int row_names_read(inputs *list, const char *path, text *why);

/* 1 if no name is given twice; else 0 with the reason in why. */
int row_names_differ(const inputs *list, text *why);

#endif
