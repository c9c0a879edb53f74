/* The facts in an image file's header, read and checked in one pass before decoding, because decoders trust them. */
#ifndef REID_TOOLS_PICTURE_FACTS_H
#define REID_TOOLS_PICTURE_FACTS_H

#include "base/text.h"
#include "pictures/bmp.h"
#include "pictures/jpeg.h"
#include "pictures/pnm.h"
#include "pictures/tga.h"
#include "pictures/tiff.h"
#include "pictures/webp.h"

typedef enum picture_kind {
    PICTURE_JPEG, PICTURE_PNG, PICTURE_BMP, PICTURE_PNM, PICTURE_TGA, PICTURE_WEBP, PICTURE_TIFF
} picture_kind;

typedef struct picture_facts {
    picture_kind kind;
    jpeg_facts jpeg; /* of a JPEG */
    pnm_header pnm;  /* of a PPM or PGM */
    bmp_header bmp;  /* of a BMP */
    tga_header tga;  /* of a TGA */
    webp_facts webp; /* of a WebP */
    tiff_facts tiff; /* of a TIFF */
    int bits, colour, interlaced; /* of a PNG: bits of a sample, colour type (0, 2, 3, 4, 6), Adam7 */
    int orientation; /* 1 ... 8 as in EXIF; 1 (upright) if the file has none */
} picture_facts;

/* Returns 1 if the first bytes, a PNG's checksums, a JPEG's segments or a PNM's header show no reason against decoding;
   else 0 with the reason in why. name: its extension decides about TGA, which has no signature. */
int picture_facts_read(picture_facts *out, const unsigned char *file, size_t len, const char *name, text *why);

#endif
