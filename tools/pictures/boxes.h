/* Reads --boxes FILE: one row per box, in the file's order. */
#ifndef REID_TOOLS_BOXES_H
#define REID_TOOLS_BOXES_H

#include "pictures/box_rows.h"
#include "pictures/inputs.h"

/* Appends the boxes of a file to list; paths in it start from root (NULL: the working directory). Returns 0 after
   reporting an error. */
int boxes_read(inputs *list, const box_file *file, const char *root);

#endif
