/* What the model of tiles in reid.h (reid__wgmma_clocks) predicts for a network in FP16, and for a ResNet in INT8, on
   Hopper with 132 multiprocessors at 1755 MHz: microseconds of each launch of reid_conv_wgmma. It needs no GPU, and
   measures nothing.

       cc -O2 -D_GNU_SOURCE tools/gpu/predict.c -o predict -lm -lpthread
       ./predict [NETWORK [BATCH [HEIGHT WIDTH]]]          resnet50 1 224 224 */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "../../reid.h"

typedef struct total {
    int launches, modelled;
    double microseconds;
} total;

static reid__plan plan, narrow; /* narrow: INT8's */
static reid__prep prep;
static reid__gpu_plan gpu[3]; /* as usual, for latency, INT8 */

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
    total sums[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < REID__ARCHS && !found; i++)
        if (strcmp(reid__archs[i].name, name) == 0)
            found = reid__plan_build(&plan, &reid__archs[i], height, width, 2,
                                     reid__archs[i].multiscale ? REID_HEAD_FILE : REID_HEAD_NONE);
    if (!found || batch < 1) return fprintf(stderr, "usage: predict [NETWORK [BATCH [HEIGHT WIDTH]]]\n"), 2;
    int kinds = plan.arch->family == REID__RESNET ? 3 : 2;
    narrow = plan;
    if (kinds == 3) reid__plan_narrow(&narrow, 4);
    for (int i = 0; i < kinds; i++)
        reid__gpu_plan_init(&gpu[i], i == 2 ? &narrow : &plan, &prep, 1, 2, 0, 0, i == 1);
    printf("%-24s %-32s %-32s %s\n", "microseconds", "as usual", "for latency", kinds == 3 ? "INT8" : "");
    for (int i = 0; i < plan.op_count; i++) {
        char text[3][64] = {"", "", ""};
        for (int k = 0; k < kinds; k++) predict(&gpu[k], i, batch, &sums[k], text[k], sizeof text[k]);
        printf("%-24s %-32s %-32s %s\n", plan.ops[i].name, text[0], text[1], text[2]);
    }
    for (int i = 0; i < kinds; i++)
        printf("%s: %.1f for %d of %d launches\n", i == 2 ? "INT8" : i ? "for latency" : "as usual",
               sums[i].microseconds, sums[i].modelled, sums[i].launches);
    return 0;
}
