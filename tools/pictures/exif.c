#include "pictures/exif.h"

#include "base/when.h"
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

enum { ENTRY = 12, ASCII = 2, SHORT = 3, LONG = 4 };

/* Begins to read. Returns the offset of the first directory; 0 if this is not TIFF data. */
static size_t tiff_begin(tiff *t, const unsigned char *bytes, size_t len) {
    *t = (tiff){bytes, len, len >= 2 && memcmp(bytes, "II", 2) == 0};
    if (len < 8 || (!t->little && memcmp(bytes, "MM", 2) != 0) || read16(t, 2) != 42) return 0;
    return read32(t, 4);
}

/* Returns the offset of a tag's entry of this type in a directory; 0 if there is none. */
static size_t find_entry(const tiff *t, size_t directory, unsigned tag, unsigned type) {
    size_t count = read16(t, directory);
    for (size_t i = 0; i < count; i++) {
        size_t entry = directory + 2 + i * ENTRY;
        if (entry > t->len || t->len - entry < ENTRY) return 0;
        if (read16(t, entry) == tag) return read16(t, entry + 2) == type ? entry : 0;
    }
    return 0;
}

/* The orientation (tag 0x0112, one 16-bit value) of the first directory. */
int exif_orientation(const unsigned char *bytes, size_t len) {
    tiff t;
    size_t directory = tiff_begin(&t, bytes, len);
    size_t entry = directory ? find_entry(&t, directory, 0x0112, SHORT) : 0;
    unsigned value = entry && read32(&t, entry + 4) == 1 ? read16(&t, entry + 8) : 0;
    return value >= 1 && value <= 8 ? (int)value : 1;
}

/* Copies a tag's text, truncated to fit. Returns its length; 0 if there is none. */
static size_t tiff_text(const tiff *t, size_t directory, unsigned tag, char *to, size_t room) {
    size_t entry = find_entry(t, directory, tag, ASCII);
    if (!entry) return 0;
    size_t n = read32(t, entry + 4), at = n <= 4 ? entry + 8 : read32(t, entry + 8);
    if (at > t->len || n > t->len - at) return 0;
    if (n > room - 1) n = room - 1;
    memcpy(to, t->at + at, n);
    to[n] = 0;
    return strlen(to);
}

/* Reads a time such as "2024:05:31 06:30:00" and its fraction from the directory to which tag 0x8769 points. */
static int tiff_time(const unsigned char *bytes, size_t len, long long *when) {
    enum { TIME = 19, DIGITS = 9 };
    tiff t;
    char time[TIME + 1 + DIGITS + 1], fraction[DIGITS + 1] = "";
    size_t directory = tiff_begin(&t, bytes, len), entry = directory ? find_entry(&t, directory, 0x8769, LONG) : 0;
    size_t exif = entry ? read32(&t, entry + 8) : 0;
    if (!exif || tiff_text(&t, exif, 0x9003, time, TIME + 1) != TIME || time[4] != ':' || time[7] != ':') return 0;
    time[4] = time[7] = '-';
    size_t n = tiff_text(&t, exif, 0x9291, fraction, sizeof fraction), digits = strspn(fraction, "0123456789");
    if (n && digits) {
        time[TIME] = '.';
        memcpy(time + TIME + 1, fraction, digits);
        time[TIME + 1 + digits] = 0;
    }
    return when_parse(time, when);
}

/* Returns the data of a PNG's EXIF chunk; NULL if there is none. */
static const unsigned char *find_in_png(const unsigned char *file, size_t len, size_t *size) {
    const tiff t = {file, len, 0}; /* lengths are big-endian as well */
    for (size_t at = 8; at < len && len - at >= 12; at += 12 + *size) {
        *size = read32(&t, at);
        if (*size > len - at - 12) break;
        if (memcmp(file + at + 4, "eXIf", 4) == 0) return file + at + 8;
    }
    return NULL;
}

/* Returns the TIFF data of a PNG, or of a JPEG's first APP1 segment with EXIF; NULL if there is none. */
static const unsigned char *find_exif(const unsigned char *file, size_t len, size_t *size) {
    enum { SCAN = 0xDA };
    const unsigned char *exif = NULL;
    jpeg_walk w;
    if (len >= 8 && memcmp(file, "\x89PNG\r\n\x1a\n", 8) == 0) return find_in_png(file, len, size);
    jpeg_begin(&w, file, len);
    while (!exif && jpeg_next(&w) && w.marker != SCAN) exif = jpeg_exif(&w, size);
    return exif;
}

int exif_time(const unsigned char *file, size_t len, long long *when) {
    size_t size;
    const unsigned char *exif = find_exif(file, len, &size);
    return exif && tiff_time(exif, size, when);
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
    /* The standard defines to which side of the upright image the stored row 0 and column 0 belong. */
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
