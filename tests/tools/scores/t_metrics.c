/* t_metrics.c: every measure against cases worked out by hand, against slow versions written from the definitions, and
   against torchreid and scikit-learn (tests/golden/metrics.txt).

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/scores/t_metrics.c tools/evaluate/evaluation.c
      tools/scores/metrics.c tools/base/random.c tools/evaluate/linkage.c tools/base/union_find.c
      tools/scores/rerank.c tools/scores/scores.c tools/base/files.c tools/base/replace.c tools/base/source.c
      tools/base/file_kind.c tools/base/say.c tools/base/text.c tools/base/memory.c tools/base/clock.c
      tools/base/threads.c tools/base/container.c -o build/t_metrics -lcmocka -lm -lpthread */
#include "base/random.h"
#include "evaluate/evaluation.h"
#include "scores/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_rows.h"

static void near(double got, double want, double most) {
    if (!(fabs(got - want) <= most)) fail_msg("%.12g instead of %.12g", got, want);
}

/* Wrappers that return the results; memory must not run out. */
static open_set open_of(const open_query *queries, size_t count, size_t identities, double threshold) {
    open_set s;
    assert_true(open_set_of(&s, queries, count, identities, threshold));
    return s;
}

static clustering cut(const linkage *l, const size_t *identity, size_t identities, double threshold) {
    clustering c;
    assert_true(linkage_cut(&c, l, identity, identities, threshold));
    return c;
}

static interval interval_of(const double *value, const size_t *group, size_t count, size_t groups, int draws) {
    interval i;
    assert_true(mean_interval(&i, value, group, count, groups, draws));
    return i;
}

/* ---- one query --------------------------------------------------------------------------------------------------- */
static void ranks_by_hand(void **state) {
    /* best first: 4 (0.9), 1, 3 (0.5 twice, in the gallery's order), 0, 5; 2 takes no part */
    static const float scores[] = {0.3f, 0.5f, -INFINITY, 0.5f, 0.9f, 0.1f};
    static const size_t match[] = {0, 3, 5};
    size_t ranks[3];
    (void)state;
    rank_matches(scores, 6, match, 3, ranks);
    assert_true(ranks[0] == 3 && ranks[1] == 4 && ranks[2] == 5);
    rank_matches(scores, 6, match + 1, 1, ranks);
    assert_true(ranks[0] == 3);
    rank_matches(scores, 6, match, 0, ranks); /* no match: nothing is touched */
    assert_true(ranks[0] == 3);
}

static void measures_by_hand(void **state) {
    static const size_t ranks[] = {1, 3, 6}, late[] = {2};
    query_result r = query_measure(ranks, 3);
    (void)state;
    near(r.ap, (1 + 2.0 / 3 + 3.0 / 6) / 3, 1e-15);
    near(r.ap_trapezoid, (1 + (2.0 / 3 + 1.0 / 2) / 2 + (3.0 / 6 + 2.0 / 5) / 2) / 3, 1e-15);
    near(r.inp, 3.0 / 6, 1e-15);
    assert_int_equal(r.first, 1);
    r = query_measure(late, 1);
    near(r.ap, 0.5, 1e-15);
    near(r.ap_trapezoid, 0.25, 1e-15);
    query_result three[] = {query_measure(ranks, 3), query_measure(NULL, 0), query_measure(late, 1)};
    retrieval all = retrieval_of(three, 3);
    assert_true(all.queries == 3 && all.valid == 2);
    near(all.cmc[0], 0.5, 1e-15);
    near(all.cmc[1], 1, 1e-15);
    near(all.cmc[CMC_RANKS - 1], 1, 1e-15);
    near(all.map, (three[0].ap + 0.5) / 2, 1e-15);
    near(all.map_trapezoid, (three[0].ap_trapezoid + 0.25) / 3, 1e-15);
    near(all.minp, 0.5, 1e-15);
    assert_true(isnan(retrieval_of(three + 1, 1).map) && isnan(retrieval_of(three, 0).cmc[0]));
}

/* Computes the whole ranking, place by place; many scores are equal. */
static void ranks_of_random_scores(void **state) {
    enum { N = 60 };
    uint64_t seed = 5;
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        float scores[N];
        size_t match[N], matches = 0, ranks[N], n = 1 + random_below(&seed, N), found = 0, rank = 0;
        char done[N] = {0}, is_match[N] = {0};
        for (size_t i = 0; i < n; i++) {
            scores[i] = (float)random_below(&seed, 8);
            size_t kind = random_below(&seed, 4);
            if (kind == 0) scores[i] = (float)-INFINITY;
            if (kind == 1) match[matches++] = i;
            is_match[i] = kind == 1;
        }
        rank_matches(scores, n, match, matches, ranks);
        for (;;) {
            size_t best = n;
            for (size_t i = 0; i < n; i++)
                if (!done[i] && !isinf(scores[i]) && (best == n || scores[i] > scores[best])) best = i;
            if (best == n) break;
            done[best] = 1;
            rank++;
            if (is_match[best]) assert_int_equal(ranks[found++], rank);
        }
        assert_int_equal(found, matches);
    }
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */
static void curves_by_hand(void **state) {
    roc r, other;
    (void)state;
    assert_true(roc_begin(&r, 1));
    assert_true(isnan(roc_auc(&r)) && isnan(roc_eer(&r)) && isnan(roc_tpr(&r, 0.5)));
    /* from the top: g i g g i i g i */
    static const struct { float score; int genuine; } list[] = {{0.8f, 1}, {0.7f, 0}, {0.6f, 1}, {0.5f, 1},
                                                                {0.4f, 0}, {0.3f, 0}, {0.2f, 1}, {-0.9f, 0}};
    assert_true(roc_begin(&other, 1));
    for (int i = 0; i < 8; i++) roc_add(i % 2 ? &other : &r, list[i].score, i == 2 ? 0 : list[i].genuine);
    roc_move(&r, 0.6f);
    roc_merge(&r, &other);
    near(roc_auc(&r), (4 + 3 + 3 + 1) / 16.0, 1e-12);
    near(roc_tpr(&r, 0), 0.25, 0);
    near(roc_tpr(&r, 0.249), 0.25, 0);
    near(roc_tpr(&r, 0.25), 0.75, 0);
    near(roc_tpr(&r, 1), 1, 0);
    near(roc_eer(&r), 0.25, 1e-12); /* after 0.5: one of four impostors in, one of four genuine out */
    roc_free(&other);
    roc_free(&r);
    assert_true(roc_begin(&r, 1));
    roc_add(&r, 1.0f, 1);
    roc_add(&r, -1.0f, 0);
    roc_add(&r, 7.0f, 1); /* beyond: the last step */
    near(roc_eer(&r), 0, 0);
    near(roc_auc(&r), 1, 0);
    near(roc_tpr(&r, 0), 1, 0);
    roc_add(&r, 1.0f, 0);
    near(roc_tpr(&r, 0), 0, 0); /* an impostor as high as the best */
    near(roc_auc(&r), 0.75, 0);
    near(roc_eer(&r), 1.0 / 3, 1e-12); /* half of a tie would be 1/2 in, 0 out; the line crosses at a third */
    roc_free(&r);
}

static void area_with_ties(void **state) {
    float high[] = {3, 1, 2}, low[] = {2, 0, 1, 1};
    (void)state;
    near(auc_of(high, 3, low, 4), (4 + (1 + 1) + 3.5) / 12, 1e-15);
    assert_true(isnan(auc_of(high, 0, low, 4)) && isnan(auc_of(high, 3, low, 0)));
}

/* ---- open set ---------------------------------------------------------------------------------------------------- */
static void open_set_by_hand(void **state) {
    /* identity 0: two known queries, one right; 1: one known, right; 2: two new */
    static const open_query q[] = {{0.9f, 0, 1, 1}, {0.8f, 0, 1, 0}, {0.5f, 1, 1, 1}, {0.7f, 2, 0, 0}, {0.3f, 2, 0, 0}};
    open_set s = open_of(q, 5, 3, 0.6);
    (void)state;
    assert_true(s.known == 3 && s.unknown == 2 && !s.chosen);
    near(s.baks, (0.5 + 0) / 2, 1e-15);
    near(s.baus, 0.5, 1e-15);
    near(s.auc, (2 + 2 + 1) / 6.0, 1e-15);
    s = open_of(q, 5, 3, 0.5); /* a score equal to the threshold is accepted */
    near(s.baks, 0.75, 1e-15);
    s = open_of(q, 5, 3, (double)NAN);
    assert_true(s.chosen);
    near(s.threshold, 0.5, 1e-7); /* sqrt(0.75 · 0.5) beats sqrt(0.25 · 1) */
    near(s.baks, 0.75, 1e-15);
    near(s.baus, 0.5, 1e-15);
    s = open_of(q, 3, 3, (double)NAN); /* nobody new: accept all */
    assert_true(isnan(s.baus) && isnan(s.auc));
    near(s.baks, 0.75, 1e-15);
    s = open_of(q + 3, 2, 3, (double)NAN); /* nobody known: accept none */
    assert_true(isnan(s.baks) && s.baus == 1 && s.threshold > (double)0.7f);
    static const open_query lonely[] = {{(float)-INFINITY, 0, 0, 0}};
    s = open_of(lonely, 1, 1, 0.5);
    near(s.baus, 1, 0);
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */
static double choose2(size_t n) { return (double)n * ((double)n - 1) / 2; }

/* Computed from the table of how many images each cluster shares with each identity. */
static double naive_ari(const size_t *a, const size_t *b, size_t n) {
    double both = 0, in_a = 0, in_b = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            both += a[i] == a[k] && b[i] == b[k];
            in_a += a[i] == a[k];
            in_b += b[i] == b[k];
        }
    return adjusted_rand(both, in_a, in_b, choose2(n));
}

static void rand_index(void **state) {
    static const size_t a[] = {0, 0, 1, 1}, b[] = {0, 0, 1, 2}, c[] = {0, 1, 0, 1}, d[] = {5, 5, 2, 2};
    static const size_t e[] = {0, 1, 2, 3};
    (void)state; /* values: sklearn.metrics.adjusted_rand_score */
    near(naive_ari(a, b, 4), 0.5714285714285714, 1e-15);
    near(naive_ari(a, c, 4), -0.5, 1e-15);
    near(naive_ari(a, d, 4), 1, 1e-15);
    near(naive_ari(e, e, 4), 1, 0);
    near(naive_ari(a, e, 4), 0, 1e-15);
    near(adjusted_rand(0, 0, 0, 0), 1, 0);
}

/* Components of the graph of scores ≥ threshold. */
static size_t components(const float *scores, size_t n, double threshold, size_t *group) {
    size_t count = n;
    for (size_t i = 0; i < n; i++) group[i] = i;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            size_t from = group[i], to = group[k];
            if ((double)scores[i * n + k] < threshold || from == to) continue;
            for (size_t x = 0; x < n; x++)
                if (group[x] == from) group[x] = to;
            count--;
        }
    return count;
}

static void linkage_is_components(void **state) {
    uint64_t seed = 11;
    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        enum { MOST = 25 };
        float scores[MOST * MOST];
        size_t who[MOST], group[MOST], n = 1 + random_below(&seed, MOST);
        double best = -2;
        linkage l;
        assert_true(linkage_begin(&l, n));
        for (size_t i = 0; i < n; i++) {
            who[i] = random_below(&seed, 6);
            for (size_t k = 0; k < i; k++) scores[i * n + k] = (float)random_below(&seed, 12) / 8; /* ties */
            linkage_row(&l, scores + i * n);
        }
        for (int t = 0; t <= 13; t++) {
            clustering c = cut(&l, who, 6, t / 8.0);
            assert_int_equal(c.clusters, components(scores, n, t / 8.0, group));
            near(c.ari, naive_ari(group, who, n), 1e-12);
            if (c.ari > best) best = c.ari;
        }
        clustering c = cut(&l, who, 6, (double)NAN);
        near(c.ari, best, 1e-12);
        assert_int_equal(c.clusters, components(scores, n, c.threshold, group));
        linkage_free(&l);
    }
}

/* ---- chance ------------------------------------------------------------------------------------------------------ */
static void intervals(void **state) {
    enum { N = 400 };
    double value[N], numbers[] = {5, 1, 4, 2, 3};
    size_t own[N], one[N] = {0}, pairs[N];
    (void)state;
    interval i = middle_95(numbers, 5); /* numpy.percentile([1, 2, 3, 4, 5], [2.5, 97.5]) */
    near(i.low, 1.1, 1e-12);
    near(i.high, 4.9, 1e-12);
    assert_true(isnan(middle_95(numbers, 0).low));
    for (size_t k = 0; k < N; k++) {
        value[k] = (double)(k / 2 % 2);
        own[k] = k;
        pairs[k] = k / 2;
    }
    i = interval_of(value, own, N, N, 2000); /* 0.5 ± 1.96 · 0.5 / sqrt(400) */
    near(i.low, 0.451, 0.006);
    near(i.high, 0.549, 0.006);
    interval wide = interval_of(value, pairs, N, N, 2000); /* 200 identities that agree with themselves */
    near(wide.high - wide.low, 2 * 1.96 * 0.5 / sqrt(200), 0.015);
    assert_true(isnan(interval_of(value, one, N, 1, 100).low)); /* one identity gives no interval */
    interval again = interval_of(value, own, N, N, 2000);
    assert_true(again.low == i.low && again.high == i.high);
    for (size_t k = 0; k < N; k++) {
        value[k] = 0.25;
        own[k] = k * k / N; /* some have more images than others */
    }
    i = interval_of(value, own, N, N, 100);
    assert_true(i.low == 0.25 && i.high == 0.25);
}

/* ---- all of it, on the rows of make_metrics.py ------------------------------------------------------------------- */
typedef struct fixture {
    eval_set set;
    labelled labels[ROWS];
    eval_image images[ROWS];
    char names[ROWS][8];
    evaluation_rules o;
    evaluation e;
} fixture;

static void set_up(fixture *f, int unit) {
    memset(f, 0, sizeof *f);
    make_rows(7);
    f->set.at = f->images;
    f->set.rows = malloc(sizeof row_values);
    memcpy(f->set.rows, row_values, sizeof row_values);
    f->set.count = ROWS;
    f->set.dim = ROWS_DIM;
    f->set.queries = f->set.gallery = ROWS_QUERIES;
    f->set.identities = ROWS_IDENTITIES;
    f->set.cameras = ROWS_CAMERAS;
    f->set.every_camera = 1;
    f->set.makers.models = 1;
    f->set.makers.model[0].dim = ROWS_DIM;
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(f->names[i], sizeof f->names[i], "%zu", i);
        f->labels[i].id = f->labels[i].camera = f->names[i];
        f->labels[i].distractor = row_identity[i] == 0;
        f->images[i] = (eval_image){&f->labels[i], i, row_identity[i], row_camera[i]};
        double sum = 0;
        for (size_t k = 0; k < ROWS_DIM; k++) sum += pow((double)row_values[i * ROWS_DIM + k], 2);
        for (size_t k = 0; k < ROWS_DIM && unit; k++) f->set.rows[i * ROWS_DIM + k] /= (float)sqrt(sum);
    }
    f->o.threshold = (double)NAN;
    f->o.k1 = 20;
    f->o.k2 = 6;
    f->o.lambda = 0.3;
    f->o.alpha = 3;
    f->o.draws = 50;
    f->o.threads = 2;
}

static int run(fixture *f) {
    static const double weights[MAX_MODELS] = {1, 0};
    return evaluate(&f->e, &f->set, &f->o, weights);
}

static void tear_down(fixture *f) {
    evaluation_free(&f->e);
    free(f->set.rows);
}

static void ranking_is(const fixture *f, const char *what) {
    double cmc[CMC_RANKS], map[3];
    char name[32];
    snprintf(name, sizeof name, "%s_cmc", what);
    assert_int_equal(read_rows_golden(name, cmc, CMC_RANKS), CMC_RANKS);
    snprintf(name, sizeof name, "%s_map", what);
    assert_int_equal(read_rows_golden(name, map, 3), 3);
    for (int k = 0; k < CMC_RANKS; k++) near(f->e.ranks.cmc[k], cmc[k], 1e-6);
    near(f->e.ranks.map, map[0], 1e-8);
    near(f->e.ranks.map_trapezoid, map[1], 1e-8);
    near(f->e.ranks.minp, map[2], 1e-8);
}

static void equals_the_packages(void **state) {
    static fixture f;
    double want[8];
    (void)state;
    set_up(&f, 0);
    assert_true(run(&f) && f.e.by_camera);
    ranking_is(&f, "plain");
    read_rows_golden("pairs", want, 7);
    assert_true((double)f.e.genuine == want[0] && (double)f.e.impostor == want[1]);
    for (int i = 0; i < FPRS; i++) near(f.e.tpr[i], want[2 + i], 1e-8);
    near(f.e.auc, want[5], 1e-5);
    near(f.e.eer, want[6], 1e-3); /* a step of the counts may hold a genuine pair and an impostor */
    read_rows_golden("open_auc", want, 1);
    near(f.e.open.auc, want[0], 1e-8);
    read_rows_golden("open_chosen", want, 3);
    near(f.e.open.threshold, want[0], 1e-8);
    near(f.e.open.baks, want[1], 1e-8);
    near(f.e.open.baus, want[2], 1e-8);
    read_rows_golden("clusters_chosen", want, 3);
    near(f.e.clusters.threshold, want[0], 1e-8);
    assert_true((double)f.e.clusters.clusters == want[1]);
    near(f.e.clusters.ari, want[2], 1e-8);
    assert_true(f.e.rank1.low < f.e.ranks.cmc[0] && f.e.ranks.cmc[0] < f.e.rank1.high);
    tear_down(&f);
}

static void given_threshold(void **state) {
    static fixture f;
    double want[3];
    (void)state;
    read_rows_golden("open_given", want, 3);
    set_up(&f, 0);
    f.o.threshold = want[0];
    assert_true(run(&f) && !f.e.open.chosen && !f.e.clusters.chosen);
    near(f.e.open.baks, want[1], 1e-8);
    near(f.e.open.baus, want[2], 1e-8);
    tear_down(&f);
    read_rows_golden("clusters_given", want, 3);
    set_up(&f, 0);
    f.o.threshold = want[0];
    assert_true(run(&f));
    assert_true((double)f.e.clusters.clusters == want[1]);
    near(f.e.clusters.ari, want[2], 1e-8);
    tear_down(&f);
}

static void better_rankings(void **state) {
    static fixture f;
    (void)state;
    set_up(&f, 0);
    f.o.rerank = 1;
    assert_true(run(&f));
    ranking_is(&f, "rerank");
    tear_down(&f);
    set_up(&f, 1);
    f.o.expand = 5;
    assert_true(run(&f));
    ranking_is(&f, "expanded");
    tear_down(&f);
}

static void same_for_any_threads(void **state) {
    static fixture f, g;
    (void)state;
    for (int threads = 1; threads <= 9; threads += 4) {
        set_up(&f, 1);
        set_up(&g, 1);
        g.o.threads = threads;
        f.o.rerank = g.o.rerank = f.o.expand = g.o.expand = 3;
        assert_true(run(&f) && run(&g));
        assert_memory_equal(f.e.results, g.e.results, ROWS_QUERIES * sizeof *f.e.results);
        assert_true(f.e.auc == g.e.auc && f.e.clusters.ari == g.e.clusters.ari && f.e.open.baks == g.e.open.baks);
        tear_down(&f);
        tear_down(&g);
    }
}

/* Every image is a query and in the gallery; some identities have one image. */
static void one_picture_of_each(void **state) {
    static fixture f;
    size_t size[ROWS_IDENTITIES] = {0}, lonely = 0;
    (void)state;
    set_up(&f, 0);
    f.set.count = f.set.queries = 12;
    f.set.gallery = 0;
    f.o.leave_out = 2; /* picture */
    for (size_t i = 0; i < 12; i++) size[row_identity[i]]++;
    for (size_t i = 0; i < 12; i++) lonely += size[row_identity[i]] == 1;
    assert_true(run(&f) && !f.e.by_camera && lonely > 0 && lonely < 12);
    assert_int_equal(f.e.open.unknown, lonely);
    assert_int_equal(f.e.ranks.valid, 12 - lonely);
    assert_int_equal(f.e.genuine + f.e.impostor, 12 * 11); /* never with itself */
    tear_down(&f);
    set_up(&f, 0);
    f.set.count = f.set.queries = 5;
    f.set.gallery = 0;
    for (size_t i = 0; i < 5; i++) f.images[i].identity = i;
    assert_false(run(&f)); /* nothing to find: refused */
    tear_down(&f);
    set_up(&f, 0);
    f.labels[3].camera = NULL;
    f.o.leave_out = 1; /* camera */
    assert_false(run(&f));
    tear_down(&f);
    set_up(&f, 0);
    f.set.gallery = ROWS;
    assert_false(run(&f));
    tear_down(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_by_hand), cmocka_unit_test(measures_by_hand), cmocka_unit_test(ranks_of_random_scores),
        cmocka_unit_test(curves_by_hand), cmocka_unit_test(area_with_ties), cmocka_unit_test(open_set_by_hand),
        cmocka_unit_test(rand_index), cmocka_unit_test(linkage_is_components), cmocka_unit_test(intervals),
        cmocka_unit_test(equals_the_packages), cmocka_unit_test(given_threshold), cmocka_unit_test(better_rankings),
        cmocka_unit_test(same_for_any_threads), cmocka_unit_test(one_picture_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
