/* Reads --boxes FILE in CSV. */
#ifndef REID_TOOLS_BOXES_CSV_H
#define REID_TOOLS_BOXES_CSV_H

#include "base/text.h"
#include "pictures/box_rows.h"

/* Reads boxes in whole pixels. Returns 0 with the reason in why. */
int boxes_from_csv(box_rows *rows, const text *file, text *why);

#endif
