/* Predicts microseconds of each launch of a network, and images a second, for a GPU that is not at hand. For an H200
   and an H100 it uses the model of time in time_model.h, which is fitted to measurements. Nothing was measured on other
   chips: for them it takes the larger of the times of the tensor cores and of memory, from data sheets and assumptions.
   bf16, from sm_80 on, is predicted to take as long as FP16: the same kernels and as many bytes.

       cc -O2 -D_GNU_SOURCE tools/gpu/predict.c -o predict -lm -lpthread
       ./predict [--chip NAME] [--lines MODE] [--tiles FILE] [NETWORK [BATCH [HEIGHT WIDTH]]]     h200 resnet50 1

   NETWORK may have any trunk (resnet101-ibn-fastreid). HEIGHT and WIDTH: if not given, those of its preset.

   --lines MODE prints one line a launch, its name, kernel, tile or "-", and microseconds as `reid bench --ops` measures
   them, for compare_model.py. A tile with a + computes more than its operation, or by other code, than when the files
   of tools/results/gpu were measured. MODE: fp16, latency, int8, int8-latency, fp32, nowgmma. --tiles FILE has lines as
   the file `tiles` of `reid bench --tune` has: these tiles are used where the network may use them. */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "../../reid.h"
#include "time_model.h"

/* measured: the figures of time_model.h; NULL: the data sheet's are used. products: multiply-adds of halves, summed in
   FP32, per clock and multiprocessor. */
typedef struct chip {
    const char *name;
    const time_chip *measured;
    int arch, processors;
    double clock, products, dram, l2; /* clock: hertz; dram: bytes a second; l2: bytes */
} chip;
static const chip chips[] = {
    {"h200", &time_h200, 90, 132, 0, 0, 0, 0},
    {"h100", &time_h100, 90, 132, 0, 0, 0, 0},
    {"a100", NULL, 80, 108, 1410e6, 1024, 2.039e12, 40e6},
    {"rtx3090", NULL, 86, 82, 1695e6, 256, 0.936e12, 6e6},
    {"rtx4080", NULL, 89, 76, 2505e6, 256, 0.717e12, 64e6},
    {"rtx4090", NULL, 89, 128, 2520e6, 256, 1.008e12, 72e6},
    {"rtx5090", NULL, 120, 170, 2407e6, 256, 1.792e12, 96e6},
};
static const double memory_share = 0.9;   /* of the data sheet's rate, which copies reach: measured on an H200 */
static const double product_share = 0.85; /* of the tensor cores' rate when fed by cp.async: assumed */
static const double tile_clocks = 1500;   /* of a block before its first and after its last product: assumed */

typedef struct mode { const char *name, *title; int half, int8, latency, wgmma; } mode;
static const mode modes[] = {
    {"fp16", "as usual", 1, 0, 0, 2},          {"latency", "for latency", 1, 0, 1, 2},
    {"int8", "INT8", 1, 1, 0, 2},              {"int8-latency", "INT8 for latency", 1, 1, 1, 2},
    {"fp32", "FP32", 0, 0, 0, 0},              {"nowgmma", "without wgmma", 1, 0, 0, 0},
};
#define TABLE_MODES 4 /* the table shows the first ones */

static reid__plan plan, narrow; /* narrow: the plan in INT8 */
static reid__prep prep;
static reid__gpu_plan gpu;
static const chip *on = &chips[0];
static char tiles[1 << 16]; /* of --tiles, after a newline; "": none */

/* --- chips that were not measured --------------------------------------------------------------------------------- */

/* Microseconds of memory traffic; 0 if the cache holds these bytes, which then never leave the chip. */
static double memory_us(double bytes) { return bytes > on->l2 ? bytes / (memory_share * on->dram) * 1e6 : 0; }

/* A convolution by mma.sync: whole waves of tiles, or memory; and the launch that adds parts of K, which it reads from
   the L2 cache or from memory. */
static double mma_us(const reid__gpu_plan *g, int index, int n, char *tile, size_t size) {
    const reid__op *op = &g->plan->ops[index];
    reid__program p;
    reid__step s;
    memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
    reid__mma_step(g, index, on->arch, n >= REID__LARGE, &p, &s);
    double blocks = ceil((double)n * op->oh * op->ow / s.bm) * reid__ceil_div(reid__padded(op->oc), s.bn) * s.split;
    double each = (double)s.bm * s.bn * reid__gpu_row(g, index) / s.split / on->products / (reid__in_bytes(op) ? 2 : 1);
    double clocks = ceil(blocks / on->processors) * each / product_share + tile_clocks, us = clocks / on->clock * 1e6;
    double memory = memory_us(reid__launch_bytes(g, index) * n);
    int of_memory = memory > us;
    if (of_memory) us = memory;
    if (s.split_in_memory) us += time_in_graph + memory_us(4.0 * s.split * n * op->oh * op->ow * reid__padded(op->oc));
    snprintf(tile, size, "%dx%d%s%s", s.bm, s.bn, s.split > 1 ? ", K cut" : "", of_memory ? " (memory)" : "");
    return us;
}

static double unmeasured_us(const reid__gpu_plan *g, int index, int n, char tile[48]) {
    const reid__op *first = &g->plan->ops[reid__launch_first(g, index)];
    snprintf(tile, 48, "memory");
    if (g->fused_into[index] != REID__NONE || first->kind == REID__NORMALISE) return 0;
    if (g->plan->ops[index].kind == REID__CONV && g->half) return mma_us(g, index, n, tile, 48);
    return memory_us(reid__launch_bytes(g, index) * n);
}

/* --- what is printed ---------------------------------------------------------------------------------------------- */

/* Microseconds of the work of an operation's launch, without the overhead of launching; 0: it has no launch. */
static double work_us(int index, int n, char tile[48]) {
    return on->measured ? time_of_launch(&gpu, index, n, on->measured, tile) : unmeasured_us(&gpu, index, n, tile);
}

static void begin(const mode *m, const reid__plan *usual) {
    narrow = *usual;
    if (m->int8) reid__plan_narrow(&narrow, REID__ELEMENT_INT8);
    reid__gpu_plan_init(&gpu, m->int8 ? &narrow : usual, &prep, m->half, on->arch == 90 ? m->wgmma : 0, 0, 0,
                        m->latency);
    if (*tiles) gpu.tiles = tiles;
}

/* Whether the launch also computes a later convolution or, in INT8, the shortcut, or fetches scaled inputs ahead. */
static int has_changed(int index, int large, const reid__step *s) {
    const reid__op *op = &plan.ops[index];
    int fetches = op->kind == REID__CONV && s->threads && strcmp(s->function, "reid_conv_f16") == 0 &&
                  reid__fetched_slices(&gpu, op, s, large);
    return fetches || gpu.fused_then[index] != REID__NONE || (gpu.int8 && gpu.fused_shortcut[index] != REID__NONE);
}

/* One line a launch: its name, its kernel and tile, and its microseconds when it is timed alone. */
static void print_lines(const mode *m, int n) {
    begin(m, &plan);
    for (int i = 0; i < plan.op_count; i++) {
        char tile[48];
        double us = work_us(i, n, tile);
        reid__program p;
        reid__step s;
        memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
        if (us <= 0) continue;
        if (gpu.fused_into[i] == REID__NONE) reid__op_step(&gpu, i, on->arch, n >= REID__LARGE, &p, &s);
        printf("%s %s %s%s %.3f\n", plan.ops[i].name, s.function ? s.function : "in", *tile ? tile : "-",
               s.function && has_changed(i, n >= REID__LARGE, &s) ? "+" : "", us + time_between_events[m->int8]);
    }
}

static void print_table(int n) {
    int count = reid__has_int8(&plan.arch) ? TABLE_MODES : 2, launches[TABLE_MODES] = {0};
    double sums[TABLE_MODES] = {0};
    static char cells[REID__MAX_OPS][TABLE_MODES][64];
    for (int k = 0; k < count; k++) {
        begin(&modes[k], &plan);
        for (int i = 0; i < plan.op_count; i++) {
            char tile[48];
            double us = work_us(i, n, tile);
            snprintf(cells[i][k], sizeof cells[i][k], "-");
            if (us <= 0) continue;
            launches[k]++, sums[k] += us + time_in_graph;
            snprintf(cells[i][k], sizeof cells[i][k], "%s%s%.2f", tile, *tile ? ": " : "", us + time_in_graph);
        }
    }
    printf("%-24s", "microseconds");
    for (int k = 0; k < count; k++) printf(" %-32s", modes[k].title);
    for (int i = 0; i < plan.op_count; i++) {
        printf("\n%-24s", plan.ops[i].name);
        for (int k = 0; k < count; k++) printf(" %-32s", cells[i][k]);
    }
    for (int k = 0; k < count; k++)
        printf("\n%s, %s: %d launches, %.1f microseconds, %.0f images a second%s", on->name, modes[k].title,
               launches[k], sums[k], n / sums[k] * 1e6, on->measured ? "" : " (nothing was measured on this chip)");
    printf("\n");
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static int usage(void) {
    fprintf(stderr, "usage: predict [--chip NAME] [--lines MODE] [--tiles FILE] [NETWORK [BATCH [HEIGHT WIDTH]]]\n"
                    "chips:");
    for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++) fprintf(stderr, " %s", chips[i].name);
    fprintf(stderr, "\nmodes:");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) fprintf(stderr, " %s", modes[i].name);
    fprintf(stderr, "\n");
    return 2;
}

static int read_tiles(const char *path) {
    FILE *f = fopen(path, "r");
    size_t size = f ? fread(tiles + 1, 1, sizeof tiles - 2, f) : 0;
    int ok = f && feof(f) && !ferror(f);
    if (f) fclose(f);
    tiles[0] = '\n', tiles[1 + size] = 0;
    return ok;
}

/* --chip, --lines and --tiles, in any order. Returns how many arguments they were, or -1. */
static int options(int argc, char **argv, const mode **lines) {
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        const chip *found = NULL;
        const mode *m = NULL;
        if (at + 1 == argc) return -1;
        for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++)
            if (strcmp(chips[i].name, argv[at + 1]) == 0) found = &chips[i];
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
            if (strcmp(modes[i].name, argv[at + 1]) == 0) m = &modes[i];
        if (strcmp(argv[at], "--chip") == 0 && found) on = found;
        else if (strcmp(argv[at], "--lines") == 0 && m) *lines = m;
        else if (strcmp(argv[at], "--tiles") == 0 && read_tiles(argv[at + 1])) continue;
        else return -1;
    }
    return at - 1;
}

int main(int argc, char **argv) {
    const mode *lines = NULL;
    int taken = options(argc, argv, &lines);
    if (taken < 0) return usage();
    argc -= taken, argv += taken;
    reid_desc desc = REID_INIT;
    reid__arch arch;
    char text[REID__PRESET_TEXT];
    int batch = argc > 2 ? atoi(argv[2]) : 1;
    if (argc > 4) desc.height = atoi(argv[3]), desc.width = atoi(argv[4]);
    if (batch < 1 || !reid__arch_named(argc > 1 ? argv[1] : "resnet50", &arch)) return usage();
    reid_head head = arch.multiscale ? REID_HEAD_FILE : REID_HEAD_NONE;
    if (reid__make_plan(&plan, &prep, &desc, &arch, NULL, 2, head, NULL, text, NULL) != REID_OK) return usage();
    if (lines && lines->int8 && !reid__has_int8(&arch)) return usage();
    if (lines) print_lines(lines, batch);
    else print_table(batch);
    return 0;
}
