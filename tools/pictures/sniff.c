#include "pictures/sniff.h"

#include "base/crc32.h"
#include "pictures/jpeg.h"
#include "pictures/pnm.h"

#include <string.h>
#include <strings.h>

static uint32_t big32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Every chunk's checksum up to IEND: a flipped bit would otherwise become wrong pixels. */
static const char *check_png(const unsigned char *file, size_t len) {
    for (size_t at = 8; len - at >= 12;) {
        size_t size = big32(file + at);
        const unsigned char *type = file + at + 4;
        if (size > len - at - 12) break;
        if (crc32_more(0, type, size + 4) != big32(type + 4 + size)) return "damaged PNG (wrong checksum)";
        if (memcmp(type, "IEND", 4) == 0) return NULL;
        at += 12 + size;
    }
    return "the PNG file ends early";
}

static const char *check_pnm(const unsigned char *file, size_t len) {
    pnm_header header;
    return pnm_read_header(file, len, &header);
}

static int is_html(const unsigned char *file, size_t len) {
    size_t i = 0;
    while (i < len && i < 64 && strchr(" \t\r\n", file[i]) && file[i]) i++;
    return len - i >= 5 && (strncasecmp((const char *)file + i, "<html", 5) == 0 ||
                            strncasecmp((const char *)file + i, "<!doc", 5) == 0);
}

typedef struct signature {
    size_t at, len;
    const char *bytes;
    const char *refusal;                                         /* NULL: can be decoded … */
    const char *(*problem)(const unsigned char *file, size_t len); /* … unless this finds a reason */
} signature;

#define NOT_A_PICTURE "not a picture that can be decoded (JPEG, PNG, BMP, TGA, PPM, PGM)"
#define CONVERT ", which is not supported; convert it to PNG or JPEG"

static const signature SIGNATURES[] = {
    {0, 2, "\xFF\xD8", NULL, jpeg_problem}, /* whatever follows: two bytes are enough for the decoder */
    {0, 8, "\x89PNG\r\n\x1a\n", NULL, check_png},
    {0, 2, "\xFF\xFF", NOT_A_PICTURE, NULL}, /* decoders skip such bytes and find a JPEG that was not checked */
    {0, 2, "BM", NULL, NULL},
    {0, 2, "P5", NULL, check_pnm},
    {0, 2, "P6", NULL, check_pnm},
    {0, 4, "GIF8", "a GIF picture" CONVERT, NULL},
    {8, 4, "WEBP", "a WebP picture" CONVERT, NULL},
    {4, 8, "ftypavif", "an AVIF picture" CONVERT, NULL},
    {4, 4, "ftyp", "a HEIC picture or a video" CONVERT, NULL},
    {0, 4, "II*\0", "a TIFF or raw picture" CONVERT, NULL},
    {0, 4, "MM\0*", "a TIFF or raw picture" CONVERT, NULL},
    {0, 4, "\0\0\1\0", "an icon" CONVERT, NULL},
    {0, 12, "\0\0\0\x0CjP  \r\n\x87\n", "a JPEG 2000 picture" CONVERT, NULL},
    {0, 12, "\0\0\0\x0CJXL \r\n\x87\n", "a JPEG XL picture" CONVERT, NULL},
    {0, 4, "8BPS", "a Photoshop file" CONVERT, NULL},
    {0, 4, "%PDF", "a PDF file" CONVERT, NULL},
    {0, 2, "P1", "a bitmap (PBM)" CONVERT, NULL},
    {0, 2, "P2", "a PGM picture in text form" CONVERT, NULL},
    {0, 2, "P3", "a PPM picture in text form" CONVERT, NULL},
    {0, 2, "P4", "a bitmap (PBM)" CONVERT, NULL},
    {0, 12, "version http", "a Git-LFS pointer, not the picture: run \"git lfs pull\"", NULL},
};

int sniff_picture(const unsigned char *file, size_t len, const char *name, text *why) {
    const char *dot = strrchr(name, '.'), *refusal = NOT_A_PICTURE;
    if (dot && strcasecmp(dot, ".tga") == 0) refusal = NULL;
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof *SIGNATURES; i++) {
        const signature *s = &SIGNATURES[i];
        if (len < s->at + s->len || memcmp(file + s->at, s->bytes, s->len) != 0) continue;
        refusal = s->problem ? s->problem(file, len) : s->refusal;
        break;
    }
    if (len == 0) refusal = "the file is empty";
    else if (is_html(file, len)) refusal = "an HTML page, not a picture (a failed download?)";
    text_clear(why);
    if (refusal) text_puts(why, refusal);
    return !refusal;
}
