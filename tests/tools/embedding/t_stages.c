/* t_stages.c: the bottleneck and the advice of --stats, for times that lead to each of them.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/embedding/t_stages.c tools/embedding/stream_stats.c
      tools/embedding/stages.c tools/pictures/turbojpeg.c tools/pictures/decoder_memory.c tools/pictures/jpeg.c
      tools/pictures/tiff.c tools/base/json_write.c tools/base/text.c tools/base/say.c tools/base/memory.c
      tools/base/clock.c tools/base/decimal.c tools/base/library.c -o build/t_stages -lcmocka -lm -lpthread -ldl */
#include "embedding/stream_stats.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

enum { CPUS = 8 };

/* Stage times of a run of ten seconds; decoders share their time. */
static const struct {
    int decoders, threads;
    double read, decode, resize, wait, compute, last;
    int on_gpu, by_fp32;
    const char *last_name, *bottleneck, *advice;
} CASES[] = {
    {2, 8, 9, 3, 2, 8, 1, 1, 0, 0, "write", "read", "more --decoders, which read more files at a time; faster storage"},
    {4, 8, 9, 3, 2, 8, 1, 1, 0, 0, "write", "read", "faster storage"},
    {2, 8, 3, 9, 2, 8, 1, 1, 0, 0, "write", "decode",
     "libturbojpeg (Debian: libturbojpeg0), which decodes JPEG in half the time"},
    {2, 8, 3, 2, 9, 8, 1, 1, 0, 0, "write", "resize", "more --decoders"},
    {8, 8, 3, 2, 9, 8, 1, 1, 0, 0, "write", "resize",
     "smaller images or more CPUs; --shard, which divides the inputs among machines"},
    {2, 8, 3, 2, 9, 1, 8, 1, 1, 0, "write", "compute",
     "a larger --batch; --shard, which divides the inputs among GPUs"},
    {2, 4, 3, 2, 9, 1, 8, 1, 0, 1, "write", "compute", "more --threads"},
    {2, 8, 3, 2, 9, 1, 8, 1, 0, 1, "write", "compute",
     "a GPU, --precision bf16 or int8 if the CPU has them; --shard, which divides the inputs"},
    {2, 8, 3, 2, 9, 1, 8, 1, 0, 0, "write", "compute",
     "a GPU or more CPUs; --shard, which divides the inputs among machines"},
    {2, 8, 3, 2, 9, 1, 2, 7, 0, 0, "write", "write", "a .npy file instead of text; faster storage"},
    {2, 8, 3, 2, 9, 1, 2, 7, 0, 0, "search", "search", "a smaller gallery, or more --threads"},
};

static void bottlenecks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        text said = TEXT_INIT, want = TEXT_INIT;
        const stream_stats s = {.seconds = 10, .pictures = 5, .rows = 5, .batches = 1, .decoders = CASES[i].decoders,
                                .read = CASES[i].read, .decode = CASES[i].decode, .resize = CASES[i].resize,
                                .wait = CASES[i].wait, .compute = CASES[i].compute, .last = CASES[i].last,
                                .ready = 5, .taken = 5};
        const stream_setting in = {.cpus = CPUS, .threads = CASES[i].threads, .on_gpu = CASES[i].on_gpu,
                                   .by_fp32 = CASES[i].by_fp32, .last = CASES[i].last_name, .jpeg = JPEG_STB};
        stream_stats_table(&s, &in, &said);
        text_printf(&want, "The bottleneck is %s. What would help: %s.\n", CASES[i].bottleneck, CASES[i].advice);
        assert_true(said.len > want.len);
        assert_string_equal(said.s + said.len - want.len, want.s);
        text_free(&said);
        text_free(&want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bottlenecks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
