/* reid bench --tune: measures every tile of reid_conv_wgmma on this GPU, and stores the times where reid.h looks for
   them, in the kernel cache. */
#include "commands/bench_tune.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 19 };      /* values of REID_TILE: 0, the cost model's choice, and the 18 tiles that reid.h has */
enum { LARGE = 64 };      /* the batch whose times stand for all large ones */
#define FIRST_LINE "reid tiles 1\n"
static const output_kind TILES_FILE = {.what = "measured tiles", .start = FIRST_LINE};
static const char first_line[] = FIRST_LINE, function[] = "reid_conv_wgmma ";

/* An operation's launch with one tile, for batches of 1 or of LARGE. */
typedef struct timed {
    char *name, *tile;
    int batch, of_model; /* of_model: the tile that the cost model chooses */
    double us;
} timed;

typedef struct tuner {
    const options *o;
    reid_error error;
    reid_info info;
    reid_gpu_info gpu;
    timed *list;
    size_t count, cap;
} tuner;

static int failed(tuner *t, reid_result r) {
    if (r != REID_OK) say_model_error(t->o->model[0].weights, &t->error, r);
    return r != REID_OK;
}

/* Adds a time. If several tile numbers give an operation the same tile, their least time counts. Returns 0 after
   reporting that memory ran out. */
static int add(tuner *t, const char *name, int batch, const char *tile, int of_model, double us) {
    for (size_t i = 0; i < t->count; i++) {
        timed *x = &t->list[i];
        if (x->batch != batch || strcmp(x->name, name) != 0 || strcmp(x->tile, tile) != 0) continue;
        if (us < x->us) x->us = us;
        return 1;
    }
    if (!NEED(t->list, t->count, t->cap)) return 0;
    timed *x = &t->list[t->count++];
    x->name = need_copy(name, strlen(name));
    x->tile = x->name ? need_copy(tile, strlen(tile)) : NULL;
    x->batch = batch, x->of_model = of_model, x->us = us;
    return x->tile != NULL;
}

/* Measures all operations with the tile of this number, wherever it fits. */
static int measure(tuner *t, int number, int large) {
    char digits[16];
    model m;
    reid_desc desc = model_desc(t->o, &t->o->model[0], NULL);
    snprintf(digits, sizeof digits, "%d", number);
    setenv("REID_TILE", digits, 1);
    desc.device = REID_DEVICE_CUDA, desc.lanes = 1, desc.fallback = 0;
    desc.batch = !large ? 1 : desc.batch ? desc.batch : LARGE;
    if (!model_open(&m, &desc)) return 0;
    t->info = m.info;
    float *us = need_array((size_t)reid_op_count(m.ctx), sizeof *us);
    int good = us && !failed(t, reid_profile(m.ctx, t->info.batch, t->o->bench.rounds, us, NULL, &t->error));
    for (int i = 0; good && i < reid_op_count(m.ctx); i++) {
        reid_op_info op;
        reid_query_op(m.ctx, i, &op);
        if (op.computed_by == i && strncmp(op.kernel, function, sizeof function - 1) == 0)
            good = add(t, op.name, large ? LARGE : 1, op.kernel + sizeof function - 1, number == 0,
                       (double)us[i]);
    }
    free(us);
    model_close(&m);
    return good && !interrupted();
}

/* Writes the beginning of the lines for this network, precision and size. */
static void prefix_of(const tuner *t, text *out) {
    text_printf(out, "%s %s %s%s %dx%d ", t->gpu.arch, t->info.network, t->info.precision,
                t->info.latency ? "-latency" : "", t->info.height, t->info.width);
}

/* 1 for a valid line of the file: eight words, the last one a number. A damaged line would make the others useless. */
static int is_line(const char *line, const char *end) {
    int words = 1;
    const char *last = line;
    for (const char *at = line; at < end; at++)
        if (*at == ' ') words++, last = at + 1;
    size_t digits = strspn(last, "0123456789");
    return words == 8 && digits >= 1 && digits <= 15 && last + digits == end;
}

/* Writes these times to the file in the cache, in place of older times of the same operations. Damaged lines are
   dropped. */
static int write_times(const tuner *t, const char *path) {
    text old = TEXT_INIT, why = TEXT_INIT, prefix = TEXT_INIT, out = TEXT_INIT;
    prefix_of(t, &prefix);
    text_puts(&out, first_line);
    if (file_read(path, 1 << 22, 1, &old, &why) && strncmp(old.s, first_line, sizeof first_line - 1) == 0)
        for (char *line = old.s + sizeof first_line - 1, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
            if (is_line(line, end) && strncmp(line, prefix.s, prefix.len) != 0)
                text_add(&out, line, (size_t)(end + 1 - line));
    for (size_t i = 0; i < t->count; i++) {
        const timed *x = &t->list[i];
        text_printf(&out, "%s%s %d %s %.0f\n", prefix.s, x->name, x->batch, x->tile, x->us > 0.001 ? 1e3 * x->us : 1);
    }
    text_clear(&why);
    int good = text_failed(&prefix) ? text_no_memory(&why) : file_write(path, &TILES_FILE, &out, &why);
    if (!good) say_error("%s: %s", shown(path), why.s);
    text_free(&old), text_free(&why), text_free(&prefix), text_free(&out);
    return good;
}

/* The fastest tile of an operation. i: the operation's first entry, which is the cost model's choice. */
static const timed *fastest(const tuner *t, size_t i) {
    const timed *best = &t->list[i];
    for (size_t k = i; k < t->count; k++) {
        const timed *x = &t->list[k];
        if (x->batch == t->list[i].batch && strcmp(x->name, t->list[i].name) == 0 && x->us < best->us) best = x;
    }
    return best;
}

static int report(const tuner *t, const char *path) {
    text out = TEXT_INIT;
    double sums[2] = {0, 0};
    text_printf(&out, "%-28s %5s  %-16s %10s  %-16s %10s\n", "operation", "batch", "by the model", "us", "fastest",
                "us");
    for (size_t i = 0; i < t->count; i++) {
        const timed *x = &t->list[i], *best = fastest(t, i);
        if (!x->of_model) continue;
        sums[0] += x->us, sums[1] += best->us;
        text_printf(&out, "%-28s %5d  %-16s %10.2f  %-16s %10.2f\n", x->name, x->batch, x->tile, x->us, best->tile,
                    best->us);
    }
    text_printf(&out, "%-28s %5s  %-16s %10.2f  %-16s %10.2f\nwritten: ", "all", "", "", sums[0], "", sums[1]);
    text_visible(&out, path);
    text_puts(&out, "\n");
    return results_print(&out);
}

static int tune(tuner *t) {
    reid_desc desc = model_desc(t->o, &t->o->model[0], &t->error);
    int sizes = desc.batch && desc.batch < 8 ? 1 : 2; /* 1: small batches alone; 2: large ones, too */
    text path = TEXT_INIT;
    if (failed(t, reid_query_gpu(&desc, &t->gpu))) return 0;
    if (strcmp(t->gpu.arch, "sm_90") != 0) {
        say_error("bench: --tune is for Hopper (sm_90), and this GPU is %s", *t->gpu.arch ? t->gpu.arch : "none");
        return 0;
    }
    if (!*t->gpu.cache_dir) {
        say_error("bench: --tune needs a cache to store its times in: set REID_CACHE_DIR");
        return 0;
    }
    int good = 1;
    for (int i = 0; i < sizes * TILES && good; i++) good = measure(t, i / sizes, i % sizes);
    text_printf(&path, "%s/tiles", t->gpu.cache_dir);
    if (good && !t->count) say_warning("no operation of this network has a choice of tiles in this precision");
    good = good && need_text(&path) && write_times(t, path.s) && report(t, path.s);
    text_free(&path);
    return good;
}

int bench_tune(const options *o) {
    tuner t;
    memset(&t, 0, sizeof t);
    t.o = o;
    int good = tune(&t);
    for (size_t i = 0; i < t.count; i++) free(t.list[i].name), free(t.list[i].tile);
    free(t.list);
    return good ? 0 : 2;
}
