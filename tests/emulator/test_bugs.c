/* test_bugs.c: every planted bug of bugs.cu must be noticed: reported, with kernel, block and thread, or visible in the
   output. Each runs in its own process. The library and the environment choose the mode.
   Usage: test_bugs FOLDER */
#include "emu_test.h"

enum { N = 128 };

/* The expected report in each mode; @ is the line of the kernel's barrier, shuffle or trap. NULL: cannot be noticed. */
typedef struct bug {
    const char *name, *plain, *check, *asan;
} bug;
static const bug bugs[] = {
    {"fine", "right", "right", "right"},
    {"global_write", "kernel global_write: wrote 0 bytes past the end of allocation #2 (512 bytes)",
     "block (1,0,0), thread (13,0,0): write of 4 bytes", "heap-buffer-overflow"},
    {"global_read", OUTPUT, "block (1,0,0), thread (63,0,0): read of 4 bytes", "heap-buffer-overflow"},
    {"shared_write", "kernel shared_write: wrote shared memory 0 bytes past the end",
     "block (1,0,0), thread (13,0,0): write of 4 bytes at shared memory offset 256", "use-after-poison"},
    {"neighbour_write", "block (1,0,0), thread (13,0,0): access to address",
     "block (1,0,0), thread (13,0,0): write of 4 bytes at", NULL},
    {"misaligned", "misaligned access", "misaligned access", "misaligned access"},
    {"freed", "which has been freed", "which has been freed", "heap-use-after-free"},
    {"host_pointer", NULL, "which is no device memory", NULL},
    {"local_index", NULL, "block (1,0,0), thread (13,0,0): index 4 is outside of its array", "stack-buffer-overflow"},
    {"copy_misaligned", "thread (13,0,0): cp.async of 16 bytes to shared offset 52", "cp.async of 16 bytes to",
     "cp.async"},
    {"copy_outside", "thread (63,0,0): cp.async reads", "0 bytes past the end of allocation #1", "cp.async reads"},
    {"ldmatrix_outside", "thread (13,0,0): ldmatrix row at shared offset 464 of 256", "ldmatrix row at",
     "ldmatrix row at"},
    {"no_barrier", OUTPUT, "read of shared memory", OUTPUT},
    {"no_second_barrier", OUTPUT, "race on shared memory", OUTPUT},
    {"no_syncwarp", OUTPUT, "shared memory", OUTPUT},
    {"no_copy_wait", OUTPUT, "before the wait for the cp.async", OUTPUT},
    {"weak_copy_wait", OUTPUT, "before the wait for the cp.async", OUTPUT},
    {"no_copy_barrier", OUTPUT, "shared memory", OUTPUT},
    {"stage_overwritten", OUTPUT, "shared memory", OUTPUT},
    {"divergent_barrier", "thread 0 at barrier 0 (32 of 64 threads), line @; thread 1 returned", "deadlock",
     "deadlock"},
    {"early_return", "threads 0-31 at barrier 0 (32 of 64 threads), line @; threads 32-63 returned", "deadlock",
     "deadlock"},
    {"lost_lane", "thread 3 returned", "at __shfl_xor_sync, line @", "deadlock"},
    {"blocks_race", NULL, "another block of the same launch", NULL},
    {"uninitialised", OUTPUT, "read of allocation #1 offset", OUTPUT},
    {"uninitialised_shared", OUTPUT, "which this block has not written", OUTPUT},
    {"division", "thread (", "division by zero", NULL},
    {"host_access", NULL, NULL, "use-after-poison"},
    {"trapped", "block (1,0,0), thread (13,0,0): trap, at line @", "thread (13,0,0): trap", "thread (13,0,0): trap"},
};

/* Puts the line number where the wanted words have an @. */
static void fill_in_line(const char *want, const char *text, const char *name, char *to, size_t size) {
    static const char *const marks[] = {"__syncthreads", "__shfl", "__trap"};
    char head[64];
    int line = 1;
    const char *at = strchr(want, '@'), *place = NULL;
    snprintf(head, sizeof head, "void %s(", name);
    const char *kernel = strstr(text, head);
    for (size_t i = 0; i < 3 && kernel; i++) {
        const char *mark = strstr(kernel, marks[i]);
        if (mark && (!place || mark < place)) place = mark;
    }
    for (const char *c = text; place && c < place; c++) line += *c == '\n';
    if (at) snprintf(to, size, "%.*s%d%s", (int)(at - want), want, line, at + 1);
    else snprintf(to, size, "%s", want);
}

/* Runs the kernel and prints the result on stderr. */
static int run(const char *name, const char *cubin) {
    CUmodule module;
    CUfunction f;
    float in[N], out[N];
    int n = N, wrong = 0;
    emu_start();
    for (int i = 0; i < N; i++) in[i] = (float)(i + 1);
    CUdeviceptr din = emu_upload(strcmp(name, "uninitialised") ? in : NULL, sizeof in);
    CUdeviceptr dout = emu_upload(NULL, sizeof out);
    if (strcmp(name, "host_access") == 0) return *(volatile int *)(uintptr_t)din; /* device memory, from the host */
    NEED(cuModuleLoadData(&module, cubin));
    NEED(cuModuleGetFunction(&f, module, name));
    if (strcmp(name, "freed") == 0) NEED(cuMemFree_v2(din));
    if (strcmp(name, "host_pointer") == 0) din = (CUdeviceptr)(uintptr_t)in;
    void *params[] = {&din, &dout, &n};
    unsigned shared = strcmp(name, "stage_overwritten") ? 256 : 512;
    CUresult r = cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, shared, NULL, params, NULL);
    if (r) {
        CUresult again = cuMemcpyDtoH_v2(out, dout, sizeof out), other = cuStreamCreate(&(CUstream){NULL}, 0);
        if (again != r || other != r || !reid_emulator_reports()) fprintf(stderr, "the error does not stick\n");
        return 1;
    }
    NEED(cuMemcpyDtoH_v2(out, dout, sizeof out));
    for (int i = 0; i < N; i++) {
        float want = in[i / 64 * 64 + 63 - i % 64];
        if (strcmp(name, "no_syncwarp") == 0) want = in[i ^ 31];
        if (strcmp(name, "global_read") == 0) want = i < N - 1 ? in[i + 1] : 0.0f;
        if (strcmp(name, "uninitialised") == 0) want = 0.0f;
        if (strcmp(name, "uninitialised_shared") == 0) want = in[i];
        wrong += !(fabsf(out[i] - want) < 0.5f); /* a NaN is wrong */
    }
    fprintf(stderr, wrong ? OUTPUT "\n" : "the output is right\n");
    return wrong != 0;
}

static void test(const bug *b, const char *want, const char *cubin) {
    char said[16384];
    int status = emu_in_child(run, b->name, cubin, said, sizeof said);
    int noticed = strstr(said, want) != NULL && !strstr(said, "does not stick");
    if (strncmp(said, "reid emulator: kernel", 21) == 0) noticed = noticed && strstr(said, b->name) != NULL;
    if (strcmp(b->name, "fine") != 0) noticed = noticed && status != 0;
    if (!noticed) printf("%s: wanted \"%s\", got (status %d): %s\n", b->name, want, status, said);
    CHECK(noticed);
}

int main(int argc, char **argv) {
    char sample[512], path[512], *cubin;
    const char *folder = argc > 1 ? argv[1] : "tests/emulator", *check = getenv("REID_EMULATOR_CHECK");
    snprintf(sample, sizeof sample, "%s/sample.cu", folder);
    snprintf(path, sizeof path, "%s/bugs.cu", folder);
    cubin = emu_cubin_of(sample, path, NULL);
    char *text = emu_read_file(path), words[256];
#ifdef __SANITIZE_ADDRESS__
    int mode = 2;
    (void)check;
#else
    int mode = check && *check == '1';
#endif
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        const char *want = mode == 2 ? bugs[i].asan : mode == 1 ? bugs[i].check : bugs[i].plain;
        if (!want) continue;
        fill_in_line(want, text, bugs[i].name, words, sizeof words);
        test(&bugs[i], words, cubin);
    }
    free(cubin), free(text);
    return emu_done("test_bugs");
}
