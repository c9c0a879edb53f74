/* Fuzzer for image descriptions and resizing: the bytes become a description, a box and an input size. An accepted
   description is resized from a buffer of exactly the promised size, as a whole, in two bands, and mirrored; the
   results must agree.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_image.c \
       -o fuzz_image -lpthread -ldl -lm && ./fuzz_image -max_len=96 -max_total_time=120 */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    const uint8_t *data;
    size_t left;
} input;

static unsigned take(input *in, int bytes) {
    unsigned value = 0;
    for (; bytes > 0 && in->left; bytes--, in->left--) value = value << 8 | *in->data++;
    return value;
}

static void expect(int condition) {
    if (!condition) abort();
}

/* A small number in most runs, any int in some. */
static int take_int(input *in, int range) {
    unsigned kind = take(in, 1);
    if (kind == 255) return (int)take(in, 4);
    if (kind > 247) return (int)(take(in, 2) % 5000);
    return (int)(take(in, 1) % (unsigned)range);
}

static uint8_t *view(const reid__prep *p, const reid_image *image, const reid_box *roi, int flip, int bands) {
    uint8_t *out = (uint8_t *)malloc((size_t)p->height * (size_t)p->width * 3);
    for (int i = 0; i < bands; i++) {
        int y0 = p->height * i / bands, y1 = p->height * (i + 1) / bands;
        void *scratch = NULL;
        if (y0 == y1) continue;
        expect(posix_memalign(&scratch, REID__ALIGN, reid__prep_scratch(p, y1 - y0)) == 0);
        reid__prep_rows(p, image, roi, flip, y0, y1, out + (size_t)y0 * (size_t)p->width * 3, scratch);
        free(scratch);
    }
    return out;
}

static void resize_all_ways(const reid__prep *p, const reid_image *image, const reid_box *roi) {
    size_t row = (size_t)p->width * 3, n = row * (size_t)p->height;
    uint8_t *whole = view(p, image, roi, 0, 1);
    uint8_t *halves = view(p, image, roi, 0, 2);
    uint8_t *mirror = view(p, image, roi, 1, 1);
    expect(memcmp(whole, halves, n) == 0);
    for (size_t i = 0; i < n; i++) expect(whole[i] == mirror[i / row * row + (row / 3 - 1 - i % row / 3) * 3 + i % 3]);
    free(whole);
    free(halves);
    free(mirror);
}

/* As many bytes as the description promises to be readable, if they are few; otherwise NULL. */
static uint8_t *promised_pixels(const reid_image *image, input *in) {
    size_t row = (size_t)image->width * (size_t)reid__layouts[image->format].bytes;
    size_t n = (size_t)reid__image_stride(image) * ((size_t)image->height - 1) + row; /* checked: below PTRDIFF_MAX */
    if (n > 40000) return NULL;
    uint8_t *pixels = (uint8_t *)malloc(n);
    for (size_t i = 0; i < n; i++) pixels[i] = (uint8_t)(in->left ? take(in, 1) : i * 2654435761u >> 13);
    return pixels;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t somewhere = 0;
    input in = {data, size};
    reid__preset preset = reid__presets[take(&in, 1) % (unsigned)REID__PRESET_COUNT];
    reid_image image = REID_INIT;
    reid_box box, roi = {-1, -1, -1, -1};
    reid_error error;
    reid__prep p;
    int height = take_int(&in, 48), width = take_int(&in, 48), edge = take_int(&in, 64);
    if (edge > 0 && edge < 64) { /* including crops larger than the resized image */
        preset.resize = edge;
        preset.height = preset.width = 32;
    }
    image.width = take_int(&in, 64);
    image.height = take_int(&in, 64);
    image.format = (reid_format)(take(&in, 1) % 6);
    image.stride = take(&in, 1) % 2 ? take_int(&in, 300) : 0;
    box.x = take_int(&in, 64), box.y = take_int(&in, 64);
    box.width = take_int(&in, 64), box.height = take_int(&in, 64);
    image.box = take(&in, 1) % 2 ? &box : NULL;
    image.pixels = &somewhere;
    if (reid__image_check(&image, 0, &roi, &error) != REID_OK ||
        reid__prep_init(&p, &preset, height, width, &error) != REID_OK) {
        expect(error.code < 0 && error.text[0]);
        return 0;
    }
    expect(roi.x >= 0 && roi.y >= 0 && roi.width > 0 && roi.height > 0);
    expect(roi.width <= image.width - roi.x && roi.height <= image.height - roi.y);
    if ((long)p.height * p.width > 6000) return 0;
    uint8_t *pixels = promised_pixels(&image, &in);
    if (!pixels) return 0;
    image.pixels = pixels;
    resize_all_ways(&p, &image, &roi);
    free(pixels);
    return 0;
}
