/* t_tracks.c: boxes to tracks: the Hungarian method against scipy and all permutations, the Kalman filter against numpy
   (tests/golden/tracks.txt), planted situations, drawn films with known tracks, and allocations that fail.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/tracks/t_tracks.c tools/tracks/tracks.c
      tools/tracks/track_motion.c tools/tracks/track_box.c tools/tracks/kalman.c tools/tracks/assignment.c
      tools/scores/metrics.c tools/base/random.c tools/demo_program/walks.c tools/demo_program/herd.c tools/base/say.c
      tools/base/text.c tools/base/memory.c tools/base/clock.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o
      build/t_tracks -lcmocka -lm -lpthread */
#include "base/random.h"
#include "base/say.h"
#include "demo_program/walks.h"
#include "scores/metrics.h"
#include "tracks/assignment.h"
#include "tracks/kalman.h"
#include "tracks/tracks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_refusals.h"
#include "../../lib/test_says.h"

enum { MOST = 100, MOST_TRACKS = 3000 };

static double part(uint64_t *state) { return (double)(random_next(state) % (1 << 20)) / (1 << 20); }

static void near(double got, double want, double most) {
    if (!(fabs(got - want) <= most)) fail_msg("%.17g instead of %.17g", got, want);
}

/* ---- the Hungarian method ---------------------------------------------------------------------------------------- */

static double gain[MOST * MOST];
static uint32_t column[MOST];

static void make_gains(uint64_t seed, size_t count, int kind) {
    for (size_t i = 0; i < count; i++)
        gain[i] = kind == 0 ? part(&seed) : kind == 1 ? 2 * part(&seed) - 1 : (double)(random_next(&seed) % 6) - 2;
}

/* The sum of the assignment. Checks that no row or column occurs twice and that every pair has a gain. */
static double sum_of(size_t rows, size_t columns, size_t *places) {
    unsigned char taken[MOST] = {0};
    double sum = 0;
    *places = 0;
    for (size_t i = 0; i < rows; i++) {
        uint32_t k = column[i];
        if (k == ASSIGNMENT_NONE) continue;
        assert_true(k < columns && !taken[k] && gain[i * columns + k] > 0);
        taken[k] = 1;
        sum += gain[i * columns + k];
        *places += (i + 1) * (k + 1);
    }
    return sum;
}

static int golden_assignment(FILE *f, assignment *a) {
    unsigned long long seed;
    size_t rows, columns, places;
    int kind;
    double sum;
    long want;
    if (fscanf(f, "%llu %zu %zu %d %lf %ld", &seed, &rows, &columns, &kind, &sum, &want) != 6) return 0;
    make_gains(seed, rows * columns, kind);
    assert_true(assignment_solve(a, gain, rows, columns, column));
    near(sum_of(rows, columns, &places), sum, 1e-9);
    if (want >= 0) assert_int_equal(places, want);
    return 1;
}

static int golden_kalman(FILE *f) {
    unsigned long long first;
    int steps;
    double want[5];
    if (fscanf(f, "%llu %d %lf %lf %lf %lf %lf", &first, &steps, &want[0], &want[1], &want[2], &want[3], &want[4]) != 7)
        return 0;
    uint64_t seed = first;
    kalman k = kalman_begin(100 * part(&seed), 4, 9);
    for (int i = 0; i < steps; i++) {
        double t = 2 * part(&seed), change = 5 * part(&seed), drift = part(&seed);
        k = kalman_predict(&k, t, change, drift);
        double measured = 100 * part(&seed), noise = 0.1 + 4 * part(&seed);
        k = kalman_update(&k, measured, noise);
    }
    const double got[5] = {k.place, k.velocity, k.place_variance, k.covariance, k.velocity_variance};
    for (int i = 0; i < 5; i++) near(got[i], want[i], 1e-9 * (1 + fabs(want[i])));
    return 1;
}

static void test_golden(void **state) {
    FILE *f = fopen("tests/golden/tracks.txt", "r");
    assignment a = {.room = 0};
    char word[16];
    int assignments = 0, filters = 0;
    (void)state;
    assert_non_null(f);
    while (fscanf(f, "%15s", word) == 1) {
        if (strcmp(word, "assignment") == 0) assignments += golden_assignment(f, &a);
        else filters += golden_kalman(f);
    }
    fclose(f);
    assignment_free(&a);
    assert_int_equal(assignments, 36);
    assert_int_equal(filters, 5);
}

/* The best sum of rows from `row` on with the columns that are not taken, by trying all assignments. */
static double best_sum(size_t row, size_t rows, size_t columns, unsigned taken) {
    if (row == rows) return 0;
    double best = best_sum(row + 1, rows, columns, taken);
    for (size_t k = 0; k < columns; k++)
        if (!(taken >> k & 1) && gain[row * columns + k] > 0)
            best = fmax(best, gain[row * columns + k] + best_sum(row + 1, rows, columns, taken | 1u << k));
    return best;
}

static void test_all_ways(void **state) {
    assignment a = {.room = 0};
    uint64_t seed = 5;
    (void)state;
    for (int turn = 0; turn < 1500; turn++) {
        size_t rows = random_next(&seed) % 6, columns = random_next(&seed) % 6, places;
        make_gains(random_next(&seed), rows * columns, (int)(random_next(&seed) % 3));
        assert_true(assignment_solve(&a, gain, rows, columns, column));
        near(sum_of(rows, columns, &places), best_sum(0, rows, columns, 0), 1e-12);
    }
    assignment_free(&a);
}

/* Two predictions in a row equal one over both times; an exact measurement leaves no uncertainty. */
static void test_kalman(void **state) {
    const kalman k = kalman_begin(3, 0.5, 2);
    kalman once, twice, sure;
    (void)state;
    once = kalman_predict(&k, 1.75, 0.3, 0.1);
    twice = kalman_predict(&k, 1.25, 0.3, 0.1);
    twice = kalman_predict(&twice, 0.5, 0.3, 0.1);
    near(twice.place, once.place, 1e-12);
    near(twice.place_variance, once.place_variance, 1e-12);
    near(twice.covariance, once.covariance, 1e-12);
    near(twice.velocity_variance, once.velocity_variance, 1e-12);
    sure = kalman_update(&once, 10, 0);
    near(sure.place, 10, 0);
    near(sure.place_variance, 0, 0);
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

static track_box box_at(double x, double y, double side) {
    const track_box b = {.x = x, .y = y, .w = side, .h = side, .score = 0.9};
    return b;
}

static void test_boxes(void **state) {
    const track_box a = box_at(0, 0, 10), b = box_at(5, 5, 10), away = box_at(10, 0, 10), small = box_at(2, 2, 5);
    (void)state;
    near(track_box_iou(&a, &b), 25.0 / 175, 1e-15);
    near(track_box_iou(&a, &a), 1, 0);
    near(track_box_iou(&a, &away), 0, 0);
    near(track_box_covered(&small, &a), 1, 0);
    near(track_box_covered(&a, &small), 0.25, 0);
    near(track_box_distance(&a, &b), sqrt(50), 1e-12);
    near(track_box_side(&small), 5, 0);
    static const double bad[] = {(double)NAN, (double)INFINITY, 0, -1};
    for (int i = 0; i < 4; i++) {
        track_box c = a;
        c.w = bad[i];
        assert_false(track_box_good(&c));
        c = a, c.h = bad[i];
        assert_false(track_box_good(&c));
        c = a, c.x = bad[i];
        assert_int_equal(track_box_good(&c), i > 1);
        c = a, c.score = bad[i];
        assert_int_equal(track_box_good(&c), i > 1);
    }
}

/* ---- planted situations ------------------------------------------------------------------------------------------ */

static track ended[MOST_TRACKS]; /* in the order of their numbers */
static size_t ended_count;

static void take_ended(tracks *t) {
    size_t count;
    const track *list = tracks_ended(t, &count);
    for (size_t i = 0; i < count; i++) {
        assert_true(list[i].number < MOST_TRACKS);
        ended[list[i].number] = list[i];
        ended_count++;
    }
}

static tracks *begin(void) {
    const tracks_settings settings = tracks_defaults();
    tracks *t = tracks_create(&settings);
    assert_non_null(t);
    ended_count = 0;
    return t;
}

static void finish(tracks *t) {
    assert_true(tracks_cut(t));
    take_ended(t);
    assert_int_equal(tracks_open(t), 0);
    tracks_free(t);
}

/* Steps with one box per frame. */
static uint32_t step_one(tracks *t, double seconds, track_box b) {
    uint32_t number;
    assert_true(tracks_step(t, seconds, &b, 1, &number));
    take_ended(t);
    return number;
}

static void step_none(tracks *t, double seconds) {
    assert_true(tracks_step(t, seconds, NULL, 0, NULL));
    take_ended(t);
}

/* A box that moves half its length per second, from 30 frames per second to one in two seconds, at which boxes do not
   overlap. */
static void test_rates(void **state) {
    static const double rates[] = {60, 30, 10, 5, 2, 1, 0.5};
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        tracks *t = begin();
        int frames = 0;
        for (double s = 0; s < 12; s += 1 / rates[i], frames++)
            assert_int_equal(step_one(t, s, box_at(100 + 60 * s, 50 + 10 * s, 100)), 0);
        finish(t);
        assert_int_equal(ended_count, 1);
        assert_true(ended[0].firm && ended[0].boxes == (size_t)frames && ended[0].first == 0);
        near(ended[0].first_velocity[0], 60, 1e-6);
        near(ended[0].last_velocity[0], 60, 1);
        near(ended[0].last_velocity[1], 10, 1);
    }
}

/* An animal walks to the right, stands, and walks back: an old velocity must not be kept for long. */
static void test_turning(void **state) {
    static const double rates[] = {30, 5, 1};
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        tracks *t = begin();
        for (double s = 0; s < 30; s += 1 / rates[i]) {
            double x = s < 10 ? 50 * s : s < 20 ? 500 : 500 - 50 * (s - 20);
            assert_int_equal(step_one(t, s, box_at(x, 50, 100)), 0);
        }
        finish(t);
        near(ended[0].last_velocity[0], -50, 5);
    }
}

/* Two animals that cross keep their numbers, even if one is hidden for half a second in the middle. */
static void test_crossing(void **state) {
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        tracks *t = begin();
        for (int i = 0; i < 60; i++) {
            double s = i / 10.0;
            track_box both[2] = {box_at(100 + 80 * s, 100, 80), box_at(580 - 80 * s, 110, 80)};
            uint32_t number[2];
            size_t count = hidden && i >= 28 && i < 33 ? 1 : 2;
            assert_true(tracks_step(t, s, both, count, number));
            take_ended(t);
            assert_int_equal(number[0], 0);
            if (count == 2) assert_int_equal(number[1], 1);
        }
        finish(t);
        assert_int_equal(ended_count, 2);
    }
}

static void test_patience(void **state) {
    (void)state;
    /* A track survives one missed frame at every rate, and half a second at ten frames per second, but no more. */
    tracks *t = begin();
    assert_int_equal(step_one(t, 0, box_at(0, 0, 100)), 0);
    assert_int_equal(step_one(t, 1, box_at(5, 0, 100)), 0);
    step_none(t, 2);
    assert_int_equal(step_one(t, 3, box_at(15, 0, 100)), 0);
    step_none(t, 4);
    step_none(t, 5);
    assert_int_equal(ended_count, 0);
    assert_int_equal(step_one(t, 6, box_at(20, 0, 100)), 1);
    assert_int_equal(ended_count, 1);
    near(ended[0].last, 3, 0);
    /* Between bursts of images there are no frames: the setting `gap` decides. */
    assert_int_equal(step_one(t, 8.9, box_at(20, 0, 100)), 1);
    assert_int_equal(step_one(t, 12, box_at(20, 0, 100)), 2);
    finish(t);
    assert_int_equal(ended_count, 3);
    t = begin();
    for (int i = 0; i < 10; i++) step_one(t, i / 10.0, box_at(0, 0, 100));
    for (int i = 10; i < 15; i++) step_none(t, i / 10.0);
    assert_int_equal(step_one(t, 1.5, box_at(0, 0, 100)), 0);
    for (int i = 16; i < 28; i++) step_none(t, i / 10.0);
    assert_int_equal(step_one(t, 2.8, box_at(0, 0, 100)), 1);
    finish(t);
    /* After a short appearance, a track is kept for twice as long as it was seen. */
    for (int missing = 1; missing < 5; missing++) {
        t = begin();
        assert_int_equal(step_one(t, 0, box_at(0, 0, 100)), 0);
        assert_int_equal(step_one(t, 0.125, box_at(0, 0, 100)), 0);
        for (int i = 2; i < 2 + missing; i++) step_none(t, i / 8.0);
        assert_int_equal(step_one(t, (2 + missing) / 8.0, box_at(0, 0, 100)), missing > 2);
        finish(t);
    }
}

/* A box between two tracks belongs to the one seen in the last frame, even if the missed one is nearer; if both were
   seen, it belongs to the nearer one. */
static void test_who_was_seen(void **state) {
    (void)state;
    for (int missed = 0; missed < 2; missed++) {
        tracks *t = begin();
        const track_box both[2] = {box_at(30, 0, 100), box_at(0, 0, 100)};
        uint32_t number[2];
        for (int i = 0; i < 20; i++) assert_true(tracks_step(t, i / 10.0, both, missed && i == 19 ? 1 : 2, number));
        assert_int_equal(step_one(t, 2, box_at(14, 0, 100)), missed ? 0 : 1);
        finish(t);
    }
}

static void test_cut(void **state) {
    (void)state;
    tracks *t = begin();
    for (int i = 0; i < 10; i++) assert_int_equal(step_one(t, i / 10.0, box_at(0, 0, 100)), 0);
    assert_true(tracks_cut(t));
    assert_int_equal(tracks_open(t), 0);
    assert_int_equal(step_one(t, 1, box_at(0, 0, 100)), 1); /* returns the tracks that the cut ended */
    assert_int_equal(ended_count, 1);
    step_none(t, 1.1);
    assert_int_equal(ended_count, 1); /* and only once */
    finish(t);
    assert_int_equal(ended_count, 2);
    assert_true(ended[0].scene == 0 && ended[1].scene == 1);
    assert_true(ended[0].boxes == 10 && ended[0].last == 0.9 && ended[1].first == 1);
}

static void test_scores(void **state) {
    (void)state;
    tracks *t = begin();
    track_box b = box_at(0, 0, 100);
    b.score = 0.2; /* cannot begin a track */
    assert_int_equal(step_one(t, 0, b), TRACK_NONE);
    b.score = 0.9;
    assert_int_equal(step_one(t, 0.1, b), 0);
    b.score = 0.2; /* continues the track */
    assert_int_equal(step_one(t, 0.2, b), 0);
    b.score = 0.05; /* is ignored */
    assert_int_equal(step_one(t, 0.3, b), TRACK_NONE);
    finish(t);
    assert_true(ended[0].boxes == 2 && ended[0].firm);
    /* A box with a low score does not take a track from one with a high score, even if it fits better. */
    t = begin();
    track_box two[2] = {box_at(0, 0, 100), box_at(8, 0, 100)};
    uint32_t number[2];
    step_one(t, 0, two[0]);
    two[0].score = 0.2;
    assert_true(tracks_step(t, 0.1, two, 2, number));
    assert_true(number[0] == TRACK_NONE && number[1] == 0);
    finish(t);
    /* A single doubtful box is not a firm track; a single confident one is. */
    t = begin();
    two[0].score = 0.4, two[1] = box_at(400, 0, 100);
    assert_true(tracks_step(t, 0, two, 2, number));
    finish(t);
    assert_true(!ended[0].firm && ended[1].firm);
}

static void test_categories(void **state) {
    (void)state;
    tracks *t = begin();
    track_box b = box_at(0, 0, 100);
    for (int i = 0; i < 5; i++) assert_int_equal(step_one(t, i / 10.0, b), 0);
    b.category = 1;
    assert_int_equal(step_one(t, 0.5, b), 1);
    assert_int_equal(step_one(t, 0.6, b), 1);
    b.category = 0;
    assert_int_equal(step_one(t, 0.7, b), 0);
    finish(t);
}

/* A box of another size in the same place, and one far away, start new tracks. */
static void test_others(void **state) {
    (void)state;
    tracks *t = begin();
    for (int i = 0; i < 5; i++) assert_int_equal(step_one(t, i / 10.0, box_at(100, 100, 100)), 0);
    assert_int_equal(step_one(t, 0.5, box_at(140, 140, 20)), 1);
    assert_int_equal(step_one(t, 0.6, box_at(260, 100, 100)), 2);
    assert_int_equal(step_one(t, 0.7, box_at(100, 100, 100)), 0);
    finish(t);
}

static void refused(tracks *t, double seconds, track_box b, const char *words) {
    char said[300];
    uint32_t number = 77;
    say_listen(said, sizeof said);
    int good = tracks_step(t, seconds, &b, 1, &number);
    say_listen(NULL, 0);
    assert_int_equal(good, 0);
    if (!says(said, words)) fail_msg("'%s' lacks '%s'", said, words);
}

static void test_refusals(void **state) {
    tracks *t = begin();
    track_box b = box_at(0, 0, 100);
    char said[300];
    (void)state;
    assert_int_equal(step_one(t, 5, b), 0);
    refused(t, 4.9, b, "4.9 s after one at 5 s");
    refused(t, (double)NAN, b, "nan");
    b.w = 0;
    refused(t, 6, b, "box 0 at 6 s: 0 x 100");
    b.w = 100, b.x = (double)INFINITY;
    refused(t, 6, b, "inf");
    assert_int_equal(step_one(t, 5.1, box_at(0, 0, 100)), 0);
    finish(t);
    say_listen(said, sizeof said);
    static const tracks_settings bad[] = {
        {.low = 0.5, .high = 0.4, .overlap = 0.3, .patience = 1, .gap = 1},
        {.low = -1, .high = 0.4, .overlap = 0.3, .patience = 1, .gap = 1},
        {.low = 0.1, .high = 1.4, .overlap = 0.3, .patience = 1, .gap = 1},
        {.low = 0.1, .high = 0.4, .overlap = 0, .patience = 1, .gap = 1},
        {.low = 0.1, .high = 0.4, .overlap = 0.3, .patience = -1, .gap = 1},
        {.low = 0.1, .high = 0.4, .overlap = 0.3, .patience = 1, .gap = (double)NAN},
        {.low = 0.1, .high = 0.4, .overlap = 0.3, .patience = 1, .gap = 1, .evidence = -1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_null(tracks_create(&bad[i]));
    say_listen(NULL, 0);
    tracks_free(NULL);
}

/* ---- films with known tracks ------------------------------------------------------------------------------------- */

typedef struct tally {
    size_t boxes, right, numbers, animals; /* right: boxes whose track mostly shows that animal */
} tally;

/* scale: factor on all pixels. numbers: the track numbers in order, for comparison. */
static tally run_film(const film *f, double rate, double scale, uint32_t *numbers, size_t *count) {
    static size_t times[MOST_TRACKS][WALKS_MOST + 1];
    tracks *t = begin();
    film_scene s;
    tally sum = {.boxes = 0};
    seen list[SEEN_MOST];
    track_box boxes[SEEN_MOST];
    memset(times, 0, sizeof times);
    film_scene_make(&s, f, 0);
    *count = 0;
    for (int i = 0; i / rate < f->seconds; i++) {
        int found = film_detections(f, &s, i / rate, list);
        for (int k = 0; k < found; k++) {
            const track_box b = {.x = scale * list[k].box.x, .y = scale * list[k].box.y, .w = scale * list[k].box.w,
                                 .h = scale * list[k].box.h, .score = list[k].score};
            boxes[k] = b;
        }
        assert_true(tracks_step(t, i / rate, boxes, (size_t)found, numbers + *count));
        take_ended(t);
        for (int k = 0; k < found; k++) {
            uint32_t number = numbers[*count + (size_t)k];
            for (int m = 0; m < k; m++) assert_true(number == TRACK_NONE || numbers[*count + (size_t)m] != number);
            if (number != TRACK_NONE) times[number][list[k].walk + 1]++;
        }
        *count += (size_t)found;
    }
    finish(t);
    for (size_t i = 0; i < ended_count; i++) {
        size_t all = 0, most = 0;
        for (int k = 0; k <= WALKS_MOST; k++) {
            all += times[i][k];
            if (k && times[i][k] > most) most = times[i][k];
        }
        assert_int_equal(all, ended[i].boxes);
        if (!ended[i].firm) continue;
        sum.boxes += all, sum.right += most, sum.numbers++;
    }
    sum.animals = (size_t)f->animals;
    return sum;
}

static uint32_t numbers_a[40000], numbers_b[40000];

/* Few boxes are in a track that mostly shows another animal. The result is the same again, and the same with every
   pixel doubled, because no length is absolute. */
static void test_films(void **state) {
    static const double rates[] = {30, 10, 2};
    (void)state;
    for (int r = 0; r < 3; r++) {
        tally all = {.boxes = 0};
        for (uint64_t seed = 1; seed <= 6; seed++) {
            const film f = {.seed = seed, .width = 640, .height = 480, .seconds = 20, .scenes = 1, .animals = 5,
                            .mistakes = 1};
            size_t count, again;
            tally one = run_film(&f, rates[r], 1, numbers_a, &count);
            all.boxes += one.boxes, all.right += one.right, all.numbers += one.numbers, all.animals += one.animals;
            run_film(&f, rates[r], 2, numbers_b, &again);
            assert_true(again == count && memcmp(numbers_a, numbers_b, count * sizeof *numbers_a) == 0);
        }
        double share = (double)all.right / (double)all.boxes;
        double pieces = (double)all.numbers / (double)all.animals;
        print_message("%g a second: %.3f of %zu boxes are in a track of their animal, %.1f tracks an animal\n",
                      rates[r], share, all.boxes, pieces);
        assert_true(all.boxes > 400 && share > 0.87 && pieces < 2.5);
    }
}

/* Only open tracks are kept in memory; nothing of finished tracks is kept. */
static void test_bounded(void **state) {
    tracks *t = begin();
    uint64_t seed = 3;
    size_t most = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        double s = i / 10.0;
        track_box b = box_at(1000 * part(&seed), 1000 * part(&seed), 50);
        uint32_t number;
        assert_true(tracks_step(t, s, &b, i % 10 == 0, &number));
        size_t count;
        (void)tracks_ended(t, &count);
        assert_true(count <= 4);
        ended_count += count;
        if (tracks_open(t) > most) most = tracks_open(t);
    }
    assert_true(most >= 1 && most <= 4);
    assert_true(tracks_cut(t));
    size_t count;
    (void)tracks_ended(t, &count);
    assert_int_equal(ended_count + count, 2000);
    tracks_free(t);
}

/* A step that runs out of memory changes nothing: repeated, it gives the usual result. */
static void test_refused_memory(void **state) {
    char said[200];
    uint32_t want[40], got[40];
    (void)state;
    for (int refusing = 0; refusing < 2; refusing++) {
        uint64_t seed = 9;
        long refusals = 0;
        tracks *t = begin();
        for (int i = 0; i < 40; i++) {
            track_box boxes[20];
            uint32_t number[20];
            size_t count = (size_t)i / 2;
            for (size_t k = 0; k < count; k++)
                boxes[k] = box_at(100 * (double)k + 5 * part(&seed), 10 * part(&seed), 80);
            for (long at = 1;; at++) {
                say_listen(said, sizeof said);
                refuse_from(refusing ? at : 0, 0);
                int good = tracks_step(t, i / 10.0, boxes, count, number);
                refuse_from(0, 0);
                if (good) break;
                assert_says(said, "out of memory");
                refusals++;
            }
            say_listen(NULL, 0);
            (refusing ? got : want)[i] = count ? number[count - 1] : 0;
            if (i % 7 == 6) assert_true(tracks_cut(t));
            take_ended(t);
        }
        if (refusing) assert_true(refusals > 10);
        finish(t);
    }
    assert_memory_equal(want, got, sizeof want);
    const tracks_settings settings = tracks_defaults();
    say_listen(said, sizeof said);
    refuse_from(1, 0);
    assert_null(tracks_create(&settings));
    refuse_from(0, 0);
    say_listen(NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),   cmocka_unit_test(test_all_ways),  cmocka_unit_test(test_kalman),
        cmocka_unit_test(test_boxes),    cmocka_unit_test(test_rates),     cmocka_unit_test(test_turning),
        cmocka_unit_test(test_crossing), cmocka_unit_test(test_patience),  cmocka_unit_test(test_who_was_seen),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_scores),   cmocka_unit_test(test_categories), cmocka_unit_test(test_others),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_films),     cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
