/* Resizing equals Pillow's, and resize plus centre crop torchvision's, bit for bit: hashes and pixels made by
   tests/golden/make_resize.py with the originals. Every case is also run in bands, mirrored, from other pixel formats
   and with a stride; none of that may change a pixel. With a sanitizer, every fourth case.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_resize.c -o t_resize -lpthread -ldl -lm && ./t_resize
      [tests/golden] */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

#ifdef EVERY /* set by t_neon.sh, for a slow emulator */
#elif defined(__SANITIZE_ADDRESS__)
#define EVERY 4
#else
#define EVERY 1
#endif

static int failures;

static void fail(const char *what, const char *line) {
    fprintf(stderr, "t_resize: %s: %s", what, line);
    failures++;
    if (getenv("CMOCKA_TEST_ABORT")) exit(1); /* t_broken needs to know only whether it fails */
}

/* The picture generators of make_resize.py. */
static uint8_t picture_value(const char *kind, uint64_t seed, uint64_t x, uint64_t y, uint64_t c, uint64_t index,
                             uint64_t width, uint64_t height) {
    uint64_t across = x * 255 / (width > 1 ? width - 1 : 1), down = y * 255 / (height > 1 ? height - 1 : 1);
    if (strcmp(kind, "noise") == 0) {
        uint64_t z = (index + 1) * 0x9E3779B97F4A7C15u + seed;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return (uint8_t)((z ^ (z >> 31)) >> 56);
    }
    if (strcmp(kind, "gradient") == 0)
        return (uint8_t)((c + seed) % 3 == 0 ? across : (c + seed) % 3 == 1 ? down : (across + down) / 2);
    return (uint8_t)(255 * ((x / 5 + y / 3 + c * (x / 7) + seed) % 2));
}

static uint8_t *picture(const char *kind, unsigned seed, int width, int height, int channels) {
    size_t n = (size_t)width * (size_t)height * (size_t)channels;
    uint8_t *pixels = (uint8_t *)malloc(n);
    for (size_t i = 0; i < n; i++) {
        size_t at = i / (size_t)channels;
        pixels[i] = picture_value(kind, seed, at % (size_t)width, at / (size_t)width, i % (size_t)channels, i,
                                  (uint64_t)width, (uint64_t)height);
    }
    return pixels;
}

#define FNV1A_START 0xCBF29CE484222325u

static uint64_t fnv1a(uint64_t value, const void *data, size_t n) {
    for (size_t i = 0; i < n; i++) value = (value ^ ((const uint8_t *)data)[i]) * 0x100000001B3u;
    return value;
}

/* The network's input for an image in bands of `band` rows, each with exactly the promised scratch memory. The
   instruction sets take turns. */
static uint8_t *view(const reid__prep *prep, const reid_image *image, int flip, int band) {
    static int turn;
    static const reid_isa isas[] = {REID_ISA_SCALAR, REID_ISA_AVX2, REID_ISA_AVX512, REID_ISA_NEON};
    const reid__kernels *kernels = reid__kernels_for(isas[turn++ % 4]);
    uint8_t *out = (uint8_t *)malloc((size_t)prep->height * (size_t)prep->width * 3);
    reid__prep copy = *prep, *p = &copy;
    reid_box roi;
    if (kernels) copy.lines = kernels->lines;
    if (reid__image_check(image, 0, &roi, NULL) != REID_OK) {
        fail("refused", "a valid image\n");
        exit(1);
    }
    for (int y = 0; y < p->height; y += band) {
        int end = reid__min(y + band, p->height);
        void *scratch = NULL;
        if (posix_memalign(&scratch, REID__ALIGN, reid__prep_scratch(p, end - y))) exit(1);
        memset(scratch, 0xa5, reid__prep_scratch(p, end - y));
        reid__prep_rows(p, image, &roi, flip, y, end, out + (size_t)y * (size_t)p->width * 3, scratch);
        free(scratch);
    }
    return out;
}

/* The same image in another format and with `gap` bytes between rows; the last row ends with its last pixel. */
static uint8_t *reformat(const reid_image *image, reid_format format, int gap, reid_image *result) {
    const reid__layout *from = &reid__layouts[image->format], *to = &reid__layouts[format];
    size_t row = (size_t)image->width * (size_t)to->bytes, height = (size_t)image->height;
    uint8_t *pixels = (uint8_t *)malloc((row + (size_t)gap) * (height - 1) + row);
    memset(pixels, 0x5a, (row + (size_t)gap) * (height - 1) + row);
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++) {
            const uint8_t *s = (const uint8_t *)image->pixels + ((ptrdiff_t)y * image->width + x) * from->bytes;
            uint8_t *d = pixels + (size_t)y * (row + (size_t)gap) + (size_t)x * (size_t)to->bytes;
            d[to->r] = s[from->r], d[to->g] = s[from->g], d[to->b] = s[from->b];
        }
    *result = *image;
    result->pixels = pixels;
    result->format = format;
    result->stride = (ptrdiff_t)row + gap;
    return pixels;
}

static void check_same(const reid__prep *p, const reid_image *image, int band, const uint8_t *want, const char *what,
                       const char *line) {
    uint8_t *out = view(p, image, 0, band);
    if (memcmp(out, want, (size_t)p->height * (size_t)p->width * 3)) fail(what, line);
    free(out);
}

static void check_mirror(const reid__prep *p, const reid_image *image, const uint8_t *want, const char *line) {
    uint8_t *out = view(p, image, 1, reid__max(p->height / 2, 1));
    int wrong = 0;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++)
            wrong |= memcmp(out + ((size_t)y * (size_t)p->width + (size_t)x) * 3,
                            want + ((size_t)y * (size_t)p->width + (size_t)(p->width - 1 - x)) * 3, 3);
    if (wrong) fail("mirrored", line);
    free(out);
}

/* Every way to request the image in `want`. */
static void check_variants(const reid__prep *p, const reid_image *image, const uint8_t *want, const char *line) {
    reid_image other;
    reid_format format = image->format == REID_RGB8 ? REID_BGR8 : image->format;
    uint8_t *pixels = reformat(image, format, 7, &other);
    check_same(p, &other, p->height, want, "stride, BGR for RGB", line);
    free(pixels);
    pixels = reformat(image, REID_RGBA8, 0, &other);
    check_same(p, &other, reid__max(p->height / 3, 1), want, "RGBA, three bands", line);
    free(pixels);
    check_same(p, image, p->height / 5 + 1, want, "up to five bands", line);
    if (p->height <= 64) check_same(p, image, 1, want, "bands of 1 row", line);
    check_mirror(p, image, want, line);
}

static void check_case(const reid__prep *p, const reid_image *image, uint64_t hash, const uint8_t *pixels,
                       const char *line) {
    size_t n = (size_t)p->height * (size_t)p->width * 3;
    uint8_t *out = view(p, image, 0, p->height);
    if (fnv1a(FNV1A_START, out, n) != hash) fail("pixels differ from the golden", line);
    if (pixels && memcmp(out, pixels, n)) fail("pixels differ from the golden file", line);
    check_variants(p, image, out, line);
    free(out);
}

static reid__filter filter_of(const char *name) { return strcmp(name, "bicubic") ? REID__BILINEAR : REID__BICUBIC; }

/* A preset of our own: `edge` 0 resizes straight to height x width. */
static void own_prep(reid__prep *p, const char *filter, int edge, int height, int width) {
    reid__preset preset = reid__presets[0];
    preset.filter = filter_of(filter);
    preset.resize = edge;
    preset.height = height;
    preset.width = width;
    if (reid__prep_init(p, &preset, 0, 0, NULL) != REID_OK) {
        fail("refused", "a valid size\n");
        exit(1);
    }
}

static int resize_line(const char *line, const uint8_t *stored) {
    char format[8], kind[16], filter[16];
    int w, h, out_w, out_h, offset;
    unsigned seed;
    unsigned long long hash;
    reid_box box;
    reid_image image = REID_INIT;
    reid__prep p;
    if (sscanf(line, "%7s %15s %u %d %d %d %d %d %d %d %d %15s %llx %d", format, kind, &seed, &w, &h, &box.x, &box.y,
               &box.width, &box.height, &out_w, &out_h, filter, &hash, &offset) != 14) return 0;
    image.format = strcmp(format, "rgb") == 0 ? REID_RGB8 : strcmp(format, "rgba") == 0 ? REID_RGBA8 : REID_GRAY8;
    uint8_t *pixels = picture(kind, seed, w, h, reid__layouts[image.format].bytes);
    image.pixels = pixels;
    image.width = w;
    image.height = h;
    image.box = box.width == w && box.height == h ? NULL : &box;
    own_prep(&p, filter, 0, out_h, out_w);
    check_case(&p, &image, hash, offset < 0 ? NULL : stored + offset, line);
    free(pixels);
    return 1;
}

/* A whole image of three channels through p. */
static void check_picture(const reid__prep *p, const char *kind, unsigned seed, int w, int h, uint64_t hash,
                          const char *line) {
    reid_image image = REID_INIT;
    uint8_t *pixels = picture(kind, seed, w, h, 3);
    image.pixels = pixels;
    image.width = w;
    image.height = h;
    check_case(p, &image, hash, NULL, line);
    free(pixels);
}

static int crop_line(const char *line, const uint8_t *stored) {
    char name[24], filter[16], kind[16];
    int edge, height, width, w, h;
    unsigned seed;
    unsigned long long hash;
    reid__prep p;
    (void)stored;
    if (sscanf(line, "%23s %15s %d %d %d %15s %u %d %d %llx", name, filter, &edge, &height, &width, kind, &seed, &w, &h,
               &hash) != 10) return 0;
    if (strcmp(name, "-") == 0) own_prep(&p, filter, edge, height, width);
    else if (!reid__preset_find(name) || reid__prep_init(&p, reid__preset_find(name), height, width, NULL) != REID_OK) {
        fail("preset", line);
        return 1;
    }
    if (p.resize_edge != edge || p.preset.filter != filter_of(filter)) fail("edge or filter", line);
    check_picture(&p, kind, seed, w, h, hash, line);
    return 1;
}

/* A configuration of timm, and the corresponding preset: the same pixels, mean and standard deviation. */
static int timm_line(const char *line, const uint8_t *stored) {
    char model[64], when[8], kind[16];
    int w, h, text = 0, end;
    unsigned seed;
    unsigned long long hash;
    double mean[3], std[3];
    reid__preset preset;
    reid__prep p;
    (void)stored;
    if (sscanf(line, "%63s %7s %15s %u %d %d %llx %lf %lf %lf %lf %lf %lf %n", model, when, kind, &seed, &w, &h, &hash,
               &mean[0], &mean[1], &mean[2], &std[0], &std[1], &std[2], &text) != 13 || !text) return 0;
    char name[128];
    end = (int)strcspn(line + text, "\n");
    snprintf(name, sizeof name, "%.*s", end, line + text);
    if (reid__preset_read(name, &preset, NULL) != REID_OK || reid__prep_init(&p, &preset, 0, 0, NULL) != REID_OK) {
        fail("preset", line);
        return 1;
    }
    if (memcmp(preset.mean, mean, sizeof mean) != 0 || memcmp(preset.std, std, sizeof std) != 0) fail("mean", line);
    if (preset.scale != 1.0 / 255 || preset.bgr) fail("scale or order", line);
    check_picture(&p, kind, seed, w, h, hash, line);
    return 1;
}

/* The doubles behind the taps, of every window: a compiler may not fuse a multiplication with an addition there. */
static int weights_line(const char *line, const uint8_t *stored) {
    char filter[16];
    int source, resized;
    unsigned long long hash;
    uint64_t value = FNV1A_START;
    reid__axis a;
    (void)stored;
    if (sscanf(line, "%d %d %15s %llx", &source, &resized, filter, &hash) != 4) return 0;
    reid__axis_init(&a, filter_of(filter), source, resized, resized);
    for (int i = 0; i < resized; i++) {
        reid__window w;
        reid__window_init(&w, &a, i);
        const double head[4] = {w.first, w.end, w.center, w.sum};
        value = fnv1a(value, head, sizeof head);
        for (int at = w.first; at < w.end; at++) {
            double weight = reid__weight(&a, &w, at);
            value = fnv1a(value, &weight, sizeof weight);
        }
    }
    if (value != hash) fail("weights differ in a bit", line);
    return 1;
}

static FILE *open_golden(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) perror(path), exit(1);
    return file;
}

static void run_file(const char *folder, const char *name, int (*run_line)(const char *, const uint8_t *), int least,
                     const uint8_t *stored) {
    char line[256];
    FILE *file = open_golden(folder, name);
    int lines = 0;
    for (; fgets(line, sizeof line, file); lines++)
        if (lines % EVERY == 0 && !run_line(line, stored)) fail("unreadable", line);
    fclose(file);
    if (lines < least) fail("too few cases", "the golden file is cut\n");
    printf("%s: %d cases\n", name, lines);
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : "tests/golden";
    static uint8_t stored[65536];
    FILE *file = open_golden(folder, "resize.bin");
    if (!fread(stored, 1, sizeof stored, file)) fail("empty", "resize.bin\n");
    fclose(file);
    run_file(folder, "resize.txt", resize_line, 324, stored);
    run_file(folder, "crop.txt", crop_line, 164, stored);
    run_file(folder, "timm.txt", timm_line, 68, stored);
    run_file(folder, "weights.txt", weights_line, 20, stored);
    printf("%d failures\n", failures);
    return failures != 0;
}
