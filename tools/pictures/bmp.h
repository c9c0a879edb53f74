/* Decodes BMP files with Pillow's pixels. */
#ifndef REID_TOOLS_BMP_H
#define REID_TOOLS_BMP_H

#include <stddef.h>
#include <stdint.h>

typedef struct bmp_header {
    int width, height, bits, from_top;
    int place[3];                 /* 24 and 32 bits: the byte of a pixel that holds red, green, blue */
    int is_565;                   /* 16 bits: green has 6 of them, not 5 */
    size_t table, entry, colours; /* at most 8 bits: the table's offset, bytes of a colour, colours */
    size_t data;                  /* offset of the first row */
} bmp_header;

/* Reads the header of a file that begins with "BM". Returns NULL, or why it is refused. */
const char *bmp_read_header(const unsigned char *file, size_t len, bmp_header *out);
/* Writes 3 * width * height bytes of RGB; alpha is dropped. Returns 0 if the file is too short. */
int bmp_decode(const unsigned char *file, size_t len, const bmp_header *h, unsigned char *to);

#endif
