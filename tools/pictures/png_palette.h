/* Completes the table of colours of a PNG. */
#ifndef REID_TOOLS_PNG_PALETTE_H
#define REID_TOOLS_PNG_PALETTE_H

#include "base/text.h"

/* stb_image takes colours that a table lacks from memory that was never set. They become black, as in Pillow. The
   file's chunks have been checked. Returns 0 if memory runs out. */
int png_complete_palette(text *file);

#endif
