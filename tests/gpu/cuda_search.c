/* cuda_search.c: searches on a GPU under faults: every driver call fails once, memory is short, a fork, an automatic
   choice, kernels from a pack; and whether rows are left out at all. t_search.c checks that results are those of a
   sort. Run by t_cuda_search.sh on the emulator.

       cuda_search PART            scout, copies, growth, pack, memory, fork or automatic
       cuda_search calls CODE */
#include "cuda_faults.h"

enum { ROWS = 3000, COLUMNS = 40, QUERIES = 19, TOP = 5 };

static float rows[ROWS * COLUMNS], queries[QUERIES * COLUMNS];
static uint32_t groups[ROWS];
static reid_hit right[QUERIES * TOP];
static int right_found[QUERIES];
static test_log all;
static reid_error error;
static size_t asked; /* rows for which left_out was called */

/* Unit rows; query i is row 100 i, slightly changed. */
static void make_rows(void) {
    uint64_t state = 5;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        rows[i] = (float)((double)(state >> 32) / 2147483648.0 - 1.0);
    }
    for (int i = 0; i < ROWS; i++) groups[i] = (uint32_t)(i * 7 % 600);
    for (int i = 0; i < QUERIES * COLUMNS; i++)
        queries[i] = rows[i / COLUMNS * 100 * COLUMNS + i % COLUMNS] + 0.1f * rows[i];
}

static int left_out(int query, size_t row, void *user) {
    (void)user;
    __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
    return (row + (size_t)query) % 5 == 0;
}

static reid_rows gallery_of(size_t count) {
    const reid_rows gallery = {rows, NULL, count, COLUMNS, groups};
    return gallery;
}

static reid_result grow(reid_index *index) {
    const reid_rows all_rows = gallery_of(ROWS);
    return reid_index_grow(index, &all_rows, &error);
}

static reid_result open_rows(reid_desc *desc, reid_device device, size_t count, reid_index **index) {
    const reid_rows gallery = gallery_of(count);
    memset(&all, 0, sizeof all);
    memset(&error, 0x55, sizeof error);
    desc->device = device, desc->threads = 2, desc->error = &error;
    desc->kernels_src = test_kernels;
    desc->log_fn = log_line, desc->log_user = &all;
    return reid_index_create(desc, &gallery, index);
}

static reid_result open_index(reid_desc *desc, reid_device device, reid_index **index) {
    return open_rows(desc, device, ROWS, index);
}

static reid_result search_in(reid_index *index, reid_hit *hits, int *found) {
    reid_search_desc search = REID_INIT;
    search.k = TOP, search.scoring = REID_GROUP_MAX, search.exclude = left_out;
    memset(&error, 0x55, sizeof error);
    return reid_search(index, queries, QUERIES, &search, hits, found, &error);
}

static void check_right(reid_index *index) {
    reid_hit hits[QUERIES * TOP];
    int found[QUERIES];
    if (!CHECK_RESULT(search_in(index, hits, found), REID_OK)) printf("    %s\n", error.text);
    CHECK(memcmp(hits, right, sizeof hits) == 0 && memcmp(found, right_found, sizeof found) == 0);
}

static void setup(void) {
    reid_desc desc = REID_INIT;
    reid_index *index;
    const char *path = getenv("TEST_KERNELS");
    test_kernels = read_text(path ? path : "reid_kernels.cu");
    make_rows();
    test_need(open_index(&desc, REID_DEVICE_CPU, &index) == REID_OK, error.text);
    test_need(search_in(index, right, right_found) == REID_OK, error.text);
    reid_index_destroy(index);
}

/* Checks that a handle has left nothing behind. */
static void check_gone(void) {
    if (!CHECK_IS(emulator_live(), 0)) printf("    %s\n", emulator_live_text());
}

/* On the CPU `exclude` may be called for every row; with a GPU only for few. */
static void test_scout(void) {
    reid_desc desc = REID_INIT;
    reid_index *index;
    if (!CHECK_RESULT(open_index(&desc, REID_DEVICE_CUDA, &index), REID_OK)) return;
    CHECK_HAS(all.text, "searching on GPU 0, reid emulator sm_90 (sm_90)");
    asked = 0;
    check_right(index);
    printf("asked about %zu of %d rows\n", asked, ROWS * QUERIES);
    CHECK(asked > 0 && asked < ROWS * QUERIES / 10);
    reid_index_destroy(index);
    check_gone();
}

/* What the GPU reads first, and whether its blocks share the rows of a query. */
static void test_copies(void) {
    static const struct { int columns, halves, precision, bytes, parts; float outlier; } cases[] = {
        {COLUMNS, 0, REID_PRECISION_DEFAULT, 0, 32, 0}, {COLUMNS, 0, REID_INT8, 1, 32, 0},
        {80, 0, REID_PRECISION_DEFAULT, 1, 32, 0},      {80, 1, REID_BF16, 1, 32, 0},
        {80, 0, REID_FP16, 0, 32, 0},                   {600, 0, REID_PRECISION_DEFAULT, 0, 1, 100},
    };
    static uint16_t halves[ROWS * COLUMNS];
    reid_hit hits[TOP];
    int found;
    reid_index *index;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reid_desc desc = REID_INIT;
        reid_search_desc search = REID_INIT;
        reid_rows gallery = {rows, NULL, ROWS * COLUMNS / (size_t)cases[i].columns, cases[i].columns, NULL};
        float first = rows[0];
        rows[0] = cases[i].outlier ? cases[i].outlier : 2; /* beside the outlier, other components are few bytes */
        reid_to_halves(rows, halves, ROWS * COLUMNS);
        if (cases[i].halves) gallery.floats = NULL, gallery.halves = halves;
        desc.device = REID_DEVICE_CUDA, desc.kernels_src = test_kernels, desc.error = &error;
        desc.precision = (reid_precision)cases[i].precision;
        if (!CHECK_RESULT(reid_index_create(&desc, &gallery, &index), REID_OK)) return;
        CHECK_IS(index->gpu->bytes, cases[i].bytes);
        search.k = 1;
        CHECK_RESULT(reid_search(index, rows, 1, &search, hits, &found, &error), REID_OK);
        CHECK_IS(index->gpu->parts, cases[i].parts);
        CHECK_IS(hits[0].row, 0);
        rows[0] = first;
        reid_index_destroy(index);
        check_gone();
    }
}

/* An index that grows has the hits of one made of all rows. Whether it uploads old rows again is seen by changing one
   of them before: if not, the old one is found. */
static void test_growth(void) {
    static const struct {
        const char *what;
        int old, run, halves, precision; /* rows of a group that are neighbours, or 0 for groups that are scattered */
        float last;
        int copied, regroup;
    } cases[] = {
        {"ten rows at the end", ROWS - 10, 5, 0, 0, 0, 1, 0},
        {"most rows", 100, 5, 0, 0, 0, 1, 0},
        {"no row", ROWS, 5, 0, 0, 0, 1, 0},
        {"the first rows", 0, 5, 0, 0, 0, 0, 0},
        {"ten groups", ROWS - 10, 0, 0, 0, 0, 1, 0},
        {"a hundred groups", ROWS - 100, 0, 0, 0, 0, 0, 0},
        {"halves", ROWS - 10, 0, 1, 0, 0, 1, 0},
        {"bytes", ROWS - 10, 0, 0, REID_INT8, 0, 1, 0},
        {"a longer row", ROWS - 10, 5, 0, 0, 100, 0, 0},
        {"a longer row of halves", ROWS - 10, 0, 1, 0, 100, 1, 0},
        {"a longer row of bytes", ROWS - 10, 5, 0, REID_INT8, 100, 0, 0},
        {"other groups", ROWS - 10, 5, 0, 0, 0, 0, 1},
    };
    static uint16_t halves[ROWS * COLUMNS];
    static float kept[ROWS * COLUMNS];
    static uint32_t kept_groups[ROWS];
    memcpy(kept, rows, sizeof rows), memcpy(kept_groups, groups, sizeof groups);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reid_hit hits[2][QUERIES * TOP];
        int found[2][QUERIES], old = cases[i].old;
        reid_desc desc = REID_INIT;
        reid_search_desc search = REID_INIT;
        reid_index *grown, *made;
        test_case = cases[i].what;
        if (cases[i].last) rows[(ROWS - 1) * COLUMNS] = cases[i].last;
        for (int j = 0; cases[i].run && j < ROWS; j++) groups[j] = (uint32_t)(j / cases[i].run);
        reid_to_halves(rows, halves, ROWS * COLUMNS);
        reid_rows gallery = gallery_of((size_t)old);
        if (cases[i].halves) gallery.floats = NULL, gallery.halves = halves;
        desc.device = REID_DEVICE_CUDA, desc.kernels_src = test_kernels, desc.error = &error, desc.threads = 2;
        desc.precision = (reid_precision)cases[i].precision;
        if (!CHECK_RESULT(reid_index_create(&desc, &gallery, &grown), REID_OK)) return;
        const uint16_t half = halves[0];
        const float value = rows[0];
        rows[0] = 0.25f, halves[0] = 0x3400;
        for (int j = 0; cases[i].regroup && j < ROWS; j++) groups[j] = (uint32_t)(ROWS - j);
        gallery.count = ROWS;
        CHECK_RESULT(reid_index_grow(grown, &gallery, &error), REID_OK);
        if (cases[i].copied) rows[0] = value, halves[0] = half;
        desc.device = REID_DEVICE_CPU;
        if (!CHECK_RESULT(reid_index_create(&desc, &gallery, &made), REID_OK)) return;
        for (int scoring = REID_ROWS; scoring <= REID_GROUP_TOP; scoring++) {
            search.k = TOP, search.scoring = (reid_scoring)scoring, search.top = 2;
            CHECK_RESULT(reid_search(grown, queries, QUERIES, &search, hits[0], found[0], &error), REID_OK);
            CHECK_RESULT(reid_search(made, queries, QUERIES, &search, hits[1], found[1], &error), REID_OK);
            CHECK(memcmp(hits[0], hits[1], sizeof *hits) == 0 && memcmp(found[0], found[1], sizeof *found) == 0);
        }
        reid_index_destroy(grown), reid_index_destroy(made);
        memcpy(rows, kept, sizeof rows), memcpy(groups, kept_groups, sizeof groups);
        check_gone();
    }
}

/* --- failing calls ------------------------------------------------------------------------------------------------ */

static int failures;
static size_t last_push; /* reid_index_destroy's cuCtxPushCurrent, without which the driver has to free everything */

static size_t run_all(const char *specification) {
    reid_hit hits[QUERIES * TOP], zero[QUERIES * TOP];
    int found[QUERIES];
    reid_desc desc = REID_INIT;
    reid_index *index = (reid_index *)(void *)hits;
    memset(zero, 0, sizeof zero);
    test_case = specification;
    emulator_fail(specification);
    reid_result r = open_rows(&desc, REID_DEVICE_CUDA, ROWS - 10, &index);
    CHECK((r == REID_OK) == (index != NULL));
    if (index && (r = grow(index)) != REID_OK) {
        CHECK_RESULT(error.code, r);
        CHECK_HAS(error.text, "GPU 0");
        CHECK_IS(index->rows.count, ROWS - 10);
        CHECK_RESULT(grow(index), index->gpu->device.lost ? REID_ERR_GPU : REID_OK);
        if (!index->gpu->device.lost) check_right(index);
    } else if (index && (r = search_in(index, hits, found)) != REID_OK) {
        CHECK(memcmp(hits, zero, sizeof hits) == 0 && memcmp(found, zero, sizeof found) == 0);
        CHECK_RESULT(error.code, r);
        CHECK_HAS(error.text, "GPU 0");
        if (index->gpu->device.lost) CHECK_RESULT(search_in(index, hits, found), REID_ERR_GPU);
        else check_right(index);
    } else if (index) {
        CHECK(memcmp(hits, right, sizeof hits) == 0 && memcmp(found, right_found, sizeof found) == 0);
    } else {
        CHECK_RESULT(error.code, r);
        CHECK_HAS(error.text, "GPU");
    }
    failures += r != REID_OK;
    if (!*specification) last_push = emulator_calls() + 1;
    reid_index_destroy(index);
    size_t calls = emulator_calls();
    emulator_fail(NULL);
    check_gone();
    return calls;
}

static void test_calls(int code) {
    char specification[32];
    size_t count = run_all("");
    CHECK_IS(failures, 0);
    for (size_t i = 1; i <= count; i++) {
        if (i == last_push) continue;
        snprintf(specification, sizeof specification, code ? "any:%zu:%d" : "any:%zu", i, code);
        run_all(specification);
    }
    printf("%zu calls failed with code %d: %d failures\n", count, code, failures);
    CHECK(count > 25 && (size_t)failures > count / 2);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void test_memory(void) {
    static const char *const calls[] = {"cuMemAlloc:1:2", "cuMemHostAlloc:1:2"};
    reid_index *index;
    for (int i = 0; i < 2; i++)
        for (int device = REID_DEVICE_AUTO; device <= REID_DEVICE_CUDA; device += 2) {
            reid_desc desc = REID_INIT;
            test_case = calls[i];
            emulator_fail(calls[i]);
            reid_result r = open_index(&desc, (reid_device)device, &index);
            emulator_fail(NULL);
            CHECK_RESULT(r, device == REID_DEVICE_AUTO ? REID_OK : REID_ERR_OUT_OF_MEMORY);
            CHECK_HAS(index ? all.text : error.text, "GPU 0 (reid emulator sm_90) has no memory for the rows");
            if (index) CHECK_HAS(all.text, "searching on the CPU: ");
            if (index) check_right(index);
            reid_index_destroy(index);
            check_gone();
        }
    for (int i = 0; i < 2; i++) { /* bytes only, in memory for them; or not even that */
        reid_desc desc = REID_INIT;
        desc.precision = REID_INT8;
        test_case = i ? "no memory" : "memory for bytes";
        emulator_fail(i ? "cuMemAlloc:1+:2" : "cuMemAlloc:1:2");
        reid_result r = open_index(&desc, REID_DEVICE_CUDA, &index);
        emulator_fail(NULL);
        CHECK_RESULT(r, i ? REID_ERR_OUT_OF_MEMORY : REID_OK);
        CHECK_HAS(i ? error.text : all.text, i ? "has no memory for the rows" : "for the rows as bytes only");
        if (index) check_right(index);
        reid_index_destroy(index);
        check_gone();
    }
    for (size_t limit = 100000; limit < 6000000; limit += 150000) { /* too little for either, for a GPU, enough */
        test_heap heap;
        reid_desc desc = REID_INIT;
        memset(&heap, 0, sizeof heap);
        desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap;
        desc.memory_limit = limit;
        test_case = "memory_limit";
        reid_result r = open_index(&desc, REID_DEVICE_AUTO, &index);
        int gpu = index && index->gpu;
        if (r != REID_OK) CHECK_RESULT(r, REID_ERR_MEMORY_LIMIT);
        else CHECK_HAS(all.text, gpu ? "searching on GPU 0" : "searching on the CPU: the index takes");
        CHECK(gpu || limit < 5500000); /* the index, the source of the kernels and their code take about 4.7 MB */
        if (gpu) check_right(index);
        if (gpu) CHECK(heap.live + index->gpu_bytes <= limit);
        reid_index_destroy(index);
        CHECK_IS(heap.live, 0);
        CHECK_IS(heap.wrong_size, 0);
    }
}

/* --- forks, packs, AUTO ------------------------------------------------------------------------------------------- */

static void test_fork(void) {
    reid_hit hits[QUERIES * TOP];
    int found[QUERIES], status = 1;
    reid_desc desc = REID_INIT;
    reid_index *index;
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap;
    if (!CHECK_RESULT(open_index(&desc, REID_DEVICE_CUDA, &index), REID_OK)) return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        memset(&index->gpu->device.cu, 0, sizeof index->gpu->device.cu); /* a call would end the process */
        CHECK_RESULT(search_in(index, hits, found), REID_ERR_FORKED);
        reid_index_destroy(index);
        CHECK_IS(heap.live, 0);
        fflush(stdout);
        _exit(test_failures != 0);
    }
    waitpid(child, &status, 0);
    CHECK_IS(status, 0);
    check_right(index);
    reid_index_destroy(index);
    check_gone();
}

/* A pack of a network holds the kernels that search in its embeddings, and no others. */
static void test_pack(void) {
    char path[256];
    static float wide[200 * 1280];
    reid_rows gallery = {wide, NULL, 200, 1280, NULL};
    reid_desc pack = REID_INIT, desc = REID_INIT;
    reid_index *index;
    folder_path(path, "search.pack");
    pack.network = "efficientnet_b0", pack.height = pack.width = 32, pack.batch = 1;
    pack.kernels_src = test_kernels, pack.error = &error, pack.threads = 2;
    CHECK_RESULT(reid_pack_kernels(&pack, "sm_90", path, NULL, NULL), REID_OK);
    desc.device = REID_DEVICE_CUDA, desc.kernels_src = test_kernels, desc.error = &error;
    desc.kernels_pack = path, desc.nvrtc_path = "/nonexistent", desc.cache_dir = "";
    CHECK_RESULT(reid_index_create(&desc, &gallery, &index), REID_OK);
    reid_index_destroy(index);
    gallery.dim = 1200;
    CHECK_RESULT(reid_index_create(&desc, &gallery, &index), REID_ERR_DEVICE);
    CHECK_HAS(error.text, "1 kernel must be compiled for sm_90");
    check_gone();
}

/* AUTO logs why it does not use the GPU; but not for a small gallery, for which it does not pay. */
static void test_automatic(void) {
    static const struct { const char *fail, *said; } cases[] = {
        {"cuInit:1:3", "searching on the CPU: GPU 0: cuInit"}, {"cuModuleLoadData:1:1", "searching on the CPU: GPU 0"},
        {"cuMemcpyHtoDAsync:1:719", "searching on the CPU: GPU 0: uploading rows"}, {NULL, "searching on GPU 0"}};
    reid_index *index;
    for (int i = 0; i < 4; i++) {
        reid_desc desc = REID_INIT;
        test_case = cases[i].said;
        emulator_fail(cases[i].fail);
        CHECK_RESULT(open_index(&desc, REID_DEVICE_AUTO, &index), REID_OK);
        emulator_fail(NULL);
        CHECK_HAS(all.text, cases[i].said);
        if (index) check_right(index);
        reid_index_destroy(index);
        check_gone();
    }
    reid_desc desc = REID_INIT;
    desc.kernels_path = "/nonexistent.cu";
    CHECK_RESULT(open_index(&desc, REID_DEVICE_AUTO, &index), REID_ERR_INVALID_ARG); /* the text and a path */
    CHECK_HAS(error.text, "either desc.kernels_src or desc.kernels_path");
    CHECK(index == NULL);
    CHECK_RESULT(open_index(&desc, (reid_device)7, &index), REID_ERR_INVALID_ARG);
    check_gone();
}

int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : "";
    setup();
    if (strcmp(part, "scout") == 0) test_scout();
    else if (strcmp(part, "copies") == 0) test_copies();
    else if (strcmp(part, "growth") == 0) test_growth();
    else if (strcmp(part, "calls") == 0 && argc == 3) test_calls(atoi(argv[2]));
    else if (strcmp(part, "memory") == 0) test_memory();
    else if (strcmp(part, "fork") == 0) test_fork();
    else if (strcmp(part, "pack") == 0) test_pack();
    else if (strcmp(part, "automatic") == 0) test_automatic();
    else test_need(0, "scout, copies, growth, calls CODE, memory, fork, pack or automatic?");
    free(test_kernels);
    printf("cuda_search %s: %d failed\n", part, test_failures);
    return test_failures != 0;
}
