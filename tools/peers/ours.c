/* ours: reid.h as one of the engines that tools/peers/compare.py runs in turn. See worker.py for the protocol.

     cc -O2 -std=c99 -D_GNU_SOURCE -I. tools/peers/ours.c -o ours -lm -lpthread
     ./ours WEIGHTS PIXELS HxW BATCH THREADS fp32|fp16|bf16|int8:RANGES|fallback:RANGES ROWS STARTED

   PIXELS holds BATCH or more images of H x W RGB bytes: of the network's input size, so that nothing is resized; a call
   normalises them and computes, where the peers get floats that are normalised already. ROWS gets the first call's
   (BATCH, dim) float32. RANGES is what reid calibrate --int8 measured for these weights, this preset and size; with
   fallback, images that exceed the ranges get FP32 rows. REID_CPU_ISA limits the instruction set, as always.
   Exit status: 0, also when the answer was "refused WHY"; 2 wrong usage. */
#define REID_IMPLEMENTATION
#include "../../reid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct engine {
    reid_ctx *ctx;
    reid_info info;
    reid_image *images; /* [batch] */
    float *rows;        /* [batch][dim] */
    int batch;
} engine;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static long resident_kb(void) {
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    if (!f) return 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
    fclose(f);
    return kb;
}

static void *must_alloc(size_t size) {
    void *p = malloc(size ? size : 1);
    if (p) return p;
    puts("refused out of memory");
    exit(0);
}

/* Reports that this engine cannot do what was asked, which is not a failure of this program. */
static int refuse(const char *why, const char *detail) {
    printf("refused %s%s%s\n", why, *detail ? ": " : "", detail);
    return 0;
}

static int usage(const char *problem) {
    fprintf(stderr, "ours: %s\n", problem);
    fprintf(stderr, "usage: ours WEIGHTS PIXELS HxW BATCH THREADS PRECISION ROWS STARTED\n");
    return 2;
}

static int read_images(engine *e, const char *path, int height, int width) {
    size_t each = (size_t)height * (size_t)width * 3, all = each * (size_t)e->batch;
    unsigned char *pixels = must_alloc(all);
    FILE *f = fopen(path, "rb");
    if (!f || fread(pixels, 1, all, f) != all) return refuse(path, f ? "too few pixels" : strerror(errno));
    fclose(f);
    e->images = must_alloc((size_t)e->batch * sizeof *e->images);
    for (int i = 0; i < e->batch; i++) {
        reid_image image = {pixels + each * (size_t)i, width, height, 0, REID_RGB8, NULL};
        e->images[i] = image;
    }
    return 1;
}

static int write_rows(const engine *e, const char *path) {
    size_t count = (size_t)e->batch * (size_t)e->info.dim;
    FILE *f = fopen(path, "wb");
    int good = f && fwrite(e->rows, sizeof *e->rows, count, f) == count;
    if (f && fclose(f) != 0) good = 0;
    return good || refuse(path, strerror(errno));
}

/* ms at process start, before loading, after loading, after the first call */
static void say_ready(const engine *e, long before_kb, const double ms[4]) {
    int64_t bytes = 0, weights = 0;
    for (int i = 0; i < reid_op_count(e->ctx); i++) {
        reid_op_info op;
        reid_query_op(e->ctx, i, &op);
        bytes += op.bytes - 4 * op.parameters;
        weights += 4 * op.parameters;
    }
    printf("ready {\"interpreter_kb\": %ld, \"imported_kb\": %ld, \"load_ms\": %.3f, \"first_ms\": %.3f, ", before_kb,
           before_kb, ms[2] - ms[1], ms[3] - ms[1]);
    printf("\"process_ms\": %.3f, \"version\": \"%s\", \"isa\": \"%s\", ", ms[3] - ms[0], reid_version_string(),
           e->info.isa);
    printf("\"precision\": \"%s\", \"fingerprint\": \"%s\", \"compiler\": \"%s\", ", e->info.precision,
           e->info.fingerprint, __VERSION__);
    printf("\"macs\": %lld, \"activation_bytes\": %lld, \"weight_bytes\": %lld}\n", (long long)e->info.macs,
           (long long)bytes, (long long)weights);
    fflush(stdout);
}

static int answer(engine *e) {
    char line[128];
    int warm, count;
    reid_error error;
    while (fgets(line, sizeof line, stdin) && strncmp(line, "stop", 4) != 0) {
        if (sscanf(line, "run %d %d", &warm, &count) != 2) return usage("not understood: run WARM N, or stop");
        double began = 0;
        for (int i = -warm; i < count; i++) {
            if (i == 0) began = now_ms();
            if (reid_embed_ex(e->ctx, e->images, e->batch, e->rows, &error) == REID_OK) continue;
            fprintf(stderr, "ours: %s\n", error.text);
            return 1;
        }
        printf("%.6f\n", count ? now_ms() - began : 0.0);
        fflush(stdout);
    }
    return 0;
}

/* fp32, fp16, bf16, int8:RANGES or fallback:RANGES. Returns 0 for anything else. */
static int set_precision(reid_desc *desc, const char *word) {
    static const char *const names[] = {"fp32", "fp16", "bf16"};
    const char *ranges = strchr(word, ':');
    for (int i = 0; i < 3; i++)
        if (strcmp(word, names[i]) == 0) return desc->precision = (reid_precision)(REID_FP32 + i), 1;
    desc->fallback = strncmp(word, "fallback:", 9) == 0;
    if (!desc->fallback && strncmp(word, "int8:", 5) != 0) return 0;
    desc->ranges = ranges + 1;
    return desc->precision = REID_INT8, 1;
}

int main(int argc, char **argv) {
    int height, width;
    engine e = {0};
    reid_desc desc = REID_INIT;
    reid_error error;
    long before_kb = resident_kb();
    double ms[4];
    if (argc != 9) return usage("eight arguments are needed");
    e.batch = atoi(argv[4]);
    if (sscanf(argv[3], "%dx%d", &height, &width) != 2 || height < 1 || width < 1 || height > REID_MAX_INPUT ||
        width > REID_MAX_INPUT) return usage("the size is HxW");
    if (e.batch < 1 || e.batch > 65536 || atoi(argv[5]) < 1) return usage("BATCH and THREADS are at least 1");
    if (!set_precision(&desc, argv[6])) return usage("the precision is fp32, fp16, bf16, int8: or fallback:RANGES");
    if (!read_images(&e, argv[2], height, width)) return 0;

    ms[0] = 1e3 * strtod(argv[8], NULL);
    ms[1] = now_ms();
    desc.weights = argv[1];
    desc.preset = "torchreid"; /* ImageNet's mean and deviation, straight to H x W: leaves these pixels unchanged */
    desc.height = height, desc.width = width;
    desc.device = REID_DEVICE_CPU;
    desc.batch = e.batch;
    desc.threads = atoi(argv[5]);
    desc.error = &error;
    if (reid_create(&desc, &e.ctx) != REID_OK) return refuse("reid_create", error.text);
    reid_query_desc(e.ctx, &e.info);
    e.rows = must_alloc((size_t)e.batch * (size_t)e.info.dim * sizeof *e.rows);
    ms[2] = now_ms();
    if (reid_embed_ex(e.ctx, e.images, e.batch, e.rows, &error) != REID_OK) return refuse("reid_embed", error.text);
    ms[3] = now_ms();
    int status = 0;
    if (write_rows(&e, argv[7])) {
        say_ready(&e, before_kb, ms);
        status = answer(&e);
    }
    reid_destroy(e.ctx);
    free((void *)e.images[0].pixels);
    free(e.images), free(e.rows);
    return status;
}
