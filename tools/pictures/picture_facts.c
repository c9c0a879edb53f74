#include "pictures/picture_facts.h"

#include "base/crc32.h"
#include "base/file_kind.h"
#include "base/source.h"
#include "pictures/exif.h"
#include "pictures/png_text.h"

#include <string.h>
#include <strings.h>

static const char *read_jpeg(picture_facts *out, const unsigned char *file, size_t len) {
    const char *problem = jpeg_problem(file, len, &out->jpeg);
    int turned = out->jpeg.exif ? exif_orientation(out->jpeg.exif, out->jpeg.exif_size) : 0;
    if (!turned && out->jpeg.xmp) turned = xmp_orientation((const char *)out->jpeg.xmp, out->jpeg.xmp_size);
    if (turned) out->orientation = turned;
    return problem;
}

/* The places of a PNG that may say how it is turned. Of several of a kind, the last counts. */
typedef struct png_marks {
    const unsigned char *exif; /* NULL: none */
    size_t exif_size;
    text profile, xmp;
} png_marks;

static void read_mark(png_marks *m, const unsigned char *type, const unsigned char *data, size_t size) {
    if (memcmp(type, "eXIf", 4) == 0) m->exif = data, m->exif_size = size;
    else if (!png_text(type, data, size, "Raw profile type exif", &m->profile))
        png_text(type, data, size, "XML:com.adobe.xmp", &m->xmp);
}

/* Returns the orientation; 0 if the file does not state one. */
static int orientation_of(png_marks *m) {
    int turned = 0;
    if (m->exif) turned = exif_orientation(m->exif, m->exif_size);
    else if (m->profile.len && !text_failed(&m->profile) && png_profile(&m->profile))
        turned = exif_orientation((const unsigned char *)m->profile.s, m->profile.len);
    if (!turned && m->xmp.len && !text_failed(&m->xmp)) turned = xmp_orientation(m->xmp.s, m->xmp.len);
    return turned;
}

/* Its pixels are blue, green, red, multiplied by alpha, and its compressed data has no header. */
#define APPLE_PNG                                                                                                      \
    "a PNG in Apple's own variant (CgBI), which is not supported; convert it on a Mac: sips -s format png IN --out "   \
    "OUT"

/* Checks the checksum of every chunk up to IEND: a flipped bit would otherwise become wrong pixels. */
static const char *read_chunks(picture_facts *out, const unsigned char *file, size_t len, png_marks *marks) {
    for (size_t at = 8; len - at >= 12;) {
        size_t size = be32(file + at);
        const unsigned char *type = file + at + 4, *data = type + 4;
        if (size > len - at - 12) break;
        if (crc32_more(0, type, size + 4) != be32(data + size)) return "damaged PNG (wrong checksum)";
        if (at == 8 && size >= 13) out->bits = data[8], out->colour = data[9] & 7, out->interlaced = data[12] != 0;
        if (memcmp(type, "CgBI", 4) == 0) return APPLE_PNG;
        read_mark(marks, type, data, size);
        if (memcmp(type, "IEND", 4) == 0) return NULL;
        at += 12 + size;
    }
    return "the PNG file ends early";
}

static const char *read_png(picture_facts *out, const unsigned char *file, size_t len) {
    png_marks marks = {0};
    const char *problem = read_chunks(out, file, len, &marks);
    int turned = problem ? 0 : orientation_of(&marks);
    if (turned) out->orientation = turned;
    text_free(&marks.profile), text_free(&marks.xmp);
    return problem;
}

static const char *read_pnm(picture_facts *out, const unsigned char *file, size_t len) {
    return pnm_read_header(file, len, &out->pnm);
}

static const char *read_webp(picture_facts *out, const unsigned char *file, size_t len) {
    const char *problem = webp_problem(file, len, &out->webp);
    int turned = out->webp.exif ? exif_orientation(out->webp.exif, out->webp.exif_size) : 0;
    if (!turned && out->webp.xmp) turned = xmp_orientation((const char *)out->webp.xmp, out->webp.xmp_size);
    if (turned) out->orientation = turned;
    return problem;
}

static const char *read_tiff(picture_facts *out, const unsigned char *file, size_t len) {
    int turned = exif_orientation(file, len);
    if (turned) out->orientation = turned;
    return tiff_problem(file, len, &out->tiff);
}

static const char *read_bmp(picture_facts *out, const unsigned char *file, size_t len) {
    return bmp_read_header(file, len, &out->bmp);
}

static const char *read_tga(picture_facts *out, const unsigned char *file, size_t len) {
    const char *problem = tga_read_header(file, len, &out->tga);
    if (out->tga.from_right) out->orientation = 2;
    return problem;
}

/* A signature of files that can be decoded, unless `read` returns a problem. */
typedef struct signature {
    size_t len;
    const char *bytes;
    picture_kind kind;
    const char *(*read)(picture_facts *out, const unsigned char *file, size_t len);
} signature;

#define NOT_A_PICTURE "not an image that can be decoded (JPEG, PNG, WebP, TIFF, BMP, TGA, PPM, PGM)"

/* Refuses a file that begins with filler bytes (FF FF), which decoders skip to find a JPEG that was not checked. */
static const char *not_a_picture(picture_facts *out, const unsigned char *file, size_t len) {
    return (void)out, (void)file, (void)len, NOT_A_PICTURE;
}

static const signature SIGNATURES[] = {
    {2, "\xFF\xD8", PICTURE_JPEG, read_jpeg}, /* two bytes, because they are enough for the decoder */
    {8, "\x89PNG\r\n\x1a\n", PICTURE_PNG, read_png},
    {2, "\xFF\xFF", PICTURE_JPEG, not_a_picture},
    {2, "BM", PICTURE_BMP, read_bmp},
    {2, "P5", PICTURE_PNM, read_pnm},
    {2, "P6", PICTURE_PNM, read_pnm},
    {4, "RIFF", PICTURE_WEBP, read_webp},
    {4, "II*\0", PICTURE_TIFF, read_tiff},
    {4, "MM\0*", PICTURE_TIFF, read_tiff},
};

/* ImageMagick turns these upright and leaves no orientation that would turn them again. */
static const char *converter_of(const char *what) {
    return strstr(what, "HEIC") || strstr(what, "AVIF") ? ", for example with ImageMagick: magick IN OUT.png" : "";
}

static void refuse_kind(const file_kind *kind, text *why) {
    switch (kind->is) {
    case FILE_PICTURE:
        text_printf(why, "%s, which is not supported; convert it to PNG or JPEG%s", kind->what,
                    converter_of(kind->what));
        break;
    case FILE_WEB_PAGE: text_puts(why, "an HTML page, not an image (perhaps a failed download)"); break;
    case FILE_LFS_POINTER: text_puts(why, "a Git-LFS pointer, not the image: run \"git lfs pull\""); break;
    default: text_puts(why, NOT_A_PICTURE);
    }
}

static const signature *signature_of(const unsigned char *file, size_t len, const char *name, const file_kind *other) {
    static const signature tga = {0, "", PICTURE_TGA, read_tga};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof *SIGNATURES; i++)
        if (len >= SIGNATURES[i].len && memcmp(file, SIGNATURES[i].bytes, SIGNATURES[i].len) == 0)
            return &SIGNATURES[i];
    return !other && dot && strcasecmp(dot, ".tga") == 0 ? &tga : NULL;
}

int picture_facts_read(picture_facts *out, const unsigned char *file, size_t len, const char *name, text *why) {
    const file_kind *other = file_kind_of(file, len < FILE_KIND_START ? len : FILE_KIND_START);
    const signature *is = signature_of(file, len, name, other);
    const char *problem = NULL;
    memset(out, 0, sizeof *out);
    out->orientation = 1;
    text_clear(why);
    if (len == 0) problem = "the file is empty";
    else if (is) out->kind = is->kind, problem = is->read(out, file, len);
    else if (other) refuse_kind(other, why);
    else problem = NOT_A_PICTURE;
    if (problem) text_puts(why, problem);
    return !why->len;
}
