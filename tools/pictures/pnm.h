/* Binary PPM and PGM images (P6, P5), with 8 or 16 bits a sample. */
#ifndef REID_TOOLS_PNM_H
#define REID_TOOLS_PNM_H

#include <stddef.h>

typedef struct pnm_header {
    int width, height;
    int channels; /* 1 or 3 */
    int most;     /* the value of white */
    int bytes;    /* of a sample: 1 or 2 */
    size_t data;  /* offset of the samples */
} pnm_header;

/* Returns NULL with the header, or the problem with it. The file may have fewer pixels than the header says. */
const char *pnm_read_header(const unsigned char *file, size_t len, pnm_header *out);
/* Decodes to RGB in out (height, width, 3). Returns 0 if the file has fewer samples than its header says. */
int pnm_decode(const unsigned char *file, size_t len, const pnm_header *header, unsigned char *out);

#endif
