#include "pictures/exif.h"

#include "base/when.h"
#include "pictures/jpeg.h"

#include <stdint.h>
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

/* Types of values. UTF8 is EXIF 3's. */
enum { ENTRY = 12, BYTE = 1, ASCII = 2, SHORT = 3, LONG = 4, RATIONAL = 5, SBYTE = 6, UNDEFINED = 7, SSHORT = 8,
       SLONG = 9, SRATIONAL = 10, FLOAT = 11, DOUBLE = 12, IFD = 13, LONG8 = 16, UTF8 = 129 };

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

static size_t size_of_type(unsigned type) {
    static const unsigned char sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
    return type < sizeof sizes ? sizes[type] : 0;
}

/* Eight bytes as the standard's double, four as its float. */
static double read_real(const tiff *t, size_t at, unsigned type) {
    uint64_t high = read32(t, at), low = type == DOUBLE ? read32(t, at + 4) : 0;
    if (type == FLOAT) {
        const uint32_t bits = (uint32_t)high;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    const uint64_t bits = t->little ? low << 32 | high : high << 32 | low;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A number of any type; 0 for what is not a number. */
static double read_number(const tiff *t, size_t at, unsigned type) {
    const double under = type == RATIONAL ? (double)read32(t, at + 4) : (double)(int32_t)read32(t, at + 4);
    switch (type) {
    case SHORT: case SSHORT: return read16(t, at);
    case SBYTE: return t->at[at];
    case LONG: case SLONG: case IFD: return (double)read32(t, at);
    case LONG8: return (double)(t->little ? read32(t, at) : read32(t, at + 4)) +
                       4294967296.0 * (double)(t->little ? read32(t, at + 4) : read32(t, at));
    case RATIONAL: return under != 0 ? (double)read32(t, at) / under : 0;
    case SRATIONAL: return under != 0 ? (double)(int32_t)read32(t, at) / under : 0;
    case FLOAT: case DOUBLE: return read_real(t, at, type);
    default: return 0;
    }
}

/* Whether this entry has a value; sets *at to its place. It has none if its type is unknown, its count is 0, or it lies
   beyond the end. */
static int value_of(const tiff *t, size_t entry, size_t *at) {
    size_t size = size_of_type(read16(t, entry + 2)), count = read32(t, entry + 4);
    if (!size || !count || count > t->len / size) return 0;
    *at = size * count <= 4 ? entry + 8 : read32(t, entry + 8);
    return *at <= t->len && size * count <= t->len - *at;
}

/* Reads tag 0x0112 of the first directory. Of several such tags, or several values, the first counts. */
int exif_orientation(const unsigned char *bytes, size_t len) {
    static const char tag[6] = {'E', 'x', 'i', 'f', 0, 0};
    tiff t;
    int found = 0;
    while (len >= sizeof tag && memcmp(bytes, tag, sizeof tag) == 0) bytes += sizeof tag, len -= sizeof tag;
    size_t directory = tiff_begin(&t, bytes, len), count = directory ? read16(&t, directory) : 0, at;
    for (size_t i = 0; i < count && !found; i++) {
        size_t entry = directory + 2 + i * ENTRY;
        if (entry > len || len - entry < ENTRY) break;
        if (read16(&t, entry) != 0x0112 || !value_of(&t, entry, &at)) continue;
        double value = read_number(&t, at, read16(&t, entry + 2));
        found = value >= 1 && value <= 8 && value == (int)value ? (int)value : 1;
    }
    return found;
}

int xmp_orientation(const char *xmp, size_t len) {
    static const char name[] = "tiff:Orientation";
    const char *end = xmp + len, *at;
    while ((at = memmem(xmp, (size_t)(end - xmp), name, sizeof name - 1)) != NULL) {
        xmp = at + sizeof name - 1;
        size_t skip = end - xmp >= 2 && memcmp(xmp, "=\"", 2) == 0 ? 2 : end - xmp >= 1 && *xmp == '>' ? 1 : 0;
        if (!skip || (size_t)(end - xmp) == skip || xmp[skip] < '0' || xmp[skip] > '9') continue;
        int value = xmp[skip] - '0';
        return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

/* Copies a tag's text, truncated to fit. Returns its length; 0 if there is none. */
static size_t tiff_text(const tiff *t, size_t directory, unsigned tag, char *to, size_t room) {
    size_t entry = find_entry(t, directory, tag, ASCII);
    if (!entry) entry = find_entry(t, directory, tag, UTF8);
    if (!entry) return 0;
    size_t n = read32(t, entry + 4), at = n <= 4 ? entry + 8 : read32(t, entry + 8);
    if (at > t->len || n > t->len - at) return 0;
    if (n > room - 1) n = room - 1;
    memcpy(to, t->at + at, n);
    to[n] = 0;
    return strlen(to);
}

/* The tags of a time, of its fraction of a second, and of its zone. */
typedef struct time_tags {
    unsigned time, fraction, zone;
} time_tags;

/* Reads a time such as "2024:05:31 06:30:00" in a directory, and its fraction and zone in the directory `exif`. Some
   cameras fill the zone with blanks; it is then unknown. */
static int read_time(const tiff *t, size_t directory, size_t exif, time_tags tags, long long *when, int *zone) {
    enum { TIME = 19, DIGITS = 9, ZONE = 6 };
    char time[TIME + 1 + DIGITS + ZONE + 1], fraction[DIGITS + 1] = "", there[ZONE + 1] = "";
    if (!directory || tiff_text(t, directory, tags.time, time, TIME + 1) != TIME) return 0;
    if (time[4] != ':' || time[7] != ':') return 0;
    time[4] = time[7] = '-';
    size_t n = exif ? tiff_text(t, exif, tags.fraction, fraction, sizeof fraction) : 0;
    size_t digits = strspn(fraction, "0123456789");
    if (n && digits) {
        time[TIME] = '.';
        memcpy(time + TIME + 1, fraction, digits);
        time[TIME + 1 + digits] = 0;
    }
    const size_t end = strlen(time);
    if (exif && tiff_text(t, exif, tags.zone, there, sizeof there) && strchr("+-", *there)) strcpy(time + end, there);
    if (when_parse_clock(time, when, zone)) return 1;
    time[end] = 0;
    return when_parse_clock(time, when, zone);
}

/* Of the three times, the first that is there: when the photo was taken, when it was digitized (both in the directory
   to which tag 0x8769 points), and when the file was changed, which is the only one that some cameras write. */
static int tiff_time(const unsigned char *bytes, size_t len, long long *when, int *zone) {
    static const time_tags TAKEN = {0x9003, 0x9291, 0x9011}, DIGITIZED = {0x9004, 0x9292, 0x9012},
                           CHANGED = {0x0132, 0x9290, 0x9010};
    tiff t;
    size_t directory = tiff_begin(&t, bytes, len), entry = directory ? find_entry(&t, directory, 0x8769, LONG) : 0;
    size_t exif = entry ? read32(&t, entry + 8) : 0;
    return read_time(&t, exif, exif, TAKEN, when, zone) || read_time(&t, exif, exif, DIGITIZED, when, zone) ||
           read_time(&t, directory, exif, CHANGED, when, zone);
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

int exif_time(const unsigned char *file, size_t len, long long *when, int *zone) {
    size_t size;
    const unsigned char *exif = find_exif(file, len, &size);
    return exif && tiff_time(exif, size, when, zone);
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
