/* t_count.c: how many individuals there are, from answers about some pairs: the estimate of one crop against all of its
   outcomes, chances, permanent random numbers, which pairs are asked, what links and decisions answer; and simulations:
   the true number lies in at least 90 of 100 intervals, with good scores and with poor ones.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/groups/t_count.c tests/lib/test_impl.c tools/groups/count.c
      tools/groups/census.c tools/base/union_find.c tools/groups/census_estimate.c tools/scores/calibration_file.c
      tools/scores/calibration.c tools/scores/metrics.c tools/base/random.c tools/base/unicode.c tools/groups/crops.c
      tools/gallery/gallery_file.c tools/gallery/gallery_jsonl.c tools/gallery/gallery_host.c tools/gallery/store_*.c
      tools/gallery/gallery_store.c tools/gallery/makers.c tools/gallery/templates.c tools/gallery/database.c
      tools/gallery/database_care.c tools/gallery/database_read.c tools/gallery/database_write.c tools/gallery/pq.c
      tools/gallery/pq_binary.c tools/gallery/schema.c tools/embedding/npy.c tools/embedding/imported.c
      tools/embedding/source_root.c tools/pictures/crop_origin.c tools/pictures/box_text.c
      tools/base/sha256.c tools/base/csv.c tools/base/when.c tools/base/decimal.c
      tools/base/json.c tools/base/json_write.c tools/base/choices.c tools/base/source.c tools/base/files.c
      tools/base/replace.c tools/base/file_kind.c tools/base/say.c tools/base/text.c tools/base/memory.c
      tools/base/clock.c tools/base/threads.c tools/base/container.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
      -o build/t_count -lcmocka -lm -lpthread -ldl */
#include "base/say.h"
#include "groups/census_estimate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_refusals.h"

#ifdef __SANITIZE_ADDRESS__
enum { SIMULATIONS = 4 }; /* of each kind: enough to test memory errors, too few to estimate */
#else
enum { SIMULATIONS = 100 };
#endif
enum { DIM = 32, MOST = 800 };

#define assert_near(value, wanted, within) assert_true(fabs((value) - (wanted)) <= (within))

static uint64_t state;
static double uniform(void) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}
static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

/* --- one crop ----------------------------------------------------------------------------------------------------- */

/* The average over all outcomes of asking about matches with these chances. */
static double average_part(size_t sure, const double *chance, size_t n) {
    double sum = 0, found[16];
    for (unsigned set = 0; set < 1u << n; set++) {
        double likely = 1;
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            likely *= set >> i & 1 ? chance[i] : 1 - chance[i];
            if (set >> i & 1) found[k++] = chance[i];
        }
        sum += likely * count_part(sure, found, k);
    }
    return sum;
}

static void test_part_is_unbiased(void **unused) {
    const double high[] = {0.7, 0.9, 0.67, 0.8, 0.99, 0.75}, low[] = {0.3, 0.5, 0.2, 0.4};
    (void)unused;
    for (size_t sure = 1; sure < 40; sure += 3) {
        assert_near(count_part(sure, NULL, 0), 1 / (double)sure, 1e-15);
        for (size_t n = 0; n <= 6; n++)
            assert_near(average_part(sure, high, n), 1 / (double)(sure + n), 1e-4 / (double)sure);
    }
    /* With small chances, max(t, 1 - 3p/2) replaces t, which is too high by a bounded amount. */
    for (size_t n = 1; n <= 4; n++) {
        double wanted = 0, rest = 1;
        for (int i = 0; i < 100000; i++) {
            double t = (i + 0.5) / 100000, product = 1;
            for (size_t k = 0; k < n; k++) product *= t > 1 - 1.5 * low[k] ? t : 1 - 1.5 * low[k];
            wanted += t * product / 100000;
        }
        for (size_t k = 0; k < n; k++) rest *= 1 - 1.5 * 0.2;
        assert_near(average_part(2, low, n), wanted, 1e-5);
        assert_true(average_part(2, low, n) - 1 / (double)(2 + n) < rest);
    }
    const double few[] = {0.5, 0.3, 0.07}; /* SciPy's quad between the places where factors are cut */
    assert_near(count_part(1, few, 3), -0.03748531249999998, 2e-5);
    assert_near(count_part(7, few, 3), 0.017132493369351545, 2e-5);
}

static void test_chances(void **unused) {
    double share[200], whole = 0;
    (void)unused;
    double five[] = {5, 1, 1, 1, 1, 1};
    count_chances(five, 6, 3);
    assert_near(five[0], 1, 0);
    for (int i = 1; i < 6; i++) assert_near(five[i], 0.4, 1e-12);
    count_chances(five, 6, 6);
    for (int i = 0; i < 6; i++) assert_near(five[i], 1, 0);
    for (double expected = 1; expected < 200; expected += 7.5) {
        whole = 0;
        for (int i = 0; i < 200; i++) share[i] = pow(i + 1, -1.5);
        count_chances(share, 200, expected);
        for (int i = 0; i < 200; i++) {
            whole += share[i];
            assert_true(share[i] > 0 && share[i] <= 1 && (i == 0 || share[i] <= share[i - 1]));
        }
        assert_near(whole, expected, 1e-9 * expected);
    }
    const double none[3] = {0, 0, 0};
    count_shares(share, none, 3);
    assert_near(share[0] + share[1] + share[2], 1, 1e-12);
    count_shares(share, (const double[]){0, 0, 1}, 3);
    assert_near(share[0] + share[1] + share[2], 1, 1e-12);
    assert_true(share[2] > share[1]);
    assert_near(count_quantile(1), 12.7062047, 1e-6); /* SciPy's stats.t.ppf(0.975, ...) */
    assert_near(count_quantile(8), 2.3060041, 1e-6);
    assert_near(count_quantile(9), 2.2621572, 3e-4);
    assert_near(count_quantile(49), 2.0095752, 1e-6);
}

static void test_numbers(void **unused) {
    double sum = 0, square = 0;
    char a[32];
    (void)unused;
    uint64_t seed = count_seed(7, "fingerprint");
    for (int i = 0; i < 20000; i++) {
        snprintf(a, sizeof a, "crop-%d.png", i);
        double x = count_number(seed, a, "other.png");
        assert_true(x > 0 && x < 1);
        assert_true(x == count_number(seed, "other.png", a)); /* in either order */
        assert_true(x != count_number(seed + 1, a, "other.png") && x != count_number(seed, a, NULL));
        sum += x, square += x * x;
    }
    assert_near(sum / 20000, 0.5, 0.01);
    assert_near(square / 20000, 1.0 / 3, 0.01);
    assert_true(count_number(seed, "ab", "c") != count_number(seed, "a", "bc"));
    assert_true(count_seed(1, "") != count_seed(2, ""));
}

/* --- crops that are made up --------------------------------------------------------------------------------------- */

typedef struct herd {
    crops c;
    clusters found;
    uint32_t truth[MOST], group[MOST];
    char *ids[MOST], text[MOST][24];
    crop_place by_id[MOST];
    float rows[MOST * DIM];
    size_t individuals;
} herd;

static int by_id(const void *a, const void *b) {
    return strcmp(((const crop_place *)a)->id, ((const crop_place *)b)->id);
}

/* Sorts the ids, and makes groups that are as wrong as the scores: a crop joins the first earlier crop whose score with
   it is above the threshold. */
static void finish_herd(herd *h, double threshold) {
    h->c.ids = h->ids, h->c.rows = h->rows, h->c.dim = DIM, h->c.by_id = h->by_id;
    h->c.makers.models = 1;
    strcpy(h->c.makers.model[0].fingerprint, "0123456789abcdef0123456789abcdef");
    memset(&h->found, 0, sizeof h->found);
    for (uint32_t i = 0; i < h->c.count; i++) {
        h->by_id[i].id = h->ids[i], h->by_id[i].at = i;
        h->group[i] = UINT32_MAX;
        for (uint32_t k = 0; k < i && h->group[i] == UINT32_MAX; k++)
            if (reid_cosine(h->rows + i * DIM, h->rows + k * DIM, DIM) > threshold) h->group[i] = h->group[k];
        if (h->group[i] == UINT32_MAX) h->group[i] = (uint32_t)h->found.groups++;
    }
    qsort(h->by_id, h->c.count, sizeof *h->by_id, by_id);
    h->found.rows = h->c.count, h->found.group = h->group, h->found.threshold = threshold;
    h->found.ids = (const char *const *)h->ids;
}

/* Makes individuals with 1 or more crops, `mean` on average; a crop's row is its individual's direction plus `noise`
   of a random one. */
static void make_herd(herd *h, uint64_t seed, size_t individuals, double mean, double noise, double threshold) {
    double own[DIM];
    memset(&h->c, 0, sizeof h->c);
    state = seed;
    h->individuals = individuals;
    for (uint32_t who = 0; who < individuals; who++) {
        for (int k = 0; k < DIM; k++) own[k] = normal();
        do {
            size_t i = h->c.count++;
            assert_true(i < MOST);
            for (int k = 0; k < DIM; k++) h->rows[i * DIM + (size_t)k] = (float)(own[k] + noise * normal());
            h->truth[i] = who, h->ids[i] = h->text[i];
            snprintf(h->text[i], sizeof h->text[i], "%u/%zu-%llu.png", who, i, (unsigned long long)seed);
        } while (uniform() > 1 / mean && h->c.count < MOST - individuals + who);
    }
    finish_herd(h, threshold);
}

static census_request request_of(const herd *h, size_t sample, size_t per_crop) {
    const census_request r = {.crops = &h->c, .found = &h->found, .scale = 1, .seed = 11, .sample = sample,
                              .per_crop = per_crop};
    return r;
}

static void answer_all(census *c, const herd *h) {
    for (size_t i = 0; i < c->count; i++) {
        c->at[i].open = 0;
        for (size_t k = c->at[i].first; k < c->at[i].first + c->at[i].pairs; k++)
            c->pairs[k].answer = h->truth[c->at[i].row] == h->truth[c->pairs[k].b];
    }
}

/* --- simulations -------------------------------------------------------------------------------------------------- */

typedef struct scenario {
    const char *name;
    size_t individuals;
    double mean, noise, threshold;
    size_t sample, per_crop;
    double bias;      /* of the mean of the estimates, as a share */
    size_t least;     /* number of simulations that give an interval */
} scenario;

static void simulate(const scenario *s) {
    static herd h;
    double sum = 0, width = 0;
    size_t told = 0, inside = 0;
    for (uint64_t seed = 1; seed <= SIMULATIONS; seed++) {
        census c;
        census_result result;
        make_herd(&h, seed * 1000, s->individuals, s->mean, s->noise, s->threshold);
        const census_request r = request_of(&h, s->sample, s->per_crop);
        assert_true(census_make(&c, &r));
        answer_all(&c, &h);
        assert_true(census_estimate(&c, &result));
        assert_int_not_equal(result.state, CENSUS_TOO_FEW);
        if (result.state == CENSUS_GOOD) {
            told++;
            sum += result.e.count, width += result.e.half;
            inside += result.e.low <= (double)s->individuals && (double)s->individuals <= result.e.high;
        }
        census_free(&c);
    }
    double mean = told ? sum / (double)told / (double)s->individuals : 1;
    print_message("%-28s %3zu told, %3zu inside, mean %.3f of the truth, +- %.2f\n", s->name, told, inside, mean,
                  told ? width / (double)told / (double)s->individuals : 0);
    if (SIMULATIONS < 100) return;
    assert_true(told >= s->least);
    assert_true(inside * 100 >= told * 90);
    assert_true(fabs(mean - 1) <= s->bias);
}

static void test_simulations(void **unused) {
    static const scenario all[] = {
        {"good scores", 60, 5, 0.5, 0.5, 50, 20, 0.02, 100},
        {"fair scores", 60, 5, 0.9, 0.35, 50, 20, 0.05, 90},
        {"poor scores", 60, 5, 1.4, 0.3, 50, 60, 0.08, 90},
        {"scores that say little", 60, 5, 2.2, 0.3, 50, 110, 0.1, 60},
        {"poor scores, few questions", 60, 5, 1.4, 0.3, 50, 20, 0.5, 1},
        {"a threshold far too high", 60, 5, 0.9, 0.7, 50, 20, 0.05, 90},
        {"a threshold far too low", 60, 5, 0.9, 0.05, 50, 20, 0.08, 90},
        {"many crops of each", 20, 25, 0.9, 0.35, 50, 20, 0.08, 90},
        {"nearly all alone", 200, 1.6, 0.9, 0.35, 50, 20, 0.05, 90},
        {"nearly all alone, poor", 200, 1.6, 1.4, 0.3, 80, 60, 0.08, 90},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) simulate(&all[i]);
}

/* --- which pairs -------------------------------------------------------------------------------------------------- */

static const census_pair *pair_of(const census *c, const census_crop *crop, uint32_t with) {
    for (size_t k = crop->first; k < crop->first + crop->pairs; k++)
        if (c->pairs[k].b == with) return &c->pairs[k];
    return NULL;
}

/* A larger sample begins with the smaller one, and asks the same questions about its crops. */
static void test_samples_are_nested(void **unused) {
    static herd h;
    census small, large;
    (void)unused;
    make_herd(&h, 5, 60, 5, 0.9, 0.35);
    const census_request few = request_of(&h, 20, 10), many = request_of(&h, 70, 10);
    assert_true(census_make(&small, &few) && census_make(&large, &many));
    assert_int_equal(small.count, 20);
    for (size_t i = 0; i < small.count; i++) {
        assert_int_equal(small.at[i].row, large.at[i].row);
        assert_int_equal(small.at[i].pairs, large.at[i].pairs);
        assert_int_equal(small.at[i].open, small.at[i].pairs);
    }
    for (size_t k = 0; k < small.pair_count; k++)
        assert_true(small.pairs[k].b == large.pairs[k].b && small.pairs[k].chance == large.pairs[k].chance);
    assert_in_range(small.pair_count, 150, 250);
    census_free(&large);
    const census_request wide = request_of(&h, 20, 30); /* more pairs per crop include those of fewer */
    assert_true(census_make(&large, &wide));
    for (size_t i = 0; i < small.count; i++)
        for (size_t k = 0; k < small.at[i].pairs; k++)
            assert_non_null(pair_of(&large, &large.at[i], small.pairs[small.at[i].first + k].b));
    census_free(&small), census_free(&large);
}

/* Neither the order of the rows nor answers change the questions; the seed does. */
static void test_what_is_asked(void **unused) {
    static herd h, turned;
    census c, other;
    size_t same_rows = 0;
    (void)unused;
    make_herd(&h, 6, 30, 4, 0.9, 0.35);
    size_t n = h.c.count;
    turned = h;
    turned.found.groups = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(turned.rows + i * DIM, h.rows + (n - 1 - i) * DIM, DIM * sizeof *h.rows);
        turned.ids[i] = h.ids[n - 1 - i];
        turned.group[i] = h.group[n - 1 - i];
        turned.by_id[i].id = turned.ids[i], turned.by_id[i].at = (uint32_t)i;
    }
    qsort(turned.by_id, n, sizeof *turned.by_id, by_id);
    turned.c.ids = turned.ids, turned.c.rows = turned.rows, turned.c.by_id = turned.by_id;
    turned.found.groups = h.found.groups, turned.found.group = turned.group;
    turned.found.ids = (const char *const *)turned.ids;
    census_request r = request_of(&h, 15, 8), r_turned = request_of(&turned, 15, 8);
    assert_true(census_make(&c, &r) && census_make(&other, &r_turned));
    assert_int_equal(c.pair_count, other.pair_count);
    for (size_t i = 0; i < c.count; i++) {
        assert_int_equal(c.at[i].row, n - 1 - other.at[i].row);
        for (size_t k = c.at[i].first; k < c.at[i].first + c.at[i].pairs; k++)
            assert_int_equal(c.pairs[k].b, n - 1 - other.pairs[k].b);
    }
    census_free(&other);
    r.seed = 12;
    assert_true(census_make(&other, &r));
    for (size_t i = 0; i < c.count; i++) same_rows += c.at[i].row == other.at[i].row;
    assert_true(same_rows < c.count / 2);
    census_free(&c), census_free(&other);
}

/* Pairs within one image or track are never asked about; questions that decisions imply count as answered. */
static void test_links(void **unused) {
    static herd h;
    static uint32_t frames[MOST], tracks[MOST], parted[] = {9, 3};
    census c;
    (void)unused;
    make_herd(&h, 8, 4, 6, 0.5, 0.5);
    size_t n = h.c.count;
    for (uint32_t i = 0; i < n; i++) frames[i] = i, tracks[i] = UINT32_MAX;
    frames[1] = frames[0];
    tracks[2] = tracks[3] = tracks[4] = 9; /* the crop 2 stands for them */
    tracks[7] = 3;
    decided_pair same[] = {{h.ids[0], h.ids[2], 0}}, different[] = {{h.ids[4], h.ids[5], 1}};
    decided_id none[] = {{h.ids[6], NULL, 2}};
    decision_state decided = {.same = same, .different = different, .no_crops = none, .sames = 1, .differents = 1,
                              .no_crop_count = 1};
    census_request r = request_of(&h, n, n);
    r.frames = frames, r.tracks = tracks, r.state = &decided, r.apart = parted, r.apart_count = 1;
    assert_true(census_make(&c, &r));
    assert_int_equal(c.rows, n - 2);
    assert_int_equal(c.rows_left, n - 3);
    for (size_t i = 0; i < c.count; i++) {
        const census_crop *crop = &c.at[i];
        uint32_t row = crop->row;
        int tracked = row >= 2 && row <= 4;
        assert_true(crop->whole && row != 3 && row != 4 && c.stands[crop->place] == row);
        assert_int_equal(crop->pairs, n - 3 - (row < 2 || row == 2 || row == 7));
        for (uint32_t b = 0; b < n; b++) {
            const census_pair *p = pair_of(&c, crop, b);
            int linked =
                (row < 2 && b < 2) || b == 3 || b == 4 || b == row || (row == 2 && b == 7) || (row == 7 && b == 2);
            assert_true(linked == !p);
            if (!p) continue;
            int together = (row == 0 && b >= 2 && b <= 4) || (b == 0 && tracked);
            int apart = row == 6 || b == 6 || (row == 5 && (b == 0 || (b >= 2 && b <= 4))) ||
                        (b == 5 && (row == 0 || tracked));
            assert_int_equal(p->answer, together ? 1 : apart ? 0 : -1);
        }
        assert_true((row == 6) == crop->none && (row != 6 || crop->open == 0));
    }
    census_free(&c);
}

/* --- the estimate ------------------------------------------------------------------------------------------------- */

/* If everything was asked, number and interval are exact. Crops marked as not a crop do not count. */
static void test_everything_asked(void **unused) {
    static herd h;
    census c;
    census_result result;
    (void)unused;
    make_herd(&h, 9, 17, 3, 1.2, 0.4);
    const census_request r = request_of(&h, MOST, MOST);
    assert_true(census_make(&c, &r));
    assert_true(census_estimate(&c, &result));
    assert_int_equal(result.state, CENSUS_TOO_FEW);
    assert_int_equal(result.open, h.c.count * (h.c.count - 1));
    assert_int_equal(result.needed, CENSUS_LEAST * (h.c.count - 1));
    answer_all(&c, &h);
    assert_true(census_estimate(&c, &result));
    assert_int_equal(result.state, CENSUS_GOOD);
    assert_near(result.e.count, 17, 1e-9);
    assert_near(result.e.low, 17, 1e-9);
    assert_near(result.e.high, 17, 1e-9);
    assert_near(result.e.reached, 1, 1e-12);
    assert_int_equal(result.crops_for_tenth, 0);
    for (size_t i = 0; i < c.count; i++) { /* individual 3 is no animal */
        c.at[i].none = h.truth[c.at[i].row] == 3;
        for (size_t k = c.at[i].first; k < c.at[i].first + c.at[i].pairs && c.at[i].none; k++) c.pairs[k].answer = 0;
    }
    assert_true(census_estimate(&c, &result));
    assert_near(result.e.count, 16, 1e-9);
    census_free(&c);
}

/* Crops with missing answers are left out; the others represent all. */
static void test_missing_answers(void **unused) {
    static herd h;
    census c;
    census_result all, some;
    (void)unused;
    make_herd(&h, 10, 60, 5, 0.5, 0.5);
    const census_request r = request_of(&h, 60, 20);
    assert_true(census_make(&c, &r));
    answer_all(&c, &h);
    assert_true(census_estimate(&c, &all));
    assert_int_equal(all.e.crops, 60);
    for (size_t i = 30; i < 60; i++) c.at[i].open = 1;
    assert_true(census_estimate(&c, &some));
    assert_int_equal(some.state, CENSUS_GOOD);
    assert_int_equal(some.e.crops, 30);
    assert_int_equal(some.open, 30);
    assert_true(some.e.half > all.e.half);
    assert_true(fabs(some.e.count - 60) < some.e.half && fabs(all.e.count - 60) < all.e.half);
    for (size_t i = 0; i < 60; i++) c.at[i].open = i >= 9;
    assert_true(census_estimate(&c, &some));
    assert_int_equal(some.state, CENSUS_TOO_FEW);
    assert_int_equal(some.needed, 1);
    census_free(&c);
}

/* A sample in which every guess was right does not prove that all are. */
static void test_guesses_are_right(void **unused) {
    counted_crop at[50];
    count_estimate e;
    (void)unused;
    for (size_t i = 0; i < 50; i++) {
        const counted_crop one = {.chance = 0.1, .part = 0.2, .whole = 0, .found = 4, .behind = 4};
        at[i] = one;
    }
    count_estimate_of(&e, at, 50, 1000);
    assert_near(e.count, 100, 1e-9);
    assert_near(e.low, 94, 1e-9);
    assert_near(e.high, 100 * exp(0.06), 1e-9);
    for (size_t i = 0; i < 50; i++) at[i].chance = 1, at[i].whole = 1; /* but these are all that there are */
    count_estimate_of(&e, at, 50, 50);
    assert_near(e.low, 10, 1e-9);
    assert_near(e.high, 10, 1e-9);
}

static void test_no_match(void **unused) {
    static herd h;
    census c;
    census_result result;
    (void)unused;
    make_herd(&h, 12, 60, 1, 0.5, 0.5);
    const census_request r = request_of(&h, 30, 5), everything = request_of(&h, 60, 60);
    assert_true(census_make(&c, &r));
    answer_all(&c, &h);
    assert_true(census_estimate(&c, &result));
    assert_int_equal(result.state, CENSUS_NO_MATCH);
    census_free(&c);
    assert_true(census_make(&c, &everything));
    answer_all(&c, &h);
    assert_true(census_estimate(&c, &result));
    assert_int_equal(result.state, CENSUS_GOOD);
    assert_near(result.e.count, 60, 1e-9);
    census_free(&c);
}

static void test_questions(void **unused) {
    static herd h;
    census c;
    doubtful_pair *q;
    size_t count, pairs = 0;
    (void)unused;
    make_herd(&h, 13, 12, 4, 0.9, 0.35);
    const census_request r = request_of(&h, MOST, MOST);
    assert_true(census_make(&c, &r));
    assert_true(census_questions(&c, &q, &count));
    pairs = h.c.count * (h.c.count - 1);
    assert_int_equal(c.pair_count, pairs);
    assert_int_equal(count, pairs / 2); /* each once */
    for (size_t i = 0; i < h.c.count - 1; i++) { /* first those of the first crop, the most alike first */
        assert_true(q[i].a == c.at[0].row || q[i].b == c.at[0].row);
        assert_true(q[i].a < q[i].b && (i == 0 || q[i].score <= q[i - 1].score));
    }
    free(q);
    census_free(&c);
}

static void test_no_memory(void **unused) {
    static herd h;
    int done = 0;
    (void)unused;
    make_herd(&h, 14, 12, 4, 0.9, 0.35);
    decided_pair different[] = {{h.ids[0], h.ids[1], 0}};
    decision_state decided = {.different = different, .differents = 1};
    static uint32_t tracks[MOST];
    census_request r = request_of(&h, 20, 10);
    r.state = &decided, r.tracks = tracks;
    for (size_t i = 0; i < h.c.count; i++) tracks[i] = UINT32_MAX;
    char said[256];
    say_listen(said, sizeof said);
    for (long at = 1; !done; at++) {
        census c;
        census_result result;
        doubtful_pair *q = NULL;
        size_t count;
        refuse_from(at, 0);
        done = census_make(&c, &r) && census_questions(&c, &q, &count) && census_estimate(&c, &result);
        refuse_from(0, 0);
        free(q);
        census_free(&c);
        assert_true(at > 8 || !done);
        assert_true(at < 100);
    }
    say_listen(NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_part_is_unbiased), cmocka_unit_test(test_chances), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_samples_are_nested), cmocka_unit_test(test_what_is_asked), cmocka_unit_test(test_links),
        cmocka_unit_test(test_everything_asked), cmocka_unit_test(test_missing_answers),
        cmocka_unit_test(test_guesses_are_right),
        cmocka_unit_test(test_no_match), cmocka_unit_test(test_questions), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_simulations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
