#include "pictures/tiff.h"

#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The part of tiffio.h that is used here, of libtiff 4 (libtiff.so.6 since 4.5, libtiff.so.5 before). */
typedef ptrdiff_t (*tiff_transfer)(void *file, void *bytes, ptrdiff_t size);
typedef uint64_t (*tiff_seek)(void *file, uint64_t offset, int whence);
static struct tiff_library {
    int usable;
    void *(*open)(const char *name, const char *mode, void *file, tiff_transfer read, tiff_transfer write,
                  tiff_seek seek, int (*close)(void *file), uint64_t (*size)(void *file),
                  int (*map)(void *file, void **at, uint64_t *size),
                  void (*unmap)(void *file, void *at, uint64_t size));
    void (*close)(void *tiff);
    int (*get)(void *tiff, uint32_t tag, ...);
    int (*get_default)(void *tiff, uint32_t tag, ...);
    int (*set)(void *tiff, uint32_t tag, ...);
    ptrdiff_t (*row_size)(void *tiff);
    ptrdiff_t (*tile_row_size)(void *tiff);
    ptrdiff_t (*read_strip)(void *tiff, uint32_t strip, void *to, ptrdiff_t size);
    ptrdiff_t (*read_tile)(void *tiff, uint32_t tile, void *to, ptrdiff_t size);
    void *(*on_error)(void *handler);
    void *(*on_warning)(void *handler);
    /* Since 4.5 and 4.6.1; NULL before. */
    void *(*options)(void);
    void (*free_options)(void *options);
    void (*limit_one)(void *options, ptrdiff_t most);
    void (*limit_all)(void *options, ptrdiff_t most);
    void *(*open_with)(const char *name, const char *mode, void *file, tiff_transfer read, tiff_transfer write,
                       tiff_seek seek, int (*close)(void *file), uint64_t (*size)(void *file),
                       int (*map)(void *file, void **at, uint64_t *size),
                       void (*unmap)(void *file, void *at, uint64_t size), void *options);
} libtiff;

/* Finds the functions by which the library's own memory is limited. */
static void look_for_limits(void *library) {
    const library_function functions[] = {
        {"TIFFOpenOptionsAlloc", &libtiff.options},
        {"TIFFOpenOptionsFree", &libtiff.free_options},
        {"TIFFOpenOptionsSetMaxSingleMemAlloc", &libtiff.limit_one},
        {"TIFFClientOpenExt", &libtiff.open_with},
        {"TIFFOpenOptionsSetMaxCumulatedMemAlloc", &libtiff.limit_all},
    };
    library_find(library, functions, sizeof functions / sizeof *functions);
    if (!libtiff.options || !libtiff.free_options || !libtiff.limit_one) libtiff.open_with = NULL;
}

/* The library stays in memory until the process ends, and prints nothing. */
static void look_for_tiff(void) {
    void *library = dlopen("libtiff.so.6", RTLD_NOW | RTLD_LOCAL);
    const library_function functions[] = {
        {"TIFFClientOpen", &libtiff.open},
        {"TIFFClose", &libtiff.close},
        {"TIFFGetField", &libtiff.get},
        {"TIFFGetFieldDefaulted", &libtiff.get_default},
        {"TIFFSetField", &libtiff.set},
        {"TIFFScanlineSize", &libtiff.row_size},
        {"TIFFTileRowSize", &libtiff.tile_row_size},
        {"TIFFReadEncodedStrip", &libtiff.read_strip},
        {"TIFFReadEncodedTile", &libtiff.read_tile},
        {"TIFFSetErrorHandler", &libtiff.on_error},
        {"TIFFSetWarningHandler", &libtiff.on_warning},
    };
    if (!library) library = dlopen("libtiff.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    libtiff.usable = !library_find(library, functions, sizeof functions / sizeof *functions);
    if (libtiff.usable) libtiff.on_error(NULL), libtiff.on_warning(NULL), look_for_limits(library);
    else dlclose(library);
}

int tiff_is_readable(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_for_tiff);
    return libtiff.usable;
}

/* --- a file in memory --------------------------------------------------------------------------------------------- */

typedef struct tiff_source {
    const unsigned char *file;
    uint64_t len, at;
} tiff_source;

static ptrdiff_t source_bytes(void *user, void *to, ptrdiff_t size) {
    tiff_source *s = user;
    uint64_t left = s->at < s->len ? s->len - s->at : 0, n = (uint64_t)size < left ? (uint64_t)size : left;
    if (size < 0) return -1;
    memcpy(to, s->file + (n ? s->at : 0), (size_t)n);
    s->at += n;
    return (ptrdiff_t)n;
}

static ptrdiff_t source_is_read_only(void *user, void *from, ptrdiff_t size) {
    return (void)user, (void)from, (void)size, -1;
}

static uint64_t source_seek(void *user, uint64_t offset, int whence) {
    tiff_source *s = user;
    return s->at = offset + (whence == SEEK_CUR ? s->at : whence == SEEK_END ? s->len : 0);
}

static int source_stays(void *user) { return (void)user, 0; }
static uint64_t source_size(void *user) { return ((tiff_source *)user)->len; }

/* Opens the file. The library may hold as much as tiff_overhead says; where it can be told, it is limited to twice that
   and what the tables of a decoder take. "rm": it is not mapped into memory. */
static void *tiff_open(tiff_source *s, const tiff_facts *is) {
    const ptrdiff_t most = (ptrdiff_t)(2 * tiff_overhead(is, (size_t)s->len)) + (16 << 20);
    void *options = libtiff.open_with ? libtiff.options() : NULL;
    if (!options)
        return libtiff.open("image", "rm", s, source_bytes, source_is_read_only, source_seek, source_stays,
                            source_size, NULL, NULL);
    libtiff.limit_one(options, most);
    if (libtiff.limit_all) libtiff.limit_all(options, most);
    void *tiff = libtiff.open_with("image", "rm", s, source_bytes, source_is_read_only, source_seek, source_stays,
                                   source_size, NULL, NULL, options);
    libtiff.free_options(options);
    return tiff;
}

/* --- tags --------------------------------------------------------------------------------------------------------- */

enum {
    SUBFILE = 254,
    WIDTH = 256,
    HEIGHT,
    BITS,
    COMPRESSION,
    PHOTOMETRIC = 262,
    FILL_ORDER = 266,
    SAMPLES = 277,
    ROWS = 278,
    PLANES = 284,
    TABLE = 320,
    TILE_WIDTH = 322,
    TILE_HEIGHT,
    EXTRA = 338,
    FORMAT,
    DNG = 50706,
    JPEG_COLOURS = 65538
};
enum { JPEG = 7 };

/* --- the directory as it is in the file --------------------------------------------------------------------------- */

/* The first directory, read here before the library copies everything that it names: any number of its entries may name
   the same megabytes. */
typedef struct directory {
    const unsigned char *file;
    size_t len, at;          /* at: of its first entry */
    int entries, is_big_endian;
} directory;

static uint32_t number_at(const directory *d, size_t at, int bytes) {
    uint32_t n = 0;
    for (int i = 0; i < bytes; i++)
        n |= (uint32_t)d->file[at + (size_t)i] << 8 * (d->is_big_endian ? bytes - 1 - i : i);
    return n;
}

static int directory_find(directory *d, const unsigned char *file, size_t len) {
    *d = (directory){file, len, 0, 0, len && file[0] == 'M'};
    if (len < 8) return 0;
    const size_t at = number_at(d, 4, 4);
    if (at > len || len - at < 2) return 0;
    d->at = at + 2, d->entries = (int)number_at(d, at, 2);
    return (len - d->at) / 12 >= (size_t)d->entries;
}

/* The bytes of an entry's values; 0 for types that the library does not read either. */
static uint64_t entry_bytes(const directory *d, size_t at) {
    static const unsigned char sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    const uint32_t type = number_at(d, at + 2, 2);
    return type < sizeof sizes ? (uint64_t)sizes[type] * number_at(d, at + 4, 4) : 0;
}

/* The number of an entry's values, or its value if there is one of 16 or 32 bits; `missing` without the entry. */
static uint32_t entry_of(const directory *d, uint32_t tag, int wants_count, uint32_t missing) {
    for (int i = 0; i < d->entries; i++) {
        const size_t at = d->at + 12 * (size_t)i;
        if (number_at(d, at, 2) != tag) continue;
        if (wants_count) return number_at(d, at + 4, 4);
        return number_at(d, at + 8, number_at(d, at + 2, 2) == 3 ? 2 : 4);
    }
    return missing;
}

/* The library has 16 bytes for each strip or tile that the image's size asks for. */
static uint64_t parts_of(const directory *d) {
    const uint64_t width = entry_of(d, WIDTH, 0, 0), height = entry_of(d, HEIGHT, 0, 0);
    const uint64_t across = entry_of(d, TILE_WIDTH, 0, 0), down = entry_of(d, TILE_HEIGHT, 0, 0);
    const uint64_t rows = entry_of(d, ROWS, 0, UINT32_MAX);
    if (across && down) return (width + across - 1) / across * ((height + down - 1) / down);
    return rows ? (height + rows - 1) / rows : 0;
}

/* Returns 0 if its entries name more bytes than the file has, or fewer places than the image has parts. */
static int directory_fits(const unsigned char *file, size_t len, tiff_facts *out) {
    enum { PLACES = 273, TILE_PLACES = 324 };
    directory d;
    uint64_t bytes = 0;
    if (!directory_find(&d, file, len)) return 0;
    for (int i = 0; i < d.entries; i++) bytes += entry_bytes(&d, d.at + 12 * (size_t)i);
    const uint64_t places = entry_of(&d, PLACES, 1, 0), tiles = entry_of(&d, TILE_PLACES, 1, 0);
    out->directory = (size_t)bytes;
    return bytes <= len && parts_of(&d) <= (places > tiles ? places : tiles);
}

/* --- what it is --------------------------------------------------------------------------------------------------- */

static int short_of(void *tiff, uint32_t tag) {
    uint16_t value = 0;
    return libtiff.get_default(tiff, tag, &value) ? value : 0;
}

static uint32_t long_of(void *tiff, uint32_t tag) {
    uint32_t value = 0;
    return libtiff.get_default(tiff, tag, &value) ? value : 0;
}

static int is_read_coding(int coding) {
    static const int known[] = {1, 5, JPEG, 8, 32773, 32946}; /* none, LZW, JPEG, deflate, PackBits, old deflate */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (coding == known[i]) return 1;
    return 0;
}

/* Whether the samples after the colours may be dropped: there is at most one, by which colours are not multiplied. */
static int extra_is_dropped(void *tiff, const tiff_facts *is) {
    enum { MULTIPLIED = 1 };
    uint16_t count = 0;
    const uint16_t *kinds = NULL;
    if (!libtiff.get(tiff, EXTRA, &count, &kinds) || !count) return is->samples == is->colours || is->samples == 4;
    return is->samples == is->colours + 1 && count == 1 && kinds && kinds[0] != MULTIPLIED;
}

static int has_read_colours(void *tiff, tiff_facts *out) {
    enum { WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, BY_TABLE, YCC = 6 };
    const int photometric = short_of(tiff, PHOTOMETRIC), is_jpeg = short_of(tiff, COMPRESSION) == JPEG;
    out->is_inverted = photometric == WHITE_IS_ZERO;
    out->has_table = photometric == BY_TABLE;
    out->colours = photometric == RGB || photometric == YCC ? 3 : 1;
    out->samples = short_of(tiff, SAMPLES);
    out->is_jpeg = is_jpeg;
    if (photometric > BY_TABLE && !(photometric == YCC && is_jpeg && out->samples == 3)) return 0;
    return out->has_table ? out->samples == 1 : extra_is_dropped(tiff, out);
}

/* A raw image's first directory holds a small preview. */
static int is_preview(void *tiff, const unsigned char *file, size_t len) {
    const void *version = NULL;
    return (len > 10 && memcmp(file + 8, "CR", 2) == 0) || (long_of(tiff, SUBFILE) & 1) ||
           libtiff.get(tiff, DNG, &version);
}

static int has_read_parts(void *tiff, tiff_facts *out) {
    const uint32_t most = 1u << 30, spare = 1024;
    const uint32_t width = long_of(tiff, WIDTH), height = long_of(tiff, HEIGHT);
    uint32_t across = width, down = long_of(tiff, ROWS), tile = 0;
    if (!width || !height || width > most || height > most) return 0;
    out->is_tiled = libtiff.get(tiff, TILE_WIDTH, &tile);
    if (out->is_tiled) across = tile, down = long_of(tiff, TILE_HEIGHT);
    else if (down > height) down = height;
    if (!across || !down || across > width + spare || down > height + spare) return 0;
    out->width = (int)width, out->height = (int)height, out->part_width = (int)across, out->part_height = (int)down;
    const ptrdiff_t row = out->is_tiled ? libtiff.tile_row_size(tiff) : libtiff.row_size(tiff);
    return row == (ptrdiff_t)across * out->samples;
}

/* JPEG is decoded to RGB. */
static void ask_for_rgb(void *tiff, const tiff_facts *is) {
    if (is->colours == 3 && short_of(tiff, COMPRESSION) == JPEG) libtiff.set(tiff, JPEG_COLOURS, 1);
}

static const char *directory_problem(void *tiff, const unsigned char *file, size_t len, tiff_facts *out) {
    if (is_preview(tiff, file, len)) return "a raw image, which is not supported; convert it to PNG or JPEG";
    if (!is_read_coding(short_of(tiff, COMPRESSION)) || short_of(tiff, BITS) != 8 || short_of(tiff, FORMAT) > 1 ||
        short_of(tiff, PLANES) != 1 || short_of(tiff, FILL_ORDER) != 1 || !has_read_colours(tiff, out))
        return "a TIFF of an unusual kind (supported are 8-bit grey, palette and RGB, uncompressed or with LZW, "
               "deflate, PackBits or JPEG); convert it to PNG or JPEG";
    ask_for_rgb(tiff, out);
    return has_read_parts(tiff, out) ? NULL : "damaged TIFF (size)";
}

const char *tiff_problem(const unsigned char *file, size_t len, tiff_facts *out) {
    tiff_source s = {file, len, 0};
    memset(out, 0, sizeof *out);
    if (!tiff_is_readable()) return TIFF_NEEDS_LIBRARY;
    void *tiff = directory_fits(file, len, out) ? tiff_open(&s, out) : NULL;
    const char *problem = tiff ? directory_problem(tiff, file, len, out) : "damaged TIFF (directory)";
    if (tiff) libtiff.close(tiff);
    return problem;
}

/* --- its pixels --------------------------------------------------------------------------------------------------- */

size_t tiff_part(const tiff_facts *is) {
    return (size_t)is->part_width * (size_t)is->part_height * (size_t)is->samples;
}

size_t tiff_overhead(const tiff_facts *is, size_t len) {
    return len + 9 * is->directory + (is->is_jpeg ? 2 * tiff_part(is) : 0);
}

static void part_to_rgb(const tiff_facts *is, uint16_t *const table[3], const unsigned char *from, int pixels,
                        unsigned char *to) {
    const unsigned char inverted = is->is_inverted ? 255 : 0;
    for (int i = 0; i < pixels; i++, from += is->samples, to += 3)
        for (int c = 0; c < 3; c++)
            to[c] = is->has_table ? (unsigned char)(table[c][*from] >> 8) : from[is->colours == 3 ? c : 0] ^ inverted;
}

static int smaller(int a, int b) { return a < b ? a : b; }

static int read_parts(void *tiff, const tiff_facts *is, unsigned char *part, unsigned char *to) {
    uint16_t *table[3] = {NULL, NULL, NULL};
    uint32_t number = 0;
    ask_for_rgb(tiff, is);
    if (is->has_table && !libtiff.get(tiff, TABLE, &table[0], &table[1], &table[2])) return 0;
    for (int y = 0; y < is->height; y += is->part_height)
        for (int x = 0; x < is->width; x += is->part_width, number++) {
            const int rows = smaller(is->part_height, is->height - y), columns = smaller(is->part_width, is->width - x);
            const size_t row = (size_t)is->part_width * (size_t)is->samples;
            const ptrdiff_t size = (ptrdiff_t)(row * (size_t)(is->is_tiled ? is->part_height : rows));
            if ((is->is_tiled ? libtiff.read_tile : libtiff.read_strip)(tiff, number, part, size) != size) return 0;
            for (int i = 0; i < rows; i++)
                part_to_rgb(is, table, part + row * (size_t)i, columns,
                            to + 3 * ((size_t)is->width * (size_t)(y + i) + (size_t)x));
        }
    return 1;
}

int tiff_decode(const unsigned char *file, size_t len, const tiff_facts *is, unsigned char *part, unsigned char *to) {
    tiff_source s = {file, len, 0};
    void *tiff = tiff_open(&s, is);
    int good = tiff && read_parts(tiff, is, part, to);
    if (tiff) libtiff.close(tiff);
    return good;
}
