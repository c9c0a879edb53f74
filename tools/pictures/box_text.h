/* An image, or a box in one, as one text from which the same crop can be cut again: the path alone, or the path
   followed by #xywh=10,20,30,40 (pixels) or #xywh=fraction:0.1,0.2,0.3,0.4: x, y, width and height in the upright
   image. This is the syntax of W3C's Media Fragments, except for fractions: percentages, which it has instead, would
   lose bits. */
#ifndef REID_TOOLS_BOX_TEXT_H
#define REID_TOOLS_BOX_TEXT_H

#include "base/text.h"
#include "pictures/inputs.h"

/* Appends the text of an input; text_failed reports whether memory ran out. */
void box_text(text *t, const input *in);

/* Returns how many bytes of the text are the path, and sets unit (BOX_NONE: the whole image) and box from the rest. */
size_t box_text_split(const char *s, box_unit *unit, double box[4]);

#endif
