/* Decodes common TIFF images with Pillow's pixels: by libtiff, found at run time. */
#ifndef REID_TOOLS_TIFF_H
#define REID_TOOLS_TIFF_H

#include <stddef.h>

/* The first image of a TIFF file. Its pixels are in parts, which are strips (as wide as the image) or tiles. */
typedef struct tiff_facts {
    int width, height, samples, colours; /* samples of a pixel; of which 1 (grey or of a table) or 3 are colours */
    int is_tiled, part_width, part_height;
    int is_inverted, has_table, is_jpeg;
    size_t directory; /* bytes of the values in its directory */
} tiff_facts;

/* Whether libtiff was found, and what to say if it was not. */
int tiff_is_readable(void);
#define TIFF_NEEDS_LIBRARY                                                                                             \
    "a TIFF image, which needs libtiff (Debian: libtiff6); install it, or convert the image to PNG or JPEG"
/* Reads the first directory of a file that begins like a TIFF. Returns NULL, or why it is refused. */
const char *tiff_problem(const unsigned char *file, size_t len, tiff_facts *out);
/* The bytes of one part. */
size_t tiff_part(const tiff_facts *facts);
/* The bytes that libtiff holds at most for a file of this length: the compressed part, the directory's values and, from
   two bytes for each place of a part, 16 bytes; the coefficients of a progressive JPEG. */
size_t tiff_overhead(const tiff_facts *facts, size_t len);
/* Decodes a file without a problem to 3 * width * height bytes of RGB in the stored orientation; transparency is
   dropped. part: room for one part. Returns 0 if the file is damaged. */
int tiff_decode(const unsigned char *file, size_t len, const tiff_facts *facts, unsigned char *part, unsigned char *to);

#endif
