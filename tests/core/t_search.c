/* t_search.c: reid_search against a sort of all scores in double, on every instruction set: odd sizes, ties, halves,
   groups of every size, thresholds, rows left out; invalid arguments, missing memory, forks.
   With SEARCH_DEVICE=cuda in the environment it runs on a GPU, with SEARCH_PRECISION=int8 or fp16 as the precision of
   what is read first, and with SEARCH_LEAN=1 without memory for more than that: tests/gpu/t_cuda_search.sh.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_search.c tests/lib/test_impl.c -o build/t_search -lcmocka -lm
      -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include <setjmp.h>
#include <cmocka.h>
#ifndef _WIN32
#include <dlfcn.h>
#endif
#include <sys/wait.h>
#include "../lib/test_util.h"
#include "../lib/fp.h"

typedef struct search_case {
    int dim;
    size_t count;
    int n, k, top;
    reid_scoring scoring;
    int group_size; /* on average; 0: no groups; -1: one group; -2: sizes from 1 to 400 */
    int levels;     /* different values of a component, so that many scores are equal; 0: continuous */
    int halves, threshold, excludes, threads;
} search_case;

typedef struct bed {
    const search_case *c;
    float *rows, *queries; /* rows as stored: rounded to halves if they are halves */
    uint16_t *halves;
    uint32_t *groups;
    reid_hit *want;        /* (n, k) */
    int *found;
    reid_search_desc desc;
} bed;

static uint64_t state = 1;

static uint32_t random_bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static int on_gpu(void) { return getenv("SEARCH_DEVICE") != NULL; }

static reid_desc new_desc(void) {
    reid_desc desc = REID_INIT;
    const char *precision = getenv("SEARCH_PRECISION");
    desc.device = on_gpu() ? REID_DEVICE_CUDA : REID_DEVICE_CPU;
    if (precision) assert_int_equal(reid_set(&desc, "precision", precision, NULL), REID_OK);
    desc.kernels_path = getenv("TEST_KERNELS") ? getenv("TEST_KERNELS") : "reid_kernels.cu";
    return desc;
}

/* Every instruction set of the CPU; with a GPU one is enough. */
static const int isas[] = {REID_ISA_SCALAR, REID_ISA_AVX2, REID_ISA_AVX512, REID_ISA_NEON};
static int is_tried(int isa) { return on_gpu() ? isa == REID_ISA_AVX2 : net_isa(isa) != NULL; }

static void *block(size_t size) {
    void *p = malloc(size + 1);
    assert_non_null(p);
    return p;
}

static void fill(const search_case *c, float *out, size_t rows) {
    for (size_t i = 0; i < rows * (size_t)c->dim; i++)
        out[i] = c->levels ? (float)(random_bits() % (unsigned)c->levels) - (float)(c->levels / 2)
                           : (float)((double)random_bits() / 2147483648.0 - 1.0) / (float)sqrt(c->dim);
}

/* Same camera: a third of the rows, another third for each query. user: the number of query 0, or NULL. */
static int same_camera(int query, size_t row, void *user) {
    int first = user ? *(const int *)user : 0;
    return (row * 7 + (size_t)(first + query)) % 3 == 0;
}

/* --- the reference: all scores, sorted ---------------------------------------------------------------------------- */

static int best_first(const void *a, const void *b) {
    const reid_hit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_group(const void *a, const void *b) {
    const reid_hit *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Makes one group's hit from its scores, which are in the order of its rows. */
static reid_hit combine(const search_case *c, reid_hit *all, size_t count) {
    reid_hit hit = all[0];
    double sum = 0;
    size_t top = c->scoring == REID_GROUP_TOP ? (size_t)c->top : 1;
    if (c->scoring == REID_GROUP_MEAN) {
        for (size_t i = 0; i < count; i++) sum += all[i].score;
        top = count;
    }
    qsort(all, count, sizeof *all, best_first);
    hit.row = all[0].row;
    if (top > count) top = count;
    for (size_t i = 0; i < top && c->scoring != REID_GROUP_MEAN; i++) sum += all[i].score;
    hit.score = sum / (double)top;
    return hit;
}

static void reference(bed *b) {
    const search_case *c = b->c;
    reid_hit *all = block(c->count * sizeof *all);
    for (int q = 0; q < c->n; q++) {
        size_t count = 0, units = 0;
        for (size_t i = 0; i < c->count; i++) {
            reid_hit hit = {(uint32_t)i, b->groups ? b->groups[i] : (uint32_t)i, 0};
            if (c->excludes && same_camera(q, i, NULL)) continue;
            for (int k = 0; k < c->dim; k++)
                hit.score += (double)b->rows[i * (size_t)c->dim + (size_t)k] * b->queries[q * c->dim + k];
            all[count++] = hit;
        }
        if (c->scoring != REID_ROWS) {
            qsort(all, count, sizeof *all, by_group);
            for (size_t i = 0, end; i < count; i = end) {
                for (end = i + 1; end < count && all[end].group == all[i].group;) end++;
                all[units++] = combine(c, all + i, end - i);
            }
            count = units;
        }
        qsort(all, count, sizeof *all, best_first);
        b->found[q] = 0;
        memset(b->want + (ptrdiff_t)q * c->k, 0, (size_t)c->k * sizeof *all);
        for (size_t i = 0; i < count && i < (size_t)c->k; i++)
            if (!c->threshold || all[i].score >= b->desc.threshold) b->want[q * c->k + b->found[q]++] = all[i];
    }
    free(all);
}

/* --- test data ------------------------------------------------------------------------------------------------ */

static void make_groups(bed *b) {
    const search_case *c = b->c;
    uint32_t group = 40, left = 0; /* neighbours at first, then anywhere */
    b->groups = block(c->count * sizeof *b->groups);
    for (size_t i = 0; i < c->count; i++) {
        if (c->group_size == -1) group = 7;
        else if (c->group_size > 0) group = random_bits() % (uint32_t)(c->count / (size_t)c->group_size + 1);
        else if (left-- == 0) group += 3, left = random_bits() % 400;
        b->groups[i] = group;
    }
}

static bed make_bed(const search_case *c) {
    bed b;
    size_t values = c->count * (size_t)c->dim, hits = (size_t)c->n * (size_t)c->k;
    memset(&b, 0, sizeof b);
    b.c = c;
    b.rows = block(values * sizeof *b.rows);
    b.queries = block((size_t)(c->n * c->dim) * sizeof *b.queries);
    b.want = block(hits * sizeof *b.want);
    b.found = block((size_t)c->n * sizeof *b.found);
    fill(c, b.rows, c->count);
    fill(c, b.queries, (size_t)c->n);
    if (c->halves) {
        b.halves = block(values * sizeof *b.halves);
        reid_to_halves(b.rows, b.halves, values);
        reid_from_halves(b.halves, b.rows, values);
    }
    if (c->group_size) make_groups(&b);
    b.desc.k = c->k, b.desc.scoring = c->scoring, b.desc.top = c->top;
    b.desc.use_threshold = c->threshold, b.desc.threshold = c->levels ? c->dim * 0.25 : 0.1;
    b.desc.exclude = c->excludes ? same_camera : NULL;
    reference(&b);
    return b;
}

static void free_bed(bed *b) {
    free(b->rows), free(b->queries), free(b->halves), free(b->groups), free(b->want), free(b->found);
}

/* Has the emulator, of which there is none for Windows, refuse memory once. */
static void refuse_memory(void) {
#ifndef _WIN32
    void (*refuse)(const char *), *symbol, *driver = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(driver);
    symbol = dlsym(driver, "reid_emulator_fail");
    assert_non_null(symbol);
    memcpy(&refuse, &symbol, sizeof refuse); /* ISO C has no cast to a function pointer */
    refuse("cuMemAlloc:1:2");
#endif
}

static reid_rows rows_of(const bed *b) {
    const reid_rows rows = {b->halves ? NULL : b->rows, b->halves, b->c->count, b->c->dim, b->groups};
    return rows;
}

static reid_index *open_index(const bed *b, reid_desc *desc) {
    reid_index *index;
    reid_rows rows = rows_of(b);
    if (getenv("SEARCH_LEAN")) refuse_memory();
    return reid_index_create(desc, &rows, &index) == REID_OK ? index : NULL;
}

/* The same index, made of a third of the rows, then of almost all, then of all. */
static reid_index *grow_index(const bed *b, reid_desc *desc) {
    reid_index *index;
    reid_rows all = rows_of(b), some = all;
    some.count = all.count / 3;
    if (getenv("SEARCH_LEAN")) refuse_memory();
    if (reid_index_create(desc, &some, &index) != REID_OK) return NULL;
    some.count = all.count - (all.count > 0);
    assert_int_equal(reid_index_grow(index, &some, desc->error), REID_OK);
    assert_int_equal(reid_index_grow(index, &all, desc->error), REID_OK);
    return index;
}

static void compare(const bed *b, const reid_hit *hits, const int *found, const char *isa) {
    const search_case *c = b->c;
    for (int q = 0; q < c->n; q++) {
        if (found[q] != b->found[q])
            fail_msg("%s dim %d, %zu rows, scoring %d: query %d has %d hits, not %d", isa, c->dim, c->count,
                     (int)c->scoring, q, found[q], b->found[q]);
        for (int i = 0; i < c->k; i++) {
            const reid_hit *have = &hits[q * c->k + i], *want = &b->want[q * c->k + i];
            if (memcmp(have, want, sizeof *have) != 0)
                fail_msg("%s dim %d, %zu rows, scoring %d: query %d, hit %d: row %u group %u %.17g, not %u %u %.17g",
                         isa, c->dim, c->count, (int)c->scoring, q, i, have->row, have->group, have->score, want->row,
                         want->group, want->score);
        }
    }
}

/* Searches on every instruction set, and compares with the reference. */
static void run_bed(const bed *b) {
    const search_case *c = b->c;
    reid_hit *hits = block((size_t)(c->n * c->k) * sizeof *hits);
    int *found = block((size_t)c->n * sizeof *found);
    static int opened;
    for (int i = 0; i < 4; i++) {
        int isa = isas[i];
        reid_desc desc = new_desc();
        reid_error error = {REID_OK, ""};
        if (!is_tried(isa)) continue;
        desc.cpu_isa = (reid_isa)isa, desc.threads = c->threads, desc.error = &error;
        reid_index *index = (opened++ % 2 ? grow_index : open_index)(b, &desc); /* each every other time */
        assert_string_equal(error.text, "");
        assert_non_null(index);
        assert_int_equal(reid_search(index, b->queries, c->n, &b->desc, hits, found, &error), REID_OK);
        compare(b, hits, found, net_isa(isa));
        reid_index_destroy(index);
    }
    free(hits), free(found);
}

static void run_case(const search_case *c) {
    bed b = make_bed(c);
    run_bed(&b);
    free_bed(&b);
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void test_rows(void **unused) {
    static const search_case cases[] = {
        {16, 0, 3, 2, 0, REID_ROWS, 0, 0, 0, 0, 0, 1},       {1, 1, 1, 1, 0, REID_ROWS, 0, 0, 0, 0, 0, 1},
        {3, 5, 2, 9, 0, REID_ROWS, 0, 3, 0, 0, 0, 2},        {17, 95, 3, 4, 0, REID_ROWS, 0, 0, 0, 0, 0, 2},
        {64, 96, 4, 3, 0, REID_ROWS, 0, 0, 1, 0, 0, 2},      {31, 97, 5, 10, 0, REID_ROWS, 0, 0, 0, 0, 0, 3},
        {33, 1000, 16, 10, 0, REID_ROWS, 0, 0, 1, 0, 0, 2},  {100, 5000, 17, 5, 0, REID_ROWS, 0, 0, 0, 0, 0, 2},
        {65, 5000, 33, 300, 0, REID_ROWS, 0, 0, 0, 0, 0, 3}, {32, 9000, 40, 7, 0, REID_ROWS, 0, 0, 1, 0, 1, 2},
        {4, 6000, 3, 6, 0, REID_ROWS, 0, 3, 0, 0, 0, 3},     {4, 6000, 20, 200, 0, REID_ROWS, 0, 2, 1, 0, 0, 2},
        {48, 700, 6, 700, 0, REID_ROWS, 0, 0, 0, 1, 0, 2},   {48, 700, 2, 1000, 0, REID_ROWS, 0, 9, 0, 1, 1, 1},
        {2, 3000, 1, 1, 0, REID_ROWS, 0, 1, 0, 0, 0, 2},     {300, 200, 1, 3, 0, REID_ROWS, 11, 0, 0, 0, 0, 2},
        {2049, 300, 6, 3, 0, REID_ROWS, 0, 0, 1, 0, 0, 2},   {4, 3000, 90, 99, 0, REID_ROWS, 0, 3, 1, 0, 0, 1},
        {5, 300, 1100, 3, 0, REID_ROWS, 0, 0, 0, 0, 1, 2},   {1290, 260, 70, 3, 0, REID_ROWS, 0, 0, 0, 0, 0, 2},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&cases[i]);
}

/* Every way to score a group, over sizes from one row to more than a block, with and without the other options. */
static void test_groups(void **unused) {
    static const int sizes[] = {1, 7, -1, -2}, queries[] = {1, 21};
    (void)unused;
    for (int i = 0; i < 4 * 2 * 4 * 2; i++) {
        search_case c = {24, 1500, queries[i / 4 % 2], 5 + i % 3 * 30, 1 + i % 9, REID_ROWS, sizes[i % 4], 0, 0, 0, 0,
                         1 + i % 3};
        c.scoring = (reid_scoring)(i / 8 % 4);
        c.levels = i / 32 ? 3 : 0;
        c.halves = i / 3 % 2, c.threshold = i / 5 % 3 == 0, c.excludes = i / 7 % 2;
        run_case(&c);
    }
}

/* What a GPU cannot settle at once: more hits than it returns, more excluded rows than it has returned, thousands of
   equal rows. */
static void test_many(void **unused) {
    static const search_case cases[] = {
        {8, 3000, 2, 1024, 0, REID_ROWS, 0, 0, 1, 0, 0, 2},     {8, 3000, 2, 1025, 0, REID_ROWS, 0, 0, 0, 0, 0, 2},
        {8, 5000, 2, 1000, 0, REID_ROWS, 0, 0, 0, 0, 1, 2},     {2, 9000, 3, 40, 0, REID_ROWS, 0, 2, 0, 0, 1, 2},
        {2, 6000, 3, 30, 2, REID_GROUP_TOP, 3, 2, 1, 0, 1, 2},  {8, 4500, 2, 100, 3, REID_GROUP_TOP, 40, 0, 0, 0, 1, 2},
        {8, 4500, 2, 9, 64, REID_GROUP_TOP, 900, 0, 1, 0, 0, 2},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&cases[i]);
}

/* Few queries among many rows, which a GPU's blocks share: ties, groups that lie in several tiles, excluded rows. */
static void test_shared(void **unused) {
    static const search_case cases[] = {
        {24, 9000, 3, 5, 0, REID_GROUP_MAX, 7, 0, 0, 0, 0, 2},   {24, 9000, 2, 2, 0, REID_GROUP_MAX, 60, 3, 1, 0, 0, 2},
        {24, 9000, 1, 20, 0, REID_ROWS, 0, 0, 1, 0, 0, 2},       {3, 9000, 4, 9, 0, REID_ROWS, 0, 3, 0, 1, 0, 2},
        {65, 9000, 2, 1, 0, REID_ROWS, 0, 0, 0, 0, 1, 2},        {24, 9000, 3, 1, 4, REID_GROUP_TOP, 5, 0, 0, 0, 1, 2},
        {24, 9000, 3, 2, 4, REID_GROUP_TOP, 9, 0, 0, 0, 0, 2},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&cases[i]);
    bed b = make_bed(&cases[2]); /* all scores are negative, less than those of the padding */
    for (size_t i = 0; i < 24; i++) b.queries[i] = -fabsf(b.queries[i]) - 0.1f;
    for (size_t i = 0; i < 9000 * 24; i++) b.rows[i] = fabsf(b.rows[i]);
    for (size_t i = 0; i < 9000 * 24; i++) b.halves[i] &= 0x7fff;
    reference(&b);
    run_bed(&b);
    free_bed(&b);
    static const search_case alike = {16, 12000, 2, 8, 0, REID_GROUP_MAX, 60, 0, 0, 0, 0, 2};
    b = make_bed(&alike); /* the rows of a group are nearly equal, so that the best tiles are those of few groups */
    for (size_t i = 0; i < 12000 * 16; i++)
        b.rows[i] = sinf((float)(b.groups[i / 16] * 16 + i % 16 + 1)) + 1e-4f * b.rows[i];
    reference(&b);
    run_bed(&b);
    free_bed(&b);
}

/* Bytes that leave out much, for the sake of one large component: of rows, but not of queries, then of queries, but not
   of rows. */
static void test_rests(void **unused) {
    static const search_case c = {24, 9000, 40, 20, 0, REID_ROWS, 0, 0, 0, 0, 0, 2};
    bed b = make_bed(&c);
    (void)unused;
    for (int whole = 0; whole < 2; whole++) {
        for (int i = 0; i < 40 * 24; i++)
            b.queries[i] = !whole ? (b.queries[i] < 0 ? -1.0f : 1.0f) : i % 24 ? sinf((float)i) : 40.0f;
        for (int i = 0; i < 9000 * 24; i++)
            b.rows[i] = whole ? rintf(126 * b.rows[i] / (i % 24 ? 1 : 40)) : i % 24 ? b.rows[i] : 40.0f;
        for (int i = 0; whole && i < 9000; i++) b.rows[i * 24 + 1] = 127;
        reference(&b);
        run_bed(&b);
    }
    free_bed(&b);
}

/* Components grow from row to row, so that the best rows of a query are the first or the last. */
static void test_sorted(void **unused) {
    enum { ROWS = 4200, DIM = 16 };
    static const search_case c = {DIM, ROWS, 4, 10, 0, REID_ROWS, 0, 0, 0, 0, 0, 2};
    bed b = make_bed(&c);
    (void)unused;
    for (int longest = 0; longest < 2; longest++) { /* then one row is much longer than all others */
        for (int i = 0; i < ROWS * DIM; i++) b.rows[i] = (float)(i / DIM) / ROWS + 1e-4f * (float)(i * 7 % 13);
        for (int k = 0; longest && k < DIM; k++) b.rows[2000 * DIM + k] = 1e6f;
        reference(&b);
        run_bed(&b);
    }
    free_bed(&b);
}

/* Rows that FP32 orders wrongly: equal but for the last place of one component, among large ones that cancel. */
static void test_close(void **unused) {
    enum { ROWS = 2000, DIM = 64 };
    static const search_case c = {DIM, ROWS, 6, 20, 0, REID_ROWS, 0, 0, 0, 0, 0, 2};
    bed b = make_bed(&c);
    (void)unused;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < DIM; k++)
            b.rows[i * DIM + k] = k == i % DIM ? 1.0f + (float)(i * 37 % ROWS) * 1.1920929e-7f : k % 2 ? 1.0f : -1.0f;
    reference(&b);
    run_bed(&b);
    free_bed(&b);
}

/* Both ends of the range of floats: sums that underflow, rows as long as allowed. */
static void test_extremes(void **unused) {
    static const float sizes[] = {1e-38f, 1e-30f, 1e-22f, 1e-3f, 1e15f};
    static const search_case c = {40, 300, 5, 9, 0, REID_ROWS, 0, 0, 0, 0, 0, 1};
    (void)unused;
    for (int s = 0; s < 5 * 2; s++) {
        bed b = make_bed(&c);
        for (int i = 0; i < 300 * 40; i++) b.rows[i] *= s < 5 || i % 400 < 40 ? sizes[s % 5] : 1;
        for (int i = 0; i < 5 * 40; i++) b.queries[i] *= sizes[s % 5];
        reference(&b);
        run_bed(&b);
        free_bed(&b);
    }
}

/* Every half there and back; floats next to the middle of two halves. */
static void test_halves(void **unused) {
    (void)unused;
    for (uint32_t h = 0; h < 65536; h++) {
        uint16_t half = (uint16_t)h, back, sides[2];
        float value, middle[2];
        reid_from_halves(&half, &value, 1);
        reid_to_halves(&value, &back, 1);
        if ((h & 0x7fff) > 0x7c00) assert_true((back & 0x7c00) == 0x7c00 && (back & 0x3ff)); /* NaN stays NaN */
        else assert_int_equal(back, half);
        if ((h & 0x7fff) >= 0x7bff) continue;
        uint16_t next = (uint16_t)(h + 1);
        float upper;
        reid_from_halves(&next, &upper, 1);
        middle[0] = (value + upper) / 2; /* exact */
        middle[1] = nextafterf(middle[0], upper);
        reid_to_halves(middle, sides, 2);
        assert_int_equal(sides[0], h & 1 ? next : half);
        assert_int_equal(sides[1], next);
    }
    float large[2] = {65519.996f, -65520.0f};
    uint16_t out[2];
    reid_to_halves(large, out, 2);
    assert_int_equal(out[0], 0x7bff);
    assert_int_equal(out[1], 0xfc00);
}

/* A small data set, and an index's arguments for it. */
typedef struct small {
    bed b;
    reid_rows rows;
    reid_desc desc;
    reid_error error;
} small;

static const search_case small_case = {8, 50, 3, 2, 0, REID_ROWS, 5, 0, 0, 0, 0, 1};

static void make_small(small *s) {
    const reid_desc desc = new_desc();
    s->b = make_bed(&small_case);
    s->rows.floats = s->b.rows, s->rows.halves = NULL, s->rows.count = 50, s->rows.dim = 8;
    s->rows.groups = s->b.groups;
    s->desc = desc;
    s->desc.error = &s->error;
}

static void no_index(small *s, const reid_rows *rows, reid_result result, const char *part) {
    reid_index *index = (reid_index *)(void *)s;
    assert_int_equal(reid_index_create(&s->desc, rows, &index), result);
    assert_int_equal(s->error.code, result);
    assert_says(s->error.text, part);
    assert_null(index);
}

static void test_refused_indexes(void **unused) {
    static const struct {
        int dim;
        size_t count;
        int threads, isa;
        const char *part;
    } cases[] = {
        {0, 50, 0, 0, "50 rows of 0 floats"},
        {REID_MAX_DIM + 1, 50, 0, 0, "of 1 to 65536"},
        {8, UINT32_MAX, 0, 0, "4294967295 rows"},
        {8, 50, 1025, 0, "desc.threads is 1025"},
        {8, 50, -1, 0, "desc.threads is -1"},
        {8, 50, 0, 9, "not a reid_isa"},
    };
    small s;
    (void)unused;
    make_small(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reid_rows bad = s.rows;
        bad.dim = cases[i].dim, bad.count = cases[i].count;
        s.desc.threads = cases[i].threads, s.desc.cpu_isa = (reid_isa)cases[i].isa;
        no_index(&s, &bad, REID_ERR_INVALID_ARG, cases[i].part);
    }
    reid_rows both = s.rows, none = s.rows;
    both.halves = (const uint16_t *)(const void *)s.b.rows, none.floats = NULL;
    s.desc.cpu_isa = REID_ISA_AUTO, s.desc.threads = 2;
    no_index(&s, &both, REID_ERR_INVALID_ARG, "either rows.floats or rows.halves");
    no_index(&s, &none, REID_ERR_INVALID_ARG, "either rows.floats or rows.halves");
    s.desc.alloc_fn = test_heap_alloc;
    no_index(&s, &s.rows, REID_ERR_INVALID_ARG, "desc.free_fn, or neither");
    s.desc.alloc_fn = NULL;
    s.b.rows[49 * 8 + 7] = NAN;
    no_index(&s, &s.rows, REID_ERR_EMBEDDING, "row 49 is not finite");
    s.b.rows[30 * 8] = -INFINITY;
    no_index(&s, &s.rows, REID_ERR_EMBEDDING, "row 30 is not finite");
    s.b.rows[4 * 8] = 2e18f;
    no_index(&s, &s.rows, REID_ERR_EMBEDDING, "row 4 is not finite, or longer than 1e18");
    s.b.rows[4 * 8] = s.b.rows[30 * 8] = s.b.rows[49 * 8 + 7] = 0;
    s.desc.memory_limit = 300;
    no_index(&s, &s.rows, REID_ERR_MEMORY_LIMIT, "the index takes");
    assert_int_equal(reid_index_create(NULL, &s.rows, NULL), REID_ERR_INVALID_ARG);
    reid_index_destroy(NULL);
    free_bed(&s.b);
}

static void test_refused_growth(void **unused) {
    small s, before;
    reid_index *index;
    (void)unused;
    make_small(&s), make_small(&before);
    before.rows.count = 40;
    assert_int_equal(reid_index_create(&s.desc, &before.rows, &index), REID_OK);
    const reid_rows cases[] = {
        {s.b.rows, NULL, 39, 8, s.b.groups},     {s.b.rows, NULL, 50, 9, s.b.groups}, {s.b.rows, NULL, 50, 8, NULL},
        {NULL, (uint16_t *)(void *)s.b.rows, 50, 8, s.b.groups}, {NULL, NULL, 50, 8, s.b.groups},
        {s.b.rows, NULL, UINT32_MAX, 8, s.b.groups},
    };
    static const char *const parts[] = {
        "an index of 40 rows of 8 cannot become one of 39 rows of 8: dim, floats or halves, and groups or none stay",
        "one of 50 rows of 9: dim", "and groups or none stay as they are", "floats or halves",
        "either rows.floats or rows.halves", "the limit is 4294967294 rows",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(reid_index_grow(index, &cases[i], &s.error), REID_ERR_INVALID_ARG);
        assert_says(s.error.text, parts[i]);
    }
    s.b.rows[45 * 8 + 1] = NAN;
    assert_int_equal(reid_index_grow(index, &s.rows, &s.error), REID_ERR_EMBEDDING);
    assert_says(s.error.text, "row 45 is not finite");
    assert_int_equal(reid_index_grow(index, NULL, &s.error), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_index_grow(NULL, &s.rows, NULL), REID_ERR_INVALID_ARG);
    reid_hit hits[100], first[100];
    int found, found_first;
    reid_search_desc d = s.b.desc;
    d.k = 100;
    assert_int_equal(reid_search(index, s.b.queries, 1, &d, hits, &found, &s.error), REID_OK);
    reid_index_destroy(index);
    assert_int_equal(reid_index_create(&before.desc, &before.rows, &index), REID_OK);
    assert_int_equal(reid_search(index, s.b.queries, 1, &d, first, &found_first, &s.error), REID_OK);
    assert_int_equal(found, 40);
    assert_int_equal(found_first, 40);
    assert_memory_equal(hits, first, sizeof hits); /* the index has the rows that it had */
    reid_index_destroy(index);
    free_bed(&s.b), free_bed(&before.b);
}

static void no_hits(small *s, reid_index *index, const reid_search_desc *d, reid_result result, const char *part) {
    reid_hit hits[6], zero[6];
    int found[3];
    size_t size = d->k > 0 ? (size_t)(3 * d->k) * sizeof *hits : 0;
    memset(hits, 1, sizeof hits), memset(found, 1, sizeof found), memset(zero, 0, sizeof zero);
    assert_int_equal(reid_search(index, s->b.queries, 3, d, hits, found, &s->error), result);
    assert_int_equal(s->error.code, result);
    assert_says(s->error.text, part);
    assert_memory_equal(hits, zero, size);
    assert_memory_equal(found, zero, sizeof found);
}

static void test_refused_searches(void **unused) {
    static const struct {
        int k, scoring, top, use_threshold;
        double threshold;
        const char *part;
    } cases[] = {
        {0, REID_ROWS, 0, 0, 0, "k is 0"},
        {2, 4, 0, 0, 0, "scoring is 4"},
        {2, -1, 0, 0, 0, "scoring is -1"},
        {2, REID_GROUP_TOP, 0, 0, 0, "top is 0; it must be 1 to 64"},
        {2, REID_GROUP_TOP, 65, 0, 0, "top is 65"},
        {2, REID_ROWS, 0, 1, (double)NAN, "threshold is not a number"},
    };
    small s;
    reid_index *index;
    (void)unused;
    make_small(&s);
    assert_int_equal(reid_index_create(&s.desc, &s.rows, &index), REID_OK);
    assert_int_equal(reid_search(index, NULL, 0, &s.b.desc, NULL, NULL, &s.error), REID_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reid_search_desc d = REID_INIT;
        d.k = cases[i].k, d.scoring = (reid_scoring)cases[i].scoring, d.top = cases[i].top;
        d.use_threshold = cases[i].use_threshold, d.threshold = cases[i].threshold;
        no_hits(&s, index, &d, REID_ERR_INVALID_ARG, cases[i].part);
    }
    s.b.queries[2 * 8 + 3] = INFINITY;
    no_hits(&s, index, &s.b.desc, REID_ERR_EMBEDDING, "query 2 is not finite");
    s.b.queries[8 + 3] = NAN;
    no_hits(&s, index, &s.b.desc, REID_ERR_EMBEDDING, "query 1 is not finite");
    s.b.queries[8 + 3] = s.b.queries[2 * 8 + 3] = 0;
    assert_int_equal(reid_search(index, NULL, 3, &s.b.desc, NULL, NULL, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_search(NULL, s.b.queries, 3, &s.b.desc, NULL, NULL, NULL), REID_ERR_INVALID_ARG);
    reid_index_destroy(index);
    s.desc.memory_limit = 4000;
    assert_int_equal(reid_index_create(&s.desc, &s.rows, &index), REID_OK);
    no_hits(&s, index, &s.b.desc, REID_ERR_MEMORY_LIMIT, "and one query");
    reid_index_destroy(index);
    s.desc.memory_limit = 0;
    s.rows.groups = NULL;
    assert_int_equal(reid_index_create(&s.desc, &s.rows, &index), REID_OK);
    s.b.desc.scoring = REID_GROUP_MAX;
    no_hits(&s, index, &s.b.desc, REID_ERR_INVALID_ARG, "rows.groups was NULL");
    assert_int_equal(reid_search(index, NULL, 0, &s.b.desc, NULL, NULL, NULL), REID_ERR_INVALID_ARG); /* also of no rows
                                                                                                         */
    reid_index_destroy(index);
    free_bed(&s.b);
}

static reid_index *open_few(const bed *b, reid_desc *desc) {
    reid_index *index;
    reid_rows rows = rows_of(b);
    rows.count -= rows.count / 8;
    return reid_index_create(desc, &rows, &index) == REID_OK ? index : NULL;
}

/* Each allocation refused in turn; freed sizes are checked. is_known: the expected hits are known. */
static void refuse_each(const bed *b, reid_hit *hits, int *found, int is_known) {
    for (size_t at = 1, done = 0; !done; at++) {
        test_heap heap;
        reid_error error;
        reid_desc desc = new_desc();
        memset(&heap, 0, sizeof heap);
        heap.fail_at = at;
        desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap, desc.threads = 2;
        desc.error = &error;
        reid_index *index = open_few(b, &desc);
        reid_rows all = rows_of(b);
        reid_result grown = index ? reid_index_grow(index, &all, &error) : REID_OK;
        if (index && grown != REID_OK) {
            assert_int_equal(error.code, REID_ERR_OUT_OF_MEMORY);
            assert_int_equal(reid_index_grow(index, &all, &error), REID_OK); /* only one allocation is refused */
        }
        if (index) {
            reid_result r = reid_search(index, b->queries, b->c->n, &b->desc, hits, found, &error);
            if (r == REID_OK && is_known) compare(b, hits, found, "memory");
            done = grown == REID_OK && r == REID_OK && at > 4;
        }
        assert_true(done || grown != REID_OK || error.code == REID_ERR_OUT_OF_MEMORY);
        reid_index_destroy(index);
        assert_int_equal(heap.live, 0);
        assert_int_equal(heap.wrong_size, 0);
    }
}

/* A limit under which queries go one by one. */
static void limit_memory(const bed *b, reid_hit *hits, int *found) {
    size_t most = 0;
    for (size_t limit = 60000; limit < 6000000; limit = limit * 3 / 2) {
        test_heap heap;
        reid_desc desc = new_desc();
        memset(&heap, 0, sizeof heap);
        desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap, desc.threads = 2;
        desc.memory_limit = limit;
        reid_index *index = open_index(b, &desc);
        if (!index) continue;
        size_t before = heap.peak; /* sorting groups takes more for a moment */
        heap.peak = heap.live;
        if (reid_search(index, b->queries, b->c->n, &b->desc, hits, found, NULL) == REID_OK) {
            compare(b, hits, found, "limit");
            assert_true(heap.peak <= limit && heap.peak >= most && before > 0);
            most = heap.peak;
        }
        reid_index_destroy(index);
    }
    assert_true(most > 0);
}

static void test_memory(void **unused) {
    static const search_case c = {20, 3000, 70, 6, 0, REID_GROUP_MAX, 4, 0, 1, 0, 0, 2};
    bed b = make_bed(&c);
    reid_hit *hits = block((size_t)(c.n * c.k) * sizeof *hits);
    int found[70];
    (void)unused;
    refuse_each(&b, hits, found, 1);
    limit_memory(&b, hits, found);
    free(hits);
    free_bed(&b);
}

/* Searches with some rows, from `first` on, as separate queries, whose results were compared with a sort above. */
static void compare_window(const bed *b, reid_index *index, const reid_hit *have, const int *found, int first) {
    enum { WINDOW = 30 };
    const search_case *c = b->c;
    reid_search_desc d = b->desc;
    bed window = *b;
    search_case few = *c;
    float *copy = block((size_t)(WINDOW * c->dim) * sizeof *copy);
    memcpy(copy, b->rows + (ptrdiff_t)first * c->dim, (size_t)(WINDOW * c->dim) * sizeof *copy);
    window.c = &few, few.n = WINDOW, d.exclude_user = &first;
    assert_int_equal(reid_search(index, copy, WINDOW, &d, window.want, window.found, NULL), REID_OK);
    compare(&window, have + (ptrdiff_t)first * c->k, found + first, "mutual");
    free(copy);
}

/* Rows as their own queries, more than a chunk: every product is computed once, unless the lists would take more memory
   than the rows. */
static void run_mutual(const search_case *c) {
    int n = (int)c->count, *found = block(c->count * sizeof *found);
    bed b = make_bed(c);
    reid_hit *have = block(c->count * (size_t)c->k * sizeof *have);
    for (int i = 0; i < 4; i++) {
        int isa = isas[i];
        reid_desc desc = new_desc();
        if (!is_tried(isa) || (isa == REID_ISA_SCALAR && is_tried(REID_ISA_AVX2))) continue;
        desc.cpu_isa = (reid_isa)isa, desc.threads = c->threads;
        reid_index *index = open_index(&b, &desc);
        assert_non_null(index);
        assert_int_equal(reid_search(index, b.rows, n, &b.desc, have, found, NULL), REID_OK);
        for (int part = 0; part < 4; part++) compare_window(&b, index, have, found, (n - 30) * part / 3);
        reid_index_destroy(index);
    }
    free(have), free(found);
    free_bed(&b);
}

/* Rows as their own queries, without memory for the lists. */
static void refuse_mutual(void) {
    static const search_case c = {262, 1026, 1026, 1, 0, REID_ROWS, 0, 0, 0, 0, 0, 1};
    bed b;
    memset(&b, 0, sizeof b);
    reid_hit *hits = block(1026 * sizeof *hits);
    int found[1026];
    b.c = &c, b.desc.k = 1;
    b.queries = b.rows = block(1026 * 262 * sizeof *b.rows);
    fill(&c, b.rows, c.count);
    refuse_each(&b, hits, found, 0);
    free(b.rows), free(hits);
}

static void test_mutual(void **unused) {
    static const search_case cases[] = {
        {270, 1100, 30, 5, 0, REID_ROWS, 0, 0, 0, 0, 0, 2}, {270, 1060, 30, 2, 0, REID_ROWS, 0, 3, 0, 0, 1, 2},
        {262, 1026, 30, 1, 0, REID_ROWS, 0, 0, 0, 1, 0, 1}, {40, 1030, 30, 4, 0, REID_ROWS, 0, 0, 0, 0, 0, 2},
        {24, 1030, 30, 1, 0, REID_GROUP_MAX, 4, 0, 0, 0, 0, 2},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_mutual(&cases[i]);
    refuse_mutual();
}

typedef struct worker {
    pthread_t thread;
    reid_index *index;
    const bed *b;
    int errors;
} worker;

static void *search_often(void *arg) {
    worker *w = arg;
    const search_case *c = w->b->c;
    reid_hit *hits = malloc((size_t)(c->n * c->k) * sizeof *hits);
    int *found = malloc((size_t)c->n * sizeof *found);
    for (int i = 0; i < (on_gpu() ? 1 : 5); i++)
        w->errors += reid_search(w->index, w->b->queries, c->n, &w->b->desc, hits, found, NULL) != REID_OK ||
                     memcmp(hits, w->b->want, (size_t)(c->n * c->k) * sizeof *hits) != 0;
    free(hits), free(found);
    return NULL;
}

static void pool(reid_task_fn fn, void *task, int count, void *user) {
    ++*(int *)user;
    for (int i = count; i-- > 0;) fn(task, i);
}

/* Several threads on one index, a caller's pool, a fork, and a caller with another rounding mode. */
static void test_threads(void **unused) {
    search_case c = {30, 4000, 9, 6, 3, REID_GROUP_TOP, 6, 0, 0, 0, 1, 2};
    bed b = make_bed(&c);
    worker workers[8];
    reid_hit hits[9 * 6];
    int found[9], jobs = 0, status;
    reid_desc desc = new_desc();
    (void)unused;
    desc.threads = 3;
    reid_index *index = open_index(&b, &desc);
    assert_non_null(index);
    for (int i = 0; i < 8; i++) {
        workers[i].index = index, workers[i].b = &b, workers[i].errors = 0;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, search_often, &workers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].errors, 0);
    }
    pid_t child = fork();
    if (child == 0) {
        int refused = reid_search(index, b.queries, c.n, &b.desc, hits, found, NULL) == REID_ERR_FORKED;
        reid_index_destroy(index);
        _exit(!refused);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    unsigned before = set_fp(ROUND_UP_AND_FLUSH);
    assert_int_equal(reid_search(index, b.queries, c.n, &b.desc, hits, found, NULL), REID_OK);
    assert_int_equal(set_fp(before) & ~0x3fu, ROUND_UP_AND_FLUSH & ~0x3fu); /* the lowest bits are flags */
    compare(&b, hits, found, "rounding");
    reid_index_destroy(index);
    desc.parallel_fn = pool, desc.parallel_user = &jobs;
    index = open_index(&b, &desc);
    assert_int_equal(reid_search(index, b.queries, c.n, &b.desc, hits, found, NULL), REID_OK);
    assert_true(jobs >= 2);
    compare(&b, hits, found, "pool");
    reid_index_destroy(index);
    free_bed(&b);
}

int main(int argc, char **argv) { /* an argument: this test alone */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),   cmocka_unit_test(test_mutual),           cmocka_unit_test(test_groups),
        cmocka_unit_test(test_close),  cmocka_unit_test(test_halves),           cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_refused_indexes),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refused_searches), cmocka_unit_test(test_many),   cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_refused_growth),
    };
    const struct CMUnitTest gpu_tests[] = {
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_groups), cmocka_unit_test(test_close),
        cmocka_unit_test(test_extremes), cmocka_unit_test(test_memory), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_many),     cmocka_unit_test(test_sorted), cmocka_unit_test(test_shared),
        cmocka_unit_test(test_rests),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return on_gpu() ? cmocka_run_group_tests(gpu_tests, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
