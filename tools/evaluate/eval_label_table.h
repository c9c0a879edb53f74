/* Reads the table of --labels FILE.csv. */
#ifndef REID_TOOLS_EVAL_LABEL_TABLE_H
#define REID_TOOLS_EVAL_LABEL_TABLE_H

#include "evaluate/eval_labels.h"

/* Reads the columns path, identity and optionally camera and role (query, gallery or both). Paths are relative to root;
   NULL: they are used unchanged. Returns 0 after reporting an error. */
int labels_of_table(label_set *set, const char *path, const char *root);

/* Returns a path from a table, joined to root unless it is absolute or root is NULL. The caller frees it. NULL, without
   a message, when memory runs out. */
char *label_path(const char *path, const char *root);

#endif
