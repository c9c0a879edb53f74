/* t_best_frames.c: the quality of frames, on crops and boxes worked out by hand; the best frames of random tracks,
   chosen while they run, against a program that has all frames.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/tracks/t_best_frames.c tools/tracks/best_frames.c
      tools/tracks/quality.c tools/tracks/track_box.c tools/scores/metrics.c tools/base/random.c tools/base/say.c
      tools/base/text.c tools/base/memory.c tools/base/clock.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o
      build/t_best_frames -lcmocka -lm -lpthread */
#include "base/random.h"
#include "base/say.h"
#include "scores/metrics.h"
#include "tracks/best_frames.h"
#include "tracks/quality.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_refusals.h"
#include "../../lib/test_says.h"

static void near(double got, double want, double most) {
    if (!(fabs(got - want) <= most)) fail_msg("%.17g instead of %.17g", got, want);
}

static double part(uint64_t *seed) { return (double)(random_next(seed) % (1 << 20)) / (1 << 20); }

/* ---- quality ----------------------------------------------------------------------------------------------------- */

enum { SIDE = 64 };
static uint8_t rgb[SIDE * SIDE * 3], soft[SIDE * SIDE * 3];

/* Follows the definition: makes an image of Laplacians, and returns the mean squared difference from its mean. */
static double sharpness_of(const uint8_t *p, int width, int height) {
    double mean = 0, sum = 0;
    int count = (width - 2) * (height - 2);
    for (int pass = 0; pass < 2; pass++)
        for (int y = 1; y < height - 1; y++)
            for (int x = 1; x < width - 1; x++) {
                static const int dx[5] = {0, 1, -1, 0, 0}, dy[5] = {0, 0, 0, 1, -1};
                double all = 0;
                for (int i = 0; i < 5; i++) {
                    const uint8_t *at = p + 3 * ((y + dy[i]) * width + x + dx[i]);
                    all += (i ? 1 : -4) * (0.299 * at[0] + 0.587 * at[1] + 0.114 * at[2]);
                }
                if (pass) sum += (all - mean) * (all - mean) / count;
                else mean += all / count;
            }
    return sum;
}

static void test_sharpness(void **state) {
    uint64_t seed = 1;
    (void)state;
    memset(rgb, 77, sizeof rgb);
    near(quality_sharpness(rgb, SIDE, SIDE), 0, 0);
    /* A chessboard of 0 and 255: the Laplacian is 4 · 255 on black, and the negative of that on white. */
    for (int i = 0; i < SIDE * SIDE; i++) memset(rgb + 3 * i, (i % SIDE + i / SIDE) % 2 ? 255 : 0, 3);
    near(quality_sharpness(rgb, SIDE, SIDE), 1020.0 * 1020, 1e-6);
    /* One bright pixel in the middle of 3 x 3 pixels has no variance, because there is only one Laplacian. */
    memset(rgb, 0, sizeof rgb);
    rgb[12] = 255;
    near(quality_sharpness(rgb, 3, 3), 0, 1e-9);
    assert_true(quality_sharpness(rgb, 4, 3) > 0);
    near(quality_sharpness(rgb, 2, 50), 0, 0);
    near(quality_sharpness(rgb, 50, 2), 0, 0);
    for (int turn = 0; turn < 20; turn++) {
        int width = 3 + (int)(random_next(&seed) % 60), height = 3 + (int)(random_next(&seed) % 60);
        for (size_t i = 0; i < sizeof rgb; i++) rgb[i] = (uint8_t)random_next(&seed);
        double want = sharpness_of(rgb, width, height);
        near(quality_sharpness(rgb, width, height), want, 1e-9 * (1 + want));
    }
    /* Averaging neighbours makes an image less sharp. */
    for (size_t i = 0; i < sizeof soft; i++) soft[i] = (uint8_t)((rgb[i] + rgb[(i + 3) % sizeof rgb]) / 2);
    assert_true(quality_sharpness(soft, SIDE, SIDE) < quality_sharpness(rgb, SIDE, SIDE));
}

static track_box box(double x, double y, double w, double h) {
    const track_box b = {.x = x, .y = y, .w = w, .h = h, .score = 1};
    return b;
}

static void clipped(track_box b, double want) { near(quality_clipped(&b, 640, 480), want, 1e-12); }

static void test_boxes(void **state) {
    const track_box three[3] = {box(0, 0, 100, 100), box(50, 0, 100, 100), box(90, 90, 400, 400)};
    (void)state;
    clipped(box(100, 100, 50, 80), 0);
    clipped(box(0, 100, 50, 50), 0.25);    /* one of four equal sides */
    clipped(box(0.9, 100, 50, 50), 0.25);  /* within a pixel */
    clipped(box(1.1, 100, 50, 50), 0);
    clipped(box(590, 430, 50, 50), 0.5);   /* a corner */
    clipped(box(0, 0, 640, 480), 1);
    clipped(box(-25, 100, 50, 50), 0.5);   /* a side of 50 and two halves of others */
    clipped(box(-500, 100, 50, 50), 0.75); /* nothing is visible except the line at the border */
    near(quality_covered(three, 3, 0), 0.5, 1e-12);
    near(quality_covered(three, 1, 0), 0, 0);
    near(quality_covered(three, 3, 2), 0.00375, 1e-12); /* 60 x 10 of 400 x 400 */
}

/* Each measure by itself: better input scores higher, within 0 … 1. */
static void test_quality(void **state) {
    const quality_measures good = {
        .sharpness = 300, .side = 150, .input = 224, .score = 0.8, .clipped = 0.1, .covered = 0.1};
    quality_measures m = good;
    uint64_t seed = 3;
    (void)state;
    double worth = quality_of(&good);
    near(worth, 300.0 / 360 * sqrt(150.0 / 224) * sqrt(0.8) * 0.92 * 0.91, 1e-12);
    m = good, m.sharpness = 200;
    assert_true(quality_of(&m) < worth);
    m = good, m.side = 140;
    assert_true(quality_of(&m) < worth);
    m = good, m.score = 0.7;
    assert_true(quality_of(&m) < worth);
    m = good, m.clipped = 0.2;
    assert_true(quality_of(&m) < worth);
    m = good, m.covered = 0.2;
    assert_true(quality_of(&m) < worth);
    m = good, m.side = 224;
    worth = quality_of(&m);
    m.side = 1000; /* more pixels than the network's input */
    near(quality_of(&m), worth, 0);
    for (int i = 0; i < 1000; i++) {
        const quality_measures any = {.sharpness = 1000 * part(&seed), .side = 500 * part(&seed), .input = 224,
                                      .score = 2 * part(&seed) - 0.5, .clipped = part(&seed), .covered = part(&seed)};
        worth = quality_of(&any);
        assert_true(worth >= 0 && worth <= 1);
    }
}

/* ---- best frames ------------------------------------------------------------------------------------------------- */

enum { MOST_FRAMES = 2000 };
static best_frame frame[MOST_FRAMES], chosen[BEST_MOST], wanted[BEST_MOST];
static size_t frames;
static long held; /* crops that are not freed */

static void forget(void *kept) {
    free(kept);
    held--;
}

static int better(const best_frame *a, const best_frame *b) {
    return a->quality > b->quality || (a->quality == b->quality && a->seconds < b->seconds);
}

/* The reference has all frames: it takes the best of each slot, then repeatedly the best that is left. */
static size_t choose_naively(int most, double apart) {
    static int candidate[MOST_FRAMES];
    size_t count = 0;
    for (size_t i = 0; i < frames; i++) {
        double slot = floor((frame[i].seconds + 1e-6) / (apart / 2));
        candidate[i] = 1;
        for (size_t k = 0; k < frames; k++)
            if (better(&frame[k], &frame[i]) && floor((frame[k].seconds + 1e-6) / (apart / 2)) == slot)
                candidate[i] = 0;
    }
    while (count < (size_t)most) {
        const best_frame *best = NULL;
        for (size_t i = 0; i < frames; i++) {
            int far = candidate[i];
            for (size_t k = 0; k < count && far; k++)
                far = fabs(frame[i].seconds - wanted[k].seconds) >= apart - 1e-6;
            if (far && (!best || better(&frame[i], best))) best = &frame[i];
        }
        if (!best) break;
        wanted[count++] = *best;
    }
    return count;
}

static size_t choose(int most, double apart) {
    best_frames b;
    assert_true(best_begin(&b, most, apart, forget));
    for (size_t i = 0; i < frames; i++) {
        if (!best_wants(&b, frame[i].seconds, frame[i].quality)) continue;
        void *crop = malloc(8);
        assert_non_null(crop);
        held++;
        best_put(&b, frame[i].seconds, frame[i].quality, crop);
        assert_true(b.count >= 1 && b.count <= 5 * ((size_t)most - 1) + 1);
        assert_int_equal(held, b.count);
    }
    return best_take(&b, chosen);
}

/* Tracks of all lengths and rates. Their quality is noise, rises, falls, goes in waves, or has few values. */
static void make_track(uint64_t *seed) {
    double rate = 1 + 40 * part(seed), s = 1000 * part(seed), wave = 6 * part(seed);
    int kind = (int)(random_next(seed) % 5), steady = random_next(seed) % 2 == 0;
    if (steady) rate = (double[]){10, 25, 4, 30}[random_next(seed) % 4], s = 0;
    frames = random_next(seed) % 150;
    if (random_next(seed) % 20 == 0) frames = MOST_FRAMES;
    for (size_t i = 0; i < frames; i++) {
        double noise = part(seed), at = steady ? (double)i / rate : s;
        const double quality[5] = {noise, at, -at, sin(at * wave) + 0.2 * noise, floor(4 * noise)};
        const best_frame f = {at, quality[kind], NULL};
        frame[i] = f;
        s += 2 * part(seed) / rate;
    }
}

static void test_naive(void **state) {
    uint64_t seed = 8;
    size_t sum = 0;
    (void)state;
    for (int turn = 0; turn < 700; turn++) {
        make_track(&seed);
        int most = 1 + (int)(random_next(&seed) % 6);
        double apart = random_next(&seed) % 2 ? 0.2 * (double)(1 + random_next(&seed) % 5) : 0.05 + 2 * part(&seed);
        size_t want = choose_naively(most, apart), got = choose(most, apart);
        assert_int_equal(got, want);
        assert_int_equal(held, got);
        for (size_t i = 0; i < got; i++) {
            if (chosen[i].seconds != wanted[i].seconds || chosen[i].quality != wanted[i].quality)
                fail_msg("turn %d: frame %zu is the one at %g s, not at %g s", turn, i, chosen[i].seconds,
                         wanted[i].seconds);
            forget(chosen[i].kept);
        }
        sum += got;
    }
    assert_true(sum > 1500);
}

static void fill(const double *seconds, const double *quality, size_t count) {
    frames = count;
    for (size_t i = 0; i < count; i++) frame[i].seconds = seconds[i], frame[i].quality = quality[i];
}

static void is_chosen(int most, double apart, const double *seconds, size_t count) {
    assert_int_equal(choose(most, apart), count);
    for (size_t i = 0; i < count; i++) {
        near(chosen[i].seconds, seconds[i], 0);
        forget(chosen[i].kept);
    }
}

static void test_by_hand(void **state) {
    static const double tenths[] = {1.8, 1.9, 2.0, 2.1, 2.2, 2.3}, rising[] = {8, 1, 2, 3, 4, 9}; /* 2.3 - 1.8 < 0.5 */
    static const double few[] = {0, 0.4, 0.8, 1.2}, falling[] = {9, 8, 7, 6};
    (void)state;
    fill(tenths, rising, 6);
    is_chosen(3, 0.5, (const double[]){2.3, 1.8}, 2);
    is_chosen(1, 0.5, (const double[]){2.3}, 1);
    is_chosen(6, 0, (const double[]){2.3, 1.8, 2.2, 2.1, 2.0, 1.9}, 6);
    fill(few, falling, 4);
    is_chosen(3, 0.5, (const double[]){0, 0.8}, 2);
    is_chosen(3, 0.4, (const double[]){0, 0.4, 0.8}, 3);
    frames = 0;
    is_chosen(3, 0.5, NULL, 0);
}

/* If three good frames far apart are chosen, a worse one is not even wanted. */
static void test_forgets(void **state) {
    best_frames b;
    (void)state;
    assert_true(best_begin(&b, 3, 0.5, NULL));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(best_wants(&b, i, -i), i < 3);
        if (i < 3) best_put(&b, i, -i, NULL);
    }
    assert_int_equal(b.count, 3);
    for (int i = 0; i < 10; i++) { /* each better than the one before */
        assert_true(best_wants(&b, 20 + i, i + 1));
        best_put(&b, 20 + i, i + 1, NULL);
        assert_int_equal(b.count, 3);
    }
    assert_int_equal(best_take(&b, chosen), 3);
}

static void test_ends(void **state) {
    best_frames b, none = {.count = 0};
    char said[200];
    (void)state;
    assert_true(best_begin(&b, 3, 0.5, forget));
    for (int i = 0; i < 50; i++) {
        held++;
        best_put(&b, i, i, malloc(8));
    }
    assert_int_equal(best_take(&b, NULL), 0);
    assert_int_equal(held, 0);
    assert_int_equal(best_take(&none, chosen), 0);
    assert_true(best_begin(&b, 2, 0.5, NULL)); /* without a forget function */
    for (int i = 0; i < 50; i++) best_put(&b, i, i, &held);
    assert_int_equal(best_take(&b, chosen), 2);
    assert_ptr_equal(chosen[0].kept, &held);
    say_listen(said, sizeof said);
    refuse_from(1, 0);
    assert_false(best_begin(&b, 3, 0.5, forget));
    refuse_from(0, 0);
    say_listen(NULL, 0);
    assert_says(said, "out of memory");
    assert_int_equal(best_take(&b, chosen), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharpness), cmocka_unit_test(test_boxes),   cmocka_unit_test(test_quality),
        cmocka_unit_test(test_naive),     cmocka_unit_test(test_by_hand), cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
