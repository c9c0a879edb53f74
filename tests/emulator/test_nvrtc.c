/* test_nvrtc.c: the compiler's API: options, logs, results, and which results the driver loads. */
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include "emu_test.h"

void reid_emulator_nvrtc_fail(const char *specification);

static const char good[] = "extern \"C\" __global__ void __launch_bounds__(32 * FACTOR) k(int *p) {\n"
                           "    p[threadIdx.x] = VALUE;\n}\n";

/* Compiles with these options; log, cubin and ptx are malloc'ed texts (or NULL pointers to leave them). */
static nvrtcResult compile(const char *text, int count, const char *const *options, char **log, char **cubin,
                           char **ptx) {
    nvrtcProgram p;
    size_t size;
    NEED(nvrtcCreateProgram(&p, text, "folder/my_kernels.cu", 0, NULL, NULL));
    nvrtcResult r = nvrtcCompileProgram(p, count, options);
    NEED(nvrtcGetProgramLogSize(p, &size));
    *log = (char *)malloc(size);
    NEED(nvrtcGetProgramLog(p, *log));
    CHECK(strlen(*log) + 1 == size);
    if (cubin) {
        NEED(nvrtcGetCUBINSize(p, &size));
        *cubin = size ? (char *)malloc(size) : NULL;
        if (size) NEED(nvrtcGetCUBIN(p, *cubin));
    }
    if (ptx) {
        NEED(nvrtcGetPTXSize(p, &size));
        *ptx = (char *)malloc(size);
        NEED(nvrtcGetPTX(p, *ptx));
    }
    NEED(nvrtcDestroyProgram(&p));
    CHECK(p == NULL);
    return r;
}

static void fails(const char *text, int count, const char *const *options, nvrtcResult want, const char *words) {
    char *log, *cubin, *ptx;
    CHECK_IS(compile(text, count, options, &log, &cubin, &ptx), want);
    CHECK(strstr(log, words) != NULL);
    if (!strstr(log, words)) printf("wanted \"%s\" in: %s\n", words, log);
    CHECK(cubin == NULL && strlen(ptx) == 0);
    free(log), free(ptx);
}

static void test_options(void) {
    static const char *const bad_arch[] = {"--gpu-architecture=sm_61"}, *const unknown[] = {"--frobnicate"};
    static const char *const bad_suffix[] = {"-arch=sm_90x"}, *const no_a[] = {"--gpu-architecture=sm_80a"};
    static const char *const many[] = {"-arch=sm_90a", "-D", "FACTOR=4", "--define-macro=VALUE=7", "--std=c++17",
                                       "-lineinfo", "--ptxas-options=-v", "--maxrregcount=128", "-default-device",
                                       "-w"};
    char *log, *cubin;
    fails(good, 1, bad_arch, NVRTC_ERROR_INVALID_OPTION, "nvrtc: error: invalid value for --gpu-architecture (-arch)");
    fails(good, 1, bad_suffix, NVRTC_ERROR_INVALID_OPTION, "invalid value for --gpu-architecture");
    fails(good, 1, no_a, NVRTC_ERROR_INVALID_OPTION, "invalid value for --gpu-architecture");
    fails(good, 1, unknown, NVRTC_ERROR_INVALID_OPTION, "unrecognized option --frobnicate found");
    OK(compile(good, 10, many, &log, &cubin, NULL));
    CHECK(strlen(log) == 0);
    CHECK(cubin && memcmp(cubin, "\177ELF", 4) == 0);
    free(log), free(cubin);
}

static void test_errors(void) {
    static const char *const arch[] = {"--gpu-architecture=sm_90"};
    fails("\n\nextern \"C\" __global__ void k(int *p) { *p = nonsense; }\n", 1, arch, NVRTC_ERROR_COMPILATION,
          "my_kernels.cu:3:");
    fails("#include \"missing.h\"\n", 1, arch, NVRTC_ERROR_COMPILATION, "my_kernels.cu:1:");
    fails("#error wrong chip\n", 1, arch, NVRTC_ERROR_COMPILATION, "wrong chip");
    fails("\nextern \"C\" __global__ void k() {\n    __shared__ float tile[32];\n}\n", 1, arch, NVRTC_ERROR_COMPILATION,
          "my_kernels.cu(3): error: a static __shared__ variable");
    fails("extern __shared__ int a[];\nextern __shared__ int b[];\n", 1, arch, NVRTC_ERROR_COMPILATION,
          "my_kernels.cu(2): error: a second");
    fails("extern \"C\" __global__ void k(float *p) { atomicAdd(p, 1.0f); }\n", 1, arch, NVRTC_ERROR_COMPILATION,
          "atomicAdd"); /* no float atomics */
    nvrtcProgram p = NULL;
    size_t size = 9;
    int n = 0;
    CHECK_IS(nvrtcCreateProgram(&p, NULL, "x", 0, NULL, NULL), NVRTC_ERROR_INVALID_INPUT);
    CHECK_IS(nvrtcDestroyProgram(&p), NVRTC_ERROR_INVALID_PROGRAM);
    CHECK_IS(nvrtcCompileProgram((nvrtcProgram)&n, 0, NULL), NVRTC_ERROR_INVALID_PROGRAM);
    OK(nvrtcCreateProgram(&p, "int x;", NULL, 0, NULL, NULL));
    OK(nvrtcGetCUBINSize(p, &size)); /* before it is compiled there is nothing */
    CHECK_IS(size, 0);
    OK(nvrtcDestroyProgram(&p));
    OK(nvrtcGetNumSupportedArchs(&n));
    CHECK_IS(n, 12);
    CHECK(strcmp(nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION") == 0);
}

static void test_headers(void) {
    const char *headers[] = {"#define VALUE 3\n"}, *names[] = {"values.h"}, *options[] = {"-arch=sm_90", "-DFACTOR=1"};
    char text[256];
    nvrtcProgram p;
    snprintf(text, sizeof text, "#include \"values.h\"\n%s", good);
    OK(nvrtcCreateProgram(&p, text, "with_header.cu", 1, headers, names));
    OK(nvrtcCompileProgram(p, 2, options));
    OK(nvrtcDestroyProgram(&p));
}

static CUresult load(const void *image) {
    CUmodule module;
    CUresult r = cuModuleLoadData(&module, image);
    if (!r) OK(cuModuleUnload(module));
    return r;
}

static CUresult load_for(const char *arch, int as_ptx) {
    char option[48], *log, *cubin, *ptx;
    const char *options[] = {option, "-DFACTOR=1", "-DVALUE=5"};
    snprintf(option, sizeof option, "--gpu-architecture=%s", arch);
    NEED(compile(good, 3, options, &log, &cubin, &ptx));
    CHECK((cubin == NULL) == (strncmp(arch, "compute", 7) == 0));
    CUresult r = load(as_ptx ? ptx : cubin);
    free(log), free(cubin), free(ptx);
    return r;
}

/* The device is an sm_90. */
static void test_loading(void) {
    OK(load_for("sm_90a", 0));
    OK(load_for("sm_90", 0));
    CHECK_IS(load_for("sm_80", 0), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_IS(load_for("sm_100", 0), CUDA_ERROR_NO_BINARY_FOR_GPU);
    OK(load_for("compute_80", 1)); /* PTX goes forward, */
    CHECK_IS(load_for("compute_100", 1), CUDA_ERROR_NO_BINARY_FOR_GPU);
    OK(load_for("compute_90a", 1)); /* with an a only to its own chip */
    CHECK_IS(load("not an image at all, but long enough to be looked at"), CUDA_ERROR_INVALID_IMAGE);
    CHECK_IS(load(".version 8.0\n.target sm_90\n"), CUDA_ERROR_INVALID_PTX);
    CHECK_IS(load(NULL), CUDA_ERROR_INVALID_VALUE);
}

/* Compiled kernels: macros, bounds, several programs at once. */
static void *compile_thread(void *value) {
    char define[32], *log, *cubin;
    const char *options[] = {"-arch=sm_90", "-DFACTOR=2", define};
    int got[64], want = (int)(intptr_t)value, bound;
    CUmodule module;
    CUfunction f;
    snprintf(define, sizeof define, "-DVALUE=%d", want);
    NEED(compile(good, 3, options, &log, &cubin, NULL));
    NEED(cuCtxPushCurrent_v2(emu_test_context));
    NEED(cuModuleLoadData(&module, cubin) || cuModuleGetFunction(&f, module, "k"));
    CUdeviceptr p = emu_upload(NULL, sizeof got);
    void *params[] = {&p};
    OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 96, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetAttribute(&bound, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    CHECK_IS(bound, 64);
    emu_download(got, p, sizeof got);
    CHECK(got[0] == want && got[63] == want);
    NEED(cuModuleUnload(module) || cuCtxPopCurrent_v2(NULL));
    free(log), free(cubin);
    return NULL;
}

static void test_parallel(void) {
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, compile_thread, (void *)(i + 100));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static void test_planned_failures(void) {
    static const char *const arch[] = {"-arch=sm_90"};
    int major, minor;
    reid_emulator_nvrtc_fail("nvrtcCompileProgram:1:7");
    fails(good, 1, arch, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, "nvrtc-builtins");
    reid_emulator_nvrtc_fail("nvrtcVersion:2");
    OK(nvrtcVersion(&major, &minor));
    CHECK(major == 13 && minor == 0);
    CHECK_IS(nvrtcVersion(&major, &minor), NVRTC_ERROR_INTERNAL_ERROR);
    reid_emulator_nvrtc_fail(NULL);
}

/* Does something to each library of the store. Returns how many there are. */
static int each_stored(const char *folder, const char *text, int gone) {
    char path[600];
    int files = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *f = text ? fopen(path, "wb") : NULL;
        CHECK(!text || (f && fputs(text, f) >= 0 && !fclose(f)));
        if (gone) unlink(path);
        files++;
    }
    if (d) closedir(d);
    return files;
}

/* A library in the store is not compiled again: if it is replaced, the replacement is used. */
static void test_store(void) {
    static const char *const eleven[] = {"-arch=sm_90", "-DFACTOR=1", "-DVALUE=11"};
    static const char *const twelve[] = {"-arch=sm_90", "-DFACTOR=1", "-DVALUE=12"};
    char folder[300], *log[4], *cubin[4];
    const char *before = getenv("REID_EMULATOR_STORE"), *temporary = getenv("TMPDIR");
    char *kept = strdup(before ? before : ""); /* empty: none */
    snprintf(folder, sizeof folder, "%.200s/reid-store-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    NEED(!mkdtemp(folder) || !kept);
    setenv("REID_EMULATOR_STORE", folder, 1);
    OK(compile(good, 3, eleven, &log[0], &cubin[0], NULL));
    OK(compile(good, 3, eleven, &log[1], &cubin[1], NULL));
    CHECK_IS(each_stored(folder, NULL, 0), 1);
    OK(compile(good, 3, twelve, &log[2], &cubin[2], NULL));
    CHECK_IS(each_stored(folder, "something else", 0), 2);
    OK(compile(good, 3, twelve, &log[3], &cubin[3], NULL));
    CHECK(memcmp(cubin[1], "\177ELF", 4) == 0 && memcmp(cubin[3], "something else", 14) == 0);
    each_stored(folder, NULL, 1);
    CHECK(rmdir(folder) == 0);
    setenv("REID_EMULATOR_STORE", kept, 1);
    for (int i = 0; i < 4; i++) free(log[i]), free(cubin[i]);
    free(kept);
}

int main(void) {
    emu_start();
    test_options();
    test_errors();
    test_headers();
    test_loading();
    test_parallel();
    test_planned_failures();
    test_store();
    emu_stop(NULL);
    return emu_done("test_nvrtc");
}
