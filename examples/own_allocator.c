/* Demonstrates how to give reid.h your own allocator: this one counts, and refuses to go over a budget.

     cc -O2 own_allocator.c -o own_allocator -lm
     ./own_allocator resnet50.safetensors

   Prints how much memory one handle takes, that embedding allocates nothing, that all memory is freed, and what happens
   when the budget is too small:

     create:   16 allocations, 179.9 MB now, 181.3 MB at the peak
     embed:    0 allocations
     destroy:  16 frees, balance 0 bytes
     half the budget:  no memory for weights (93925888 bytes), balance 0 bytes

   If you only want to limit the memory, set desc.memory_limit instead: the batch is reduced until it fits. */
#define REID_IMPLEMENTATION
#include "../reid.h"

typedef struct budget {
    size_t limit, now, peak; /* bytes */
    int allocations, frees;
} budget;

/* reid.h aligns blocks by itself, so any address that malloc could return is good enough. */
static void *budget_alloc(size_t size, void *user) {
    budget *b = (budget *)user;
    void *block = size <= b->limit - b->now ? malloc(size) : NULL;
    if (!block) return NULL;
    b->allocations++;
    b->now += size;
    if (b->peak < b->now) b->peak = b->now;
    return block;
}

/* The size is passed together with the block, so that an allocator needs no header in front of it. */
static void budget_free(void *block, size_t size, void *user) {
    budget *b = (budget *)user;
    b->frees++;
    b->now -= size;
    free(block);
}

static reid_result create(const char *weights, budget *b, reid_ctx **ctx, reid_error *error) {
    reid_desc desc = REID_INIT;
    desc.weights = weights;
    desc.alloc_fn = budget_alloc;
    desc.free_fn = budget_free;
    desc.alloc_user = b;
    desc.error = error;
    return reid_create(&desc, ctx);
}

/* Embeds one grey pixel, the smallest possible image. */
static reid_result embed_grey(reid_ctx *ctx, reid_error *error) {
    static const unsigned char pixel[1] = {128};
    reid_image picture = REID_INIT;
    picture.pixels = pixel;
    picture.width = picture.height = 1;
    picture.format = REID_GRAY8;
    float *embedding = (float *)malloc((size_t)reid_dim(ctx) * sizeof *embedding);
    reid_result r = reid_embed_ex(ctx, &picture, 1, embedding, error);
    free(embedding);
    return r;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s WEIGHTS\n", argv[0]);
        return 2;
    }
    budget b = {SIZE_MAX, 0, 0, 0, 0};
    reid_error error;
    reid_ctx *ctx;
    reid_result r = create(argv[1], &b, &ctx, &error);
    if (r == REID_OK) {
        int before = b.allocations;
        printf("create:   %d allocations, %.1f MB now, %.1f MB at the peak\n", before, 1e-6 * (double)b.now,
               1e-6 * (double)b.peak);
        r = embed_grey(ctx, &error);
        if (r == REID_OK) printf("embed:    %d allocations\n", b.allocations - before);
    }
    reid_destroy(ctx);
    if (r != REID_OK) {
        fprintf(stderr, "own_allocator: %s\n", error.text);
        return 1;
    }
    printf("destroy:  %d frees, balance %zu bytes\n", b.frees, b.now);

    budget small = {b.peak / 2, 0, 0, 0, 0};
    r = create(argv[1], &small, &ctx, &error);
    reid_destroy(ctx);
    printf("half the budget:  %s, balance %zu bytes\n", r == REID_OK ? "it fits" : error.text, small.now);
    return b.now != 0 || small.now != 0;
}
