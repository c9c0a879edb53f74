/* t_manual.c: computes a fingerprint and a seeded head from the manual's definitions, and compares them.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_manual.c -o build/t_manual -lcmocka -lm -lpthread */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"
#include <setjmp.h>
#include <cmocka.h>
#include "../lib/test_net.h"

enum { SEED = 5, HEAD_SEED = 1234567 };

static reid__digest text;

/* One line of the text that is hashed. */
static void line(const char *format, ...) {
    char buffer[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    assert_in_range(n, 1, sizeof buffer - 1);
    reid__digest_update(&text, buffer, (size_t)n);
}

static unsigned long long bits(double x) {
    unsigned long long b;
    memcpy(&b, &x, 8);
    return b;
}

/* Value i of a seeded tensor, as the manual defines it. */
static float seeded_value(const char *name, unsigned long long seed, unsigned long long i, double inputs) {
    unsigned long long hash = 0xcbf29ce484222325u, z;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001b3u; /* FNV-1a */
    z = (hash ^ seed) + (i + 1) * 0x9e3779b97f4a7c15u;                          /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (float)(((double)(z >> 40) / (1 << 23) - 1.0) / sqrt(inputs));
}

static void tensor_line(const reid__weights *w, const reid__op *op, const reid__needed_tensor *want) {
    size_t count = 1;
    char shape[96] = "[";
    for (int d = 0; d < want->ndim; d++) {
        size_t at = strlen(shape);
        snprintf(shape + at, sizeof shape - at, "%s%zu", d ? ", " : "", want->shape[d]);
        count *= want->shape[d];
    }
    float *values = (float *)malloc(count * sizeof *values);
    assert_non_null(values);
    if (op->seeded)
        for (size_t i = 0; i < count; i++)
            values[i] = seeded_value(want->name, HEAD_SEED, i, (double)op->ic * op->kh * op->kw);
    else
        assert_int_equal(reid__weights_read(w, reid__weights_find(w, want->name), 0, count, values, NULL), REID_OK);
    reid__digest d;
    uint64_t hash[2];
    reid__digest_init(&d);
    reid__digest_update(&d, values, count * sizeof *values);
    reid__digest_final(&d, hash);
    line("%s %s] %016llx%016llx\n", want->name, shape, (unsigned long long)hash[0], (unsigned long long)hash[1]);
    free(values);
}

/* The fingerprint of a handle on `file`, only from the manual's description. */
static void expected(const reid_ctx *ctx, const reid_desc *desc, const char *head, char out[33]) {
    reid__mem mem;
    reid__weights w;
    uint64_t hash[2];
    static const double mean[3] = {0.485, 0.456, 0.406}, std[3] = {0.229, 0.224, 0.225};
    reid__mem_init(&mem, desc);
    assert_int_equal(reid__weights_open(&w, desc, &mem, NULL), REID_OK);
    reid__digest_init(&text);
    line("reid fingerprint 1\n");
    line("network %s\n", "efficientnet_b0");
    line("last_stride 2\n");
    line("head %s\n", head);
    if (strcmp(head, "seeded") == 0) line("seed %d\n", HEAD_SEED);
    line("input %d %d\nresize %d\nfilter bilinear\norder rgb\n", desc->height, desc->width, 0);
    line("scale %016llx\n", bits(1.0 / 255));
    for (int c = 0; c < 3; c++) line("mean %016llx std %016llx\n", bits(mean[c]), bits(std[c]));
    line("flip %d\nraw %d\n", desc->flip, desc->raw);
    for (int i = 0; i < ctx->plan->op_count; i++) {
        reid__needed_tensor wants[REID__MAX_NEEDED];
        int count = reid__needed_tensors(&ctx->plan->ops[i], wants);
        for (int k = 0; k < count; k++) tensor_line(&w, &ctx->plan->ops[i], &wants[k]);
    }
    reid__digest_final(&text, hash);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash[0], (unsigned long long)hash[1]);
    reid__weights_close(&w, &mem);
}

/* The tensors' digests are lines of the text, so the seeded case checks the generator, too. */
static void test_fingerprint(void **state) {
    net_file file = net_for("efficientnet_b0", REID_HEAD_NONE, SEED, NULL);
    (void)state;
    for (int seeded = 0; seeded < 2; seeded++) {
        reid_error error;
        reid_info info;
        reid_ctx *ctx;
        char want[33];
        reid_desc d = net_desc(&file, 48, 32, &error);
        d.raw = 1, d.flip = seeded;
        d.network = "efficientnet_b0";
        if (seeded) d.head = REID_HEAD_SEEDED, d.head_seed = HEAD_SEED;
        assert_int_equal(reid_create(&d, &ctx), REID_OK);
        reid_query_desc(ctx, &info);
        expected(ctx, &d, seeded ? "seeded" : "none", want);
        assert_string_equal(info.fingerprint, want);
        reid_destroy(ctx);
    }
    free(file.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fingerprint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
