/* kernels_image.c: the resize of reid_kernels.cu gives the same bits as reid.h on the CPU: the view, the network's
   input. Many images of odd sizes go through one launch, as in a batch. On the emulator; built and run by
   tests/gpu/t_kernels.sh. */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

#include "kernels_test.h"

/* The library's own struct, so that its layout is tested. */
typedef reid__gpu_axis axis;
typedef reid__gpu_picture picture;

/* An image and the box of it that is embedded; gap: bytes between its rows. */
typedef struct source {
    int width, height, format, gap;
    reid_box box;
} source;

static const source sources[] = {
    {64, 48, REID_RGB8, 0, {0, 0, 64, 48}},    {61, 97, REID_BGR8, 5, {7, 3, 31, 90}},
    {1, 1, REID_GRAY8, 0, {0, 0, 1, 1}},       {3, 200, REID_RGBA8, 1, {1, 0, 1, 200}},
    {150, 2, REID_RGB8, 3, {0, 1, 149, 1}},    {37, 41, REID_GRAY8, 11, {0, 0, 37, 41}},
    {128, 72, REID_RGBA8, 0, {90, 20, 38, 52}}, {5, 4, REID_BGR8, 0, {1, 1, 3, 2}},
    {333, 251, REID_RGB8, 2, {10, 11, 301, 222}}, {2, 3, REID_RGB8, 0, {0, 0, 2, 3}},
    {1, 3000, REID_GRAY8, 0, {0, 0, 1, 3000}}, {40, 40, REID_RGBA8, 4, {3, 2, 33, 33}},
};
enum { SOURCES = sizeof sources / sizeof *sources, RESIZED = 2, IMAGES = SOURCES + RESIZED };

/* Straight to height x width (resize 0); with a crop; with padding, which no preset of reid.h has: resize < crop. */
typedef struct target {
    const char *preset;
    int resize, height, width; /* resize -1: the preset's */
} target;
static const target targets[] = {
    {"torchvision-v1", -1, 40, 33}, {"effnet-b0", -1, 24, 30}, {"torchreid", -1, 56, 28},
    {"fastreid", -1, 31, 16},       {"openvino-bgr", -1, 16, 48}, {"miewid", -1, 41, 41},
    {"torchvision-v1", 17, 29, 34}, {"effnet-b0", 20, 37, 21}, {"arcface", -1, 1, 1},
    {"effnet-b0", 33, 33, 33},
};

static int below(unsigned *seed, int n) { return (int)(emu_next_random(seed) % (unsigned)n); }

static source random_source(unsigned *seed) {
    int w = 1 + below(seed, 260), h = 1 + below(seed, 260), x = below(seed, w), y = below(seed, h);
    source s = {w, h, below(seed, 4), below(seed, 8), {x, y, 1 + below(seed, w - x), 1 + below(seed, h - y)}};
    return s;
}

typedef struct bytes {
    uint8_t *at;
    size_t count;
} bytes;

static bytes bytes_of(size_t count) {
    bytes b = {(uint8_t *)malloc(count ? count : 1), count};
    return b;
}

/* Noise with many extremes, where a bicubic overshoots. */
static void paint(bytes b, unsigned *seed) {
    for (size_t i = 0; i < b.count; i++) {
        unsigned random = emu_next_random(seed);
        b.at[i] = (uint8_t)(random % 3 == 0 ? 0 : random % 3 == 1 ? 255 : random >> 8);
    }
}

static axis axis_of(const reid__prep *p, int length, int other, int edge, int count) {
    reid__axis a;
    axis result;
    memset(&a, 0, sizeof a);
    reid__axis_init(&a, p->preset.filter, length, edge ? reid__resized(length, other, edge) : count, count);
    result.scale = a.scale, result.support = a.support, result.shrink = a.shrink;
    result.resized = a.resized, result.skipped = a.skipped;
    result.source = length, result.count = count, result.filter = p->preset.filter == REID__BICUBIC;
    result.most = reid__min(length, (int)(2 * a.support) + 2);
    return result;
}

/* A batch: the CPU's results, and the kernels' arguments. */
typedef struct batch {
    reid__prep prep;
    picture pictures[IMAGES];
    bytes view[2], staging; /* [flip] */
    size_t view_bytes;      /* of one image */
} batch;

static void prepare(batch *b, const target *t, int random, unsigned *seed) {
    reid__preset preset = *reid__preset_find(t->preset);
    int h = t->height, w = t->width;
    if (t->resize >= 0) preset.resize = t->resize, preset.height = h, preset.width = w;
    memset(b, 0, sizeof *b);
    NEED(reid__prep_init(&b->prep, &preset, h, w, NULL));
    b->view_bytes = (size_t)(h * w * 3);
    for (int i = 0; i < 2; i++) b->view[i] = bytes_of(IMAGES * b->view_bytes);
    b->staging = bytes_of(4 << 20);
    paint(b->staging, seed);
    void *scratch = NULL;
    NEED(posix_memalign(&scratch, REID__ALIGN, reid__prep_scratch(&b->prep, h)));
    size_t used = 1; /* odd, so that nothing is aligned by luck */
    for (int i = 0; i < IMAGES; i++) {
        picture *p = &b->pictures[i];
        p->pixels = (int64_t)used;
        if (i % 7 == 3) { /* two of them resized before */
            const uint8_t *from = b->staging.at + used;
            memcpy(b->view[0].at + (size_t)i * b->view_bytes, from, b->view_bytes);
            for (int at = 0; at < h * w; at++)
                memcpy(b->view[1].at + (size_t)i * b->view_bytes + (at / w * w + w - 1 - at % w) * 3, from + 3 * at, 3);
            used += b->view_bytes;
            continue;
        }
        const source s = random ? random_source(seed) : sources[i - (i > 3) - (i > 10)];
        const reid__layout *l = &reid__layouts[s.format];
        int row = s.box.width * l->bytes;
        p->bytes = l->bytes, p->r = l->r, p->g = l->g, p->b = l->b;
        p->stride = row + s.gap;
        p->x = axis_of(&b->prep, s.box.width, s.box.height, b->prep.resize_edge, w);
        p->y = axis_of(&b->prep, s.box.height, s.box.width, b->prep.resize_edge, h);
        CHECK(reid__resize_tile(p));

        reid_image image = REID_INIT; /* of which the staging block has only the box */
        bytes pixels = bytes_of((size_t)((s.width * l->bytes + s.gap) * s.height));
        paint(pixels, seed);
        image.pixels = pixels.at, image.width = s.width, image.height = s.height;
        image.format = (reid_format)s.format, image.stride = s.width * l->bytes + s.gap;
        for (int y = 0; y < s.box.height; y++)
            memcpy(b->staging.at + used + (size_t)y * (size_t)p->stride,
                   pixels.at + (s.box.y + y) * image.stride + s.box.x * l->bytes, (size_t)row);
        used += (size_t)p->stride * (size_t)(s.box.height - 1) + (size_t)row;
        for (int flip = 0; flip < 2; flip++)
            reid__prep_rows(&b->prep, &image, &s.box, flip, 0, h, b->view[flip].at + (size_t)i * b->view_bytes,
                            scratch);
        free(pixels.at);
    }
    CHECK(used <= b->staging.count);
    b->staging.count = used; /* so that a read past the last pixel is seen */
    free(scratch);
}

static void release(batch *b) { free(b->view[0].at), free(b->view[1].at), free(b->staging.at); }

static void run_resize(CUmodule program, int blocks, int images, int threads, reid__resize_arguments *a) {
    CUfunction f = emu_function_of(program, "reid_resize", REID__RESIZE_SHARED);
    run_kernel(f, blocks, images, threads, REID__RESIZE_SHARED, a);
}

/* far_away: adds to every offset, and subtracts from every pointer, so much that offsets exceed 32 bits. */
static void test_batch(CUmodule program, const batch *b, const char *name, int far_away, int blocks) {
    picture pictures[IMAGES];
    int w = b->prep.width, h = b->prep.height;
    int64_t far_off = far_away ? (int64_t)1 << 34 : 0;
    for (int i = 0; i < IMAGES; i++) pictures[i] = b->pictures[i], pictures[i].pixels += far_off;
    CUdeviceptr dpictures = emu_upload(pictures, sizeof pictures), dview = emu_upload(NULL, b->view[0].count);
    CUdeviceptr dstaging = emu_upload(b->staging.at, b->staging.count);
    uint8_t *view = (uint8_t *)malloc(b->view[0].count);
    for (int flip = 0; flip < 2; flip++) {
        reid__resize_arguments a = {dstaging - (CUdeviceptr)far_off, dpictures, dview, w, h, flip};
        run_resize(program, blocks, IMAGES, 256, &a);
        NEED(cuMemcpyDtoH_v2(view, dview, b->view[0].count));
        for (int i = 0; i < IMAGES; i++) {
            int same = !memcmp(view + (size_t)i * b->view_bytes, b->view[flip].at + (size_t)i * b->view_bytes,
                               b->view_bytes);
            if (!same) printf("%s %d x %d: image %d, flip %d\n", name, h, w, i, flip);
            CHECK(same);
        }
    }
    free(view);
    NEED(cuMemFree_v2(dpictures) || cuMemFree_v2(dview) || cuMemFree_v2(dstaging));
}

/* Many more windows. Images are one pixel high or wide, so that each costs little. */
static void test_windows(CUmodule program, const char *preset, unsigned *seed) {
    if (!emu_case("windows of %s", preset)) return;
    enum { W = 61, H = 40, COUNT = 256, VIEW = W * H * 3, LONGEST = 1000 };
    static picture pictures[COUNT];
    static uint8_t pixels[COUNT][LONGEST], want[COUNT][VIEW], view[COUNT][VIEW];
    reid__prep p;
    void *scratch = NULL;
    int wrong = 0;
    NEED(reid__prep_init(&p, reid__preset_find(preset), H, W, NULL));
    NEED(posix_memalign(&scratch, REID__ALIGN, reid__prep_scratch(&p, H)));
    paint((bytes){pixels[0], sizeof pixels}, seed);
    for (int i = 0; i < COUNT; i++) {
        int length = 1 + below(seed, i % 4 < 2 ? LONGEST : 100), wide = i % 2;
        reid_image image = REID_INIT;
        image.pixels = pixels[i], image.format = REID_GRAY8;
        image.width = wide ? length : 1, image.height = wide ? 1 : length, image.stride = image.width;
        reid_box all = {0, 0, image.width, image.height};
        picture *at = &pictures[i];
        at->pixels = i * LONGEST, at->bytes = 1, at->stride = image.width;
        at->x = axis_of(&p, image.width, image.height, p.resize_edge, W);
        at->y = axis_of(&p, image.height, image.width, p.resize_edge, H);
        CHECK(reid__resize_tile(at));
        reid__prep_rows(&p, &image, &all, 0, 0, H, want[i], scratch);
    }
    CUdeviceptr dpictures = emu_upload(pictures, sizeof pictures), dview = emu_upload(NULL, sizeof view);
    CUdeviceptr dpixels = emu_upload(pixels, sizeof pixels);
    reid__resize_arguments a = {dpixels, dpictures, dview, W, H, 0};
    run_resize(program, 1, COUNT, 64, &a); /* every loop takes several turns */
    emu_download(view, dview, sizeof view);
    for (int i = 0; i < COUNT; i++) wrong += memcmp(view[i], want[i], VIEW) != 0;
    printf("%s: %d windows, %d images of %d wrong\n", preset, COUNT * (W + H), wrong, COUNT);
    CHECK(wrong == 0);
    NEED(cuMemFree_v2(dpictures) || cuMemFree_v2(dpixels));
    free(scratch);
}

/* Tiles of every kind of axis fit in shared memory, and shrink no further than they must. */
static void test_tiles(void) {
    reid__prep p;
    NEED(reid__prep_init(&p, reid__preset_find("effnet-b0"), 224, 224, NULL));
    for (int across = 1; across < 40000; across += 1 + across / 3)
        for (int down = 1; down < 40000; down += 1 + down / 3) {
            picture at = {.x = axis_of(&p, across, down, 0, 224), .y = axis_of(&p, down, across, 0, 224)};
            int fits = reid__resize_tile(&at), scale = reid__max(across, down) / 224;
            if (scale < 80) CHECK(fits); /* else the CPU resizes */
            if (scale < 4) CHECK(at.columns == REID__RESIZE_COLUMNS && at.lines == REID__RESIZE_COLUMNS / 4);
            if (scale < 20) CHECK(at.columns >= 16 && at.lines >= 4);
        }
    picture far = {.x = axis_of(&p, 9000, 9000, 0, 1), .y = axis_of(&p, 9000, 9000, 0, 1)};
    CHECK(!reid__resize_tile(&far));
}

/* The stored image: uneven borders, wider on the right and at the bottom than the convolution needs. */
static void test_input(const batch *b, int half) {
    enum { TOP = 3, LEFT = 2 };
    int h = b->prep.height, w = b->prep.width, rows = h + TOP + 2, columns = w + LEFT + 5, images = IMAGES;
    int count = images * rows * columns, bgr = b->prep.preset.bgr;
    const constant constants[] = {{"H", h}, {"W", w}, {"ROWS", rows}, {"COLUMNS", columns}, {"BORDER_Y", TOP},
                                  {"BORDER_X", LEFT}, {NULL, 0}};
    CUdeviceptr view = emu_upload(b->view[0].at, b->view[0].count), lut = emu_upload(b->prep.lut, sizeof b->prep.lut);
    tensor out = result_of((size_t)count * 4, half);
    reid__input_arguments a = {view, lut, out.device, bgr, images};
    run_kernel(kernel_of("reid_input", half, constants, 0), reid__ceil_div(count, 256), 1, 256, 0, &a);
    fetch(&out);
    float *want = (float *)malloc(b->view[0].count * 4);
    reid__prep_normalise(&b->prep, b->view[0].at, want, images * h * w);
    int wrong = 0;
    for (int i = 0; i < count * 4; i++) {
        int c = i % 4, x = i / 4 % columns - LEFT, y = i / 4 / columns % rows - TOP, image = i / 4 / columns / rows;
        int inside = c < 3 && x >= 0 && x < w && y >= 0 && y < h;
        double v = inside ? (double)want[((image * h + y) * w + x) * 3 + c] : 0.0;
        if (half) v = emu_half_value(emu_half_from(v));
        wrong += memcmp(&v, &out.host[i], sizeof v) != 0;
    }
    CHECK(wrong == 0);
    NEED(cuMemFree_v2(view) || cuMemFree_v2(lut));
    free(want);
    drop(&out);
}

int main(void) {
    const constant none[] = {{NULL, 0}};
    unsigned seed = 23;
    batch b;
    kernels_text = emu_read_file("reid_kernels.cu");
    emu_start();
    CUmodule program = emu_listing() ? NULL : program_of("reid_resize", 0, none);
    test_tiles();
    test_windows(program, "torchvision-v1", &seed);
    test_windows(program, "effnet-b0", &seed);
    test_windows(program, "fastreid", &seed);
    for (int i = 0, n = sizeof targets / sizeof *targets; i < 2 * n; i++) {
        target t = targets[i % n];
        if (i >= n) t.height = 1 + below(&seed, 60), t.width = 1 + below(&seed, 60);
        int stored = i < n && i % 4 == 0;
        if (!emu_case("resize to %dx%d, %s%s", t.height, t.width, t.preset, stored && emu_bf16() ? ", in bf16" : ""))
            continue;
        prepare(&b, &t, i >= n, &seed);
        test_batch(program, &b, t.preset, i % 2, 1 + i % 3 * 3);
        for (int half = 0; half < 2 && stored; half++) test_input(&b, half);
        release(&b);
    }
    free(kernels_text);
    return emu_done("kernels_image");
}
