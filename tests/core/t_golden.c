/* t_golden.c: embeddings equal PyTorch's. tests/golden/embeddings.* (test_golden.h) holds float64 results; every
   instruction set of this CPU must come within 1e-5 per component and a cosine of 0.999999, in bf16 at least as near as
   PyTorch's bfloat16. PyTorch's own float32 error is printed beside ours. The scalar code runs the cases of one image.
   t_golden MOST runs only cases of at most MOST pixels, for t_neon.sh, and prints a hash of the vectors' bits.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_golden.c tests/lib/test_impl.c -o t_golden -lm -lpthread */
#include "reid.h"
#include "../lib/test_net.h"

#include <limits.h>
#include "tools/demo_program/seeded.h"
#include "../lib/test_golden.h"

#define MOST_ERROR 1e-5
#define LEAST_COSINE 0.999999

/* ---- one case on one instruction set ----------------------------------------------------------------------------- */

/* Returns 0 if the result is wrong. */
static int compare(const golden *g, const char *isa, int bf16, const float *ours, const float *torch, int images) {
    double error, cosine;
    differences(g, ours, torch, images, &error, &cosine);
    int good = bf16 ? cosine >= g->torch_bf16 : error <= MOST_ERROR && cosine >= LEAST_COSINE;
    printf("%-20s %-5s %3dx%-3d stride %d  %-11s %.1e  %.1e  %.9f  %s\n", g->net, g->head, g->height, g->width,
           g->last_stride, isa, error, g->torch_error, cosine, good ? "ok" : "WRONG");
    fflush(stdout);
    return good;
}

static int run_case(const golden *g, const float *torch, reid_isa isa, const char *isa_name, int hashed) {
    reid_error error = REID_INIT;
    reid_desc desc = desc_of(g, &error);
    reid_ctx *ctx;
    reid_image images[MOST_IMAGES];
    desc.device = REID_DEVICE_CPU;
    desc.cpu_isa = isa;
    int bf16 = isa == REID_ISA_AVX512_BF16 || isa == REID_ISA_AMX_BF16;
    if (bf16) desc.precision = REID_BF16;
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
    int good = result == REID_OK && compare(g, isa_name, bf16, ours, torch, g->images);
    size_t bytes = (size_t)g->images * (size_t)g->dim * sizeof *ours;
    if (hashed && (isa == REID_ISA_AVX2 || isa == REID_ISA_NEON))
        printf("BITS %s %dx%d %s: %08x\n", g->net, g->height, g->width, g->head,
               crc32_of((unsigned char *)ours, bytes));
    for (int i = 0; i < g->images; i++) free((void *)(uintptr_t)images[i].pixels);
    free(ours);
    reid_destroy(ctx);
    return good;
}

int main(int argc, char **argv) {
    static const struct { reid_isa isa; const char *name; } isas[] = {
        {REID_ISA_SCALAR, "scalar"},           {REID_ISA_AVX2, "avx2"},         {REID_ISA_AVX512, "avx512"},
        {REID_ISA_AVX512_BF16, "avx512_bf16"}, {REID_ISA_AMX_BF16, "amx_bf16"}, {REID_ISA_NEON, "neon"}};
    const int most = argc > 1 ? atoi(argv[1]) : INT_MAX;
    golden_files files = golden_open();
    golden g;
    int failed = 0;
    printf("network              head  size    layer4    isa         max|d|   PyTorch  cosine\n");
    for (float *torch; (torch = golden_next(&files, &g)) != NULL; free(torch))
        for (int i = argc > 1; i < 6 && g.height * g.width <= most; i++)
            if (i > 0 || g.images == 1) failed += !run_case(&g, torch, isas[i].isa, isas[i].name, argc > 1);
    printf("%d cases, %d failed\n", files.cases, failed);
    return failed != 0;
}
