/* search: checks reid_search on a GPU against the CPU, and measures its time.

     cc -O2 -std=c99 -D_GNU_SOURCE search.c -o search -lm -lpthread -ldl
     ./search check KERNELS                              small galleries, many groupings; status 1 if one differs
     ./search bench KERNELS ROWS DIM GBS GFLOPS N...     JSON, one cell per line, for each number N of queries
     ./search grow KERNELS|cpu ROWS DIM                  JSON: milliseconds to make an index, and to add a row to it

   KERNELS is reid_kernels.cu. The gallery is FP16, random unit rows, ten per identity; the 10 best are requested. The
   GPU reads bytes first, then, in cells of their own, halves.
   Times are of the whole call, the median of 9 after a warm-up call. GBS and GFLOPS are the peaks of the GPU's memory
   and tensor cores (0: unknown): rows_gbs counts each row once; of_memory and of_arithmetic are shares of the peaks.
   The first query's hits are compared with the CPU's. */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "../../reid.h"

enum { TOP = 10, ROUNDS = 9, MOST_QUERIES = 4096 };

typedef struct gallery {
    reid_rows rows;
    uint16_t *halves;
    uint32_t *groups;
    float *queries; /* (n, dim) */
    int n;
} gallery;

static uint32_t state = 1;

static float noise(void) {
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 8388608.0f - 1;
}

static void unit_row(float *row, int dim) {
    double sum = 0;
    for (int i = 0; i < dim; i++) row[i] = noise(), sum += (double)row[i] * row[i];
    for (int i = 0; i < dim; i++) row[i] = (float)(row[i] / sqrt(sum));
}

static void *need(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "search: out of memory\n");
    exit(2);
}

/* Makes a gallery; every query is a row of it plus noise of the same size. */
static gallery make_gallery(size_t count, int dim, int n) {
    gallery g;
    size_t columns = (size_t)dim;
    memset(&g, 0, sizeof g);
    g.halves = (uint16_t *)need(malloc(count * columns * sizeof *g.halves));
    g.groups = (uint32_t *)need(malloc(count * sizeof *g.groups));
    g.queries = (float *)need(malloc((size_t)n * columns * sizeof *g.queries));
    float *row = (float *)need(malloc(columns * sizeof *row));
    g.n = n;
    for (size_t i = 0; i < count; i++) {
        unit_row(row, dim);
        reid_to_halves(row, g.halves + i * columns, columns);
        g.groups[i] = (uint32_t)(i / 10);
    }
    for (int q = 0; q < n; q++) {
        unit_row(g.queries + (size_t)q * columns, dim);
        reid_from_halves(g.halves + (size_t)q * 7919 % count * columns, row, columns);
        for (size_t k = 0; k < columns; k++) g.queries[(size_t)q * columns + k] += row[k];
    }
    free(row);
    g.rows.halves = g.halves, g.rows.count = count, g.rows.dim = dim, g.rows.groups = g.groups;
    return g;
}

static void free_gallery(gallery *g) { free(g->halves), free(g->groups), free(g->queries); }

static reid_index *open_on(const gallery *g, reid_device device, reid_precision precision, const char *kernels) {
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_index *index;
    desc.device = device, desc.precision = precision, desc.kernels_path = kernels, desc.error = &error;
    if (reid_index_create(&desc, &g->rows, &index) == REID_OK) return index;
    fprintf(stderr, "search: %s\n", error.text);
    exit(1);
}

static void find(reid_index *index, const gallery *g, int n, reid_scoring scoring, reid_hit *hits) {
    static int found[MOST_QUERIES];
    reid_error error;
    reid_search_desc search = REID_INIT;
    search.k = TOP, search.scoring = scoring, search.top = 3;
    if (reid_search(index, g->queries, n, &search, hits, found, &error) == REID_OK) return;
    fprintf(stderr, "search: %s\n", error.text);
    exit(1);
}

static int check(const char *kernels) {
    static const struct { size_t rows; int dim, n; } cases[] = {{5000, 96, 1}, {9001, 64, 33}, {3000, 512, 70}};
    int wrong = 0;
    for (int i = 0; i < 2 * 3 * 4; i++) {
        reid_scoring scoring = (reid_scoring)(i % 4);
        gallery g = make_gallery(cases[i / 4 % 3].rows, cases[i / 4 % 3].dim, cases[i / 4 % 3].n);
        size_t size = (size_t)g.n * TOP * sizeof(reid_hit);
        reid_hit *cpu = (reid_hit *)need(malloc(size)), *gpu = (reid_hit *)need(malloc(size));
        reid_index *a = open_on(&g, REID_DEVICE_CPU, REID_PRECISION_DEFAULT, NULL);
        reid_index *b = open_on(&g, REID_DEVICE_CUDA, i < 12 ? REID_INT8 : REID_FP16, kernels);
        find(a, &g, g.n, scoring, cpu), find(b, &g, g.n, scoring, gpu);
        wrong += memcmp(cpu, gpu, size) != 0;
        reid_index_destroy(a), reid_index_destroy(b);
        free(cpu), free(gpu);
        free_gallery(&g);
    }
    printf("%d of 24 searches differ from the CPU's\n", wrong);
    return wrong != 0;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static double milliseconds(reid_index *index, const gallery *g, int n, reid_hit *hits) {
    double times[ROUNDS + 1];
    for (int i = 0; i <= ROUNDS; i++) {
        double start = now_ms();
        find(index, g, n, REID_ROWS, hits);
        times[i] = now_ms() - start;
    }
    qsort(times + 1, ROUNDS, sizeof *times, by_value);
    return times[1 + ROUNDS / 2];
}

static void share(const char *name, double value, double most) {
    if (most > 0) printf(", \"%s\": %.4f", name, value / most);
    else printf(", \"%s\": null", name);
}

/* A cell for each number of queries. Returns whether a first query's hits are not those of the CPU, `first`. */
static int bench_reading(const char *read, reid_index *gpu, const gallery *g, char **argv, const reid_hit *first) {
    static reid_hit hits[MOST_QUERIES * TOP];
    double gbs = atof(argv[5]), gflops = atof(argv[6]), values = (double)g->rows.count * g->rows.dim;
    int wrong = 0;
    for (int i = 7; argv[i]; i++) {
        int n = atoi(argv[i]);
        double ms = milliseconds(gpu, g, n, hits);
        int same = memcmp(hits, first, TOP * sizeof *first) == 0;
        printf("    {\"rows\": %llu, \"dim\": %d, \"storage\": \"fp16\", \"queries\": %d, \"k\": %d, "
               "\"read\": \"%s\", \"ours_ms\": %.4f, \"rows_gbs\": %.2f", (unsigned long long)g->rows.count,
               g->rows.dim, n, TOP, read, ms, 2e-6 * values / ms);
        share("of_memory", 2e-6 * values / ms, gbs);
        printf(", \"gflops\": %.1f", 2e-6 * values * n / ms);
        share("of_arithmetic", 2e-6 * values * n / ms, gflops);
        printf(", \"same_as_cpu\": %s}\n", same ? "true" : "false");
        wrong |= !same;
    }
    return wrong;
}

static int bench(int argc, char **argv) {
    size_t rows = (size_t)strtoull(argv[3], NULL, 10);
    int dim = atoi(argv[4]), most = 1, wrong = 0;
    reid_hit first[TOP];
    for (int i = 7; i < argc; i++) most = atoi(argv[i]) > most ? atoi(argv[i]) : most;
    if (most > MOST_QUERIES || rows < 1 || dim < 1) return 2;
    gallery g = make_gallery(rows, dim, most);
    reid_index *cpu = open_on(&g, REID_DEVICE_CPU, REID_PRECISION_DEFAULT, NULL);
    find(cpu, &g, 1, REID_ROWS, first);
    for (int halves = 0; halves < 2; halves++) {
        reid_index *gpu = open_on(&g, REID_DEVICE_CUDA, halves ? REID_FP16 : REID_INT8, argv[2]);
        wrong |= bench_reading(halves ? "fp16" : "int8", gpu, &g, argv, first);
        reid_index_destroy(gpu);
    }
    reid_index_destroy(cpu);
    free_gallery(&g);
    return wrong;
}

/* The median of ROUNDS, without groups and with groups whose rows are scattered. Returns whether the index that has
   grown finds other rows than one made of all. */
static int grow(const char *kernels, size_t rows, int dim) {
    const reid_device device = strcmp(kernels, "cpu") == 0 ? REID_DEVICE_CPU : REID_DEVICE_CUDA;
    gallery g = make_gallery(rows + 1, dim, 1);
    int wrong = 0;
    if (device == REID_DEVICE_CPU) kernels = NULL;
    for (size_t i = 0; i <= rows; i++) g.groups[i] = (uint32_t)(i * 7 % (rows / 10 + 1));
    for (int grouped = 0; grouped < 2; grouped++) {
        double made[ROUNDS], grown[ROUNDS];
        reid_hit hits[2][TOP];
        gallery few = g;
        g.rows.groups = grouped ? g.groups : NULL, few.rows.groups = g.rows.groups, few.rows.count = rows;
        for (int i = 0; i < ROUNDS; i++) {
            reid_error error;
            double start = now_ms();
            reid_index *index = open_on(&few, device, REID_PRECISION_DEFAULT, kernels);
            made[i] = now_ms() - start, start = now_ms();
            if (reid_index_grow(index, &g.rows, &error) != REID_OK) {
                fprintf(stderr, "search: %s\n", error.text);
                exit(1);
            }
            grown[i] = now_ms() - start;
            find(index, &g, 1, grouped ? REID_GROUP_MAX : REID_ROWS, hits[0]);
            reid_index_destroy(index);
        }
        reid_index *all = open_on(&g, device, REID_PRECISION_DEFAULT, kernels);
        find(all, &g, 1, grouped ? REID_GROUP_MAX : REID_ROWS, hits[1]);
        reid_index_destroy(all);
        wrong |= memcmp(hits[0], hits[1], sizeof *hits) != 0;
        qsort(made, ROUNDS, sizeof *made, by_value), qsort(grown, ROUNDS, sizeof *grown, by_value);
        printf("{\"rows\": %zu, \"dim\": %d, \"groups\": %s, \"made_ms\": %.3f, \"grown_ms\": %.3f}\n", rows,
               dim, grouped ? "true" : "false", made[ROUNDS / 2], grown[ROUNDS / 2]);
    }
    free_gallery(&g);
    return wrong;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "check") == 0) return check(argv[2]);
    if (argc >= 8 && strcmp(argv[1], "bench") == 0) return bench(argc, argv);
    if (argc == 5 && strcmp(argv[1], "grow") == 0)
        return grow(argv[2], (size_t)strtoull(argv[3], NULL, 10), atoi(argv[4]));
    fprintf(stderr, "usage: search check KERNELS | search bench KERNELS ROWS DIM GBS GFLOPS N... | "
                    "search grow KERNELS|cpu ROWS DIM\n");
    return 2;
}
