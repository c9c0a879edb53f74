/* t_group.c: reid_group against a plain greedy loop over a matrix of all scores, and against scipy: rows at random, in
   clusters, on lattices where most scores are equal, all alike; with must- and cannot-links; on every instruction set
   and with any number of threads. Contradictions, invalid arguments, memory that runs out, callers that stop.
   With SEARCH_DEVICE=cuda in the environment the first of these run on a GPU: tests/gpu/t_cuda_search.sh.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_group.c tests/lib/test_impl.c -o build/t_group -lcmocka -lm
      -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include <setjmp.h>
#include <cmocka.h>
#include "../lib/test_util.h"

enum { MOST_ROWS = 200, MOST_DIM = 64 };

typedef enum set_kind { RANDOM, CLUSTERS, LATTICE, ALIKE, SPARSE, AXES, FEW_CLUSTERS, NEAR, NEAR_CLUSTERS } set_kind;

typedef struct bed {
    size_t count;
    int dim;
    float rows[MOST_ROWS * MOST_DIM];
    uint16_t halves[MOST_ROWS * MOST_DIM];
    uint32_t must[MOST_ROWS * 2], cannot[MOST_ROWS * 2], apart[MOST_ROWS], frames[MOST_ROWS];
    reid_group_desc desc;
    uint32_t want[MOST_ROWS], got[MOST_ROWS];   /* groups */
    reid_merge wanted[MOST_ROWS], merges[MOST_ROWS];
    size_t want_merges, merged;
} bed;

static bed b;
static reid_error error;
static uint64_t chance_state;

static uint64_t chance(void) { /* splitmix64, as in tests/golden/make_groups.py */
    uint64_t z = chance_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t below(uint32_t limit) { return (uint32_t)(chance() % limit); }
static float spread(void) { return (float)((double)(chance() >> 11) / 4503599627370496.0 - 1); }
static int on_gpu(void) { return getenv("SEARCH_DEVICE") != NULL; }

static reid_desc new_desc(void) {
    reid_desc desc = REID_INIT;
    desc.device = on_gpu() ? REID_DEVICE_CUDA : REID_DEVICE_CPU;
    desc.kernels_path = "reid_kernels.cu";
    desc.error = &error;
    return desc;
}

static reid_rows new_rows(void) {
    reid_rows rows = REID_INIT;
    rows.floats = b.rows, rows.count = b.count, rows.dim = b.dim;
    return rows;
}

/* --- the reference: a matrix, whose best score is taken again and again ------------------------------------------- */

static double score[MOST_ROWS][MOST_ROWS], sums[MOST_ROWS][MOST_DIM];
static double sizes[MOST_ROWS];
static float units[MOST_ROWS][MOST_DIM];
static int enemies[MOST_ROWS][MOST_ROWS];
static uint32_t home[MOST_ROWS];

static void score_of(size_t i, size_t j) {
    double sum = 0;
    for (int k = 0; k < b.dim; k++) sum += sums[i][k] * sums[j][k];
    sum /= sizes[i] * sizes[j];
    score[i][j] = score[j][i] = floor(sum * 1099511627776.0 + 0.5) / 1099511627776.0;
}

static void join_plainly(uint32_t x, uint32_t y, int must_link) {
    reid_merge merge = {x < y ? x : y, x < y ? y : x, must_link, score[x][y]};
    x = merge.a, y = merge.b;
    b.wanted[b.want_merges++] = merge;
    for (int k = 0; k < b.dim; k++) sums[x][k] += sums[y][k];
    sizes[x] += sizes[y];
    for (size_t i = 0; i < b.count; i++) {
        if (home[i] == y) home[i] = x;
        if (enemies[y][i]) enemies[x][i] = enemies[i][x] = 1;
    }
    for (size_t i = 0; i < b.count; i++)
        if (home[i] == i && i != x) score_of(x, i);
}

/* Equal rows without a must_link: each joins the first group of such rows that it can. */
static void join_equals_plainly(void) {
    for (uint32_t i = 0; i < b.count; i++)
        for (uint32_t k = 0; k < i && sizes[i] == 1 && home[i] == i; k++) {
            int must_link = 0;
            for (size_t m = 0; m < 2 * b.desc.must_links; m++) must_link |= b.must[m] == k || b.must[m] == i;
            if (!must_link && score[i][home[k]] >= b.desc.threshold && !enemies[i][home[k]] &&
                memcmp(units[i], units[k], (size_t)b.dim * sizeof(float)) == 0)
                join_plainly(home[k], i, 0);
        }
}

static void group_plainly(void) {
    b.want_merges = 0;
    memset(enemies, 0, sizeof enemies);
    for (uint32_t i = 0; i < b.count; i++) {
        const float *row = &b.rows[i * (size_t)b.dim];
        double square = 0;
        for (int k = 0; k < b.dim; k++) square += (double)row[k] * row[k];
        for (int k = 0; k < b.dim; k++) sums[i][k] = units[i][k] = (float)(row[k] * (1 / sqrt(square)));
        sizes[i] = 1, home[i] = i;
        for (size_t j = 0; j < i; j++) score_of(i, j);
    }
    for (size_t i = 0; i < b.desc.must_links; i++)
        if (home[b.must[2 * i]] != home[b.must[2 * i + 1]])
            join_plainly(home[b.must[2 * i]], home[b.must[2 * i + 1]], 1);
    for (size_t i = 0; i < b.desc.cannot_links; i++) {
        uint32_t x = home[b.cannot[2 * i]], y = home[b.cannot[2 * i + 1]];
        enemies[x][y] = enemies[y][x] = 1;
    }
    for (size_t i = 0; i < b.count && b.desc.separate_ids; i++)
        for (size_t j = 0; j < b.count; j++)
            if (b.apart[i] != UINT32_MAX && b.apart[j] != UINT32_MAX && b.apart[i] != b.apart[j])
                enemies[home[i]][home[j]] = 1;
    for (size_t i = 0; i < b.count && b.desc.frame_ids; i++)
        for (size_t j = 0; j < b.count; j++)
            if (i != j && b.frames[i] != UINT32_MAX && b.frames[i] == b.frames[j]) enemies[home[i]][home[j]] = 1;
    join_equals_plainly();
    for (;;) {
        uint32_t x = 0, y = 0;
        for (uint32_t i = 0; i < b.count; i++)
            for (uint32_t j = i + 1; j < b.count; j++)
                if (home[i] == i && home[j] == j && !enemies[i][j] && (x == y || score[i][j] > score[x][y]))
                    x = i, y = j;
        if (x == y || score[x][y] < b.desc.threshold) break;
        join_plainly(x, y, 0);
    }
    uint32_t groups = 0;
    for (uint32_t i = 0; i < b.count; i++) b.want[i] = home[i] == i ? groups++ : b.want[home[i]];
}

/* --- sets --------------------------------------------------------------------------------------------------------- */

static void make_rows(set_kind kind, size_t count, int dim, uint64_t seed) {
    static float centres[MOST_ROWS][MOST_DIM];
    uint32_t several = kind == FEW_CLUSTERS || kind == NEAR_CLUSTERS ? 3 : (uint32_t)count / 8 + 1;
    chance_state = seed;
    float hair = powf(0.1f, (float)(2 + below(4))); /* cosines differ by its square */
    b.count = count, b.dim = dim;
    for (uint32_t c = 0; c < several; c++)
        for (int k = 0; k < dim; k++) centres[c][k] = spread();
    for (size_t i = 0; i < count; i++) {
        uint32_t who = below(several);
        float *row = &b.rows[i * (size_t)dim], longest = 0;
        for (int k = 0; k < dim; k++) {
            if (kind == RANDOM) row[k] = spread();
            else if (kind == LATTICE) row[k] = (float)below(3) - 1;
            else if (kind == ALIKE) row[k] = centres[0][k];
            else if (kind == NEAR) row[k] = centres[0][k] + hair * spread();
            else if (kind == NEAR_CLUSTERS) row[k] = centres[who][k] + hair * spread();
            else if (kind == SPARSE) row[k] = 0;
            else if (kind == AXES) row[k] = (size_t)k == i % (size_t)dim;
            else row[k] = centres[who][k] + 0.4f * spread();
            if (fabsf(row[k]) > longest) longest = fabsf(row[k]);
        }
        if (kind == SPARSE && below(2)) row[below((uint32_t)dim)] = 1;
        if (longest == 0) row[below((uint32_t)dim)] = 1;
    }
}

/* Pairs that do not contradict each other: rows a must_link joins are never kept apart. */
static void make_links(size_t must, size_t cannot) {
    uint32_t class[MOST_ROWS];
    size_t n = 0;
    for (uint32_t i = 0; i < b.count; i++) class[i] = i;
    for (; n < must && b.count > 1; n++) {
        uint32_t x = below((uint32_t)b.count), y = (x + 1 + below((uint32_t)b.count - 1)) % (uint32_t)b.count;
        uint32_t was = class[y];
        b.must[2 * n] = x, b.must[2 * n + 1] = y;
        for (size_t i = 0; i < b.count; i++)
            if (class[i] == was) class[i] = class[x];
    }
    b.desc.must_link = b.must, b.desc.must_links = n;
    for (n = 0; cannot-- > 0 && b.count > 1;) {
        uint32_t x = below((uint32_t)b.count), y = below((uint32_t)b.count);
        if (class[x] == class[y]) continue;
        b.cannot[2 * n] = x, b.cannot[2 * n + 1] = y;
        n++;
    }
    b.desc.cannot_link = b.cannot, b.desc.cannot_links = n;
    for (size_t i = 0; i < b.count; i++) b.apart[i] = class[i] % 5 == 0 ? class[i] % 4 : UINT32_MAX;
    if (chance() % 2) b.desc.separate_ids = b.apart;
    for (size_t i = 0; i < b.count; i++) { /* rows that a must_link joins are of different frames */
        uint32_t before = 0;
        for (size_t k = 0; k < i; k++) before += class[k] == class[i];
        b.frames[i] = below(3) ? 40 * before + below(40) : UINT32_MAX;
    }
    if (chance() % 2) b.desc.frame_ids = b.frames;
}

static void no_links(void) { memset(&b.desc, 0, sizeof b.desc); }

static int by_merge(const void *x, const void *y) {
    const reid_merge *m = x, *n = y;
    if (m->score != n->score) return m->score < n->score ? 1 : -1;
    return m->a != n->a ? (m->a > n->a) - (m->a < n->a) : (m->b > n->b) - (m->b < n->b);
}

/* Whether groups and joins are the expected ones. */
static void compare(const char *what, size_t number) {
    if (b.merged != b.want_merges)
        fail_msg("%s %zu: %zu rows of %d, threshold %g: %zu joins instead of %zu", what, number, b.count, b.dim,
                 b.desc.threshold, b.merged, b.want_merges);
    for (size_t i = 0; i < b.count; i++)
        if (b.got[i] != b.want[i])
            fail_msg("%s %zu: row %zu of %zu is in group %u, not %u", what, number, i, b.count, b.got[i], b.want[i]);
    size_t musts = 0;
    while (musts < b.want_merges && b.wanted[musts].must_link) musts++;
    qsort(b.wanted + musts, b.want_merges - musts, sizeof *b.wanted, by_merge);
    for (size_t i = 0; i < b.merged; i++) {
        const reid_merge *m = &b.merges[i], *n = &b.wanted[i];
        if (m->a != n->a || m->b != n->b || m->must_link != n->must_link || fabs(m->score - n->score) > 2e-12)
            fail_msg("%s %zu: join %zu is (%u, %u) at %.15g, not (%u, %u) at %.15g", what, number, i, m->a, m->b,
                     m->score, n->a, n->b, n->score);
    }
}

static void group_with(const reid_desc *desc) {
    reid_rows rows = new_rows();
    memset(b.got, 0xff, sizeof b.got);
    reid_result r = reid_group(desc, &rows, &b.desc, b.got, b.merges, &b.merged);
    if (r != REID_OK) fail_msg("%s: %s", reid_result_name(r), error.text);
}

static void try_set(set_kind kind, size_t number, int linked) {
    static const double thresholds[] = {-2, -0.3, 0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99};
    static const int dims[] = {1, 2, 3, 8, 17, 64};
    reid_desc desc = new_desc();
    chance_state = number * 977 + (uint64_t)kind;
    size_t count = 1 + below(MOST_ROWS);
    no_links();
    make_rows(kind, count, dims[below(6)], number * 31 + (uint64_t)kind);
    b.desc.threshold = thresholds[below(9)] + 1e-3 * (double)below(100) / 100;
    if (linked) make_links(below((uint32_t)count / 8 + 1), below((uint32_t)count));
    desc.threads = (int)(number % 3) + 1;
    group_plainly();
    group_with(&desc);
    compare(linked ? "with links" : "a set", number * 10 + (size_t)kind);
}

static void test_sets(void **state) {
    (void)state;
    for (size_t number = 0; number < (on_gpu() ? 2 : 7); number++)
        for (int kind = RANDOM; kind <= NEAR_CLUSTERS; kind++) try_set((set_kind)kind, number, 0);
}

static void test_links(void **state) {
    (void)state;
    for (size_t number = 100; number < (on_gpu() ? 102 : 107); number++)
        for (int kind = RANDOM; kind <= NEAR_CLUSTERS; kind++) try_set((set_kind)kind, number, 1);
}

/* Most rows have cosine 0 with most others; at this threshold all joins that are allowed happen, lowest rows first. */
static void test_ties(void **state) {
    (void)state;
    reid_desc desc = new_desc();
    for (uint64_t number = 0; number < 12; number++) {
        no_links();
        make_rows(number % 3 == 0 ? LATTICE : number % 3 == 1 ? SPARSE : AXES, 120, number % 3 ? 64 : 8, 500 + number);
        if (number % 2) make_links(4, 200);
        b.desc.threshold = number % 4 ? 0 : -0.3;
        group_plainly();
        group_with(&desc);
        compare("ties", number);
    }
}

/* Scores that differ by less than a search can distinguish, among 32 neighbours and more. */
static void test_near(void **state) {
    (void)state;
    reid_desc desc = new_desc();
    for (uint64_t number = 0; number < (on_gpu() ? 4 : 24); number++) {
        no_links();
        make_rows(number % 2 ? NEAR : NEAR_CLUSTERS, 120 + 3 * number, number % 3 ? 64 : 8, 900 + number);
        if (number % 4 == 3) make_links(4, 200);
        b.desc.threshold = number % 5 ? 0.5 : 0.99999999;
        group_plainly();
        group_with(&desc);
        compare("near", number);
    }
}

/* Grouping takes as long as comparing n rows with n rows a few times, however near they are: a second with sanitizers.
   With a pass over all rows for each join of each row, it takes a minute. */
static void test_near_time(void **state) {
    enum { COUNT = 600, DIM = 64 };
    static float rows[COUNT * DIM];
    static uint32_t groups[COUNT];
    (void)state;
    if (on_gpu()) return;
    reid_desc desc = new_desc();
    reid_rows all = REID_INIT;
    reid_group_desc d = REID_INIT;
    chance_state = 5;
    for (size_t i = 0; i < COUNT * DIM; i++) rows[i] = 1 + 1e-4f * spread();
    all.floats = rows, all.count = COUNT, all.dim = DIM, d.threshold = 0.5;
    clock_t start = clock();
    assert_int_equal(reid_group(&desc, &all, &d, groups, NULL, NULL), REID_OK);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(groups[i], 0);
    if (seconds > 8) fail_msg("%d rows that are nearly equal took %.1f s of a CPU", (int)COUNT, seconds);
}

/* Results are equal, bit for bit, on every instruction set, with any number of threads, and without a list of joins. */
static void test_everywhere(void **state) {
    static reid_merge first[MOST_ROWS];
    (void)state;
    no_links();
    make_rows(CLUSTERS, MOST_ROWS, MOST_DIM, 7);
    make_links(20, 60);
    b.desc.threshold = 0.4;
    reid_desc desc = new_desc();
    group_plainly();
    group_with(&desc);
    memcpy(first, b.merges, sizeof first);
    for (int isa = REID_ISA_SCALAR; isa <= REID_ISA_AVX512; isa++) {
        if (!net_isa(isa)) continue;
        for (int threads = 1; threads <= 5; threads += 2) {
            desc.cpu_isa = (reid_isa)isa, desc.threads = threads;
            group_with(&desc);
            compare("everywhere", (size_t)isa * 10 + (size_t)threads);
            for (size_t i = 0; i < b.merged; i++)
                assert_memory_equal(&b.merges[i].score, &first[i].score, sizeof(double));
        }
    }
    reid_rows rows = new_rows();
    assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, NULL, NULL), REID_OK);
    assert_memory_equal(b.got, b.want, b.count * sizeof *b.got);
}

static void read_golden_rows(const unsigned long long *made) {
    static int centres[MOST_ROWS][MOST_DIM];
    chance_state = made[0];
    b.count = (size_t)made[1], b.dim = (int)made[2];
    for (size_t c = 0; c < made[3]; c++)
        for (int k = 0; k < b.dim; k++) centres[c][k] = (int)below(4097) - 2048;
    for (size_t i = 0; i < b.count; i++) {
        uint32_t who = below((uint32_t)made[3]);
        for (int k = 0; k < b.dim; k++)
            b.rows[i * (size_t)b.dim + (size_t)k] =
                (float)(centres[who][k] + (int)below(2 * (uint32_t)made[4] + 1) - (int)made[4]) / 4096;
    }
}

static void test_scipy(void **state) {
    (void)state;
    FILE *f = fopen("tests/golden/groups.txt", "r");
    unsigned long long made[5];
    int lines = 0;
    assert_non_null(f);
    no_links();
    while (fscanf(f, "%llu %llu %llu %llu %llu %lf", &made[0], &made[1], &made[2], &made[3], &made[4],
                  &b.desc.threshold) == 6) {
        reid_desc desc = new_desc();
        assert_true(made[1] <= MOST_ROWS && made[2] <= MOST_DIM && made[3] <= MOST_ROWS);
        read_golden_rows(made);
        for (size_t i = 0; i < b.count; i++) assert_int_equal(fscanf(f, "%u", &b.want[i]), 1);
        group_with(&desc);
        for (size_t i = 0; i < b.count; i++)
            if (b.got[i] != b.want[i])
                fail_msg("groups.txt, line %d: row %zu is in group %u, not %u", lines + 1, i, b.got[i], b.want[i]);
        lines++;
    }
    fclose(f);
    assert_int_equal(lines, 40);
}

/* No rows, one row, very long and short ones, halves, the most components allowed, thousands of equal rows. */
static void test_extremes(void **state) {
    (void)state;
    reid_desc desc = new_desc();
    reid_rows rows = REID_INIT;
    size_t merged = 9;
    no_links();
    rows.dim = 3;
    assert_int_equal(reid_group(&desc, &rows, &b.desc, NULL, b.merges, &merged), REID_OK);
    assert_int_equal(merged, 0);
    make_rows(CLUSTERS, 60, 17, 3);
    b.desc.threshold = 0.5;
    group_plainly();
    for (size_t i = 0; i < b.count * (size_t)b.dim; i++) b.rows[i] *= i / 17 % 2 ? 0x1p40f : 0x1p-40f;
    group_with(&desc);
    compare("lengths", 0);
    make_rows(CLUSTERS, 60, 17, 4);
    reid_to_halves(b.rows, b.halves, b.count * (size_t)b.dim);
    reid_from_halves(b.halves, b.rows, b.count * (size_t)b.dim);
    group_plainly();
    rows = new_rows();
    rows.floats = NULL, rows.halves = b.halves;
    assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, b.merges, &b.merged), REID_OK);
    compare("halves", 0);
    enum { WIDE = REID_MAX_DIM, MANY = 3000 };
    float *wide = calloc(WIDE, 3 * sizeof *wide);
    uint32_t *groups = malloc(MANY * sizeof *groups);
    assert_non_null(wide);
    assert_non_null(groups);
    wide[0] = wide[WIDE] = wide[3 * (size_t)WIDE - 1] = 1, wide[WIDE + 1] = 1;
    rows.floats = wide, rows.halves = NULL, rows.count = 3, rows.dim = WIDE;
    assert_int_equal(reid_group(&desc, &rows, &b.desc, groups, NULL, NULL), REID_OK);
    assert_true(groups[0] == 0 && groups[1] == 0 && groups[2] == 1);
    for (size_t i = 0; i < MANY * 4; i++) wide[i] = (float)(i % 4) + 0.3f;
    rows.count = MANY, rows.dim = 4;
    assert_int_equal(reid_group(&desc, &rows, &b.desc, groups, NULL, NULL), REID_OK);
    for (size_t i = 0; i < MANY; i++) assert_int_equal(groups[i], 0);
    free(wide);
    free(groups);
}

/* Pairs whose rows are far apart in a list that is longer than what the first search takes at once; all other rows
   differ much. */
static void test_pairs(void **state) {
    enum { ROWS = 1100, WIDE = 330 };
    float *values = malloc(ROWS * WIDE * sizeof *values);
    uint32_t *groups = malloc(ROWS * sizeof *groups);
    reid_group_desc d = REID_INIT;
    reid_desc desc = new_desc();
    reid_rows rows = REID_INIT;
    (void)state;
    assert_non_null(values);
    assert_non_null(groups);
    chance_state = 5;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < WIDE; k++)
            values[i * WIDE + k] = i < ROWS / 2 ? spread() : values[(ROWS - 1 - i) * WIDE + k] + 0.1f * spread();
    d.threshold = 0.6, desc.threads = 2;
    rows.floats = values, rows.count = ROWS, rows.dim = WIDE;
    assert_int_equal(reid_group(&desc, &rows, &d, groups, NULL, NULL), REID_OK);
    for (uint32_t i = 0; i < ROWS; i++) assert_int_equal(groups[i], i < ROWS / 2 ? i : ROWS - 1 - i);
    free(values);
    free(groups);
}

/* Contradictory links are reported, by the shortest path. */
static void test_contradictions(void **state) {
    static const uint32_t must[][2] = {{0, 5}, {5, 6}, {6, 7}, {7, 3}, {6, 3}, {1, 2}}, cannot[][2] = {{1, 3}, {3, 0}};
    (void)state;
    reid_desc desc = new_desc();
    no_links();
    make_rows(RANDOM, 9, 4, 1);
    b.desc.must_link = must[0], b.desc.must_links = 6, b.desc.cannot_link = cannot[0], b.desc.cannot_links = 2;
    reid_rows rows = new_rows();
    assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, b.merges, &b.merged), REID_ERR_CONTRADICTION);
    assert_says_all(error.text, "rows 3 and 0 must be separate, but are linked: 3 - 6 - 5 - 0");
    assert_int_equal(b.merged, 3);
    static const uint32_t way[] = {3, 6, 5, 0};
    for (size_t i = 0; i < 3; i++) assert_true(b.merges[i].a == way[i] && b.merges[i].b == way[i + 1]);
    for (size_t i = 0; i < b.count; i++) assert_int_equal(b.got[i], 0);
    assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, NULL, NULL), REID_ERR_CONTRADICTION);
    for (uint32_t i = 0; i < 9; i++) b.apart[i] = i == 2 ? 7 : i == 1 || i == 3 ? 4 : UINT32_MAX;
    b.desc.cannot_links = 0, b.desc.separate_ids = b.apart;
    assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, NULL, NULL), REID_ERR_CONTRADICTION);
    assert_says_all(error.text, "rows 1 and 2 must be separate, but are linked: 1 - 2");
    b.desc.separate_ids = NULL, b.desc.frame_ids = b.frames;
    for (uint32_t i = 0; i < 9; i++) b.frames[i] = i == 0 || i == 6 ? 12 : i;
    assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, NULL, NULL), REID_ERR_CONTRADICTION);
    assert_says_all(error.text, "rows 0 and 6 must be separate, but are linked: 0 - 5 - 6");
    b.desc.frame_ids = NULL;
    make_rows(RANDOM, MOST_ROWS, 4, 1);
    for (uint32_t i = 0; i + 1 < MOST_ROWS; i++) b.must[2 * i] = i, b.must[2 * i + 1] = i + 1;
    b.cannot[0] = 0, b.cannot[1] = MOST_ROWS - 1;
    b.desc.must_link = b.must, b.desc.must_links = MOST_ROWS - 1;
    b.desc.cannot_link = b.cannot, b.desc.cannot_links = 1;
    rows = new_rows();
    assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, b.merges, &b.merged), REID_ERR_CONTRADICTION);
    assert_int_equal(b.merged, MOST_ROWS - 1);
    assert_says(error.text, "0 - 1 - 2 - ");
    assert_says(error.text, " - ... - 199");
}

static void refused(const reid_rows *rows, reid_result code, const char *text) {
    reid_desc desc = new_desc();
    size_t merged = 7;
    b.got[0] = b.got[rows->count - 1] = 7;
    reid_result r = reid_group(&desc, rows, &b.desc, b.got, b.merges, &merged);
    if (r != code || !says_all(error.text, text))
        fail_msg("%s: \"%s\" instead of \"%s\"", reid_result_name(r), error.text, text);
    assert_true(merged == 0 && b.got[0] == 0 && b.got[rows->count - 1] == 0);
}

static void test_refusals(void **state) {
    (void)state;
    reid_desc desc = new_desc();
    no_links();
    make_rows(RANDOM, 8, 4, 2);
    reid_rows rows = new_rows();
    assert_int_equal(reid_group(NULL, &rows, &b.desc, b.got, NULL, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_group(&desc, NULL, &b.desc, b.got, NULL, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_group(&desc, &rows, NULL, b.got, NULL, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_group(&desc, &rows, &b.desc, NULL, NULL, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, b.merges, NULL), REID_ERR_INVALID_ARG);
    assert_says(error.text, "both of merges and merged or neither");
    b.desc.threshold = (double)NAN;
    refused(&rows, REID_ERR_INVALID_ARG, "the threshold is nan, which is not a cosine");
    b.desc.threshold = 2.5;
    refused(&rows, REID_ERR_INVALID_ARG, "the threshold is 2.5, which is not a cosine");
    b.desc.threshold = 0.5;
    b.desc.must_links = 1;
    refused(&rows, REID_ERR_INVALID_ARG, "must_link is NULL, or has more than 2147483647 pairs");
    b.desc.must_link = b.must, b.must[0] = 3, b.must[1] = 8;
    refused(&rows, REID_ERR_INVALID_ARG, "must_link 0 has rows 3 and 8; it needs two different rows below 8");
    b.desc.must_links = 0, b.desc.cannot_link = b.cannot, b.desc.cannot_links = 1, b.cannot[0] = b.cannot[1] = 2;
    refused(&rows, REID_ERR_INVALID_ARG, "cannot_link 0 has rows 2 and 2; it needs two different rows below 8");
    b.desc.cannot_links = 0;
    rows.groups = b.must;
    refused(&rows, REID_ERR_INVALID_ARG, "rows.groups must be NULL: reid_group finds groups");
    rows.groups = NULL;
    b.rows[5] = (float)NAN;
    refused(&rows, REID_ERR_EMBEDDING, "row 1 is zero, not finite, or longer than 1e18");
    for (int k = 0; k < 4; k++) b.rows[4 + k] = 0;
    refused(&rows, REID_ERR_EMBEDDING, "row 1 is zero, not finite, or longer than 1e18");
    rows.dim = 0;
    refused(&rows, REID_ERR_INVALID_ARG, "8 rows of 0 floats; the limit is 4294967294 rows of 1 to 65536");
}

static int stop_at(void *user) {
    int *left = (int *)user;
    return --*left < 0;
}

/* Every allocation refused in turn, a limit, a caller that stops the grouping. Nothing leaks. */
static void test_memory(void **state) {
    (void)state;
    test_heap heap = {0};
    reid_desc desc = new_desc();
    no_links();
    make_rows(RANDOM, 200, 8, 9);
    make_links(10, 40);
    b.desc.threshold = -2;
    reid_rows rows = new_rows();
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap, desc.threads = 2;
    group_plainly();
    group_with(&desc);
    compare("memory", 0);
    assert_int_equal(heap.live, 0);
    size_t calls = heap.calls, peak = heap.peak;
    assert_true(calls > 8);
    for (heap.fail_at = 1; heap.fail_at <= calls; heap.fail_at++) {
        heap.calls = 0;
        assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, b.merges, &b.merged), REID_ERR_OUT_OF_MEMORY);
        assert_true(error.text[0] && b.merged == 0 && b.got[1] == 0);
        assert_int_equal(heap.live, 0);
    }
    heap.fail_at = 0;
    for (desc.memory_limit = 1; desc.memory_limit < peak; desc.memory_limit = desc.memory_limit * 3 / 2 + 1) {
        reid_result r = reid_group(&desc, &rows, &b.desc, b.got, b.merges, &b.merged);
        assert_true(r == REID_OK || r == REID_ERR_MEMORY_LIMIT);
        assert_true(heap.peak <= peak);
    }
    desc.memory_limit = 0;
    int left = 1 << 30, asked;
    b.desc.stop_fn = stop_at, b.desc.stop_user = &left;
    group_with(&desc);
    asked = (1 << 30) - left;
    assert_true(asked >= 2);
    for (int i = 0; i < asked; i++) {
        left = i;
        assert_int_equal(reid_group(&desc, &rows, &b.desc, b.got, b.merges, &b.merged), REID_ERR_CANCELLED);
        assert_true(b.merged == 0 && b.got[3] == 0 && heap.live == 0);
    }
    assert_int_equal(heap.wrong_size, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),       cmocka_unit_test(test_links),  cmocka_unit_test(test_ties),
        cmocka_unit_test(test_near),       cmocka_unit_test(test_near_time),
        cmocka_unit_test(test_everywhere), cmocka_unit_test(test_scipy),  cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_pairs),      cmocka_unit_test(test_memory), cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_refusals),
    };
    const struct CMUnitTest gpu_tests[] = {
        cmocka_unit_test(test_sets), cmocka_unit_test(test_links), cmocka_unit_test(test_scipy)};
    return on_gpu() ? cmocka_run_group_tests(gpu_tests, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
