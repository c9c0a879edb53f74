/* Reads --boxes FILE in the JSON of MegaDetector's batch format. */
#ifndef REID_TOOLS_BOXES_JSON_H
#define REID_TOOLS_BOXES_JSON_H

#include "base/text.h"
#include "pictures/box_rows.h"

/* Reads boxes as fractions of the image. Returns 0 with the reason in why. */
int boxes_from_megadetector(box_rows *rows, const text *file, text *why);

#endif
