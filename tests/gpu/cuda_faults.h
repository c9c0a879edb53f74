/* cuda_faults.h: code shared by cuda_faults.c, cuda_loader.c and cuda_cache.c: a tiny network on the emulator, a log
   that can be searched, child processes. t_cuda_faults.sh puts a reid.h in front whose efficientnet_b0 is a quarter as
   wide and a quarter as deep, so that creating a handle takes 40 ms. */
#ifndef CUDA_FAULTS_H
#define CUDA_FAULTS_H

#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"
#include <dirent.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "../lib/test_net.h"
#include "../lib/test_util.h"

#define PICTURES 32
#define DIM 640 /* at least */

TEST_FN int test_failures = 0;
TEST_FN const char *test_case = ""; /* what is being tried, for messages */

#define CHECK(condition) check_(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_IS(value, expected) check_is_((long long)(value), (long long)(expected), #value, __FILE__, __LINE__)
#define CHECK_RESULT(value, expected) check_result_((value), (expected), #value, __FILE__, __LINE__)
#define CHECK_HAS(text, part) check_has_((text), (part), __FILE__, __LINE__)

TEST_FN int check_(int ok, const char *condition, const char *file, int line) {
    if (!ok) test_failures++, printf("%s:%d: %s: failed: %s\n", file, line, test_case, condition);
    return ok;
}

TEST_FN int check_is_(long long value, long long expected, const char *text, const char *file, int line) {
    if (value != expected)
        test_failures++, printf("%s:%d: %s: %s is %lld, not %lld\n", file, line, test_case, text, value, expected);
    return value == expected;
}

TEST_FN int check_result_(reid_result value, reid_result expected, const char *text, const char *file, int line) {
    if (value != expected)
        test_failures++, printf("%s:%d: %s: %s is %s, not %s\n", file, line, test_case, text, reid_result_name(value),
                                reid_result_name(expected));
    return value == expected;
}

TEST_FN int check_has_(const char *text, const char *part, const char *file, int line) {
    int ok = test_says_(text, part, 0, file, line);
    if (!ok) test_failures++, printf("%s:%d: %s: no \"%s\" in: %s\n", file, line, test_case, part, text);
    return ok;
}

/* Toolkits and wheels of this machine must not be found, so "/usr/..." is looked up below another root. */
TEST_FN const char *test_folders = "/nonexistent";

int __real_glob(const char *pattern, int flags, int (*fn)(const char *, int), glob_t *found);
int __wrap_glob(const char *pattern, int flags, int (*fn)(const char *, int), glob_t *found);
int __wrap_glob(const char *pattern, int flags, int (*fn)(const char *, int), glob_t *found) {
    char below[1024];
    snprintf(below, sizeof below, "%s%s", strncmp(pattern, "/usr/", 5) == 0 ? test_folders : "", pattern);
    return __real_glob(below, flags, fn, found);
}

/* --- the log of a handle ------------------------------------------------------------------------------------------ */

typedef struct test_log {
    char text[8192]; /* one line each */
    size_t length;
    int lines, warnings;
} test_log;

TEST_FN void log_line(reid_log_level level, reid_result id, const char *message, void *user) {
    test_log *log = (test_log *)user;
    size_t left = sizeof log->text - log->length;
    (void)id;
    int n = snprintf(log->text + log->length, left, "%s%s\n", level == REID_LOG_WARNING ? "warning: " : "", message);
    if ((size_t)n < left) log->length += (size_t)n;
    log->lines++;
    log->warnings += level == REID_LOG_WARNING;
}

/* --- the network, its input and expected output ------------------------------------------------------------------- */

typedef struct test_row { float v[DIM]; } test_row;

static net_file test_file;
static uint8_t *test_pixels;
static reid_image test_images[PICTURES];
static char *test_kernels; /* the text of reid_kernels.cu */
static test_row test_cpu[PICTURES]; /* FP32 on the CPU */

TEST_FN char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    test_need(f != NULL, path);
    char *text = (char *)calloc(1, 1 << 22);
    test_need(text != NULL && fread(text, 1, (1 << 22) - 1, f) > 0, path);
    fclose(f);
    return text;
}

/* FP16 on the GPU, one lane, batches of 4, no folder for compiled kernels. */
TEST_FN reid_desc test_desc(reid_device device, test_log *log, reid_error *error) {
    reid_desc desc = net_desc(&test_file, 32, 32, error);
    memset(error, 0x55, sizeof *error);
    desc.kernels_src = test_kernels;
    desc.device = device;
    desc.precision = device == REID_DEVICE_CUDA ? REID_FP16 : REID_PRECISION_DEFAULT;
    desc.batch = 4, desc.lanes = 1;
    desc.cache_dir = "";
    if (!log) return desc;
    memset(log, 0, sizeof *log);
    desc.log_fn = log_line, desc.log_user = log;
    return desc;
}

/* n rows; what lies behind them must stay as it is. */
TEST_FN reid_result embed_all(reid_ctx *ctx, int n, test_row *rows, reid_error *error) {
    size_t dim = (size_t)reid_dim(ctx), more = 8 * dim, count = (size_t)n * dim;
    float *out = (float *)malloc((count + more) * sizeof *out);
    test_need(out != NULL && dim <= DIM, "rows");
    for (size_t i = 0; i < count + more; i++) out[i] = 77.0f;
    reid_result r = reid_embed_ex(ctx, test_images, n, out, error);
    for (size_t i = count; i < count + more; i++)
        if (out[i] < 77.0f || out[i] > 77.0f) {
            CHECK(!"something was written behind the last row");
            break;
        }
    memset(rows, 0, (size_t)n * sizeof *rows);
    for (int i = 0; i < n; i++) memcpy(rows[i].v, out + (size_t)i * dim, dim * sizeof *out);
    free(out);
    return r;
}

/* Largest difference of two rows. */
TEST_FN float row_distance(const test_row *a, const test_row *b) {
    float most = 0;
    for (int c = 0; c < DIM; c++) {
        float d = fabsf(a->v[c] - b->v[c]);
        if (!(d <= most)) most = d; /* NaN stays */
    }
    return most;
}

/* Whether n rows are the CPU's up to FP16's error. Each must be nearer to its own than to any other row. */
TEST_FN int near_cpu(const test_row *rows, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < PICTURES; k++) {
            float d = row_distance(&rows[i], &test_cpu[k]);
            if (k == i ? !(d < 0.02f) : !(d > 0.04f)) return 0;
        }
    return 1;
}

/* Twice the gain: without it the network gives nearly the same row for any image. */
TEST_FN void test_setup(void) {
    reid_error error;
    reid_ctx *ctx;
    net_options options;
    memset(&options, 0, sizeof options);
    options.gain = 2;
    test_file = net_for("efficientnet_b0", REID_HEAD_NONE, 5, &options);
    test_pixels = net_pixels(PICTURES, 37, 29, 7);
    for (int i = 0; i < PICTURES; i++) test_images[i] = net_image(test_pixels, i, 37, 29);
    const char *path = getenv("TEST_KERNELS");
    test_kernels = read_text(path ? path : "reid_kernels.cu");
    reid_desc desc = test_desc(REID_DEVICE_CPU, NULL, &error);
    test_need(reid_create(&desc, &ctx) == REID_OK && embed_all(ctx, PICTURES, test_cpu, &error) == REID_OK, error.text);
    reid_destroy(ctx);
    test_need(near_cpu(test_cpu, PICTURES), "the test's images are too much alike");
}

TEST_FN void test_teardown(void) {
    free(test_kernels);
    free(test_pixels);
    free(test_file.bytes);
}

/* --- the emulator ------------------------------------------------------------------------------------------------- */

/* A function of the emulator's driver; RTLD_NOLOAD would not find it before the first handle. */
TEST_FN void *emulator(const char *name) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *function = library ? dlsym(library, name) : NULL;
    if (!function) printf("%s: %s\n", name, dlerror());
    test_need(function != NULL, "the emulator's libcuda.so.1");
    return function;
}

TEST_FN size_t emulator_live(void) {
    size_t (*live)(void);
    void *f = emulator("reid_emulator_live");
    memcpy(&live, &f, sizeof live);
    return live();
}

TEST_FN const char *emulator_live_text(void) {
    const char *(*text)(void);
    void *f = emulator("reid_emulator_live_text");
    memcpy(&text, &f, sizeof text);
    return text();
}

TEST_FN size_t emulator_calls(void) {
    size_t (*calls)(void);
    void *f = emulator("reid_emulator_calls");
    memcpy(&calls, &f, sizeof calls);
    return calls();
}

TEST_FN void emulator_fail(const char *specification) {
    void (*fail)(const char *);
    void *f = emulator("reid_emulator_fail");
    memcpy(&fail, &f, sizeof fail);
    fail(specification);
}

TEST_FN void emulator_nvrtc_fail(const char *specification) {
    void (*fail)(const char *);
    void *library = dlopen("libnvrtc.so.13", RTLD_NOW);
    void *f = library ? dlsym(library, "reid_emulator_nvrtc_fail") : NULL;
    test_need(f != NULL, "the emulator's libnvrtc.so.13");
    memcpy(&fail, &f, sizeof fail);
    fail(specification);
}

/* --- packs -------------------------------------------------------------------------------------------------------- */

/* The desc for reid_pack_kernels. */
TEST_FN reid_desc test_pack_desc(reid_error *error) {
    reid_desc desc = test_desc(REID_DEVICE_CUDA, NULL, error);
    desc.weights_data = NULL, desc.weights_size = 0;
    desc.network = "efficientnet_b0";
    desc.threads = 2;
    return desc;
}

/* Copies a pack without `lacks` of its programs, by removing their keys. */
TEST_FN void pack_without(const char *from, const char *to, size_t lacks) {
    uint64_t digest[2];
    FILE *f = fopen(from, "rb");
    unsigned char *bytes = (unsigned char *)malloc(1 << 23);
    test_need(f && bytes, from);
    size_t size = fread(bytes, 1, 1 << 23, f), count = (size_t)reid__le64(bytes + 8), table = 16 + 48 * count;
    fclose(f);
    for (size_t i = 0; i < lacks; i++) memset(bytes + 16 + 48 * (count / lacks * i + 2), 0, 16);
    reid__digest_of(bytes, table, digest);
    reid__put64(reid__put64(bytes + table, digest[0]), digest[1]);
    test_write_file(to, bytes, size);
    free(bytes);
}

/* --- children and folders ----------------------------------------------------------------------------------------- */

/* Runs a part in its own process: the driver starts afresh, and users, limits and crashes stay there. */
TEST_FN void in_child(const char *name, void (*part)(void)) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test_case = name;
        test_failures = 0;
        part();
        fflush(stdout);
        exit(test_failures != 0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    test_failures++;
    printf("%s: ended with status %#x\n", name, (unsigned)status);
}

/* Names in a folder that contain `part`; the last one is copied to `name`, if that is not NULL. */
TEST_FN int count_files(const char *folder, const char *part, char name[256]) {
    DIR *d = opendir(folder);
    int count = 0;
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        if (entry->d_name[0] == '.' || !strstr(entry->d_name, part)) continue;
        if (name) snprintf(name, 256, "%s", entry->d_name);
        count++;
    }
    if (d) closedir(d);
    return count;
}

/* The path $TEST_OUT/NAME, which is not created. TEST_OUT is an absolute path. */
TEST_FN void folder_path(char path[256], const char *name) {
    const char *out = getenv("TEST_OUT");
    test_need(out && *out == '/', "TEST_OUT");
    snprintf(path, 256, "%.180s/%.60s", out, name);
}
#endif
