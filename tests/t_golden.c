/* t_golden.c: embeddings equal PyTorch's. tests/golden/embeddings.* holds float64 results of PyTorch for seeded weights
   and pixels that are made here once more; every instruction set of this CPU must come within 1e-5 per component and a
   cosine of 0.999999. PyTorch's own float32 error stands beside ours. The scalar code runs the cases of one image.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/t_golden.c -o t_golden -lm -lpthread */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

#include "tools/seeded.h"

#define MOST_ERROR 1e-5
#define LEAST_COSINE 0.999999
#define MOST_IMAGES 2

typedef struct golden {
    char net[32], head[8];
    int height, width, last_stride, images, dim;
    unsigned crc;       /* of the weights */
    double torch_error; /* PyTorch float32 against float64 */
} golden;

static void need(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "t_golden: %s\n", what);
    exit(1);
}

/* ---- what make_embeddings.py made from the same integers --------------------------------------------------------- */
static unsigned crc32_of(const unsigned char *bytes, size_t size) {
    unsigned table[256], crc = 0xffffffffu;
    for (unsigned i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) table[i] = table[i] & 1 ? 0xedb88320u ^ table[i] >> 1 : table[i] >> 1;
    }
    for (size_t i = 0; i < size; i++) crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static unsigned char pixel(int y, int x, int c, int width, int image) {
    int side = 8 << image;
    int wave = (x * (3 + 2 * c + 4 * image) + y * (7 - 2 * c + image)) % 256;
    uint32_t square = (uint32_t)((x / side) * 31 + (y / side) * 57 + c * (23 - 22 * image)) * UINT32_C(2654435761);
    uint32_t noise = (uint32_t)((y * width + x) * 3 + c) * UINT32_C(2246822519);
    if (wave > 127) wave = 255 - wave;
    return (unsigned char)(wave + (int)(square >> 26) + (int)(noise >> (27 + 3 * image)) + 16);
}

static unsigned char *make_pixels(const golden *g, int image) {
    unsigned char *rgb = (unsigned char *)malloc((size_t)g->height * (size_t)g->width * 3), *to = rgb;
    need(rgb != NULL, "out of memory");
    for (int y = 0; y < g->height; y++)
        for (int x = 0; x < g->width; x++)
            for (int c = 0; c < 3; c++) *to++ = pixel(y, x, c, g->width, image);
    return rgb;
}

/* The weights of g, kept until another case needs others. */
static const unsigned char *weights_of(const golden *g, size_t *size) {
    static char name[48];
    static unsigned char *file;
    static size_t file_size;
    char wanted[48];
    snprintf(wanted, sizeof wanted, "%s %s", g->net, g->head);
    if (strcmp(wanted, name) != 0) {
        int projection = strcmp(g->head, "file") == 0 ? SEEDED_PROJECTION : 0;
        free(file);
        file = seeded_file(g->net, 1, SEEDED_F32, projection, &file_size);
        need(file != NULL, "embeddings.txt names an unknown network");
        need(crc32_of(file, file_size) == g->crc, "tools/seeded.h and tests/golden/seeded.py made different weights");
        memcpy(name, wanted, sizeof name);
    }
    *size = file_size;
    return file;
}

/* ---- one case on one instruction set ----------------------------------------------------------------------------- */

/* Returns 0 where the result is off. */
static int compare(const golden *g, const char *isa, const float *ours, const float *torch, int images) {
    double error = 0, cosine = 1;
    for (int i = 0; i < images; i++) {
        double dot = 0, aa = 0, bb = 0;
        for (int k = 0; k < g->dim; k++) {
            double a = ours[i * g->dim + k], b = torch[i * g->dim + k];
            double difference = fabs(a - b);
            if (!(difference <= error)) error = difference; /* so that a NaN stays */
            dot += a * b;
            aa += a * a;
            bb += b * b;
        }
        cosine = fmin(cosine, dot / sqrt(aa * bb));
    }
    int good = error <= MOST_ERROR && cosine >= LEAST_COSINE;
    printf("%-20s %-5s %3dx%-3d stride %d  %-7s %.1e  %.1e  %.9f  %s\n", g->net, g->head, g->height, g->width,
           g->last_stride, isa, error, g->torch_error, cosine, good ? "ok" : "WRONG");
    fflush(stdout);
    return good;
}

static int run_case(const golden *g, const float *torch, reid_isa isa, const char *isa_name) {
    reid_desc desc = REID_INIT;
    reid_error error = REID_INIT;
    reid_ctx *ctx;
    reid_image images[MOST_IMAGES];
    desc.weights_data = weights_of(g, &desc.weights_size);
    desc.preset = "torchreid"; /* ImageNet's mean and standard deviation, and no resize of what has the right size */
    desc.height = g->height;
    desc.width = g->width;
    desc.last_stride = g->last_stride;
    desc.head = strcmp(g->head, "file") == 0 ? REID_HEAD_FILE : REID_HEAD_AUTO;
    desc.device = REID_DEVICE_CPU;
    desc.cpu_isa = isa;
    desc.error = &error;
    reid_result result = reid_create(&desc, &ctx);
    if (result == REID_ERR_ISA) return printf("%-20s skipped: no %s on this CPU\n", g->net, isa_name), 1;
    if (result == REID_OK) need(reid_dim(ctx) == g->dim, "the embedding has the wrong length");
    float *ours = (float *)calloc((size_t)g->images * (size_t)g->dim, sizeof *ours);
    need(ours != NULL, "out of memory");
    for (int i = 0; i < g->images; i++) {
        reid_image image = {make_pixels(g, i), g->width, g->height, 0, REID_RGB8, NULL};
        images[i] = image;
    }
    if (result == REID_OK) result = reid_embed_ex(ctx, images, g->images, ours, &error);
    if (result != REID_OK) printf("%s: %s: %s\n", g->net, reid_result_name(result), error.text);
    int good = result == REID_OK && compare(g, isa_name, ours, torch, g->images);
    for (int i = 0; i < g->images; i++) free((void *)(uintptr_t)images[i].pixels);
    free(ours);
    reid_destroy(ctx);
    return good;
}

static int read_case(const char *line, golden *g) {
    int fields = sscanf(line, "%31s %7s %d %d %d %d %d %x %lf", g->net, g->head, &g->height, &g->width, &g->last_stride,
                        &g->images, &g->dim, &g->crc, &g->torch_error);
    return fields == 9 && g->images <= MOST_IMAGES;
}

int main(void) {
    static const reid_isa isas[] = {REID_ISA_SCALAR, REID_ISA_AVX2, REID_ISA_AVX512};
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    FILE *table = fopen("tests/golden/embeddings.txt", "r"), *rows = fopen("tests/golden/embeddings.bin", "rb");
    char line[512];
    int cases = 0, failed = 0;
    need(table && rows, "run it from the top of the repository: tests/golden/embeddings.* is not here");
    printf("network              head  size    layer4    isa     max|d|   PyTorch  cosine\n");
    while (fgets(line, sizeof line, table)) {
        golden g;
        if (line[0] == '#') continue;
        need(read_case(line, &g), "embeddings.txt is damaged");
        size_t count = (size_t)g.images * (size_t)g.dim;
        float *torch = (float *)malloc(count * sizeof *torch);
        need(torch && fread(torch, sizeof *torch, count, rows) == count, "embeddings.bin is too short");
        for (int i = 0; i < 3; i++)
            if (isas[i] != REID_ISA_SCALAR || g.images == 1) failed += !run_case(&g, torch, isas[i], names[i]);
        free(torch);
        cases++;
    }
    need(fgetc(rows) == EOF && cases >= 11, "embeddings.txt and embeddings.bin do not belong together");
    printf("%d cases, %d failed\n", cases, failed);
    return failed != 0;
}
