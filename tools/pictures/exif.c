#include "pictures/exif.h"

#include "pictures/jpeg.h"

#include <string.h>

/* TIFF data: numbers in the byte order that its first two bytes name. Reading past the end gives 0. */
typedef struct tiff {
    const unsigned char *at;
    size_t len;
    int little;
} tiff;

static unsigned read16(const tiff *t, size_t at) {
    if (t->len < 2 || at > t->len - 2) return 0;
    unsigned a = t->at[at], b = t->at[at + 1];
    return t->little ? b << 8 | a : a << 8 | b;
}

static size_t read32(const tiff *t, size_t at) {
    size_t a = read16(t, at), b = read16(t, at + 2);
    return t->little ? b << 16 | a : a << 16 | b;
}

/* The orientation (tag 0x0112, one 16-bit value) of the first directory. */
static int tiff_orientation(const unsigned char *bytes, size_t len) {
    enum { ENTRY = 12, SHORT = 3 };
    tiff t = {bytes, len, len >= 2 && memcmp(bytes, "II", 2) == 0};
    if (len < 8 || (!t.little && memcmp(bytes, "MM", 2) != 0) || read16(&t, 2) != 42) return 1;
    size_t directory = read32(&t, 4), count = read16(&t, directory);
    for (size_t i = 0; i < count; i++) {
        size_t entry = directory + 2 + i * ENTRY;
        if (entry > len || len - entry < ENTRY) return 1;
        if (read16(&t, entry) != 0x0112) continue;
        unsigned value = read16(&t, entry + 8);
        int is_one_short = read16(&t, entry + 2) == SHORT && read32(&t, entry + 4) == 1;
        return is_one_short && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* The first APP1 segment that holds EXIF decides. */
int exif_orientation(const unsigned char *file, size_t len) {
    enum { APP1 = 0xE1, SCAN = 0xDA };
    static const unsigned char tag[6] = {'E', 'x', 'i', 'f', 0, 0};
    jpeg_walk w;
    jpeg_begin(&w, file, len);
    while (jpeg_next(&w) && w.marker != SCAN)
        if (w.marker == APP1 && w.size >= sizeof tag && memcmp(w.data, tag, sizeof tag) == 0)
            return tiff_orientation(w.data + sizeof tag, w.size - sizeof tag);
    return 1;
}

exif_view exif_upright(int orientation, int width, int height) {
    ptrdiff_t w = width, last_x = width - 1, last_y = (ptrdiff_t)(height - 1) * w;
    exif_view v = {width, height, 0, 1, w};
    if (orientation >= 5) {
        v.width = height;
        v.height = width;
        v.step_x = w;
        v.step_y = 1;
    }
    /* The standard says which side of the upright picture the stored row 0 and column 0 are. */
    int columns_reversed = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    int rows_reversed = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (columns_reversed) {
        v.start += last_x;
        *(orientation >= 5 ? &v.step_y : &v.step_x) *= -1;
    }
    if (rows_reversed) {
        v.start += last_y;
        *(orientation >= 5 ? &v.step_x : &v.step_y) *= -1;
    }
    return v;
}
