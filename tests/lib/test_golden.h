/* test_golden.h: tests/golden/embeddings.*, which hold float64 results of PyTorch for seeded weights and pixels, which
   are generated again here. Include it after the implementation of reid.h and tools/demo_program/seeded.h. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#define MOST_IMAGES 2

typedef struct golden {
    char net[48], head[8];
    int height, width, last_stride, images, dim;
    unsigned crc;       /* of the weights */
    double torch_error; /* PyTorch float32 against float64 */
    double torch_bf16;  /* cosine of PyTorch bfloat16 against float64 */
} golden;

static void need(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "golden: %s\n", what);
    exit(1);
}

/* ---- inputs as in make_embeddings.py, from the same integers ----------------------------------------------------- */
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
    static char name[64];
    static unsigned char *file;
    static size_t file_size;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s %s", g->net, g->head);
    if (strcmp(wanted, name) != 0) {
        int projection = strcmp(g->head, "file") == 0 ? SEEDED_PROJECTION : 0;
        free(file);
        file = seeded_file(g->net, 1, SEEDED_F32, projection, &file_size);
        need(file != NULL, "embeddings.txt names an unknown network");
        need(crc32_of(file, file_size) == g->crc,
             "tools/demo_program/seeded.h and tests/golden/seeded.py made different weights");
        memcpy(name, wanted, sizeof name);
    }
    *size = file_size;
    return file;
}

/* ---- results against PyTorch's ----------------------------------------------------------------------------------- */

/* The largest difference of a component, and the smallest cosine of a row. A NaN is visible in both. */
static void differences(const golden *g, const float *ours, const float *torch, int images, double *error,
                        double *cosine) {
    *error = 0, *cosine = 1;
    for (int i = 0; i < images; i++) {
        double dot = 0, aa = 0, bb = 0;
        for (int k = 0; k < g->dim; k++) {
            double a = ours[i * g->dim + k], b = torch[i * g->dim + k];
            double difference = fabs(a - b);
            if (difference > *error || difference != difference) *error = difference;
            dot += a * b;
            aa += a * a;
            bb += b * b;
        }
        double c = dot / sqrt(aa * bb);
        if (c < *cosine || c != c) *cosine = c;
    }
}

/* One line of embeddings.txt. */
static int read_case(const char *line, golden *g) {
    int fields = sscanf(line, "%47s %7s %d %d %d %d %d %x %lf %*s %lf", g->net, g->head, &g->height, &g->width,
                        &g->last_stride, &g->images, &g->dim, &g->crc, &g->torch_error, &g->torch_bf16);
    return fields == 10 && g->images <= MOST_IMAGES;
}

/* The two files of the goldens, while they are read. */
typedef struct golden_files {
    FILE *table, *rows;
    int cases;
} golden_files;

static golden_files golden_open(void) {
    golden_files f = {fopen("tests/golden/embeddings.txt", "r"), fopen("tests/golden/embeddings.bin", "rb"), 0};
    need(f.table && f.rows, "run it from the top of the repository: tests/golden/embeddings.* is not here");
    return f;
}

/* The next case, and PyTorch's rows of it for free(); NULL after the last, when the files are closed. */
static float *golden_next(golden_files *f, golden *g) {
    char line[512];
    do {
        if (fgets(line, sizeof line, f->table)) continue;
        need(fgetc(f->rows) == EOF && f->cases >= 11, "embeddings.txt and embeddings.bin do not belong together");
        fclose(f->table), fclose(f->rows);
        return NULL;
    } while (line[0] == '#');
    need(read_case(line, g), "embeddings.txt is damaged");
    size_t count = (size_t)g->images * (size_t)g->dim;
    float *torch = (float *)malloc(count * sizeof *torch);
    need(torch && fread(torch, sizeof *torch, count, f->rows) == count, "embeddings.bin is too short");
    f->cases++;
    return torch;
}

/* The description of every case. */
static reid_desc desc_of(const golden *g, reid_error *error) {
    reid_desc desc = REID_INIT;
    desc.weights_data = weights_of(g, &desc.weights_size);
    desc.preset = "torchreid"; /* ImageNet's mean and standard deviation, without resizing images of the right size */
    desc.height = g->height;
    desc.width = g->width;
    desc.last_stride = g->last_stride;
    desc.head = strcmp(g->head, "file") == 0 ? REID_HEAD_FILE : REID_HEAD_AUTO;
    desc.error = error;
    return desc;
}
#endif
