#include "pictures/sniff.h"

#include "base/crc32.h"
#include "base/file_kind.h"
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

/* What can be decoded, unless `problem` finds a reason. */
typedef struct signature {
    size_t len;
    const char *bytes;
    const char *(*problem)(const unsigned char *file, size_t len); /* NULL: there is nothing to look for */
} signature;

#define NOT_A_PICTURE "not an image that can be decoded (JPEG, PNG, BMP, TGA, PPM, PGM)"

/* Decoders skip such bytes and find a JPEG that was not checked. */
static const char *not_a_picture(const unsigned char *file, size_t len) { return (void)file, (void)len, NOT_A_PICTURE; }

static const signature SIGNATURES[] = {
    {2, "\xFF\xD8", jpeg_problem}, /* whatever follows: two bytes are enough for the decoder */
    {8, "\x89PNG\r\n\x1a\n", check_png}, {2, "\xFF\xFF", not_a_picture}, {2, "BM", NULL}, {2, "P5", check_pnm},
    {2, "P6", check_pnm},
};

static void refuse_kind(const file_kind *kind, text *why) {
    switch (kind->is) {
    case FILE_PICTURE: text_printf(why, "%s, which is not supported; convert it to PNG or JPEG", kind->what); break;
    case FILE_WEB_PAGE: text_puts(why, "an HTML page, not an image (a failed download?)"); break;
    case FILE_LFS_POINTER: text_puts(why, "a Git-LFS pointer, not the image: run \"git lfs pull\""); break;
    default: text_puts(why, NOT_A_PICTURE);
    }
}

int sniff_picture(const unsigned char *file, size_t len, const char *name, text *why) {
    const char *dot = strrchr(name, '.'), *problem = NULL;
    const file_kind *kind = file_kind_of(file, len < FILE_KIND_START ? len : FILE_KIND_START);
    size_t i = 0, count = sizeof SIGNATURES / sizeof *SIGNATURES;
    text_clear(why);
    while (i < count && (len < SIGNATURES[i].len || memcmp(file, SIGNATURES[i].bytes, SIGNATURES[i].len) != 0)) i++;
    if (len == 0) problem = "the file is empty";
    else if (i < count) problem = SIGNATURES[i].problem ? SIGNATURES[i].problem(file, len) : NULL;
    else if (kind) refuse_kind(kind, why);
    else if (!dot || strcasecmp(dot, ".tga") != 0) problem = NOT_A_PICTURE;
    if (problem) text_puts(why, problem);
    return !why->len;
}
