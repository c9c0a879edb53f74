/* Predicts microseconds of each launch of a network, and images per second, for a GPU that is not available. This is a
   model from data sheets and assumptions, not a measurement. Hopper's convolutions are predicted by the model of tiles
   in reid.h; other operations, and other chips, by the larger of the times of tensor cores and memory. bf16, from sm_80
   on, is predicted to take as long as FP16: the same kernels and as many bytes.

       cc -O2 -D_GNU_SOURCE tools/gpu/predict.c -o predict -lm -lpthread
       ./predict [--chip NAME] [--pace FILE] [NETWORK [BATCH [HEIGHT WIDTH]]]        h200 resnet50 1 224 224

   FILE has pairs of a name and a number, as written by `ceilings` of tools/gpu_check: JSON, or a pair per line. The
   names are those of reid__pace in reid.h; others are ignored. */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "../../reid.h"

/* From data sheets; products: pairs of halves per clock and multiprocessor, summed in FP32. */
typedef struct chip {
    const char *name;
    int arch, processors;
    double clock, products, dram, l2; /* hertz, a second, bytes */
} chip;
static const chip chips[] = {
    {"h200", 90, 132, 1755e6, 2048, 4.8e12, 60e6},    {"h100", 90, 132, 1755e6, 2048, 3.35e12, 50e6},
    {"a100", 80, 108, 1410e6, 1024, 2.039e12, 40e6},
    {"rtx3090", 86, 82, 1695e6, 256, 0.936e12, 6e6},  {"rtx4080", 89, 76, 2505e6, 256, 0.717e12, 64e6},
    {"rtx4090", 89, 128, 2520e6, 256, 1.008e12, 72e6}, {"rtx5090", 120, 170, 2407e6, 256, 1.792e12, 96e6},
};
static const double memory_share = 0.9;   /* share of the data sheet's rate that copies reach: measured on an H200 */
static const double product_share = 0.85; /* share that tensor cores fed by cp.async reach: assumed */
static const double tile_clocks = 1500;   /* clocks of a block before its first and after its last product: assumed */
static const double launch_us = 1.3, overlapped_us = 0.65; /* overhead of a kernel in a graph: assumed */

typedef struct total {
    int launches, modelled;        /* modelled: by the model of tiles */
    double microseconds, of_tiles; /* all; of the modelled ones, without launch overhead */
} total;

static reid__plan plan, narrow; /* narrow: for INT8 */
static reid__prep prep;
static const char *const kinds[] = {"as usual", "for latency", "INT8", "INT8 for latency"};
static reid__gpu_plan gpu[4];
static const chip *on = &chips[0];
static reid__pace pace;

/* Microseconds for the bytes that a launch moves; 0 if they fit in the L2 cache, where activations then stay. */
static double memory_us(double bytes) { return bytes > on->l2 ? bytes / (memory_share * on->dram) * 1e6 : 0; }

static double bytes_of(const reid__gpu_plan *g, int index, int n) {
    const reid__op *op = &g->plan->ops[index];
    double bytes = (double)g->size[op->in] + (double)g->size[op->out];
    if (op->residual != REID__NONE) bytes += (double)g->size[op->residual];
    if (g->fused_shortcut[index] != REID__NONE) bytes += (double)g->size[g->plan->ops[g->fused_shortcut[index]].in];
    return bytes * n;
}

/* A convolution by mma.sync: whole waves of tiles, or memory; and the launch that adds parts of K, read from the L2
   cache or from memory. */
static double mma_us(const reid__gpu_plan *g, int index, int n, char *tile, size_t size) {
    const reid__op *op = &g->plan->ops[index];
    reid__program p;
    reid__step s;
    memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
    reid__mma_step(g, index, on->arch, n >= REID__LARGE, &p, &s);
    double blocks = ceil((double)n * op->oh * op->ow / s.bm) * reid__ceil_div(reid__padded(op->oc), s.bn) * s.split;
    double each = (double)s.bm * s.bn * reid__gpu_row(g, index) / s.split / on->products / (reid__in_bytes(op) ? 2 : 1);
    double clocks = ceil(blocks / on->processors) * each / product_share + tile_clocks, us = clocks / on->clock * 1e6;
    double memory = memory_us(bytes_of(g, index, n));
    int of_memory = memory > us;
    if (of_memory) us = memory;
    if (s.split_in_memory) us += launch_us + memory_us(4.0 * s.split * n * op->oh * op->ow * reid__padded(op->oc));
    snprintf(tile, size, "%dx%d%s%s", s.bm, s.bn, s.split > 1 ? ", K cut" : "", of_memory ? " (memory)" : "");
    return us;
}

/* Adds an operation's launch, if it has one, and writes its prediction. */
static void predict(const reid__gpu_plan *g, int index, int batch, total *sum, char *text, size_t size) {
    const reid__op *op = &g->plan->ops[index], *first = &g->plan->ops[reid__launch_first(g, index)];
    char tile[48] = "memory";
    double us;
    snprintf(text, size, "-");
    if (g->fused_into[index] != REID__NONE || first->kind == REID__NORMALISE) return;
    if (reid__takes_wgmma(g, first)) {
        reid__wgmma_tile t = reid__choose_wgmma_tile(g, index, 90, batch >= REID__LARGE);
        us = reid__launch_clocks(g, index, &t, 90, batch, &pace) / pace.clocks_per_second * 1e6;
        sum->modelled++, sum->of_tiles += us;
        snprintf(tile, sizeof tile, "%dx%d%s%s", t.bm, t.bn, t.pair ? " in pairs" : "", t.split > 1 ? ", K cut" : "");
    } else if (op->kind == REID__CONV && g->half) {
        us = mma_us(g, index, batch, tile, sizeof tile);
    } else {
        us = memory_us(bytes_of(g, index, batch));
    }
    us += on->arch >= 90 ? overlapped_us : launch_us;
    sum->launches++, sum->microseconds += us;
    snprintf(text, size, "%s: %.2f", tile, us);
}

/* The text after a name in a text of pairs; NULL: the name does not occur as a whole word. */
static const char *behind(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length) {
        const char *end = at + length;
        if ((at != text && !strchr(" \t\n\r\"{,", at[-1])) || !*end || !strchr(" \t\":", *end)) continue;
        return end + strspn(end, " \t\":");
    }
    return NULL;
}

/* Reads values of `pace` from a file. Returns 0 after saying what is wrong with it. */
static int read_pace(const char *path) {
    static const struct { const char *name; double *to; } rows[] = {
        {"wgmma_clocks_m64n256k16", &pace.wgmma_clocks_m64n256k16},
        {"l2_to_shared_bytes_per_clock", &pace.l2_to_shared_bytes_per_clock},
        {"alone_bytes_per_clock", &pace.alone_bytes_per_clock},
        {"dsmem_bytes_per_clock", &pace.dsmem_bytes_per_clock},
        {"cluster_barrier_clocks", &pace.cluster_barrier_clocks},
        {"outputs_stored_per_clock", &pace.outputs_stored_per_clock},
        {"dram_bytes_per_second", &pace.dram_bytes_per_second},
        {"clocks_per_second", &pace.clocks_per_second}};
    static char text[65536];
    int taken = 0;
    FILE *f = fopen(path, "r");
    if (!f) return fprintf(stderr, "predict: %s cannot be opened\n", path), 0;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = behind(text, rows[i].name);
        if (!at) continue;
        char *end;
        double value = strtod(at, &end);
        if (end == at || !(value > 0 && value < 1e15))
            return fprintf(stderr, "predict: %s: %s is not a positive number\n", path, rows[i].name), 0;
        *rows[i].to = value, taken++;
    }
    if (!taken) fprintf(stderr, "predict: %s has none of the names in reid__pace\n", path);
    return taken > 0;
}

static int usage(void) {
    fprintf(stderr, "usage: predict [--chip NAME] [--pace FILE] [NETWORK [BATCH [HEIGHT WIDTH]]]\nchips:");
    for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++) fprintf(stderr, " %s", chips[i].name);
    fprintf(stderr, "\n");
    return 2;
}

/* --chip and --pace, in any order: measurements take precedence over the data sheet. Returns the number of arguments
   used, or -1. */
static int options(int argc, char **argv) {
    const char *measured = NULL;
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        const chip *found = NULL;
        for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++)
            if (strcmp(chips[i].name, argv[at + 1]) == 0) found = &chips[i];
        if (strcmp(argv[at], "--chip") == 0 && found) on = found;
        else if (strcmp(argv[at], "--pace") == 0) measured = argv[at + 1];
        else return -1;
    }
    pace = reid__pace_h200;
    if (on != chips && on->arch == 90)
        pace.dram_bytes_per_second = memory_share * on->dram, pace.l2_bytes = on->l2;
    return measured && !read_pace(measured) ? -1 : at - 1;
}

int main(int argc, char **argv) {
    int taken = options(argc, argv), found = 0;
    if (taken < 0) return usage();
    argc -= taken, argv += taken;
    const char *name = argc > 1 ? argv[1] : "resnet50";
    int batch = argc > 2 ? atoi(argv[2]) : 1, height = argc > 4 ? atoi(argv[3]) : 224;
    int width = argc > 4 ? atoi(argv[4]) : 224;
    total sums[4];
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < REID__ARCHS && !found; i++)
        if (strcmp(reid__archs[i].name, name) == 0)
            found = reid__plan_build(&plan, &reid__archs[i], height, width, 2,
                                     reid__archs[i].multiscale ? REID_HEAD_FILE : REID_HEAD_NONE, NULL);
    if (!found || batch < 1) return usage();
    int count = plan.arch->family == REID__RESNET ? 4 : 2;
    narrow = plan;
    if (count == 4) reid__plan_narrow(&narrow, REID__ELEMENT_INT8);
    for (int k = 0; k < count; k++)
        reid__gpu_plan_init(&gpu[k], k >= 2 ? &narrow : &plan, &prep, 1, on->arch == 90 ? 2 : 0, 0, 0, k % 2);
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
        if (sums[k].modelled)
            printf("\n%s: %.1f for %d of %d launches", kinds[k], sums[k].of_tiles, sums[k].modelled, sums[k].launches);
    for (int k = 0; k < count; k++)
        printf("\n%s, %s, in all: %.1f, %.0f images a second", on->name, kinds[k], sums[k].microseconds,
               batch / sums[k].microseconds * 1e6);
    printf("\n");
    return 0;
}
