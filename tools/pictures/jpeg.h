/* Walks the segments of a JPEG file, for the checks and facts that are needed before decoding. */
#ifndef REID_TOOLS_JPEG_H
#define REID_TOOLS_JPEG_H

#include <stddef.h>

typedef struct jpeg_walk {
    const unsigned char *file;
    size_t len, at;
    int marker;                /* of the current segment: 0xC4 tables, 0xDA scan, 0xD9 end, … */
    const unsigned char *data; /* its payload, without the two length bytes */
    size_t size;
} jpeg_walk;

/* jpeg_next returns 1 with the next segment; 0 at the end of the file, at a segment that runs past it, or if this is
   not a JPEG file. The compressed data after a scan's header is skipped. */
void jpeg_begin(jpeg_walk *w, const unsigned char *file, size_t len);
int jpeg_next(jpeg_walk *w);

/* The frame's header; h and v: the sampling factors, 1 to 4. first_scan: components in its first scan. */
typedef struct jpeg_frame {
    int width, height, components, progressive, first_scan;
    unsigned char id[4], h[4], v[4], quant[4];
} jpeg_frame;

/* The facts in a file's segments. */
typedef struct jpeg_facts {
    jpeg_frame frame;          /* the only one; 0 components if the file has none */
    const unsigned char *exif; /* TIFF data in the file: its first EXIF segment before a scan; NULL: none */
    size_t exif_size;
    const unsigned char *xmp;  /* likewise, but the last one */
    size_t xmp_size;
    int is_jfif, is_adobe, transform; /* what its markers APP0 and APP14 say of its colours; transform: of Adobe's */
} jpeg_facts;

/* The TIFF data of the current segment if it is an EXIF segment, otherwise NULL. */
const unsigned char *jpeg_exif(const jpeg_walk *w, size_t *size);

/* Returns NULL, with the facts, if the segments are complete, the tables have legal sizes and are defined before they
   are used, there are not too many scans (each goes over the whole image, even an empty one), and the file is long
   enough for its width and height; otherwise the problem. stb_image checks none of this. */
const char *jpeg_problem(const unsigned char *file, size_t len, jpeg_facts *out);
/* Returns why stb_image would give this file other colours than libjpeg; NULL if it would not. */
const char *jpeg_stb_problem(const jpeg_facts *facts);

#endif
