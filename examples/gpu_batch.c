/* Demonstrates how to embed a large batch on the GPU, and what it costs.

     cc -O2 gpu_batch.c -o gpu_batch -lm
     ./gpu_batch resnet50.safetensors ../reid_kernels.cu [HEIGHT WIDTH]

   Embeds many crops of one frame. The frame is in memory only once, and a crop is a box in it. If the GPU cannot be
   used, the program prints the reason and computes on the CPU. It prints the device, the memory, and the speed with one
   crop per call, with 16, and with as many as fit in a batch:

     cuda:0, NAME OF THE GPU, fp16, batch N
     memory: ... MB on the host, ... MB pinned, ... MB on the GPU (... weights, ... activations, ...)
     batches of     1:      ... images/s
     batches of    16:      ... images/s
     batches of     N:      ... images/s
     the same bits in every batch: yes

   The first start compiles the kernels for this GPU and stores them in ~/.cache/reid, where later starts find them. */
#define REID_IMPLEMENTATION
#include "../reid.h"

#include <time.h>

enum { FRAME_WIDTH = 1920, FRAME_HEIGHT = 1080, SECONDS = 1 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Uses the GPU; if that is impossible, prints the reason and uses the CPU. */
static reid_result create(reid_desc *desc, reid_ctx **ctx) {
    desc->device = REID_DEVICE_CUDA;
    reid_result r = reid_create(desc, ctx);
    if (r != REID_ERR_DEVICE && r != REID_ERR_NO_KERNELS && r != REID_ERR_KERNEL_COMPILE && r != REID_ERR_GPU) return r;
    printf("no GPU: %s\n", desc->error->text);
    desc->device = REID_DEVICE_CPU;
    return reid_create(desc, ctx);
}

static void print_memory(const reid_ctx *ctx, const reid_info *info) {
    reid_memory m;
    reid_memory_report(ctx, &m);
    printf("%s, %s, %s, batch %d\n", info->device, info->chip, info->precision, info->batch);
    printf("memory: %.0f MB on the host, %.0f MB pinned, %.0f MB on the GPU (%.0f weights, %.0f activations, %.0f "
           "staging)\n", 1e-6 * (double)m.host, 1e-6 * (double)m.pinned,
           1e-6 * (double)(m.device_weights + m.device_activations + m.device_staging), 1e-6 * (double)m.device_weights,
           1e-6 * (double)m.device_activations, 1e-6 * (double)m.device_staging);
}

/* Embeds `n` crops per call for a second. Sets the images per second and the number of rows that were computed. */
static reid_result embed(reid_ctx *ctx, const reid_image *crops, int count, int n, float *rows, double *speed,
                         int *computed, reid_error *error) {
    size_t dim = (size_t)reid_dim(ctx);
    long done = 0;
    reid_result r = reid_embed_ex(ctx, crops, n, rows, error); /* the first call only warms up */
    double start = now(), taken = 0;
    for (; r == REID_OK && taken < SECONDS; taken = now() - start) {
        int at = (int)(done % count), some = count - at < n ? count - at : n;
        r = reid_embed_ex(ctx, crops + at, some, rows + (size_t)at * dim, error);
        done += some;
    }
    *speed = (double)done / taken;
    *computed = done < count ? (int)done : count;
    return r;
}

static reid_result run(reid_ctx *ctx, reid_error *error) {
    reid_info info;
    reid_query_desc(ctx, &info);
    print_memory(ctx, &info);
    int count = info.batch, sizes[3] = {1, 16, info.batch}, same = 1, computed = 0;
    size_t floats = (size_t)count * (size_t)info.dim, bytes = (size_t)FRAME_WIDTH * FRAME_HEIGHT * 3;
    unsigned char *frame = (unsigned char *)malloc(bytes);
    reid_box *boxes = (reid_box *)calloc((size_t)count, sizeof *boxes);
    reid_image *crops = (reid_image *)calloc((size_t)count, sizeof *crops);
    float *rows = (float *)malloc(2 * floats * sizeof *rows), *first = rows + floats;
    reid_result r = frame && boxes && crops && rows ? REID_OK : REID_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; r == REID_OK && i < bytes; i++) frame[i] = (unsigned char)((i * 2654435761u) >> 13);
    for (int i = 0; r == REID_OK && i < count; i++) {
        reid_box box = {i * 37 % (FRAME_WIDTH - 200), i * 53 % (FRAME_HEIGHT - 300), 100 + i % 100, 200 + i % 100};
        reid_image crop = {frame, FRAME_WIDTH, FRAME_HEIGHT, 0, REID_RGB8, NULL};
        boxes[i] = box;
        crops[i] = crop;
        crops[i].box = &boxes[i];
    }
    for (int k = 0; r == REID_OK && k < 3; k++) {
        double speed = 0;
        int now_computed;
        if (sizes[k] > count) continue;
        r = embed(ctx, crops, count, sizes[k], rows, &speed, &now_computed, error);
        if (r == REID_OK) printf("batches of %5d: %10.1f images/s\n", sizes[k], speed);
        if (k == 0) memcpy(first, rows, floats * sizeof *rows), computed = now_computed;
        else if (now_computed < computed) computed = now_computed;
        same = same && memcmp(first, rows, (size_t)computed * (size_t)info.dim * sizeof *rows) == 0;
    }
    if (r == REID_OK) printf("the same bits in every batch: %s\n", same ? "yes" : "NO");
    free(frame), free(boxes), free(crops), free(rows);
    return r == REID_OK && !same ? REID_ERR_EMBEDDING : r;
}

int main(int argc, char **argv) {
    int height = 0, width = 0; /* 0: the preset's own size */
    char rest;
    if ((argc != 3 && argc != 5) || (argc == 5 && (sscanf(argv[3], "%d%c", &height, &rest) != 1 ||
                                                   sscanf(argv[4], "%d%c", &width, &rest) != 1))) {
        fprintf(stderr, "usage: %s WEIGHTS KERNELS.cu [HEIGHT WIDTH]\n", argv[0]);
        return 2;
    }
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_ctx *ctx;
    desc.weights = argv[1];
    desc.kernels_path = argv[2]; /* or compile them in with REID_KERNELS_FILE, see the manual */
    desc.height = height;
    desc.width = width;
    desc.error = &error;
    memset(&error, 0, sizeof error);

    reid_result r = create(&desc, &ctx);
    if (r == REID_OK) r = run(ctx, &error);
    reid_destroy(ctx);
    if (r != REID_OK) fprintf(stderr, "gpu_batch: %s\n", error.text[0] ? error.text : reid_result_string(r));
    return r != REID_OK;
}
