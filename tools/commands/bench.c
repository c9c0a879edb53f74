/* reid bench: how long a network takes on this machine, per call and per operation, compared with what the machine
   could do. */
#include "base/clock.h"
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/bench_peak.h"
#include "commands/bench_tune.h"
#include "commands/commands.h"
#include "commands/requests.h"
#include "report/bench_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

typedef struct bench {
    const options *o;
    const char *weights;
    reid_ctx *ctx;
    reid_info info;
    reid_error error;
    reid_image *images; /* [most]: noise of the network's input size, which makes resizing as cheap as possible */
    unsigned char *pixels;
    float *rows;
    int most;           /* the largest batch asked for */
    double peak_gflops, peak_gbs; /* 0: unknown */
    double *starts;     /* [o->bench.starts] ms */
    text table, cells, head;
    bench_batch page[MAX_BATCHES]; /* for --report: batches whose operations were measured */
    int pages;
} bench;

typedef struct timing { /* milliseconds a call */
    double median, least, most;
    double network; /* sum of the operations' medians; negative: not measured */
    double graph;   /* on a GPU, the operations as a call runs them, without its other steps; 0: not measured */
    float *ops;     /* microseconds of each */
} timing;

static double now_ms(void) { return 1e3 * clock_seconds(); }

static double median_of(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, order_reals);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static int failed(bench *b, reid_result r) {
    if (r != REID_OK) say_model_error(b->weights, &b->error, r);
    return r != REID_OK;
}

static int make_noise(bench *b) {
    size_t each = (size_t)b->info.height * (size_t)b->info.width * 3;
    uint64_t state = 1;
    b->pixels = need_array((size_t)b->most, each);
    b->images = b->pixels ? need_array((size_t)b->most, sizeof *b->images) : NULL;
    b->rows = b->images ? need_array((size_t)b->most * (size_t)b->info.dim, sizeof *b->rows) : NULL;
    if (!b->rows) return 0;
    for (size_t i = 0; i < each * (size_t)b->most; i++) b->pixels[i] = (unsigned char)random_next(&state);
    for (int i = 0; i < b->most; i++) {
        reid_image image = {b->pixels + each * (size_t)i, b->info.width, b->info.height, 0, REID_RGB8, NULL};
        b->images[i] = image;
    }
    return 1;
}

/* Measures the time to the first embedding, each time with a new handle; keeps the last handle. */
static int start(bench *b) {
    reid_desc desc = model_desc(b->o, &b->o->model[0], NULL);
    model m;
    desc.fallback = 0; /* noise may exceed the ranges */
    if (!desc.batch) desc.batch = b->most;
    b->starts = need_array((size_t)b->o->bench.starts + 1, sizeof *b->starts);
    if (!b->starts) return 0;
    for (int i = 0; i < b->o->bench.starts || !b->ctx; i++) {
        reid_destroy(b->ctx);
        b->ctx = NULL;
        double from = now_ms();
        if (!model_open(&m, &desc)) return 0;
        double created = now_ms() - from;
        b->ctx = m.ctx, b->info = m.info;
        if (!b->images && !make_noise(b)) return 0;
        from = now_ms(); /* without the time for making noise */
        if (failed(b, reid_embed_ex(b->ctx, b->images, 1, b->rows, &b->error))) return 0;
        b->starts[i] = created + now_ms() - from;
        if (interrupted()) return 0;
    }
    return 1;
}

/* One round is one call, or as many as take 10 ms. */
static int measure_calls(bench *b, int n, timing *t) {
    double *rounds = need_array((size_t)b->o->bench.rounds, sizeof *rounds), from = now_ms(), took = 0;
    int warm = 0, good = rounds != NULL;
    for (; good && (warm < 2 || took < 200) && took < 5000; warm++) { /* warms up clocks, caches, page tables */
        good = !failed(b, reid_embed_ex(b->ctx, b->images, n, b->rows, &b->error));
        took = now_ms() - from;
    }
    int calls = !good || took / warm >= 10 ? 1 : (int)(10 * warm / took) + 1;
    for (int i = 0; good && i < b->o->bench.rounds; i++) {
        from = now_ms();
        for (int k = 0; good && k < calls; k++)
            good = !failed(b, reid_embed_ex(b->ctx, b->images, n, b->rows, &b->error));
        rounds[i] = (now_ms() - from) / calls;
        good = good && !interrupted();
    }
    if (good) {
        t->median = median_of(rounds, b->o->bench.rounds);
        t->least = rounds[0];
        t->most = rounds[b->o->bench.rounds - 1];
    }
    free(rounds);
    return good;
}

static int measure(bench *b, int n, timing *t) {
    t->network = -1, t->graph = 0;
    if (!measure_calls(b, n, t)) return 0;
    if (n > b->info.batch) return 1; /* computed in pieces: no single run to profile */
    float together = 0;
    if (failed(b, reid_profile(b->ctx, n, b->o->bench.rounds, t->ops, &together, &b->error))) return 0;
    t->graph = 1e-3 * (double)together;
    t->network = 0;
    for (int i = 0; i < reid_op_count(b->ctx); i++) t->network += 1e-3 * (double)t->ops[i];
    return 1;
}

/* ---- output ---- */
static void head_of(bench *b, const char *peaks_from) {
    const reid_info *info = &b->info;
    text_printf(&b->table, "%s, %dx%d, %s, %s %s: ", info->network, info->height, info->width, info->precision,
                info->device, info->isa);
    text_visible(&b->table, info->chip);
    if (strcmp(info->device, "cpu") == 0)
        text_printf(&b->table, ", %d thread%s", info->threads, plural((size_t)info->threads));
    text_printf(&b->table, "\n%.3f GFLOP per image; ceilings: ", 2e-9 * (double)info->macs);
    if (b->peak_gflops > 0) text_printf(&b->table, "%.0f GFLOP/s, ", b->peak_gflops);
    if (b->peak_gbs > 0) text_printf(&b->table, "%.1f GB/s, ", b->peak_gbs);
    text_printf(&b->table, "%s (see reid help bench)\n", peaks_from);
    for (int i = 0; i < b->o->bench.starts; i++)
        text_printf(&b->table, "%s%.1f%s", i ? ", " : "from reid_create to the first embedding: ", b->starts[i],
                    i + 1 < b->o->bench.starts ? "" : " ms\n");
}

static void columns_of_calls(bench *b) {
    text_printf(&b->table, "\n%5s %10s %10s %10s %10s %10s %10s %10s", "batch", "ms/call", "least", "most", "ms/image",
                "images/s", "GFLOP/s", "network ms");
    if (strcmp(b->info.device, "cpu") != 0) text_printf(&b->table, " %10s", "graph ms");
    text_printf(&b->table, "\n");
}

static void row_of_call(bench *b, int n, const timing *t) {
    text_printf(&b->table, "%5d %10.3f %10.3f %10.3f %10.4f %10.1f %10.1f ", n, t->median, t->least, t->most,
                t->median / n, 1e3 * n / t->median, 2e-6 * (double)b->info.macs * n / t->median);
    if (t->network < 0) text_printf(&b->table, "%10s", "-");
    else text_printf(&b->table, "%10.3f", t->network);
    if (t->graph > 0) text_printf(&b->table, " %10.3f", t->graph);
    text_printf(&b->table, "\n");
}

typedef struct op_cost {
    double flops, bytes;
    double gflops, gbs;     /* reached */
    double compute, memory; /* shares of the ceilings, in percent; 0: ceiling unknown */
    const char *bound;      /* the limit by the roofline model: "compute", "memory", "" */
} op_cost;

/* Activations are read and written once for each image, weights once for the batch. */
static op_cost cost_of(const bench *b, const reid_op_info *op, int n, double microseconds) {
    op_cost c = {.bound = ""};
    double narrow = strcmp(b->info.precision, "fp32") == 0 ? 1 : strcmp(b->info.precision, "int8") == 0 ? 0.25 : 0.5;
    double weights = 4 * (double)op->parameters;
    c.flops = 2 * (double)op->macs * n;
    c.bytes = narrow * (((double)op->bytes - weights) * n + weights);
    if (microseconds <= 0) return c;
    c.gflops = 1e-3 * c.flops / microseconds;
    c.gbs = 1e-3 * c.bytes / microseconds;
    if (b->peak_gflops > 0) c.compute = 100 * c.gflops / b->peak_gflops;
    if (b->peak_gbs > 0) c.memory = 100 * c.gbs / b->peak_gbs;
    if (c.compute > 0 || c.memory > 0) c.bound = c.compute > c.memory ? "compute" : "memory";
    if (b->peak_gflops <= 0 || b->peak_gbs <= 0) c.bound = "";
    return c;
}

/* Queries operation i, including operations that it computes along the way: their time is part of its own. The outputs
   of those before it are neither written nor read, and those after it do not read its outputs from memory. */
static void query_op(const bench *b, int i, reid_op_info *op) {
    reid_op_info other;
    reid_query_op(b->ctx, i, op);
    const int64_t read = (int64_t)sizeof(float) * op->out_h * op->out_w * op->out_c;
    for (int k = 0; k < reid_op_count(b->ctx); k++) {
        if (k == i || reid_query_op(b->ctx, k, &other) != REID_OK || other.computed_by != i) continue;
        op->macs += other.macs;
        op->parameters += other.parameters;
        const int64_t moved = 2 * (int64_t)sizeof(float) * other.out_h * other.out_w * other.out_c;
        op->bytes += other.bytes - (k < i ? moved : read);
    }
    if (op->computed_by == i) return;
    op->macs = op->parameters = op->bytes = 0;
    if (!op->kernel[0]) op->kernel = "(with the next)";
}

/* A share of a ceiling, as text; empty where there is none. */
static const char *share(char cell[16], double percent) {
    if (percent > 0) snprintf(cell, 16, "%.1f", percent);
    else strcpy(cell, "-");
    return cell;
}

static void rows_of_ops(bench *b, int n, const timing *t) {
    text_printf(&b->table, "\n%-23s %-10s %-30s %10s %9s %8s %6s %6s  %s\n", "operation", "kind", "kernel", "us",
                "GFLOP/s", "GB/s", "% fl", "% by", "bound");
    for (int i = 0; i < reid_op_count(b->ctx); i++) {
        reid_op_info op;
        char compute[16], memory[16];
        query_op(b, i, &op);
        op_cost c = cost_of(b, &op, n, (double)t->ops[i]);
        text_printf(&b->table, "%-23s %-10s %-30s %10.2f %9.1f %8.1f %6s %6s  %s\n", op.name, op.kind, op.kernel,
                    (double)t->ops[i], c.gflops, c.gbs, share(compute, c.compute), share(memory, c.memory), c.bound);
    }
}

/* Keeps the operations that have a time of their own, for the page. */
static int keep_ops(bench *b, int n, const timing *t) {
    const int count = reid_op_count(b->ctx);
    bench_batch *to = &b->page[b->pages];
    *to = (bench_batch){.images = n, .ms = t->median, .ops = need_array((size_t)count, sizeof *to->ops)};
    if (!to->ops) return 0;
    b->pages++;
    for (int i = 0; i < count; i++) {
        reid_op_info op;
        query_op(b, i, &op);
        const op_cost c = cost_of(b, &op, n, (double)t->ops[i]);
        if (op.computed_by != i) continue;
        to->ops[to->count++] = (bench_op){.name = op.name, .kind = op.kind, .kernel = op.kernel,
                                          .us = (double)t->ops[i], .flops = c.flops, .bytes = c.bytes};
    }
    return 1;
}

static void ops_of(bench *b, int n, const timing *t, json_writer *w) {
    for (int i = 0; i < reid_op_count(b->ctx); i++) {
        reid_op_info op;
        query_op(b, i, &op);
        op_cost c = cost_of(b, &op, n, (double)t->ops[i]);
        json_put_object(w, NULL);
        json_put_string(w, "name", op.name);
        json_put_string(w, "kind", op.kind);
        json_put_string(w, "kernel", op.kernel);
        json_put_number(w, "us", (double)t->ops[i], 6);
        json_put_number(w, "gflops", c.gflops, 6);
        json_put_number(w, "gbs", c.gbs, 6);
        json_put_string(w, "bound", c.bound);
        json_put_end(w);
    }
}

/* Writes each cell on one line, so that a script can join the cells of several files. */
static void cell_of(bench *b, int n, const timing *t) {
    const reid_info *info = &b->info;
    json_writer w = json_write_inside(&b->cells, '[', b->cells.len > 0);
    json_put_line(&w, 4);
    json_put_object(&w, NULL);
    json_put_string(&w, "net", info->network);
    json_put_format(&w, "size", "%dx%d", info->height, info->width);
    json_put_string(&w, "precision", info->precision);
    json_put_string(&w, "device", info->device);
    json_put_string(&w, "isa", info->isa);
    json_put_int(&w, "batch", n);
    json_put_int(&w, "threads", info->threads);
    json_put_number(&w, "ours_ms", t->median, 6);
    json_put_number(&w, "min_ms", t->least, 6);
    json_put_number(&w, "max_ms", t->most, 6);
    json_put_number(&w, "network_ms", t->network < 0 ? (double)NAN : t->network, 6);
    if (t->graph > 0) json_put_number(&w, "graph_ms", t->graph, 6);
    json_put_numbers(&w, "start_ms", b->starts, (size_t)b->o->bench.starts, 6);
    json_put_array(&w, "ops");
    if (b->o->bench.ops && t->network >= 0) ops_of(b, n, t, &w);
    json_put_end(&w);
    json_put_end(&w);
}

/* Writes the driver's CUDA version, "13.0"; nothing on the CPU. */
static void driver_of(const bench *b, text *out) {
    reid_error error;
    reid_gpu_info gpu;
    reid_desc desc = model_desc(b->o, &b->o->model[0], &error);
    if (strcmp(b->info.device, "cpu") == 0) return;
    reid_query_gpu(&desc, &gpu);
    text_printf(out, "%d.%d", gpu.driver_version / 1000, gpu.driver_version % 1000 / 10);
}

static void json_of(const bench *b, text *out) {
    char date[32];
    struct utsname system;
    time_t t = time(NULL);
    text driver = TEXT_INIT;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
    if (uname(&system) != 0) memset(&system, 0, sizeof system);
    driver_of(b, &driver);
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_line(&w, 2);
    json_put_string(&w, "date", date);
    json_put_line(&w, 2);
    json_put_format(&w, "machine", "%s %s %s, %ld CPUs", system.sysname, system.release, system.machine,
                    sysconf(_SC_NPROCESSORS_ONLN));
    json_put_line(&w, 2);
    json_put_string(&w, "chip", b->info.chip);
    json_put_line(&w, 2);
    json_put_string(&w, "driver", driver.s ? driver.s : "");
    if (text_failed(&driver)) text_no_memory(out);
    json_put_line(&w, 2);
    json_put_object(&w, "versions");
    json_put_string(&w, "reid", reid_version_string());
    json_put_string(&w, "compiler", __VERSION__);
    json_put_end(&w);
    json_put_line(&w, 2);
    json_put_int(&w, "rounds", b->o->bench.rounds);
    json_put_line(&w, 2);
    json_put_object(&w, "ceilings");
    json_put_number(&w, "gflops", b->peak_gflops, 6);
    json_put_number(&w, "gbs", b->peak_gbs, 6);
    json_put_end(&w);
    json_put_line(&w, 2);
    json_put_array(&w, "cells");
    json_put_inside(&w, &b->cells);
    json_put_line(&w, 2);
    json_put_end(&w);
    json_put_line(&w, 0);
    json_put_finish(&w);
    text_free(&driver);
}

static const output_kind BENCH_JSON = {.what = "the JSON of reid bench", .start = "{", .holds = "\"ceilings\": {"};
static const output_kind BENCH_PAGE = {.what = "a page of reid bench", .start = "<!doctype html>",
                                      .holds = "<title>reid bench</title>"};

static int write_file(const char *path, const output_kind *kind, const text *content) {
    text why = TEXT_INIT;
    int good = file_write(path, kind, content, &why);
    if (!good) say_error("%s: %s", shown(path), why.s);
    text_free(&why);
    return good;
}

/* ---- the command ---- */
static const char *find_peaks(bench *b) {
    b->peak_gflops = b->o->bench.peak_gflops;
    b->peak_gbs = b->o->bench.peak_gbs;
    if (b->peak_gflops > 0 && b->peak_gbs > 0) return "as given";
    if (strcmp(b->info.device, "cpu") != 0)
        return b->peak_gflops > 0 || b->peak_gbs > 0 ? "as given" : "none given (--peak-gflops, --peak-gbs)";
    cpu_peak peak = cpu_peak_measure(b->info.isa, b->info.threads);
    if (b->peak_gflops <= 0) b->peak_gflops = peak.gflops;
    if (b->peak_gbs <= 0) b->peak_gbs = peak.gbs;
    return "measured here";
}

static int run_batches(bench *b) {
    timing t = {0, 0, 0, 0, 0, NULL};
    int good = 1;
    t.ops = need_array((size_t)reid_op_count(b->ctx), sizeof *t.ops);
    if (!t.ops) return 0;
    columns_of_calls(b);
    for (int i = 0; good && i < b->o->bench.batch_count; i++) {
        int n = b->o->bench.batch_list[i];
        good = measure(b, n, &t);
        if (!good) break;
        row_of_call(b, n, &t);
        cell_of(b, n, &t);
        if (b->o->bench.page && t.network >= 0) good = keep_ops(b, n, &t);
        if (!b->o->bench.ops || t.network < 0) continue;
        rows_of_ops(b, n, &t);
        if (i + 1 < b->o->bench.batch_count) columns_of_calls(b);
    }
    free(t.ops);
    return good;
}

static int write_page(bench *b) {
    const bench_page page = {.head = b->head.s, .gflops = b->peak_gflops, .gbs = b->peak_gbs, .at = b->page,
                             .count = b->pages};
    text html = TEXT_INIT;
    if (!need_text(&b->head)) return 0;
    bench_page_html(&page, &html);
    int good = need_text(&html) && write_file(b->o->bench.page, &BENCH_PAGE, &html);
    text_free(&html);
    return good;
}

static int report(bench *b) {
    text json = TEXT_INIT;
    json_of(b, &json);
    results_begin(0);
    results_write(b->o->output.json ? &json : &b->table);
    int good = results_end(1);
    if (good && b->o->output.path) good = write_file(b->o->output.path, &BENCH_JSON, &json);
    if (good && b->o->bench.page) good = write_page(b);
    text_free(&json);
    return good;
}

/* Checks the output files before minutes are spent. */
static int check_files(const options *o) {
    const char *const files[] = {o->output.path, o->bench.page};
    const output_kind *const kinds[] = {&BENCH_JSON, &BENCH_PAGE};
    text why = TEXT_INIT;
    if (o->output.path && o->bench.page && strcmp(o->output.path, o->bench.page) == 0) {
        say_error("bench: -o and --report cannot be the same file, %s", shown(o->bench.page));
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        if (!files[i] || file_target(files[i], kinds[i], &why)) continue;
        say_error("%s: %s", shown(files[i]), why.s);
        text_free(&why);
        return 0;
    }
    return 1;
}

/* Checks that --report has something to show: a batch that is computed in pieces has no operations. */
static int check_batches(const bench *b) {
    int shown_ones = 0;
    for (int i = 0; i < b->o->bench.batch_count; i++) shown_ones += b->o->bench.batch_list[i] <= b->info.batch;
    if (!b->o->bench.page || shown_ones) return 1;
    say_error("bench: --report shows operations, which are measured only for batches up to --batch %d: give a "
              "smaller one in --batches",
              b->info.batch);
    return 0;
}

int bench_main(options *o) {
    static const int usual[] = {1, 8, 32};
    bench b = {0};
    if (o->operand_count) {
        say_error("bench: unexpected argument: %s (weights go after -m)", shown(o->operands[0]));
        return 2;
    }
    if (o->models != 1) {
        say_error(o->models ? "bench: -m is given twice; expected one model"
                            : "no model: give its weights with -m FILE");
        return 2;
    }
    if (o->bench.tune && o->bench.page) {
        say_error("bench: --report and --tune exclude each other");
        return 2;
    }
    if (o->bench.tune) return bench_tune(o);
    if (!check_files(o)) return 2;
    if (!o->bench.batch_count) {
        o->bench.batch_count = 3;
        memcpy(o->bench.batch_list, usual, sizeof usual);
    }
    b.o = o;
    b.weights = o->model[0].weights;
    for (int i = 0; i < o->bench.batch_count; i++)
        if (o->bench.batch_list[i] > b.most) b.most = o->bench.batch_list[i];
    int good = start(&b) && check_batches(&b);
    if (good) {
        if (!b.info.optimized) say_warning("reid was compiled without optimisation; these times are meaningless");
        head_of(&b, find_peaks(&b));
        text_join(&b.head, &b.table);
        good = run_batches(&b) && report(&b);
    }
    reid_destroy(b.ctx);
    free(b.images), free(b.pixels), free(b.rows), free(b.starts);
    text_free(&b.table);
    text_free(&b.cells);
    text_free(&b.head);
    for (int i = 0; i < b.pages; i++) free(b.page[i].ops);
    return good ? 0 : 2;
}
