/* Decodes still WebP images with Pillow's pixels: by libwebp, found at run time. */
#ifndef REID_TOOLS_WEBP_H
#define REID_TOOLS_WEBP_H

#include "base/text.h"

/* What the header of a WebP file says. */
typedef struct webp_facts {
    int width, height;
    const unsigned char *exif, *xmp; /* in the file; NULL: none */
    size_t exif_size, xmp_size;
} webp_facts;

/* Whether libwebp was found, and what to say if it was not. */
int webp_is_readable(void);
#define WEBP_NEEDS_LIBRARY                                                                                             \
    "a WebP image, which needs libwebp (Debian: libwebp7); install it, or convert the image to PNG or JPEG"
/* Reads the chunks of a file that begins with "RIFF". Returns NULL, or why it is refused. */
const char *webp_problem(const unsigned char *file, size_t len, webp_facts *out);
/* Decodes a file without a problem to 3 * width * height bytes of RGB; transparency is dropped. Returns 0 if it is
   damaged. */
int webp_decode(const unsigned char *file, size_t len, const webp_facts *facts, unsigned char *to);

#endif
