/* t_chooser.c: reid tune's choice on simulated machines, with noise, busy moments and too little memory,
   against the best of all their settings.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/machine/t_chooser.c tools/machine/chooser.c tools/base/say.c
      tools/base/text.c tools/base/memory.c tools/base/clock.c
      -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o build/t_chooser -lcmocka -lm -lpthread */
#include "base/say.h"
#include "machine/chooser.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_refusals.h"
#include "../../lib/test_says.h"

static uint32_t chance(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static double part(uint64_t *seed) { return (double)(chance(seed) % (1 << 20)) / (1 << 20); }
static double between(uint64_t *seed, double lo, double hi) { return lo * pow(hi / lo, part(seed)); }

/* A machine whose pace is a formula. Images are decoded in `decode` seconds of one CPU, computed in `compute`, of which
   a share is done by one thread alone, and each batch costs `start` more; larger batches than `cached` slow it down. A
   GPU computes without threads. */
typedef struct machine {
    int cpus, gpu;
    double decode, compute, alone, start, cached, opening;
    double memory, of_picture, of_decoder, of_all; /* bytes */
    double noise, busy;                            /* of half a second; chance of half the pace */
    uint64_t seed;
    long calls, fails_at;                          /* fails_at: 0, or the call that fails */
    double spent;
} machine;

/* The memory of the handle, which may not be available; bytes_of adds the images that decoders hold. */
static double handle_of(const machine *m, const tune_setting *s) { return m->of_all + m->of_picture * s->batch; }

static double bytes_of(const machine *m, const tune_setting *s) {
    return handle_of(m, s) + m->of_decoder * s->decoders;
}

static double pace_of(const machine *m, const tune_setting *s) {
    double threads = s->threads < m->cpus ? s->threads : m->cpus;
    double each = m->gpu ? m->compute : m->compute * (m->alone + (1 - m->alone) / threads);
    if (s->batch > m->cached) each *= 1 + 0.1 * log2(s->batch / m->cached);
    double computed = s->batch / (m->start + s->batch * each);
    double decoders = s->decoders < m->cpus ? s->decoders : m->cpus, decoded = decoders / m->decode;
    double all = m->cpus / (m->decode + (m->gpu ? 0 : m->compute)); /* limited by CPU time */
    int working = s->decoders + (m->gpu ? 1 : s->threads);
    double pace = fmin(fmin(computed, decoded), all);
    return working > m->cpus ? pace * (1 - 0.03 * fmin(working - m->cpus, m->cpus) / m->cpus) : pace;
}

/* The sum of twelve uniform numbers is nearly normal. */
static double normal(uint64_t *seed) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += part(seed);
    return sum;
}

static tune_result measure(void *user, const tune_setting *s, double seconds, tune_measure *to) {
    machine *m = user;
    to->spent = m->opening;
    if (++m->calls == m->fails_at) return TUNE_FAILED;
    if (handle_of(m, s) > m->memory) return m->spent += to->spent, TUNE_TOO_LARGE;
    double pace = pace_of(m, s), least = 2 * s->batch / pace; /* two batches, at least */
    to->seconds = seconds > least ? seconds : least;
    pace *= 1 + m->noise * normal(&m->seed) / sqrt(to->seconds / 0.5);
    if (part(&m->seed) < m->busy) pace *= 0.5;
    to->items = fmax(pace, 1e-3) * to->seconds;
    to->bytes = (size_t)bytes_of(m, s);
    to->spent += to->seconds;
    m->spent += to->spent;
    return TUNE_MEASURED;
}

static machine machine_of(uint64_t number) {
    static const int cpus[] = {1, 2, 4, 8, 16, 32};
    uint64_t seed = number * 7919 + 1;
    machine m = {.cpus = cpus[chance(&seed) % 6], .gpu = chance(&seed) % 4 == 0, .alone = between(&seed, 0.001, 0.1),
                 .start = between(&seed, 1e-4, 5e-3), .cached = between(&seed, 4, 128), .opening = 0.05,
                 .of_picture = between(&seed, 1e6, 4e7), .of_decoder = between(&seed, 3e7, 2e8),
                 .of_all = 2e8, .memory = between(&seed, 5e8, 2e10), .seed = number + 1};
    m.decode = between(&seed, 3e-4, 0.05);
    m.compute = m.gpu ? between(&seed, 2e-4, 3e-3) : between(&seed, 5e-3, 0.05);
    m.memory = fmax(m.memory, handle_of(&m, &(tune_setting){1, 1, 1}));
    return m;
}

static tune_space space_of(const machine *m) {
    tune_space s;
    s.decoder_count = tune_steps(s.decoders, m->cpus, 0);
    s.thread_count = tune_steps(s.threads, m->cpus, m->gpu ? 1 : 0);
    s.batch_count = tune_steps(s.batches, m->gpu ? 256 : 64, 0);
    return s;
}

/* The fastest setting that fits; for TUNE_SMALLEST, the least memory among those with this share of its pace. */
static double best_of(const machine *m, const tune_space *s, double *least, double share) {
    double best = 0;
    *least = 1e300;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < s->decoder_count; d++)
            for (int t = 0; t < s->thread_count; t++)
                for (int b = 0; b < s->batch_count; b++) {
                    const tune_setting at = {s->decoders[d], s->threads[t], s->batches[b]};
                    if (handle_of(m, &at) > m->memory) continue;
                    if (pass == 0) best = fmax(best, pace_of(m, &at));
                    else if (pace_of(m, &at) >= share * best) *least = fmin(*least, bytes_of(m, &at));
                }
    return best;
}

enum { MACHINES = 2000 };

/* The chosen shares of the best pace; how many are below `enough`. */
static int below(double enough, double noise, double busy, double budget, double *worst) {
    int count = 0;
    *worst = 1;
    for (uint64_t i = 0; i < MACHINES; i++) {
        machine m = machine_of(i);
        m.noise = noise, m.busy = busy;
        double least;
        tune_choice c;
        const tune_request r = {.goal = TUNE_FASTEST, .space = space_of(&m), .seconds = budget, .first_batch = 8,
                                .find_largest = m.gpu, .measure = measure, .user = &m};
        assert_true(tune_choose(&r, &c));
        double share = pace_of(&m, &c.all[c.best].at) / best_of(&m, &r.space, &least, 1);
        assert_true(handle_of(&m, &c.all[c.best].at) <= m.memory);
        if (m.spent > 1.5 * budget + 5) fail_msg("%g s of %g", m.spent, budget);
        if (share < enough) {
            count++;
            print_message("machine %d: %.3f of the best (%d %d %d)\n", (int)i, share, c.all[c.best].at.decoders,
                          c.all[c.best].at.threads, c.all[c.best].at.batch);
        }
        if (share < *worst) *worst = share;
        tune_choice_free(&c);
    }
    return count;
}

static void test_quiet(void **state) {
    double worst;
    (void)state;
    assert_int_equal(below(0.97, 0, 0, 60, &worst), 0);
    print_message("quiet: at worst %.3f of the best\n", worst);
}

static void test_noise(void **state) {
    double worst;
    (void)state;
    assert_int_equal(below(0.95, 0.03, 0, 60, &worst), 0);
    print_message("3 %% of noise in half a second: at worst %.3f of the best\n", worst);
}

static void test_busy_moments(void **state) {
    double worst;
    (void)state;
    int count = below(0.95, 0.03, 0.03, 60, &worst);
    print_message("busy moments: %d of %d below 0.95, at worst %.3f\n", count, MACHINES, worst);
    assert_true(count <= MACHINES / 50);
}

static void test_least_memory(void **state) {
    int larger = 0;
    (void)state;
    for (uint64_t i = 0; i < MACHINES; i++) {
        machine m = machine_of(i);
        m.noise = 0.03;
        double least, unused;
        tune_choice c;
        const tune_request r = {.goal = TUNE_SMALLEST, .space = space_of(&m), .seconds = 60, .first_batch = 8,
                                .measure = measure, .user = &m};
        assert_true(tune_choose(&r, &c));
        const tune_setting *at = &c.all[c.best].at;
        double best = best_of(&m, &r.space, &least, 1.05 * TUNE_SHARE);
        if (pace_of(&m, at) < 0.95 * TUNE_SHARE * best) fail_msg("machine %d: too slow", (int)i);
        larger += bytes_of(&m, at) > least * 1.0001;
        best_of(&m, &r.space, &unused, 1);
        tune_choice_free(&c);
    }
    print_message("%d of %d take more memory than they need\n", larger, MACHINES);
    assert_true(larger <= MACHINES / 20);
}

/* --- the largest batch -------------------------------------------------------------------------------------------- */

static tune_result fits(void *user, const tune_setting *s, double seconds, tune_measure *to) {
    (void)seconds;
    to->spent = 1;
    return s->batch <= *(int *)user ? TUNE_MEASURED : TUNE_TOO_LARGE;
}

static void test_largest_batch(void **state) {
    (void)state;
    for (int limit = 0; limit <= 300; limit++)
        for (int first = 1; first <= 64; first *= 2) {
            double spent = 0;
            int most = 256, want = 0, got = tune_largest_batch(fits, &limit, (tune_setting){1, 1, 0}, first, most, 1,
                                                               &spent);
            for (int b = 1; b <= most && b <= limit; b *= 2) want = b;
            if (got != want) fail_msg("limit %d, from %d: %d instead of %d", limit, first, got, want);
            assert_true(spent <= 9);
        }
}

/* --- what goes wrong ---------------------------------------------------------------------------------------------- */

static void test_failures(void **state) {
    tune_choice c;
    (void)state;
    char said[256];
    say_listen(said, sizeof said);
    for (long at = 1; at < 40; at++) {
        machine m = machine_of(3);
        m.fails_at = at;
        const tune_request r = {.space = space_of(&m), .seconds = 20, .first_batch = 8, .measure = measure, .user = &m};
        assert_false(tune_choose(&r, &c));
        assert_int_equal(m.calls, at);
        tune_choice_free(&c);
    }
    machine small = machine_of(3);
    small.memory = 1;
    const tune_request r = {.space = space_of(&small), .seconds = 20, .first_batch = 8,
                            .find_largest = 1, .measure = measure,
                            .user = &small};
    assert_false(tune_choose(&r, &c));
    assert_says(said, "there is not enough memory for one image");
    tune_choice_free(&c);
    say_listen(NULL, 0);
}

static void test_no_memory(void **state) {
    char said[256];
    int refused = 0;
    (void)state;
    say_listen(said, sizeof said);
    for (long at = 1, good = 0; !good; at++) {
        tune_choice c;
        machine m = machine_of(3);
        const tune_request r = {.space = space_of(&m), .seconds = 1, .first_batch = 8, .measure = measure, .user = &m};
        refuse_from(at, 0);
        good = tune_choose(&r, &c);
        refuse_from(0, 0);
        refused += !good;
        tune_choice_free(&c);
    }
    say_listen(NULL, 0);
    assert_int_equal(refused, 1);
}

static void test_hurry(void **state) {
    (void)state;
    tune_choice c;
    machine m = machine_of(3);
    const tune_request r = {.space = space_of(&m), .seconds = 0.3, .first_batch = 8, .measure = measure, .user = &m};
    assert_true(tune_choose(&r, &c));
    assert_true(c.hurried);
    assert_true(c.all[c.best].rounds > 0);
    tune_choice_free(&c);
}

static void test_full(void **state) {
    (void)state;
    tune_choice c;
    machine m = machine_of(5);
    const tune_request r = {.space = space_of(&m), .seconds = 600, .full = 1, .first_batch = 8, .measure = measure,
                            .user = &m};
    assert_true(tune_choose(&r, &c));
    for (size_t i = 0; i < c.count; i++) assert_true(c.all[i].rounds == 5 || c.all[i].too_large);
    tune_choice_free(&c);
}

static void test_steps(void **state) {
    int to[TUNE_STEPS];
    (void)state;
    assert_int_equal(tune_steps(to, 1, 0), 1);
    assert_int_equal(tune_steps(to, 6, 0), 4);
    assert_int_equal(to[3], 6);
    assert_int_equal(tune_steps(to, 64, 5), 1);
    assert_int_equal(to[0], 5);
    assert_int_equal(tune_steps(to, 1 << 30, 0), TUNE_STEPS);
    for (int i = 1; i < TUNE_STEPS; i++) assert_true(to[i] > to[i - 1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet),         cmocka_unit_test(test_noise), cmocka_unit_test(test_busy_moments),
        cmocka_unit_test(test_least_memory),  cmocka_unit_test(test_largest_batch),
        cmocka_unit_test(test_failures),      cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_hurry),         cmocka_unit_test(test_full),  cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
