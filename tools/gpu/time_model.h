/* A model of how long each launch of a network takes on a Hopper (132 multiprocessors). Its figures are fitted to the
   operations' times that `reid bench --ops` measured on an H200 and an H100, which are in tools/results/gpu;
   tools/gpu/compare_model.py compares the two. A figure also absorbs what the formula leaves out, so it is not a
   limit of the chip. Batches of 8 and more use other kernels and tiles than smaller ones (REID__LARGE), so the two
   have figures of their own. In latency mode the model holds for batch 1.

   Include it after reid.h with REID_IMPLEMENTATION: it looks into the plan. */
#ifndef TIME_MODEL_H
#define TIME_MODEL_H

/* The figures in which the two chips differ. */
typedef struct time_chip {
    double clocks; /* a second, under load */
    double dram;   /* bytes a second, read and written */
} time_chip;
static const time_chip time_h200 = {1980e6, 4.06e12}, time_h100 = {1886e6, 2.846e12};

static const double time_between_events[2] = {4.71, 4.55}; /* microseconds that a launch timed alone takes in addition
                                                               to its work; [1]: in INT8 */
static const double time_in_graph = 1.3;        /* the same in a graph: from ready to its first data */
static const double time_processors = 132;

/* The time of two things that overlap: the larger `power` is, the nearer it is to the time of the longer one. */
static double time_of_both(double a, double b, double power) { return pow(pow(a, power) + pow(b, power), 1 / power); }
/* The time of two things that overlap almost completely. */
static double time_overlap(double a, double b) { return time_of_both(a, b, 5); }

/* Microseconds in which memory moves n images' bytes; 0 if they stay on the chip. share: of the memory's rate. */
static double time_of_memory(const reid__gpu_plan *g, int index, int n, const time_chip *chip, double share) {
    double bytes = reid__launch_bytes(g, index) * n;
    return bytes > REID__L2_BYTES ? bytes / (share * chip->dram) * 1e6 : 0;
}

/* --- convolutions by wgmma ---------------------------------------------------------------------------------------- */

static double time_of_wgmma(const reid__gpu_plan *g, int index, const reid__wgmma_tile *t, int n,
                            const time_chip *chip) {
    double work = reid__wgmma_clocks(g, index, t, n) / chip->clocks * 1e6;
    return time_overlap(work, time_of_memory(g, index, n, chip, 1));
}

/* --- convolutions by mma.sync ------------------------------------------------------------------------------------- */

/* Clocks of a slice of 64 values of K, for a block that has a multiprocessor to itself; of a block in addition to its
   slices; of a pixel whose squeeze-excite factors a slice waits for; of the stem, which gathers its input. */
static const double time_mma_slice = 1068, time_mma_block = 935, time_mma_scaled = 67.5, time_mma_stem = 12800;
/* In a small batch, the inputs and factors of several slices of 32 values are loaded at once: clocks until they arrive,
   as time_mma_scaled has for each slice of 32 values and 32 pixels, and of each slice after that (assumed). */
static const double time_mma_fetch = 1080, time_mma_fetched = 150;
/* Clocks of a multiprocessor with many blocks: a slice, a pixel's factors, a product, an output, SiLU, a residual. */
static const double time_mma_each = 183, time_mma_factor = 14.4, time_mma_product = 0.1125, time_mma_output = 0.128;
static const double time_mma_silu = 0.222, time_mma_residual = 0.15;
static const double time_mma_memory = 0.8; /* of the memory's rate */
static const double time_mma_parts = 2.35; /* microseconds of a cluster that adds its parts of K */

/* Clocks of `slices` slices of 64 values whose inputs are scaled, for a block that has a multiprocessor to itself. */
static double time_of_scaled(const reid__gpu_plan *g, const reid__op *op, const reid__step *s, int n, double slices) {
    int fetched = reid__fetched_slices(g, op, s, n >= REID__LARGE);
    if (!fetched) return slices * time_mma_scaled * s->bm;
    return ceil(2 * slices / fetched) * time_mma_fetch + 2 * slices * time_mma_fetched;
}

static double time_of_depthwise(const reid__gpu_plan *g, int index, int n, const time_chip *chip);

/* Clocks that a block takes in addition if it computes its factors itself, for the first of its images, and the bytes
   that it reads for them. The weights are on their way while the depthwise convolution before computes, and the first
   inputs while it waits for the sums. A multiply-add with both operands in shared memory takes 8 clocks, the tree and
   the sigmoid of a hidden unit 300, a factor's 100, a barrier 40: all assumed. */
static double time_of_factors(const reid__gpu_plan *g, int index, const reid__step *s, double ahead, double *bytes) {
    const reid__op *op = &g->plan->ops[index];
    double c = g->plan->buffers[op->in].c, hidden = op[-1].hidden, tiles = reid__sum_tiles_of(op - 2).count;
    double weights = 8 * c * hidden, sums = 4 * c * tiles, rounds = ceil(c / s->threads);
    *bytes = weights + sums;
    return fmax(weights / reid__paces[0].alone - ahead, 0) + sums / reid__paces[0].alone + rounds * tiles * 8 +
           ceil(hidden / (s->threads / 32)) * (ceil(c / 32) * 8 + 300) + rounds * (hidden * 8 + 100) + 4 * 40;
}

/* Whether the launch multiplies its input by squeeze-excite factors. */
static int time_is_scaled(const reid__op *op) { return op->scale != REID__NONE; }

static double time_of_mma(const reid__gpu_plan *g, int index, int n, const reid__step *s, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    double tile = s->bm * s->bn, blocks = ceil((double)n * op->oh * op->ow / s->bm) *
                                          reid__ceil_div(reid__padded(op->oc), s->bn) * s->split;
    double slices = reid__gpu_row(g, index) / 64.0 / s->split, together = fmax(1, fmin(8, floor(16384 / tile)));
    double alone = time_is_scaled(op) && g->half ? time_of_scaled(g, op, s, n, slices) : slices * time_mma_slice;
    double each = slices * (time_mma_each + time_mma_product * tile);
    if (time_is_scaled(op)) each += slices * time_mma_factor * s->bm;
    else alone += time_mma_block;
    if (index == 0) alone += time_mma_stem;
    if (n < REID__LARGE && g->squeezed[index]) {
        double bytes, ahead = (time_in_graph + time_of_depthwise(g, index - 2, n, chip)) * chip->clocks / 1e6;
        alone += time_of_factors(g, index, s, ahead, &bytes), each += bytes / reid__paces[0].l2_to_shared;
        together = fmin(together, floor(REID__SHARED_ALL / s->shared));
    }
    each += tile * (op->act == REID__SILU ? time_mma_silu : time_mma_output);
    if (op->residual != REID__NONE && !time_is_scaled(op)) each += tile * time_mma_residual;
    double waited = ceil(blocks / (time_processors * together)) * alone, worked = blocks / time_processors * each;
    double work = time_overlap(waited, worked) / chip->clocks * 1e6;
    return time_overlap(work, time_of_memory(g, index, n, chip, time_mma_memory)) +
           (s->split > 1 ? time_mma_parts : 0);
}

/* --- the other operations ----------------------------------------------------------------------------------------- */

/* FP32 convolutions: a thread's instructions for a slice, counted in the machine code of six tiles (67 to 137 beside
   FFMA and reads), and its 16-byte reads from shared memory, each of which takes a warp four clocks of a unit that the
   four quarters of a multiprocessor share. The longer of the two takes 1 / time_f32_pace. 0.854 is what a kernel with
   4 x 4 sums a thread reached, whose limit the reads were (2026-11-26-h200-resnet50-fp32.json: 28.6 TFLOP/s); that
   other tiles reach it, too, is assumed. */
static const double time_f32_pace = 0.854;
static double time_of_f32(const reid__gpu_plan *g, int index, int n, const reid__step *s, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    const int tile = reid__choose_tile(g, op, 90, n >= REID__LARGE);
    const double rows = reid__tiles[tile].warps_m, columns = reid__tiles[tile].warps_n; /* of a thread's sums */
    double threads = s->threads, slices = reid__gpu_row(g, index) / 16.0, reads = 4 * (rows + columns);
    double copies = 14 * s->bm * 4 / threads + 5 * s->bn * 4 / threads;
    double slice = fmax(16 * rows * columns + reads + copies + 45, 16 * reads) * threads / 32 / 4;
    double tiles = ceil((double)n * op->oh * op->ow / s->bm) * reid__ceil_div(reid__padded(op->oc), s->bn);
    double work = ceil(tiles / time_processors) * slices * slice / time_f32_pace / chip->clocks * 1e6;
    return time_overlap(work, time_of_memory(g, index, n, chip, 0.8)) + n * op->oh * op->ow * (double)op->oc / 2.02e6;
}

/* Large batches: instructions of a thread of reid_depthwise. It converts `needed` inputs of a row and adds each to all
   outputs that it touches; an output is activated, rounded, stored and summed. */
static double time_depthwise_instructions(const reid__op *op, const reid__sum_tiles *t) {
    int slides = reid__ceil_div(op->oh, t->slide), needed = (t->cols - 1) * op->stride + op->kw;
    double rows = (double)(op->ih + (slides - 1) * (op->kh - op->stride)) / slides; /* of inputs, inside the image */
    double products = 2.0 * t->cols * op->kh * op->kw / op->stride;
    return rows * (5 * needed + products + 6) + 14.0 * t->cols * op->oh / slides;
}

/* Fitted to a prototype's times on an H200 at batch 256 (2026-11-26-h200-prototypes.jsonl), twelve shapes within 9 %:
   half of the instructions that could be issued, 0.8 of the memory's rate. A thread alone takes 3 clocks an
   instruction (assumed). */
static double time_of_depthwise(const reid__gpu_plan *g, int index, int n, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    const reid__sum_tiles t = reid__sum_tiles_of(op);
    double outputs = (double)n * op->oh * op->ow * op->oc / time_processors;
    if (n < REID__LARGE) return 0.6 + 1.1e-4 * outputs * op->kh * op->kw / chip->clocks * 1e9;
    double each = time_depthwise_instructions(op, &t), slides = reid__ceil_div(op->oh, t.slide);
    double warps = n * slides * reid__ceil_div(op->ow, t.cols) * reid__padded(op->oc) / 2 / 32;
    double work = fmax(warps * each / (time_processors * 4 * 0.5), 3 * each) / chip->clocks * 1e6;
    return 4 + time_overlap(work, time_of_memory(g, index, n, chip, 0.8));
}

/* reid_expand, which has not run on a GPU: the instructions of both kinds of warps at the pace of reid_depthwise, half
   of those that could be issued (assumed), while SiLU takes the special-function units, 2.07e12 values a second on an
   H200. By the machine code, sixteen pixels of SLICE channels take 88 instructions, 6 for a value and 1.5 for a product
   of 16 x 8 x 16; sums take as many as in reid_depthwise. To begin a share takes 2,000 clocks (assumed). */
static double time_of_expand(const reid__gpu_plan *g, int index, int n, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    const reid__expand *x = &g->expand[index];
    reid__sum_tiles t = reid__sum_tiles_of(op);
    int slices = g->plan->buffers[op->in].c / x->slice, shares = reid__ceil_div(n, x->images) * slices;
    t.slide = t.rows * reid__strip_rows(shares, reid__ceil_div(op->oh, t.rows), (int)time_processors);
    double turns = ceil(shares * reid__ceil_div(op->oh, t.slide) / time_processors), height = fmin(t.slide, op->oh);
    double inputs = fmin(height * op->stride + op->kh - op->stride, op->ih) * op->iw * x->images;
    double strips = reid__ceil_div(op->ow, t.cols) * x->images, steps = g->plan->buffers[op[-1].in].c / 16.0;
    double expanded = ceil(inputs / 16) * (88 + 6.0 * x->slice / 2 + 1.5 * x->slice / 8 * steps);
    double summed = ceil(strips * x->slice / 2 / 32) * time_depthwise_instructions(op, &t);
    double activated = (inputs + height * op->ow * x->images) * x->slice / (2.07e12 / 1980e6 / time_processors);
    double work = turns * (time_overlap((expanded + summed) / (4 * 0.5), activated) + 2000) / chip->clocks * 1e6;
    double bytes = ((double)g->size[op[-1].in] * slices + (double)g->size[op->out]) * n;
    return 4 + time_overlap(work, bytes > REID__L2_BYTES ? bytes / (0.8 * chip->dram) * 1e6 : 0);
}

/* Clusters of eight blocks, for four images in large batches, read both matrices (kB): in large batches at 119 kB/us
   and multiprocessor, by 60 bytes a clock (assumed). For one image they took 62 kB/us, one after the other; now those
   that fit the registers are both on their way while the depthwise convolution before them computes (assumed). */
static double time_of_squeeze(const reid__gpu_plan *g, int index, int n, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    double matrices = 2.0 * 4 * op->ic * op->hidden / 1e3;
    double before = time_in_graph + time_of_depthwise(g, index - 1, n, chip);
    int ahead = op->hidden <= 64 && reid__padded(op->ic) <= 2048 && op->ic / 32 + op->hidden < 112;
    if (n < REID__LARGE) return 2.7 + (ahead ? fmax(matrices / 2 / 62 - before, 0) : matrices / 62);
    return 4 + matrices * n / 4 / time_processors / 119;
}

/* reid_project: slices of K at L2's rate, or a slice's instructions if these take longer, and a tile's end (assumed);
   0.84 of the memory's rate, as the prototype's large layers (2026-11-26-h200-prototypes.jsonl). */
static double time_of_project(const reid__gpu_plan *g, int index, int n, const reid__step *s, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    int slices = reid__ceil_div(g->plan->buffers[op->in].c, 64), oc = reid__padded(op->oc);
    int light = s->shared <= REID__SHARED_HALF;
    double tiles = ceil((double)n * op->oh * op->ow / s->bm) * reid__ceil_div(oc, s->bn), together = light ? 2 : 1;
    double copied = s->bm * 128 + 1024 + s->bn * 64.0; /* bytes of a slice: weights go to two multiprocessors at once */
    double slice = fmax(copied / reid__paces[0].l2_to_shared * together, 500);
    double end = 500 + s->bm * s->bn / 16.0 * (op->act == REID__SILU ? 2 : 1);
    double work = ceil(tiles / (time_processors * together)) * (slices * slice + end) / chip->clocks * 1e6;
    return 2 + time_overlap(work, time_of_memory(g, index, n, chip, 0.84));
}

static double time_of_linear(const reid__op *op, int n) {
    return (2.7e-3 + 1.7e-5 * n) * op->ic * op->kh * op->kw;
}

/* Pools: the time to read bytes from the chip if they are still there, else from memory. Eight values of a thread are
   on their way at once, for 600 clocks, and a generalised mean issues some 40 instructions for each power (assumed). */
static double time_of_pool(const reid__gpu_plan *g, int index, int n, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    double bytes = reid__launch_bytes(g, index) * n, values = (double)n * op->ih * op->iw * op->ic;
    double moved = bytes > REID__L2_BYTES ? bytes / (0.88 * chip->dram) * 1e6 : bytes / 6.5e6;
    double rounds = ceil((double)op->ih * op->iw / g->pixels_per_sum[op->in] / (op->oh * op->ow) / 8);
    if (op->kind == REID__POOL) moved = fmax(moved, rounds * 600 / chip->clocks * 1e6);
    return op->gem ? time_overlap(moved, values * 40 / 32 / 4 / time_processors / chip->clocks * 1e6) : moved;
}

/* --- kernels that have not run on a GPU: assumed throughout ------------------------------------------------------- */

/* A block of 256 threads takes 16 channels of an image, and a multiprocessor eight blocks. alone: clocks of a thread,
   most of which it waits; instructions: those that it issues. */
static double time_of_sixteens(const reid__op *op, int n, double alone, double instructions, const time_chip *chip) {
    double blocks = (double)n * reid__padded(op->oc) / 16;
    double waited = ceil(blocks / (8 * time_processors)) * alone;
    return time_overlap(waited, blocks * 8 * instructions / (4 * time_processors)) / chip->clocks * 1e6;
}

/* reid_instance: three passes over the pixels, of which a thread takes every 64th, and 1,200 clocks for two sums over
   the block. Pixels that shared memory keeps are read once, eight of a thread at a time, in 600 clocks; 30 clocks for
   each are left for either other pass, and 16 instructions for every one. Else a pass takes 150 clocks and 20
   instructions for a pixel; the first may read from memory, the others find the chip's copy, at the pace of a pool. */
static double time_of_instance(const reid__gpu_plan *g, int index, int n, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    double pixels = reid__ceil_div(op->oh * op->ow, 64), moved = time_of_pool(g, index, n, chip);
    reid__program p;
    reid__step s;
    memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
    reid__op_step(g, index, 90, 1, &p, &s);
    if (s.shared > 4096) {
        double alone = ceil(pixels / 8) * 600 + 2 * pixels * 30 + 1200;
        return 1 + time_overlap(moved, time_of_sixteens(op, n, alone, pixels * 48, chip));
    }
    moved += 2.0 * (double)g->size[op->in] * n / 6.5e6;
    return 1 + time_overlap(moved, time_of_sixteens(op, n, pixels * 450 + 1200, pixels * 60, chip));
}

/* reid_nonlocal: a thread's multiply-adds read two values each, by six instructions, and wait 25 clocks for them. */
static double time_of_nonlocal(const reid__gpu_plan *g, int index, int n, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    double products = 2.0 * reid__padded(op->oc) / 16 * op->oh * op->ow;
    return 1 + time_overlap(time_of_pool(g, index, n, chip),
                            time_of_sixteens(op, n, products * 25, products * 6, chip));
}

/* reid_stem_pool, from the view on. A row of outputs takes its products at 0.9 of their rate if a multiprocessor has
   two strips, whose warpgroups multiply and pool in turn; if it has only one, 600 clocks more for the pool; before the
   first row, 4,000 clocks. All assumed; its instructions are counted in tools/results/gpu. */
static double time_of_stem_pool(const reid__gpu_plan *g, int index, int n, const time_chip *chip) {
    const reid__op *op = &g->plan->ops[index];
    int strip = reid__strip_rows(n, op->oh, (int)(2 * time_processors)), strips = n * reid__ceil_div(op->oh, strip);
    double row = op[-1].kh * reid__round_up(op->iw, 16) / 0.9 + (strips > time_processors ? 0 : 600);
    double clocks = 4000 + ceil(strips / time_processors) * (2 * strip + 1) * row;
    return time_overlap(clocks / chip->clocks * 1e6, time_of_memory(g, index, n, chip, 0.8));
}

/* The input: levels to the network's numbers, with borders. */
static double time_of_input(const reid__gpu_plan *g, int n) {
    const reid__plan *p = g->plan;
    return 2.5 + ((double)g->size[p->ops[0].in] + 3.0 * p->height * p->width) * n / 2.2e6;
}

/* Microseconds of the work of an operation's launch; 0: it has none. `tile` describes it. */
static double time_of_launch(const reid__gpu_plan *g, int index, int n, const time_chip *chip, char tile[48]) {
    const reid__op *op = &g->plan->ops[index], *first = &g->plan->ops[reid__launch_first(g, index)];
    const int stem_pool = reid__takes_stem_pool(g, first); /* it reads the view */
    snprintf(tile, 48, "%s", index == 0 && !stem_pool ? "input" : "");
    if (n >= REID__LARGE && g->expand[index + 1].slice) return 0;
    if (n < REID__LARGE && g->squeezed[index + 1]) return 0;
    if (n >= REID__LARGE && g->expand[index].slice) return time_of_expand(g, index, n, chip);
    if (g->fused_into[index] != REID__NONE) return index == 0 && !stem_pool ? time_of_input(g, n) : 0;
    if (first->kind == REID__NORMALISE) return 0;
    if (stem_pool) return time_of_stem_pool(g, index, n, chip);
    if (reid__takes_wgmma(g, first)) {
        reid__wgmma_tile t = reid__choose_wgmma_tile(g, index, 90, n >= REID__LARGE);
        reid__tile_name(t.groups, t.bm, t.bn, t.split, tile);
        return time_of_wgmma(g, index, &t, n, chip);
    }
    if (op->kind == REID__CONV && reid__takes_stem(g, op)) /* as depthwise convolutions: assumed */
        return 4 + time_overlap(n * op->oh * op->ow * (double)op->oc / 2.07e6, time_of_memory(g, index, n, chip, 0.8));
    if (op->kind == REID__CONV) {
        reid__program p;
        reid__step s;
        memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
        if (n >= REID__LARGE && reid__takes_project(g, op)) {
            reid__project_step(g, op, &p, &s);
            reid__tile_name(1, s.bm, s.bn, 1, tile);
            return time_of_project(g, index, n, &s, chip);
        }
        reid__mma_step(g, index, 90, n >= REID__LARGE, &p, &s);
        reid__tile_name(1, s.bm, s.bn, s.split, tile);
        return g->half ? time_of_mma(g, index, n, &s, chip) : time_of_f32(g, index, n, &s, chip);
    }
    switch (op->kind) {
    case REID__DEPTHWISE: return time_of_depthwise(g, index, n, chip);
    case REID__SQUEEZE: return time_of_squeeze(g, index, n, chip);
    case REID__LINEAR: return time_of_linear(op, n);
    case REID__INSTANCE: return time_of_instance(g, index, n, chip);
    case REID__NONLOCAL: return time_of_nonlocal(g, index, n, chip);
    default: return time_of_pool(g, index, n, chip);
    }
}

#endif
