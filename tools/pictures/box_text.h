/* A picture and perhaps a box of it as one text, so that the same crop can be cut again: the path alone, or behind it
   #xywh=10,20,30,40 (pixels) or #xywh=fraction:0.1,0.2,0.3,0.4, x, y, width and height in the upright picture. W3C's
   Media Fragments are written so; fractions are no part of them, but percents would lose bits. */
#ifndef REID_TOOLS_BOX_TEXT_H
#define REID_TOOLS_BOX_TEXT_H

#include "base/text.h"
#include "pictures/inputs.h"

/* Appends the text of an input; text_failed reports whether memory ran out. */
void box_text(text *t, const input *in);

/* How many of its bytes are the path; unit (BOX_NONE: the whole picture) and box are what is said behind it. */
size_t box_text_split(const char *s, box_unit *unit, double box[4]);

#endif
