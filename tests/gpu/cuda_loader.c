/* cuda_loader.c: one attempt to use CUDA, in an environment made by t_cuda_faults.sh, and its expected result.

       cuda_loader [NAME=VALUE...] WHAT RESULT [TEXT...]

   WHAT      cuda: reid_create with REID_DEVICE_CUDA      auto: with REID_DEVICE_AUTO       query: reid_query_gpu
             fp16: AUTO with REID_FP16, so that the CPU cannot take over
   RESULT    the identifier of the result; `auto` with REID_OK means that the CPU took over, `cuda` that the GPU works
   TEXT      must be in the error's text (auto: in the logged reason; query: in what was found); "!TEXT" must not be
   NAME      path, pack, nvrtc, cache: of the desc; index; src: "none", "both" or a text
             folders: replaces the root of the folders in which NVRTC is searched for
             mapped: a library that must be loaded afterwards

   Linked with -Wl,--wrap=glob. */
#include "cuda_faults.h"

static int is_mapped(const char *name) {
    char line[1024];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f)) found |= strstr(line, name) != NULL;
    if (f) fclose(f);
    return found;
}

static void check_texts(const char *text, char **parts, int count) {
    for (int i = 0; i < count; i++) {
        if (parts[i][0] != '!') CHECK_HAS(text, parts[i]);
        else if (strstr(text, parts[i] + 1)) CHECK(!"a text is there that should not be"), printf("%s\n", text);
    }
}

/* What AUTO logs when it gives up on the GPU. */
static const char *reason_of(test_log *log) {
    char *line = strstr(log->text, "computing on the CPU: ");
    if (!line) return "";
    line += strlen("computing on the CPU: ");
    line[strcspn(line, "\n")] = ' '; /* a compiler's log has many lines */
    return line;
}

static void check_handle(reid_ctx *ctx, int is_gpu, reid_error *error) {
    test_row rows[PICTURES];
    reid_info info;
    CHECK_RESULT(reid_query_desc(ctx, &info), REID_OK);
    CHECK_HAS(info.device, is_gpu ? "cuda:" : "cpu");
    CHECK_RESULT(embed_all(ctx, PICTURES, rows, error), REID_OK);
    CHECK(near_cpu(rows, PICTURES));
    CHECK_IS(memcmp(rows, test_cpu, sizeof rows) == 0, !is_gpu);
}

static void try_create(reid_desc *desc, const char *what, reid_result wanted, test_log *log, char **texts, int count) {
    reid_ctx *ctx = (reid_ctx *)(void *)log;
    reid_error *error = desc->error;
    errno = 12345;
    reid_result r = reid_create(desc, &ctx);
    CHECK_IS(errno, 12345);
    if (!CHECK_RESULT(r, wanted)) printf("%s\n%s", error->text, log->text);
    CHECK((r == REID_OK) == (ctx != NULL));
    CHECK_RESULT(error->code, r);
    CHECK(r == REID_OK ? !error->text[0] : error->text[0] != 0);
    if (r == REID_OK) check_handle(ctx, strcmp(what, "cuda") == 0, error);
    if (strcmp(what, "auto") == 0 && r == REID_OK) check_texts(reason_of(log), texts, count);
    else check_texts(r == REID_OK ? log->text : error->text, texts, count);
    reid_destroy(ctx);
}

static void try_query(reid_desc *desc, reid_result wanted, char **texts, int count) {
    char text[4096];
    reid_gpu_info gpu;
    reid_result r = reid_query_gpu(desc, &gpu);
    if (!CHECK_RESULT(r, wanted)) printf("%s\n", desc->error->text);
    CHECK_RESULT(desc->error->code, r);
    snprintf(text, sizeof text, "%s arch=%s driver=%d nvrtc=%d path=%s cache=%s kernels=%s", desc->error->text,
             gpu.arch, gpu.driver_version, gpu.nvrtc_version, gpu.nvrtc_path, gpu.cache_dir, gpu.kernels);
    check_texts(text, texts, count);
}

static const char *mapped;

static void set(reid_desc *desc, const char *name, const char *value) {
    if (strcmp(name, "path") == 0) desc->kernels_path = value, desc->kernels_src = NULL;
    else if (strcmp(name, "pack") == 0) desc->kernels_pack = value;
    else if (strcmp(name, "nvrtc") == 0) desc->nvrtc_path = value;
    else if (strcmp(name, "cache") == 0) desc->cache_dir = strcmp(value, "default") == 0 ? NULL : value;
    else if (strcmp(name, "index") == 0) desc->device_index = atoi(value);
    else if (strcmp(name, "folders") == 0) test_folders = value;
    else if (strcmp(name, "mapped") == 0) mapped = value;
    else if (strcmp(name, "src") != 0) test_need(0, name);
    else if (strcmp(value, "none") == 0) desc->kernels_src = NULL;
    else if (strcmp(value, "both") == 0) desc->kernels_src = desc->kernels_path = value;
    else desc->kernels_src = value;
}

int main(int argc, char **argv) {
    static test_log log;
    test_heap heap = {0, 0, 0, 0, 0, 0, 0};
    reid_error error;
    char name[16];
    int at = 1;
    test_setup();
    reid_desc desc = test_desc(REID_DEVICE_CUDA, &log, &error);
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap;
    for (char *equals; at < argc && (equals = strchr(argv[at], '=')) != NULL; at++) {
        snprintf(name, sizeof name, "%.*s", (int)(equals - argv[at]), argv[at]);
        set(&desc, name, equals + 1);
    }
    if (at + 2 > argc) return 2;
    const char *what = test_case = argv[at++];
    reid_result wanted = REID_OK;
#define NAMED(id, value, text) if (strcmp(argv[at], #id) == 0) wanted = id;
    REID_RESULTS(NAMED)
    if (wanted == REID_OK && strcmp(argv[at], "REID_OK") != 0) return 2;
    at++;
    if (strcmp(what, "cuda") != 0) desc.device = REID_DEVICE_AUTO, desc.precision = REID_PRECISION_DEFAULT;
    if (strcmp(what, "fp16") == 0) desc.precision = REID_FP16;
    if (strcmp(what, "query") == 0) try_query(&desc, wanted, argv + at, argc - at);
    else try_create(&desc, what, wanted, &log, argv + at, argc - at);
    CHECK_IS(heap.live, 0);
    CHECK_IS(heap.wrong_size, 0);
    if (mapped) CHECK(is_mapped(mapped));
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); /* there may be no driver, or one of our stubs */
    if (driver && dlsym(driver, "reid_emulator_live") && !CHECK_IS(emulator_live(), 0))
        printf("%s\n", emulator_live_text());
    test_teardown();
    return test_failures != 0;
}
