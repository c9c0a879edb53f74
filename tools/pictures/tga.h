/* Decodes TGA files with Pillow's pixels. */
#ifndef REID_TOOLS_TGA_H
#define REID_TOOLS_TGA_H

#include <stddef.h>

typedef struct tga_header {
    int width, height, from_top, from_right;
    int bytes, is_grey, is_packed; /* of a pixel; in runs */
    size_t first, colours, entry;  /* of the table: its first index, its colours (0: there is none), their bytes */
    size_t table, data;            /* offsets */
} tga_header;

/* Returns NULL, or why the file is refused. */
const char *tga_read_header(const unsigned char *file, size_t len, tga_header *out);
/* Writes 3 * width * height bytes of RGB; alpha is dropped. Columns are in the stored order. Returns 0 if the file is
   too short. */
int tga_decode(const unsigned char *file, size_t len, const tga_header *h, unsigned char *to);

#endif
