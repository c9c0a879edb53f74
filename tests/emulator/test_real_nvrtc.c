/* test_real_nvrtc.c: the same kernel files under NVIDIA's compiler, for every architecture: they compile, and nothing
   of sample.cu spills. Exit code 77 if there is no libnvrtc. Usage: test_real_nvrtc FOLDER
   It is the library that $REID_NVRTC names, or the one that dlopen finds, or the one in /usr/local/cuda/lib64. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_api.h"

typedef struct real {
    nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *);
    nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
    nvrtcResult (*log_size)(nvrtcProgram, size_t *);
    nvrtcResult (*log)(nvrtcProgram, char *);
    nvrtcResult (*destroy)(nvrtcProgram *);
    nvrtcResult (*arch_count)(int *);
    nvrtcResult (*archs)(int *);
} real;

static int find(real *r) {
    const char *paths[] = {getenv("REID_NVRTC"), "libnvrtc.so.13", "libnvrtc.so.12",
                           "/usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.12"};
    static const char *const names[] = {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetProgramLogSize",
                                        "nvrtcGetProgramLog", "nvrtcDestroyProgram", "nvrtcGetNumSupportedArchs",
                                        "nvrtcGetSupportedArchs"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        void *library = paths[i] ? dlopen(paths[i], RTLD_NOW | RTLD_LOCAL) : NULL, *symbols[7];
        if (!library || dlsym(library, "reid_emulator_nvrtc_fail")) continue; /* not the emulator's */
        int found = 1;
        for (int k = 0; k < 7; k++) found &= (symbols[k] = dlsym(library, names[k])) != NULL;
        memcpy(r, symbols, sizeof symbols);
        if (found) return 1;
    }
    return 0;
}

static char *read_file(const char *folder, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    char *text = (char *)calloc(1, 1 << 20);
    if (!f || !text || !fread(text, 1, (1 << 20) - 1, f)) exit(1);
    fclose(f);
    return text;
}

/* Returns 1 if it does not compile, or if ptxas reports a spill where none is allowed. */
static int try_one(const real *r, const char *text, const char *name, const char *arch, int may_spill) {
    const char *options[] = {arch, "--ptxas-options=-v", "--std=c++17"};
    nvrtcProgram p;
    size_t size = 0;
    if (r->create(&p, text, name, 0, NULL, NULL)) return 1;
    nvrtcResult result = r->compile(p, 3, options);
    r->log_size(p, &size);
    char *log = (char *)malloc(size + 1);
    if (!log || r->log(p, log)) return 1;
    int spills = 0;
    for (const char *at = log; (at = strstr(at, " bytes spill stores")) != NULL; at++)
        spills |= at[-1] != '0' || at[-2] != ' ';
    int bad = result || (spills && !may_spill);
    if (bad) printf("%s for %s: %d\n%s\n", name, arch, (int)result, log);
    free(log);
    r->destroy(&p);
    return bad;
}

/* A kernel file behind hopper.cuh, for sm_90a. */
static int try_hopper(const real *r, const char *folder, const char *name) {
    char *wrappers = read_file(folder, "hopper.cuh"), *kernels = read_file(folder, name);
    size_t size = strlen(wrappers) + strlen(kernels) + 2;
    char *text = (char *)malloc(size);
    if (!text) exit(1);
    snprintf(text, size, "%s\n%s", wrappers, kernels);
    int bad = try_one(r, text, name, "--gpu-architecture=sm_90a", 1);
    free(wrappers), free(kernels), free(text);
    return bad;
}

int main(int argc, char **argv) {
    static const char *const targets[] = {"75", "80", "86", "89", "90a", "100", "120"};
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    int bad = 0, tried = 0, count = 0, known[64];
    real r;
    if (!find(&r)) {
        printf("test_real_nvrtc: skipped, no libnvrtc of NVIDIA is installed\n");
        return 77;
    }
    char *sample = read_file(folder, "sample.cu"), *units = read_file(folder, "units.cu");
    size_t size = strlen(sample) + strlen(units) + 2;
    char *both = (char *)malloc(size);
    if (!both || r.arch_count(&count) || count > 64 || r.archs(known)) return 1;
    snprintf(both, size, "%s\n%s", sample, units);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char arch[48];
        int supported = 0;
        for (int k = 0; k < count; k++) supported |= known[k] == atoi(targets[i]);
        if (!supported) continue; /* an older NVRTC */
        snprintf(arch, sizeof arch, "--gpu-architecture=sm_%s", targets[i]);
        bad += try_one(&r, sample, "sample.cu", arch, 0);
        bad += try_one(&r, both, "units.cu", arch, 1);
        tried += 2;
    }
    free(sample), free(units), free(both);
    bad += try_hopper(&r, folder, "hopper_test.cu") + try_hopper(&r, folder, "tensor_test.cu");
    bad += try_hopper(&r, folder, "grid_test.cu") + try_hopper(&r, folder, "cluster_test.cu");
    tried += 4;
    printf("test_real_nvrtc: %d checks passed, %d failed\n", tried - bad, bad);
    return bad != 0;
}
