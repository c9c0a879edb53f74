/* t_track_joins.c: joining broken tracks: planted situations, random ones against a loop over all pairs of chains, and
   allocations that fail.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/tracks/t_track_joins.c tools/tracks/track_joins.c
      tools/tracks/track_box.c tools/scores/metrics.c tools/base/random.c tools/base/say.c tools/base/text.c
      tools/base/memory.c tools/base/clock.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o build/t_track_joins
      -lcmocka -lm -lpthread */
#include "base/random.h"
#include "base/say.h"
#include "scores/metrics.h"
#include "tracks/track_joins.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_refusals.h"
#include "../../lib/test_says.h"

enum { MOST = 60, DIM = 4 };

static track list[MOST];
static float rows[MOST * DIM];
static uint32_t whole[MOST];
static size_t count;

static track_joins_request request(void) {
    const track_joins_request r = {
        .settings = track_joins_defaults(), .tracks = list, .count = count, .rows = rows, .dim = DIM};
    return r;
}

/* A track from `first` to `last` seconds that stood still at x; its embedding is axis `who`. */
static track *add(double first, double last, double x, int who) {
    track *t = &list[count];
    const track_box b = {.x = x, .y = 100, .w = 100, .h = 100, .score = 1};
    memset(t, 0, sizeof *t);
    t->number = (uint32_t)count;
    t->first = first, t->last = last;
    t->first_box = t->last_box = b;
    for (int k = 0; k < DIM; k++) rows[count * DIM + (size_t)k] = k == who ? 3 : 0;
    count++;
    return t;
}

static void join_with(const track_joins_request *r) { assert_true(track_joins_make(r, whole)); }

static void join(void) {
    const track_joins_request r = request();
    join_with(&r);
}

static int joined(size_t a, size_t b) { return whole[a] == whole[b]; }

/* ---- planted situations ------------------------------------------------------------------------------------------ */

static void two(double seconds, double x, int who) {
    count = 0;
    add(0, 2, 100, 0);
    add(2 + seconds, 5 + seconds, x, who);
}

static void test_two(void **state) {
    (void)state;
    two(3, 150, 0);
    join();
    assert_true(joined(0, 1) && whole[0] == 0);
    two(3, 150, 1); /* another individual */
    join();
    assert_false(joined(0, 1));
    two(11, 150, 0); /* longer than the gap */
    join();
    assert_false(joined(0, 1));
    two(0, 150, 0); /* both are in the frame at 2 s */
    join();
    assert_false(joined(0, 1));
    two(-1, 150, 0);
    join();
    assert_false(joined(0, 1));
    two(1, 500, 0); /* four sides per second */
    join();
    assert_false(joined(0, 1));
    list[0].last_velocity[0] = 300; /* but it was running */
    join();
    assert_true(joined(0, 1));
    two(1, 150, 0);
    list[1].scene = 1;
    join();
    assert_false(joined(0, 1));
    two(1, 150, 0);
    list[1].first_box.category = 2;
    join();
    assert_false(joined(0, 1));
    two(1, 100, 0); /* a fifth of its size */
    list[1].first_box.w = list[1].first_box.h = 20;
    join();
    assert_false(joined(0, 1));
    two(1, 100, 0); /* a tree hides part of it */
    list[1].first_box.w = 20;
    join();
    assert_true(joined(0, 1));
}

static void test_conflict(void **state) {
    static const uint32_t pair[] = {1, 0};
    (void)state;
    two(1, 150, 0);
    track_joins_request r = request();
    r.conflicts = pair, r.conflicts_count = 1;
    join_with(&r);
    assert_false(joined(0, 1));
    /* Conflicting tracks are not joined through a third track that fits both, either. */
    add(9, 10, 150, 0);
    r = request();
    r.conflicts = pair, r.conflicts_count = 1;
    join_with(&r);
    assert_false(joined(0, 1));
    assert_true(joined(2, 0) || joined(2, 1));
}

/* Tracks without embeddings are never joined. Of a row, only the direction matters, not the length; so does the
   threshold. */
static void test_rows(void **state) {
    (void)state;
    two(1, 150, 0);
    rows[DIM] = 0;
    join();
    assert_false(joined(0, 1));
    two(1, 150, 0);
    rows[DIM] = 1e-6f;
    join();
    assert_true(joined(0, 1));
    two(1, 150, 0);
    rows[DIM] = 1, rows[DIM + 1] = 1; /* a cosine of 0.707 */
    track_joins_request r = request();
    r.settings.threshold = 0.70;
    join_with(&r);
    assert_true(joined(0, 1));
    r.settings.threshold = 0.71;
    join_with(&r);
    assert_false(joined(0, 1));
}

/* Three pieces of one track in any order; two animals that exchange places between pieces. */
static void test_chains(void **state) {
    (void)state;
    count = 0;
    add(20, 25, 220, 0), add(0, 5, 100, 0), add(9, 14, 160, 0);
    join();
    assert_true(whole[0] == 0 && whole[1] == 0 && whole[2] == 0);
    list[2].scene = 7; /* without the middle piece, the time between the others is too long */
    join();
    assert_false(joined(0, 1));
    count = 0;
    add(0, 5, 100, 0), add(0, 5, 200, 1), add(6, 9, 100, 1), add(6, 9, 200, 0);
    join();
    assert_true(joined(0, 3) && joined(1, 2) && !joined(0, 1));
    /* Of two possible continuations at the same time, only the more similar one is joined. */
    count = 0;
    add(0, 5, 100, 0), add(6, 9, 110, 0), add(6, 9, 120, 0);
    rows[DIM + 1] = 1;
    join();
    assert_true(joined(0, 2) && !joined(0, 1));
    count = 0;
    join(); /* no tracks at all */
}

static void refused(const track_joins_request *r, const char *words) {
    char said[300];
    say_listen(said, sizeof said);
    int good = track_joins_make(r, whole);
    say_listen(NULL, 0);
    assert_int_equal(good, 0);
    if (!says(said, words)) fail_msg("'%s' lacks '%s'", said, words);
}

static void test_refusals(void **state) {
    static const uint32_t pair[] = {0, 2};
    (void)state;
    two(1, 150, 0);
    track_joins_request r = request();
    r.conflicts = pair, r.conflicts_count = 1;
    refused(&r, "a conflict names track 2; there are 2");
    r = request();
    r.settings.gap = -1;
    refused(&r, "invalid threshold 0.5 or gap -1 s");
    r = request();
    r.settings.threshold = (double)NAN;
    refused(&r, "invalid threshold nan");
    rows[DIM + 2] = (float)INFINITY;
    r = request();
    refused(&r, "track 1 is not finite");
}

/* ---- against a loop over all pairs ------------------------------------------------------------------------------- */

static int may_follow(const track *a, const track *b) {
    double s = b->first - a->last;
    const track_box *x = &a->last_box, *y = &b->first_box;
    if (a->scene != b->scene || x->category != y->category || s <= 0 || s > 10) return 0;
    double grown = fmin(fabs(log(y->w / x->w)), fabs(log(y->h / x->h)));
    double side = sqrt(fmax(x->w * x->h, y->w * y->h));
    double before = hypot(a->last_velocity[0], a->last_velocity[1]);
    double after = hypot(b->first_velocity[0], b->first_velocity[1]);
    double way = hypot(x->x + x->w / 2 - y->x - y->w / 2, x->y + x->h / 2 - y->y - y->h / 2);
    return grown <= 0.5 + 0.2 * s && way <= side * (0.5 + s) + 1.5 * fmax(before, after) * s;
}

static uint32_t order[MOST], chain[MOST];

/* 1 if the tracks of two chains can follow each other in the order of time, and none are in conflict. */
static int can_be_one(uint32_t a, uint32_t b, const uint32_t *conflicts, size_t conflicts_count) {
    const track *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const track *t = &list[order[i]];
        if (chain[order[i]] != a && chain[order[i]] != b) continue;
        if (last && !may_follow(last, t)) return 0;
        last = t;
    }
    for (size_t i = 0; i < conflicts_count; i++) {
        uint32_t x = chain[conflicts[2 * i]], y = chain[conflicts[2 * i + 1]];
        if ((x == a && y == b) || (x == b && y == a)) return 0;
    }
    return 1;
}

static double mean_cosine(uint32_t a, uint32_t b) {
    double sum = 0;
    int pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            if (chain[i] != a || chain[k] != b) continue;
            double both = 0, one = 0, other = 0;
            for (size_t d = 0; d < DIM; d++) {
                double x = (double)rows[i * DIM + d], y = (double)rows[k * DIM + d];
                both += x * y, one += x * x, other += y * y;
            }
            if (!(one > 0) || !(other > 0)) return -2;
            sum += both / sqrt(one * other);
            pairs++;
        }
    return pairs ? sum / pairs : -2;
}

static void join_naively(double threshold, const uint32_t *conflicts, size_t conflicts_count) {
    for (uint32_t i = 0; i < count; i++) {
        size_t k = i;
        for (; k > 0 && list[order[k - 1]].first > list[i].first; k--) order[k] = order[k - 1];
        order[k] = i;
        chain[i] = i;
    }
    for (;;) {
        double best = threshold;
        uint32_t from = 0, to = 0;
        for (uint32_t a = 0; a < count; a++)
            for (uint32_t b = a + 1; b < count; b++) {
                double score = mean_cosine(a, b);
                if (score >= best && (score > best || from == to) &&
                    can_be_one(a, b, conflicts, conflicts_count))
                    best = score, to = a, from = b;
            }
        if (from == to) return;
        for (uint32_t i = 0; i < count; i++)
            if (chain[i] == from) chain[i] = to;
    }
}

static double part(uint64_t *seed) { return (double)(random_next(seed) % (1 << 20)) / (1 << 20); }

static void make_scene(uint64_t *seed) {
    count = 0;
    for (size_t wanted = random_next(seed) % MOST; count < wanted;) {
        double first = 40 * part(seed);
        track *t = add(first, first + 3 * part(seed) * part(seed), 1000 * part(seed), 0);
        t->scene = random_next(seed) % 8 == 0;
        t->last_box.x += 100 * part(seed) - 50;
        t->last_box.w *= 0.5 + part(seed);
        t->first_box.category = t->last_box.category = random_next(seed) % 10 == 0;
        t->last_velocity[0] = 60 * part(seed), t->first_velocity[1] = 60 * part(seed);
        int who = (int)(random_next(seed) % 3), unknown = random_next(seed) % 20 == 0;
        for (int k = 0; k < DIM; k++)
            rows[(count - 1) * DIM + (size_t)k] = unknown ? 0 : (float)((k == who) + 0.8 * part(seed) - 0.4);
    }
}

static void test_naive(void **state) {
    uint64_t seed = 4;
    size_t joins = 0, longest = 0;
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        uint32_t conflicts[20];
        make_scene(&seed);
        track_joins_request r = request();
        r.settings.threshold = 0.3 + 0.5 * part(&seed);
        r.conflicts = conflicts;
        r.conflicts_count = count ? random_next(&seed) % 11 : 0;
        for (size_t i = 0; i < 2 * r.conflicts_count; i++) conflicts[i] = (uint32_t)(random_next(&seed) % count);
        for (size_t i = 0; i < r.conflicts_count; i++) /* no track conflicts with itself */
            if (conflicts[2 * i] == conflicts[2 * i + 1])
                conflicts[2 * i] = conflicts[2 * i + 1] ? 0 : (uint32_t)count - 1;
        join_with(&r);
        join_naively(r.settings.threshold, conflicts, r.conflicts_count);
        for (size_t i = 0; i < count; i++) {
            size_t members = 0;
            if (whole[i] != chain[i]) fail_msg("turn %d: track %zu is of %u, not %u", turn, i, whole[i], chain[i]);
            for (size_t k = 0; k < count; k++) members += chain[k] == i;
            joins += members > 1;
            if (members > longest) longest = members;
        }
    }
    print_message("%zu chains, the longest of %zu tracks\n", joins, longest);
    assert_true(joins > 100 && longest >= 5);
}

static void test_refused_memory(void **state) {
    uint64_t seed = 11;
    (void)state;
    do make_scene(&seed);
    while (count < 40);
    const track_joins_request r = request();
    refuse_from(0, 0);
    join_with(&r);
    long calls = refusal.calls;
    assert_true(calls >= 10);
    for (long at = 1; at <= calls; at++) {
        refuse_from(at, 0);
        refused(&r, "out of memory");
        refuse_from(0, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two),      cmocka_unit_test(test_conflict), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_chains),   cmocka_unit_test(test_refusals), cmocka_unit_test(test_naive),
        cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
