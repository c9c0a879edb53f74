/* Demonstrates how to study a kernel: runs the network with an edited copy of reid_kernels.cu (desc.kernels_src), and
   compares the embedding with the original one.

     cc -O2 patched_kernel.c -o patched_kernel -lm
     ./patched_kernel resnet50.safetensors ../reid_kernels.cu [HEIGHT WIDTH]

   Needs a GPU or the emulator of this project (LD_LIBRARY_PATH=build/emulator). On the emulator, with seeded weights
   and the size 64 32, it prints:

     ReLU written differently       largest difference 0, cosine 1.0000000: the same bits
     a leak of 0.001 in ReLU        largest difference 0.0015, cosine 0.9996414
     a leak of 0.1                  largest difference 0.32, cosine 0.2775092

   A change that keeps the bits is safe; any other change needs an explanation. Your next program is not affected,
   because the cache of compiled kernels is keyed by their source. */
#define REID_IMPLEMENTATION
#include "../reid.h"

typedef struct edit {
    const char *what, *from, *to;
} edit;

/* reid_conv_wgmma takes the ReLU of two values at once. Without that line it computes one, as the other kernels do: all
   edits begin with this one, so that the first of them also shows that it keeps the bits. */
static const edit ONE_AT_A_TIME = {
    "ReLU of one value at a time",
    "if (ACT == ACT_RELU) return reid_max_f16x2(reid_f16x2_from_f32(low, high), 0);", ""};

static const edit EDITS[] = {
    {"ReLU written differently", "x < 0.0f ? 0.0f : x", "x >= 0.0f ? x : 0.0f"},
    {"a leak of 0.001 in ReLU", "x < 0.0f ? 0.0f : x", "x < 0.0f ? 0.001f * x : x"},
    {"a leak of 0.1", "x < 0.0f ? 0.0f : x", "x < 0.0f ? 0.1f * x : x"},
};

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = (char *)calloc(1, 1 << 20);
    if (f && text && fread(text, 1, (1 << 20) - 1, f) == 0) text[0] = 0;
    if (f) fclose(f);
    return text;
}

/* Returns a copy of text with every `from` replaced; or says that there is none, because the kernels have changed, and
   returns NULL. */
static char *apply(const char *text, const edit *e) {
    size_t from = strlen(e->from), to = strlen(e->to), count = 0;
    for (const char *at = text; (at = strstr(at, e->from)) != NULL; at += from) count++;
    char *out = count ? (char *)malloc(strlen(text) + count * to + 1) : NULL, *end = out;
    for (const char *next; out && (next = strstr(text, e->from)) != NULL; text = next + from) {
        memcpy(end, text, (size_t)(next - text));
        memcpy(end + (next - text), e->to, to);
        end += (size_t)(next - text) + to;
    }
    if (out) strcpy(end, text);
    if (!count) printf("%-30s \"%s\" no longer occurs in the kernels\n", e->what, e->from);
    return out;
}

/* Embeds one image of noise with these kernels; *row is malloc'ed. */
static reid_result embed(reid_desc *desc, const char *kernels, float **row, int *dim) {
    static unsigned char noise[96 * 96 * 3];
    reid_image picture = REID_INIT;
    reid_ctx *ctx;
    desc->kernels_src = kernels;
    reid_result r = reid_create(desc, &ctx);
    *dim = reid_dim(ctx);
    *row = (float *)malloc((size_t)*dim * sizeof **row);
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (unsigned char)((i * 2654435761u) >> 13);
    picture.pixels = noise;
    picture.width = picture.height = 96;
    if (r == REID_OK) r = reid_embed_ex(ctx, &picture, 1, *row, desc->error);
    reid_destroy(ctx);
    return r;
}

static reid_result study(reid_desc *desc, const char *text, const edit *e, const float *original) {
    float *row = NULL, largest = 0;
    int dim;
    char *edited = apply(text, e);
    if (!edited) return REID_ERR_NO_KERNELS;
    reid_result r = embed(desc, edited, &row, &dim);
    for (int i = 0; r == REID_OK && i < dim; i++)
        if (fabsf(row[i] - original[i]) > largest) largest = fabsf(row[i] - original[i]);
    if (r == REID_OK)
        printf("%-30s largest difference %.2g, cosine %.7f%s\n", e->what, (double)largest,
               reid_cosine(row, original, dim),
               memcmp(row, original, (size_t)dim * sizeof *row) == 0 ? ": the same bits" : "");
    free(row);
    free(edited);
    return r;
}

int main(int argc, char **argv) {
    int height = 0, width = 0, dim; /* the preset's own size */
    char rest;
    if ((argc != 3 && argc != 5) || (argc == 5 && (sscanf(argv[3], "%d%c", &height, &rest) != 1 ||
                                                   sscanf(argv[4], "%d%c", &width, &rest) != 1))) {
        fprintf(stderr, "usage: %s WEIGHTS KERNELS.cu [HEIGHT WIDTH]\n", argv[0]);
        return 2;
    }
    reid_error error;
    reid_desc desc = REID_INIT;
    float *original = NULL;
    char *text = read_text(argv[2]);
    memset(&error, 0, sizeof error);
    desc.weights = argv[1];
    desc.device = REID_DEVICE_CUDA;
    desc.height = height;
    desc.width = width;
    desc.batch = 1;
    desc.error = &error;
    if (!text || !text[0]) {
        fprintf(stderr, "patched_kernel: %s: cannot be read\n", argv[2]);
        free(text);
        return 1;
    }
    char *edited = apply(text, &ONE_AT_A_TIME);
    reid_result r = edited ? embed(&desc, text, &original, &dim) : REID_ERR_NO_KERNELS;
    for (size_t i = 0; r == REID_OK && i < sizeof EDITS / sizeof *EDITS; i++)
        r = study(&desc, edited, &EDITS[i], original);
    if (r != REID_OK) fprintf(stderr, "patched_kernel: %s\n", error.text[0] ? error.text : reid_result_string(r));
    free(original);
    free(edited);
    free(text);
    return r != REID_OK;
}
