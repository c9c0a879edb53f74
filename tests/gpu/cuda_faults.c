/* cuda_faults.c: every driver call, every call of NVRTC and every allocation fails once, and memory is short: the
   result is an error with a text, or the right bits, with nothing left behind and the caller's context unchanged. Then
   forks, threads, the queue and memory_limit. Run by t_cuda_faults.sh on the emulator.

       cuda_faults PACK pack            makes the pack that the others use
       cuda_faults PACK PART            memory, small, nvrtc, host, fork, context, threads, queue or limit
       cuda_faults PACK calls CODE STEP

   Linked with -Wl,--wrap=glob,--wrap=dlsym. */
#include "cuda_faults.h"
#include <pthread.h>

#define ROWS 5 /* of a call: batches of 4 and 1 */

static const char *pack;
static char lacking[300]; /* the pack without three programs */
static test_row right[PICTURES];
static test_log all;
static reid_error error;

/* Counts NVRTC's live programs by intercepting its calls, as the emulator does not count them. */
static int rtc_programs;
static int (*rtc_create)(void **, const char *, const char *, int, const char *const *, const char *const *);
static int (*rtc_destroy)(void **);

static int count_create(void **program, const char *text, const char *name, int n, const char *const *headers,
                        const char *const *names) {
    int r = rtc_create(program, text, name, n, headers, names);
    rtc_programs += r == 0;
    return r;
}

static int count_destroy(void **program) {
    int r = rtc_destroy(program);
    rtc_programs -= r == 0;
    return r;
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *) = count_create;
    int (*destroy)(void **) = count_destroy;
    void *f = __real_dlsym(library, name);
    if (f && strcmp(name, "nvrtcCreateProgram") == 0) {
        memcpy(&rtc_create, &f, sizeof f);
        memcpy(&f, &create, sizeof f);
    }
    if (f && strcmp(name, "nvrtcDestroyProgram") == 0) {
        memcpy(&rtc_destroy, &f, sizeof f);
        memcpy(&f, &destroy, sizeof f);
    }
    return f;
}

static reid_desc desc_with(const char *kernels) {
    reid_desc desc = test_desc(REID_DEVICE_CUDA, &all, &error);
    desc.kernels_pack = kernels;
    if (kernels == pack) desc.nvrtc_path = "/nonexistent"; /* its calls are another test */
    return desc;
}

static void *current_context(void) {
    int (*get)(void **);
    void *f = emulator("cuCtxGetCurrent"), *context = &get;
    memcpy(&get, &f, sizeof get);
    test_need(get(&context) == 0 || context == &get, "cuCtxGetCurrent");
    return context;
}

static double seconds(void) { return (double)reid__now() * 1e-9; }

/* --- one program of calls, and its allowed results ---------------------------------------------------------------- */

/* A failed call leaves code and text, and zeros. */
static void check_failure(reid_result r, const test_row *rows, int n) {
    static const test_row zero;
    CHECK_RESULT(error.code, r);
    if (!strstr(error.text, "GPU ")) CHECK_HAS(error.text, "operation features."); /* packing its weights */
    CHECK(strlen(error.text) > 20);
    for (int i = 0; rows && i < n; i++) CHECK(memcmp(&rows[i], &zero, sizeof zero) == 0);
}

static int is_right(const test_row *rows, int n) { return memcmp(rows, right, (size_t)n * sizeof *rows) == 0; }

/* After a failed call the handle works, or says at once that it is lost. */
static void check_after(reid_ctx *ctx) {
    test_row rows[ROWS];
    uint8_t view[32 * 32 * 3];
    float times[REID__MAX_OPS];
    if (!ctx->gpu->device.lost) {
        for (int n = 1; n <= ROWS; n += ROWS - 1) { /* fewer than before: nothing of the failed call may appear */
            CHECK_RESULT(embed_all(ctx, n, rows, &error), REID_OK);
            CHECK(is_right(rows, n));
        }
        return;
    }
    size_t calls = emulator_calls();
    double start = seconds();
    CHECK_RESULT(embed_all(ctx, ROWS, rows, &error), REID_ERR_GPU);
    check_failure(REID_ERR_GPU, rows, ROWS);
    CHECK_HAS(error.text, "failed earlier");
    CHECK_RESULT(reid_preprocess(ctx, test_images, view, &error), REID_ERR_GPU);
    CHECK_RESULT(reid_profile(ctx, 1, 1, times, NULL, &error), REID_ERR_GPU);
    CHECK_IS(emulator_calls(), calls);
    CHECK(seconds() - start < 0.5);
}

static int failed, halved; /* how often, for the summary */
/* Numbers of calls: the last ones of reid_create and of reid_preprocess, and reid_destroy's first, cuCtxPushCurrent; if
   that one fails, nothing can be freed, which the driver then does with the context. */
static size_t created, used, last_push;

/* Creates, embeds, resizes, times, destroys, while a call fails as `specification` says. Returns how many calls there
   were. */
static size_t run_all(const char *specification) {
    static uint8_t view[32 * 32 * 3], right_view[32 * 32 * 3];
    test_row rows[ROWS];
    float times[REID__MAX_OPS];
    reid_info info;
    reid_ctx *ctx = (reid_ctx *)(void *)rows;
    reid_desc desc = desc_with(pack);
    test_case = specification;
    emulator_fail(specification);
    reid_result r = reid_create(&desc, &ctx);
    CHECK((r == REID_OK) == (ctx != NULL));
    if (r != REID_OK) check_failure(r, NULL, 0);
    else CHECK(error.code == REID_OK && !error.text[0]);
    if (ctx && CHECK_RESULT(reid_query_desc(ctx, &info), REID_OK) && info.batch < 4) {
        halved++;
        CHECK_HAS(all.text, "has no memory for a batch of 4; trying 2");
    }
    if (!*specification) created = emulator_calls();
    if (ctx && (r = embed_all(ctx, ROWS, rows, &error)) != REID_OK) check_failure(r, rows, ROWS), check_after(ctx);
    else if (ctx) CHECK(is_right(rows, ROWS) && error.code == REID_OK && !error.text[0]);
    if (ctx && r == REID_OK) {
        r = reid_preprocess(ctx, test_images, view, &error);
        if (r != REID_OK) check_failure(r, NULL, 0), check_after(ctx);
        else if (!*specification) memcpy(right_view, view, sizeof view);
        else CHECK(memcmp(view, right_view, sizeof view) == 0);
    }
    if (!*specification) used = emulator_calls();
    if (ctx && r == REID_OK) {
        size_t live = emulator_live();
        r = reid_profile(ctx, 2 <= info.batch ? 2 : 1, 2, times, NULL, &error);
        if (r != REID_OK) check_failure(r, NULL, 0), check_after(ctx);
        CHECK_IS(emulator_live(), live);
    }
    failed += r != REID_OK;
    if (!*specification) last_push = emulator_calls() + 1; /* reid_destroy begins with cuCtxPushCurrent */
    reid_destroy(ctx);
    size_t calls = emulator_calls();
    emulator_fail(NULL);
    if (!CHECK_IS(emulator_live(), 0)) printf("    %s\n", emulator_live_text());
    CHECK(current_context() == NULL);
    return calls;
}

static void one_failing(const char *what, size_t at, int code) {
    char specification[64];
    snprintf(specification, sizeof specification, code ? "%s:%zu:%d" : "%s:%zu", what, at, code);
    run_all(specification);
}

/* If these fail, something unavoidably leaks; `any` does not count them. */
static int gives_back(const char *name) {
    return strstr(name, "Free") || strstr(name, "Destroy") || strstr(name, "Unload") || strstr(name, "Release") ||
           strstr(name, "Pop");
}

/* Each function of the driver fails the first time that it is called. Then single calls fail, which are chosen by their
   numbers, counted from `seed`: while images are embedded and resized, every `step`/8th call; otherwise every `step`th
   of the first 150 calls, of the last 60, and of each seventh between them. If `step` is 1, each call fails once.
   `code` is the driver's answer; 0: the one that suits the call. */
static void test_calls(int code, size_t step, size_t seed) {
#define SYMBOL(field, symbol, parameters) symbol,
    static const char *const names[] = {REID__DRIVER(SYMBOL)};
    size_t count = run_all(""), tried = 0, each = step < 8 ? 1 : step / 8;
    CHECK(count > 500);
    CHECK_IS(failed, 0);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!gives_back(names[k])) one_failing(names[k], 1, code);
    failed = 0;
    for (size_t i = 1; i <= count; i++) {
        int dense = i > created && i <= used, sparse = step > 1 && i > 150 && i + 60 <= count;
        int left_out = dense ? (i + seed) % each != 0 : (i / (sparse ? 7 : 1) + seed) % step || (sparse && i % 7);
        if (i == last_push || left_out) continue;
        one_failing("any", i, code);
        tried++;
    }
    printf("%zu of %zu calls failed with code %d: %d failures, %d smaller batches\n", tried, count, code, failed,
           halved);
    CHECK(2 * (size_t)failed >= tried);
    if (code == REID__CUDA_OUT_OF_MEMORY) CHECK(halved > 0);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void check_rows(reid_ctx *ctx, int n) {
    test_row rows[PICTURES];
    if (!CHECK_RESULT(embed_all(ctx, n, rows, &error), REID_OK)) printf("    %s\n", error.text);
    CHECK(is_right(rows, n));
    CHECK(error.code == REID_OK && !error.text[0]);
}

/* The Nth allocation on the device, or of pinned memory, is refused. */
static void refuse(const char *call, reid_device device) {
    char specification[48];
    reid_info info;
    reid_ctx *ctx;
    int smaller = 0, refused = 0;
    for (int i = 1;; i++) {
        reid_desc desc = desc_with(pack);
        desc.device = device, desc.precision = REID_PRECISION_DEFAULT, desc.lanes = 2;
        snprintf(specification, sizeof specification, "%s:%d:2", call, i);
        test_case = specification;
        emulator_fail(specification);
        reid_result r = reid_create(&desc, &ctx);
        emulator_fail(NULL);
        if (r != REID_OK) {
            CHECK_RESULT(r, REID_ERR_OUT_OF_MEMORY);
            CHECK_HAS(error.text, "has no memory for");
            refused++;
            continue;
        }
        CHECK_RESULT(reid_query_desc(ctx, &info), REID_OK);
        int on_cpu = strcmp(info.device, "cpu") == 0;
        if (on_cpu) CHECK_HAS(all.text, "warning: computing on the CPU: GPU 0 (reid emulator sm_90) has no memory for");
        else check_rows(ctx, ROWS);
        refused += on_cpu;
        smaller += info.batch == 2;
        int told = strstr(all.text, "no memory for a batch of 4; trying 2") != NULL;
        CHECK(on_cpu || info.batch == 4 || (info.batch == 2 && told));
        reid_destroy(ctx);
        CHECK_IS(emulator_live(), 0);
        if (!on_cpu && info.batch == 4) break;
    }
    CHECK_IS(smaller, 2); /* either lane's */
    CHECK_IS(refused, strcmp(call, "cuMemAlloc") == 0 ? 2 : 0); /* weights and what packing needs */
}

static void small_device(void) { /* REID_EMULATOR_MEMORY, which is 1 MB at least */
    reid_ctx *ctx;
    reid_info info;
    reid_memory memory;
    int last = 256;
    for (int lanes = 1; lanes <= 64; lanes *= 2) {
        reid_desc desc = desc_with(pack);
        desc.batch = 64, desc.lanes = lanes;
        reid_result r = reid_create(&desc, &ctx);
        if (r != REID_OK) {
            CHECK_RESULT(r, REID_ERR_OUT_OF_MEMORY);
            CHECK_HAS(error.text, "has no memory for activations");
            CHECK_HAS(all.text, "has no memory for a batch of 2; trying 1");
            CHECK_IS(last, 1); /* the one before was the last that could be had */
            desc.device = REID_DEVICE_AUTO, desc.precision = REID_PRECISION_DEFAULT;
            CHECK_RESULT(reid_create(&desc, &ctx), REID_OK);
            CHECK_HAS(all.text, "warning: computing on the CPU: ");
            reid_destroy(ctx);
            CHECK_IS(emulator_live(), 0);
            return;
        }
        CHECK(reid_query_desc(ctx, &info) == REID_OK && reid_memory_report(ctx, &memory) == REID_OK);
        CHECK(info.batch < 64 && info.batch <= last);
        CHECK(memory.device_weights + memory.device_activations + memory.device_staging < 1 << 20);
        last = info.batch;
        check_rows(ctx, PICTURES);
        reid_destroy(ctx);
        CHECK_IS(emulator_live(), 0);
    }
    CHECK(!"64 lanes fit into a megabyte");
}

/* The Nth launch of a graph has no memory: the batch is halved, for this call. */
static void launches(void) {
    char specification[48];
    test_heap heap;
    test_row row;
    reid_ctx *ctx;
    reid_desc desc = desc_with(pack);
    memset(&heap, 0, sizeof heap);
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap;
    desc.batch = 8;
    CHECK_RESULT(reid_create(&desc, &ctx), REID_OK);
    size_t calls = heap.calls;
    static const char *const names[] = {"cuGraphLaunch", "cuLaunchKernelEx", "cuMemcpyHtoDAsync",
                                        "cuMemcpyDtoHAsync"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int i = 1; i <= 4; i += 2) {
            snprintf(specification, sizeof specification, "%s:%d:2", names[k], i);
            test_case = specification;
            emulator_fail(specification);
            check_rows(ctx, PICTURES);
            emulator_fail(NULL);
        }
    test_case = "a batch of one";
    emulator_fail("cuGraphLaunch:1:2");
    CHECK_RESULT(embed_all(ctx, 1, &row, &error), REID_ERR_OUT_OF_MEMORY);
    check_failure(REID_ERR_OUT_OF_MEMORY, &row, 1);
    emulator_fail(NULL);
    check_rows(ctx, ROWS);
    CHECK_IS(heap.calls, calls); /* nothing is allocated */
    reid_destroy(ctx);
    CHECK_IS(heap.live, 0);
}

static void test_memory(void) {
    refuse("cuMemAlloc", REID_DEVICE_CUDA);
    refuse("cuMemHostAlloc", REID_DEVICE_CUDA);
    refuse("cuMemAlloc", REID_DEVICE_AUTO);
    test_case = "launches";
    launches();
}

/* --- NVRTC -------------------------------------------------------------------------------------------------------- */

static void test_nvrtc(void) {
#define NAME(type, field, symbol, parameters) symbol,
    static const char *const names[] = {REID__NVRTC(NAME)};
    char specification[64];
    int wrong = 0, fine = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int i = 1; i <= (strstr(names[k], "eProgram") ? 2 : 1); i++) { /* create and compile: also not the first */
            test_heap heap;
            reid_ctx *ctx;
            reid_desc desc = desc_with(lacking);
            memset(&heap, 0, sizeof heap);
            desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap;
            snprintf(specification, sizeof specification, "%s:%d:7", names[k], i);
            test_case = specification;
            emulator_nvrtc_fail(specification);
            reid_result r = reid_create(&desc, &ctx);
            emulator_nvrtc_fail(NULL);
            CHECK(r == REID_OK || r == REID_ERR_DEVICE || r == REID_ERR_KERNEL_COMPILE);
            CHECK_RESULT(error.code, r);
            if (r != REID_OK) CHECK_HAS(error.text, "libnvrtc.so.13");
            if (r == REID_OK) check_rows(ctx, ROWS);
            wrong += r != REID_OK, fine += r == REID_OK;
            if (strcmp(names[k], "nvrtcCompileProgram") == 0) { /* its log is told */
                CHECK_RESULT(r, i == 1 ? REID_ERR_DEVICE : REID_ERR_KERNEL_COMPILE);
                CHECK_HAS(error.text, "BUILTIN");
                CHECK_HAS(error.text, "failed to open libnvrtc-builtins.so.13.0");
            }
            reid_destroy(ctx);
            CHECK_IS(emulator_live(), 0);
            CHECK_IS(heap.live, 0);
            CHECK_IS(rtc_programs, 0);
        }
    CHECK(wrong >= 6 && fine > 0);
}

/* --- the caller's allocator --------------------------------------------------------------------------------------- */

typedef enum { WITH_PACK, WITH_CACHE, ON_AUTO, MAKING_PACK, QUERY } operation;

static reid_result try_operation(operation what, test_heap *heap, const char *cache) {
    reid_gpu_info gpu;
    reid_ctx *ctx = NULL;
    reid_desc desc = desc_with(what == WITH_CACHE ? lacking : pack);
    if (what == MAKING_PACK) {
        desc = test_pack_desc(&error);
        desc.kernels_pack = lacking, desc.threads = 1;
    }
    if (what == QUERY) desc.nvrtc_path = NULL;
    if (what == WITH_CACHE || what == MAKING_PACK) desc.cache_dir = cache;
    if (what == ON_AUTO) desc.device = REID_DEVICE_AUTO;
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = heap;
    reid_result r = what == MAKING_PACK ? reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL)
                    : what == QUERY     ? reid_query_gpu(&desc, &gpu)
                                        : reid_create(&desc, &ctx);
    if (ctx) check_rows(ctx, 1);
    reid_destroy(ctx);
    return r;
}

static void test_host(void) {
    static const char *const names[] = {"with a pack", "with a cache", "AUTO", "making a pack", "query"};
    char cache[256], text[64];
    folder_path(cache, "host_cache");
    for (int what = WITH_PACK; what <= QUERY; what++)
        for (int rest = 0; rest < 2; rest++)
            for (size_t at = 1;; at++) {
                test_heap heap;
                memset(&heap, 0, sizeof heap);
                heap.fail_at = at, heap.fail_rest = rest;
                snprintf(text, sizeof text, "%s, allocation %zu%s", names[what], at, rest ? " and all later" : "");
                test_case = text;
                reid_result r = try_operation((operation)what, &heap, cache);
                CHECK_IS(heap.live, 0);
                CHECK_IS(heap.wrong_size, 0);
                CHECK_IS(emulator_live(), 0);
                CHECK_IS(rtc_programs, 0);
                if (heap.calls < at) {
                    CHECK_RESULT(r, REID_OK);
                    CHECK(at > 2);
                    break;
                }
                /* an entry of the cache that cannot be read or kept is no error */
                int degrades = (what == WITH_CACHE || what == MAKING_PACK) && !rest;
                if (!degrades || r != REID_OK) CHECK_RESULT(r, REID_ERR_OUT_OF_MEMORY);
                CHECK_RESULT(error.code, r);
                CHECK(r == REID_OK || strlen(error.text) > 10);
            }
    CHECK_IS(count_files(cache, ".tmp", NULL), 0);
}

/* --- forks -------------------------------------------------------------------------------------------------------- */

static void no_call(void) {
    printf("a driver call after fork\n");
    fflush(stdout);
    _exit(9);
}

/* In the child: everything refuses, and nothing of the driver's is touched. */
static void in_fork(reid_ctx *ctx) {
    void (*none)(void) = no_call;
    test_row rows[ROWS];
    uint8_t view[32 * 32 * 3];
    float times[REID__MAX_OPS];
    reid_info info;
    reid_memory memory;
    reid_op_info op;
    char *calls = (char *)&ctx->gpu->device.cu;
    for (size_t i = 0; i < sizeof ctx->gpu->device.cu; i += sizeof none) memcpy(calls + i, &none, sizeof none);
    CHECK_RESULT(embed_all(ctx, ROWS, rows, &error), REID_ERR_FORKED);
    CHECK_RESULT(error.code, REID_ERR_FORKED);
    CHECK_RESULT(reid_preprocess(ctx, test_images, view, &error), REID_ERR_FORKED);
    CHECK_RESULT(reid_profile(ctx, 1, 1, times, NULL, &error), REID_ERR_FORKED);
    CHECK_RESULT(reid_query_desc(ctx, &info), REID_ERR_FORKED);
    CHECK_RESULT(reid_memory_report(ctx, &memory), REID_ERR_FORKED);
    CHECK_RESULT(reid_query_op(ctx, 0, &op), REID_ERR_FORKED);
    reid_destroy(ctx);
    reid_desc desc = desc_with(pack); /* the driver does not survive a fork either */
    reid_gpu_info gpu;
    CHECK_RESULT(reid_create(&desc, &ctx), REID_ERR_DEVICE);
    CHECK_HAS(error.text, "cuInit");
    CHECK_RESULT(reid_query_gpu(&desc, &gpu), REID_ERR_DEVICE);
    desc.device = REID_DEVICE_AUTO, desc.precision = REID_PRECISION_DEFAULT;
    CHECK_RESULT(reid_create(&desc, &ctx), REID_OK);
    CHECK(embed_all(ctx, ROWS, rows, &error) == REID_OK && memcmp(rows, test_cpu, sizeof rows) == 0);
    reid_destroy(ctx);
}

static void test_fork(void) {
    test_heap heap;
    reid_ctx *ctx;
    reid_desc desc = desc_with(pack);
    int status = 0;
    memset(&heap, 0, sizeof heap);
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap;
    desc.lanes = 2, desc.threads = 2;
    CHECK_RESULT(reid_create(&desc, &ctx), REID_OK);
    check_rows(ctx, ROWS);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test_failures = 0;
        in_fork(ctx);
        CHECK_IS(heap.live, 0);
        fflush(stdout);
        _exit(test_failures != 0);
    }
    waitpid(child, &status, 0);
    CHECK_IS(status, 0);
    check_rows(ctx, ROWS);
    reid_destroy(ctx);
    CHECK_IS(heap.live, 0);
    CHECK_IS(emulator_live(), 0);
}

/* --- the caller's context ----------------------------------------------------------------------------------------- */

/* Every public call, with and without errors, while `mine` is current (NULL: none); it must be so afterwards. */
static void with_context(void *mine) {
    static const char *const creating[] = {"", "any:1:1", "cuDeviceGetAttribute:1", "cuCtxPushCurrent:1:1", "any:30:1",
                                           "any:150:719", "cuStreamEndCapture:1:1", "any:400:2"};
    static const char *const embedding[] = {"cuCtxPushCurrent:1:1", "cuMemcpyHtoDAsync:1:719", "cuEventSynchronize:1:1",
                                            "cuEventRecord:3:1"};
    enum { CREATING = 8, FAULTS = 12 };
    test_row rows[ROWS];
    uint8_t view[32 * 32 * 3];
    float times[REID__MAX_OPS];
    reid_gpu_info gpu;
    for (int k = 0; k < FAULTS; k++)
        for (int device = REID_DEVICE_AUTO; device <= REID_DEVICE_CUDA; device += 2) {
            reid_ctx *ctx;
            reid_desc desc = desc_with(pack);
            desc.device = (reid_device)device;
            if (device == REID_DEVICE_AUTO) desc.precision = REID_PRECISION_DEFAULT;
            if (device == REID_DEVICE_AUTO && k % 3) continue;
            test_case = k < CREATING ? creating[k] : embedding[k - CREATING];
            emulator_fail(k < CREATING ? test_case : NULL);
            reid_create(&desc, &ctx);
            CHECK(current_context() == mine);
            emulator_fail(k < CREATING ? NULL : test_case);
            if (ctx) {
                embed_all(ctx, ROWS, rows, &error);
                CHECK(current_context() == mine);
                reid_preprocess(ctx, test_images, view, &error);
                CHECK(current_context() == mine);
                reid_profile(ctx, 1, 1, times, NULL, &error);
                CHECK(current_context() == mine);
            }
            reid_destroy(ctx);
            CHECK(current_context() == mine);
            emulator_fail(test_case);
            reid_query_gpu(&desc, &gpu);
            emulator_fail(NULL);
            CHECK(current_context() == mine);
            CHECK_IS(emulator_live(), mine != NULL);
        }
}

/* A context of the caller's own stays current, and can be made and destroyed while a handle lives; so does another
   owner of the primary context. */
static void test_context(void) {
    int (*create)(void **, unsigned, int), (*destroy)(void *), (*pop)(void **);
    int (*retain)(void **, int), (*release)(int);
    void *f, *mine = NULL, *popped = NULL, *primary = NULL;
    reid_ctx *first, *second;
    f = emulator("cuCtxCreate_v2"), memcpy(&create, &f, sizeof f);
    f = emulator("cuCtxDestroy_v2"), memcpy(&destroy, &f, sizeof f);
    f = emulator("cuCtxPopCurrent_v2"), memcpy(&pop, &f, sizeof f);
    f = emulator("cuDevicePrimaryCtxRetain"), memcpy(&retain, &f, sizeof f);
    f = emulator("cuDevicePrimaryCtxRelease_v2"), memcpy(&release, &f, sizeof f);
    with_context(NULL);

    reid_desc desc = desc_with(pack);
    test_case = "two handles and a context of the caller's";
    CHECK_RESULT(reid_create(&desc, &first), REID_OK);
    CHECK_IS(create(&mine, 0, 0), 0);
    CHECK_RESULT(reid_create(&desc, &second), REID_OK);
    check_rows(first, ROWS);
    reid_destroy(first); /* second has the primary context still */
    CHECK(current_context() == mine);
    check_rows(second, ROWS);
    CHECK_IS(destroy(mine), 0); /* while it is current, behind the handle's back */
    check_rows(second, ROWS);
    CHECK(current_context() == NULL);
    reid_destroy(second);
    CHECK_IS(emulator_live(), 0);

    CHECK_IS(create(&mine, 0, 0), 0);
    with_context(mine);
    CHECK(pop(&popped) == 0 && popped == mine && current_context() == NULL); /* there was nothing below it */
    CHECK_IS(destroy(mine), 0);

    test_case = "another owner of the primary context";
    CHECK_IS(retain(&primary, 0), 0);
    CHECK_RESULT(reid_create(&desc, &first), REID_OK);
    check_rows(first, ROWS);
    reid_destroy(first);
    CHECK_IS(emulator_live(), 1);
    CHECK_IS(release(0), 0);
    CHECK_IS(emulator_live(), 0);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static reid_ctx *many;

static void *embedder(void *arg) {
    static const int counts[] = {1, 3, 4, 5, 2};
    int first = *(int *)arg, bad = 0;
    for (int i = 0; i < 4; i++) {
        int n = counts[(first + i) % 5], at = (first + 7 * i) % (PICTURES - n);
        float *out = (float *)calloc((size_t)(n * reid_dim(many)), sizeof *out);
        if (!out || reid_embed(many, test_images + at, n, out) != REID_OK) bad++;
        for (int k = 0; k < n && out; k++)
            if (memcmp(out + k * reid_dim(many), right[at + k].v, (size_t)reid_dim(many) * sizeof *out) != 0) bad++;
        free(out);
    }
    *(int *)arg = bad;
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[32];
    int arguments[32];
    reid_desc desc = desc_with(pack);
    desc.lanes = 2, desc.threads = 2;
    CHECK_RESULT(reid_create(&desc, &many), REID_OK);
    for (int i = 0; i < 32; i++) {
        arguments[i] = i;
        test_need(pthread_create(&threads[i], NULL, embedder, &arguments[i]) == 0, "a thread");
    }
    for (int i = 0; i < 32; i++) {
        pthread_join(threads[i], NULL);
        CHECK_IS(arguments[i], 0);
    }
    reid_destroy(many);
    CHECK_IS(emulator_live(), 0);
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

typedef struct queued {
    float rows[3 * (int)(sizeof(test_row) / sizeof(float))]; /* (n, dim) */
    reid_request request;
    int told;
    reid_result result;
} queued;

static void queued_done(reid_result result, void *user) {
    queued *q = (queued *)user;
    q->result = result;
    __atomic_fetch_add(&q->told, 1, __ATOMIC_SEQ_CST);
}

static int first_of(int request) { return 5 * request % (PICTURES - 3); }

/* Requests of 1 to 3 images, drained. */
static void through_queue(reid_queue *queue, queued *all_of, int count) {
    memset(all_of, 0x55, (size_t)count * sizeof *all_of);
    for (int i = 0; i < count; i++) {
        const reid_request request = {test_images + first_of(i), 1 + i % 3, all_of[i].rows, i % 8 - 3, 0,
                                      queued_done, &all_of[i]};
        all_of[i].request = request, all_of[i].told = 0;
        CHECK_RESULT(reid_submit(queue, &all_of[i].request, NULL, &error), REID_OK);
    }
    CHECK_RESULT(reid_queue_drain(queue, -1), REID_OK);
    for (int i = 0; i < count; i++) CHECK_IS(all_of[i].told, 1);
}

/* Two lanes give the same bits; when the GPU is lost, every request ends, right or with zeros. */
static void test_queue(void) {
    enum { COUNT = 24 };
    static queued requests[COUNT];
    static const test_row zero;
    reid_ctx *ctx;
    reid_queue *queue;
    reid_queue_stats stats;
    reid_desc desc = desc_with(pack);
    reid_queue_desc how = REID_INIT;
    desc.lanes = 2;
    for (int at = 0; at <= 10; at += 5) { /* 0: no launch fails */
        char specification[48];
        int right_ones = 0, lost = 0, wrong = 0;
        CHECK_RESULT(reid_create(&desc, &ctx), REID_OK);
        int dim = reid_dim(ctx);
        how.ctx = ctx;
        CHECK_RESULT(reid_queue_create(&how, &queue), REID_OK);
        snprintf(specification, sizeof specification, "cuGraphLaunch:%d:719", at);
        emulator_fail(at ? specification : NULL);
        through_queue(queue, requests, COUNT);
        emulator_fail(NULL);
        for (int i = 0; i < COUNT; i++) {
            int ok = requests[i].result == REID_OK;
            right_ones += ok, lost += requests[i].result == REID_ERR_GPU;
            for (int k = 0; k < requests[i].request.n; k++)
                wrong += memcmp(requests[i].rows + k * dim, ok ? right[first_of(i) + k].v : zero.v,
                                (size_t)dim * sizeof(float)) != 0;
        }
        CHECK_IS(wrong, 0);
        CHECK_IS(right_ones + lost, COUNT);
        CHECK(at ? lost > 0 && right_ones > 0 : lost == 0);
        CHECK(reid_queue_query(queue, &stats) == REID_OK && stats.lanes == 2);
        CHECK(stats.requests == (uint64_t)right_ones && stats.failed == (uint64_t)lost);
        reid_queue_destroy(queue, -1);
        reid_destroy(ctx);
        CHECK_IS(emulator_live(), 0);
    }
}

/* --- memory_limit ------------------------------------------------------------------------------------------------- */

/* Creates under a limit. Returns the batch, 0 if it cannot be. */
static int under_limit(size_t limit, size_t *total) {
    test_heap heap;
    reid_ctx *ctx;
    reid_info info = REID_INIT;
    reid_memory memory;
    reid_desc desc = desc_with(pack);
    memset(&heap, 0, sizeof heap);
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap;
    desc.batch = 64, desc.lanes = 2;
    desc.memory_limit = limit;
    reid_result r = reid_create(&desc, &ctx);
    if (r != REID_OK) {
        CHECK_RESULT(r, REID_ERR_MEMORY_LIMIT);
        CHECK_IS(emulator_live(), 0);
        CHECK_IS(heap.live, 0);
        return 0;
    }
    CHECK(reid_memory_report(ctx, &memory) == REID_OK && reid_query_desc(ctx, &info) == REID_OK);
    CHECK_IS(memory.host, heap.live);
    CHECK_IS(memory.total, memory.host + memory.pinned + memory.device_weights + memory.device_activations +
                               memory.device_staging);
    if (limit && !CHECK(memory.total <= limit)) printf("    %zu > %zu\n", memory.total, limit);
    check_rows(ctx, PICTURES);
    *total = memory.total;
    reid_destroy(ctx);
    return info.batch;
}

static void test_limit(void) {
    size_t total = 0, need, most;
    test_case = "memory_limit";
    CHECK_IS(under_limit(0, &most), 64);
    CHECK_IS(under_limit(1, &total), 0);
    const char *text = strstr(error.text, "needs ");
    CHECK(text != NULL && says(error.text, "memory_limit is 1 bytes"));
    need = text ? (size_t)strtoull(text + 6, NULL, 10) : 0;
    CHECK(need > 100000 && need < most);
    CHECK_IS(under_limit(need - 1, &total), 0);
    CHECK_IS(under_limit(need, &total), 1); /* what it says is enough */
    int last = 1, kinds = 0;
    for (size_t limit = need; last < 64; limit += (2 * most - need) / 12) {
        int batch = under_limit(limit, &total);
        CHECK(batch >= last);
        kinds += batch > last;
        last = batch;
        if (!CHECK(limit < 4 * most)) break;
    }
    CHECK(kinds >= 3);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void make_pack(void) { /* of 64, so that the kernels for large batches are in it */
    reid_desc desc = test_pack_desc(&error);
    desc.batch = 64;
    if (!CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", pack, NULL, NULL), REID_OK)) printf("%s\n", error.text);
    pack_without(pack, lacking, 3);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const char *part = test_case = argv[2];
    pack = argv[1];
    snprintf(lacking, sizeof lacking, "%.280s.lacking", pack);
    if (strcmp(part, "small") == 0) setenv("REID_EMULATOR_MEMORY", "1048576", 1);
    test_setup();
    if (strcmp(part, "pack") == 0) make_pack();
    else {
        reid_ctx *ctx;
        reid_desc desc = desc_with(pack);
        test_need(reid_create(&desc, &ctx) == REID_OK, error.text);
        test_need(embed_all(ctx, PICTURES, right, &error) == REID_OK, error.text);
        reid_destroy(ctx);
        CHECK(near_cpu(right, PICTURES));
    }
    const char *seed = getenv("REID_SEED"); /* chooses the calls, others in each run */
    if (strcmp(part, "calls") == 0)
        test_calls(argc > 3 ? atoi(argv[3]) : 0, argc > 4 ? strtoul(argv[4], NULL, 10) : 1,
                   seed ? strtoul(seed, NULL, 10) : 0);
    else if (strcmp(part, "memory") == 0) test_memory();
    else if (strcmp(part, "small") == 0) small_device();
    else if (strcmp(part, "nvrtc") == 0) test_nvrtc();
    else if (strcmp(part, "host") == 0) test_host();
    else if (strcmp(part, "fork") == 0) test_fork();
    else if (strcmp(part, "context") == 0) test_context();
    else if (strcmp(part, "threads") == 0) test_threads();
    else if (strcmp(part, "queue") == 0) test_queue();
    else if (strcmp(part, "limit") == 0) test_limit();
    else CHECK(strcmp(part, "pack") == 0);
    test_teardown();
    return test_failures != 0;
}
