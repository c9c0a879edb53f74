/* What the model of tiles in reid.h (reid__wgmma_clocks) predicts for a network in FP16, and for a ResNet in INT8, on
   Hopper with 132 multiprocessors at 1755 MHz: microseconds of each launch of reid_conv_wgmma. It needs no GPU, and
   measures nothing.

       cc -O2 -D_GNU_SOURCE tools/gpu/predict.c -o predict -lm -lpthread
       ./predict [NETWORK [BATCH [HEIGHT WIDTH]]]          resnet50 1 224 224 */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

typedef struct total {
    int launches, modelled;
    double microseconds;
} total;

static reid__plan plan, narrow; /* narrow: INT8's */
static reid__prep prep;
static const char *const kinds[] = {"as usual", "for latency", "INT8", "INT8 for latency"};
static reid__gpu_plan gpu[4];

/* Adds an operation's launch, if it has one, and writes what is predicted for it. */
static void predict(const reid__gpu_plan *g, int index, int batch, total *sum, char *text, size_t size) {
    const reid__op *first = &g->plan->ops[reid__launch_first(g, index)];
    snprintf(text, size, "-");
    if (g->into[index] != REID__NONE || first->kind == REID__NORMALISE) return;
    sum->launches++;
    if (!reid__takes_wgmma(g, first)) return;
    reid__wgmma_tile t = reid__choose_wgmma_tile(g, index, 90, batch >= REID__LARGE);
    double us = reid__wgmma_clocks(&t, first, 90, batch) / 1755;
    sum->modelled++, sum->microseconds += us;
    snprintf(text, size, "%dx%d%s, K in %d: %.2f", t.bm, t.bn, t.pair ? " in pairs" : "", t.split, us);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "resnet50";
    int batch = argc > 2 ? atoi(argv[2]) : 1, height = argc > 4 ? atoi(argv[3]) : 224;
    int width = argc > 4 ? atoi(argv[4]) : 224, found = 0;
    total sums[4];
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < REID__ARCHS && !found; i++)
        if (strcmp(reid__archs[i].name, name) == 0)
            found = reid__plan_build(&plan, &reid__archs[i], height, width, 2,
                                     reid__archs[i].multiscale ? REID_HEAD_FILE : REID_HEAD_NONE);
    if (!found || batch < 1) return fprintf(stderr, "usage: predict [NETWORK [BATCH [HEIGHT WIDTH]]]\n"), 2;
    int count = plan.arch->family == REID__RESNET ? 4 : 2;
    narrow = plan;
    if (count == 4) reid__plan_narrow(&narrow, 4);
    for (int k = 0; k < count; k++)
        reid__gpu_plan_init(&gpu[k], k >= 2 ? &narrow : &plan, &prep, 1, 2, 0, 0, k % 2);
    printf("%-24s", "microseconds");
    for (int k = 0; k < count; k++) printf(" %-32s", kinds[k]);
    for (int i = 0; i < plan.op_count; i++) {
        printf("\n%-24s", plan.ops[i].name);
        for (int k = 0; k < count; k++) {
            char text[64];
            predict(&gpu[k], i, batch, &sums[k], text, sizeof text);
            printf(" %-32s", text);
        }
    }
    for (int k = 0; k < count; k++)
        printf("\n%s: %.1f for %d of %d launches", kinds[k], sums[k].microseconds, sums[k].modelled, sums[k].launches);
    printf("\n");
    return 0;
}
