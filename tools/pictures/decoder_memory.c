#include "pictures/decoder_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 16 }; /* bytes before every block, which keep it aligned: its size, then its capacity */

static __thread size_t limit, held;
static __thread int no_memory, too_much;

void decoder_begin(size_t budget) {
    limit = budget;
    held = 0;
    no_memory = too_much = 0;
}

int decoder_had_no_memory(void) { return no_memory; }
int decoder_wanted_too_much(void) { return too_much; }

static size_t size_of(const void *block) {
    size_t size = 0;
    if (block) memcpy(&size, (const char *)block - PREFIX, sizeof size);
    return size;
}

/* Never goes below 0, because a block may be freed on a thread that did not count it. */
static void give_back(size_t size) { held -= size < held ? size : held; }

/* --- blocks that are used again ----------------------------------------------------------------------------------- */

/* The pixels of a large photograph take 9,000 pages. The kernel clears and maps each page when it is first written,
   which takes half as long as decoding, so some blocks are kept for the next photograph. */
enum { MOST_KEPT = 8 };
static const size_t LEAST_KEPT = 1 << 20, MOST_BYTES = (size_t)128 << 20;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the next three */
static char *kept[MOST_KEPT];
static int kept_count;
static size_t kept_bytes;

static size_t room_of(const char *start) {
    size_t room;
    memcpy(&room, start + sizeof room, sizeof room);
    return room;
}

static char *without(int i) {
    char *start = kept[i];
    kept_bytes -= room_of(start);
    kept[i] = kept[--kept_count];
    return start;
}

/* Returns a kept block with room for `size` bytes and at most a quarter more; NULL if there is none. */
static char *take_kept(size_t size) {
    char *start = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < kept_count && !start; i++)
        if (room_of(kept[i]) >= size && room_of(kept[i]) - size <= size / 4) start = without(i);
    pthread_mutex_unlock(&lock);
    return start;
}

/* Keeps a large block, and frees those kept longest to make room for it; frees a small one. */
static void keep_or_free(char *start) {
    size_t room = room_of(start);
    pthread_mutex_lock(&lock);
    while (room >= LEAST_KEPT && room <= MOST_BYTES && (kept_count == MOST_KEPT || kept_bytes + room > MOST_BYTES))
        free(without(0));
    int fits = room >= LEAST_KEPT && room <= MOST_BYTES;
    if (fits) {
        kept[kept_count++] = start;
        kept_bytes += room;
    }
    pthread_mutex_unlock(&lock);
    if (!fits) free(start);
}

void decoder_trim(void) {
    pthread_mutex_lock(&lock);
    while (kept_count) free(without(0));
    pthread_mutex_unlock(&lock);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static char *new_block(size_t size, int cleared) {
    char *start = size >= LEAST_KEPT ? take_kept(size) : NULL;
    if (start) {
        if (cleared) memset(start + PREFIX, 0, size);
        return start;
    }
    start = cleared ? calloc(1, PREFIX + size) : malloc(PREFIX + size);
    if (start) memcpy(start + sizeof size, &size, sizeof size);
    return start;
}

static char *grown(char *start, size_t size) {
    start = realloc(start, PREFIX + size);
    if (start) memcpy(start + sizeof size, &size, sizeof size);
    return start;
}

static void *alloc(void *block, size_t size, int cleared) {
    size_t before = size_of(block);
    if (size > limit || held - (before < held ? before : held) > limit - size) {
        too_much = 1;
        return NULL;
    }
    char *start = block ? grown((char *)block - PREFIX, size) : new_block(size, cleared);
    if (!start) {
        no_memory = 1;
        return NULL;
    }
    memcpy(start, &size, sizeof size);
    give_back(before);
    held += size;
    return start + PREFIX;
}

void *decoder_alloc(void *block, size_t size) { return alloc(block, size, 1); }
void *decoder_alloc_uncleared(size_t size) { return alloc(NULL, size, 0); }

void decoder_free(void *block) {
    if (!block) return;
    give_back(size_of(block));
    keep_or_free((char *)block - PREFIX);
}

/* --- memory for each kind of file --------------------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* stb_image holds a plane of 8-bit samples per component, in whole units of the coarsest component, and 16-bit
   coefficients for a progressive file. libturbojpeg has no planes, but holds such coefficients also if a scan does not
   contain all components. Both hold some rows and the result, which libturbojpeg may first write as CMYK. */
static size_t jpeg_need(const jpeg_frame *f, size_t rgb, int width, int upright, int by_turbo) {
    size_t planes = 0, units_x, units_y;
    int h_max = 1, v_max = 1;
    for (int i = 0; i < f->components; i++) {
        if (f->h[i] > h_max) h_max = f->h[i];
        if (f->v[i] > v_max) v_max = f->v[i];
    }
    units_x = ((size_t)f->width + (size_t)h_max * 8 - 1) / ((size_t)h_max * 8);
    units_y = ((size_t)f->height + (size_t)v_max * 8 - 1) / ((size_t)v_max * 8);
    for (int i = 0; i < f->components; i++) planes += units_x * f->h[i] * 8 * (units_y * f->v[i] * 8);
    int in_parts = f->progressive || f->first_scan < f->components, copies = f->progressive ? 3 : 1;
    if (by_turbo) copies = in_parts ? 2 : 0;
    if (by_turbo && f->components == 4) rgb += rgb / 3;
    return larger(planes * (size_t)copies + rgb + 64 * (size_t)width, upright ? 2 * rgb : 0);
}

/* While filtering: the inflated rows (of an interlaced file, in a block that has grown to twice their size), the
   samples, with the alpha channel that transparency adds, and a palette's colours. Afterwards: the samples and the RGB
   pixels. */
static size_t png_need(const picture_facts *is, size_t len, size_t pixels, size_t rgb, int height) {
    static const unsigned char channels_of[8] = {1, 0, 3, 1, 2, 0, 4, 0};
    size_t bits = (size_t)is->bits, channels = channels_of[is->colour], bytes = bits == 16 ? 2 : 1;
    size_t rows = (pixels * channels * bits + 7) / 8 + 2 * (size_t)height; /* a filter byte, and padding */
    size_t samples = pixels * (channels + (channels & 1)) * bytes;
    size_t filtering = (is->interlaced ? 2 * rows : rows) + samples + (is->interlaced ? samples / 2 : 0);
    return 2 * len + larger(filtering + (is->colour == 3 ? 4 * pixels : 0), samples + rgb * bytes);
}

size_t decoder_need(const picture_facts *is, size_t len, int width, int height, int upright, int by_turbo) {
    static const size_t tables = 256 << 10;
    size_t pixels = (size_t)width * (size_t)height, rgb = 3 * pixels;
    switch (is->kind) {
    case PICTURE_JPEG: return tables + jpeg_need(&is->jpeg.frame, rgb, width, upright, by_turbo);
    case PICTURE_PNG: return tables + png_need(is, len, pixels, rgb, height);
    case PICTURE_BMP:
    case PICTURE_TGA:
    case PICTURE_PNM: break;
    case PICTURE_TIFF:
        return tables + larger(tiff_part(&is->tiff) + tiff_overhead(&is->tiff, len) + rgb, upright ? 2 * rgb : 0);
    case PICTURE_WEBP: return tables + 8 * pixels + rgb; /* libwebp: ARGB and a plane of transparency, at most */
    }
    return tables + (upright ? 2 * rgb : rgb);
}
