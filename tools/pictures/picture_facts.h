/* What an image file says about itself, read in one pass before any decoder sees it: decoders trust too much. */
#ifndef REID_TOOLS_PICTURE_FACTS_H
#define REID_TOOLS_PICTURE_FACTS_H

#include "base/text.h"
#include "pictures/jpeg.h"
#include "pictures/pnm.h"

typedef enum picture_kind { PICTURE_JPEG, PICTURE_PNG, PICTURE_BMP, PICTURE_PNM, PICTURE_TGA } picture_kind;

typedef struct picture_facts {
    picture_kind kind;
    jpeg_facts jpeg; /* of a JPEG */
    pnm_header pnm;  /* of a PPM or PGM */
    int bits, colour, interlaced; /* of a PNG: bits of a sample, colour type (0, 2, 3, 4, 6), Adam7 */
    int orientation; /* 1 ... 8 as in EXIF; 1 (upright) when the file has none */
} picture_facts;

/* Returns 1 for an image that can be decoded, as far as its first bytes, a PNG's checksums, a JPEG's segments and a
   PNM's header show; else 0 with the reason in why. name: its extension decides about TGA, which has no signature. */
int picture_facts_read(picture_facts *out, const unsigned char *file, size_t len, const char *name, text *why);

#endif
