/* The text chunks of a PNG, in which programs store EXIF and XMP. */
#ifndef REID_TOOLS_PNG_TEXT_H
#define REID_TOOLS_PNG_TEXT_H

#include "base/text.h"

#include <stddef.h>

/* 1 if the chunk (tEXt, zTXt or iTXt; type: its four letters) has this keyword; out is then its text, uncompressed, or
   empty if it is damaged or over 1 MiB. */
int png_text(const unsigned char *type, const unsigned char *data, size_t size, const char *keyword, text *out);
/* Decodes in place what ImageMagick calls "Raw profile type exif": hexadecimal digits from the fourth line on. Returns
   0 if they are damaged. */
int png_profile(text *t);

#endif
