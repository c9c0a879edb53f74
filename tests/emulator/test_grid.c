/* test_grid.c: launches with attributes (cuLaunchKernelEx): grids that overlap, against the PTX manual
   ("griddepcontrol") and the driver's manual, and planted bugs, each of which must be reported or visible in the
   output.
   Usage: test_grid FOLDER, which holds hopper.cuh and grid_test.cu */
#include "emu_test.h"

static CUmodule module;

static CUlaunchAttribute programmatic(int allowed) {
    CUlaunchAttribute a;
    memset(&a, 0, sizeof a);
    a.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    a.value.programmaticStreamSerializationAllowed = allowed;
    return a;
}

static CUresult launch_with(CUfunction f, unsigned blocks, unsigned threads, CUstream stream, CUlaunchAttribute *attrs,
                            unsigned count, void **params) {
    CUlaunchConfig c = {blocks, 1, 1, threads, 1, 1, 1024, stream, attrs, count};
    return cuLaunchKernelEx(&c, f, params, NULL);
}

/* ---- launches that the driver refuses ---- */

static void test_attributes(void) {
    CUdeviceptr log = emu_upload(NULL, 256);
    unsigned which = 0;
    int trigger = 0;
    void *params[] = {&log, &which, &trigger};
    CUfunction f = emu_function_of(module, "unit_order", 1024);
    CUlaunchAttribute a = programmatic(1);
    CUlaunchConfig c = {1, 1, 1, 32, 1, 1, 1024, NULL, NULL, 0};
    OK(cuMemsetD8_v2(log, 0, 256));
    CHECK_IS(cuLaunchKernelEx(NULL, f, params, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchKernelEx(&c, f, params, NULL));
    c.numAttrs = 1;
    CHECK_IS(cuLaunchKernelEx(&c, f, params, NULL), CUDA_ERROR_INVALID_VALUE);
    c.attrs = &a;
    OK(cuLaunchKernelEx(&c, f, params, NULL));
    a.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
    OK(cuLaunchKernelEx(&c, f, params, NULL));
    memset(&a.id, 2, 1); /* cooperative */
    CHECK_IS(cuLaunchKernelEx(&c, f, params, NULL), CUDA_ERROR_NOT_SUPPORTED);
    memset(&a.id, 99, 1);
    CHECK_IS(cuLaunchKernelEx(&c, f, params, NULL), CUDA_ERROR_INVALID_VALUE);
    c.numAttrs = 0, c.blockDimX = 0;
    CHECK_IS(cuLaunchKernelEx(&c, f, params, NULL), CUDA_ERROR_INVALID_VALUE);
    NEED(cuMemFree_v2(log));
}

/* ---- order ---- */

static int natural(void) {
    const char *seed = getenv("REID_EMULATOR_SEED");
    return seed && *seed == '0';
}

/* Two launches of two blocks. The second one begins before the first one is over if it may and the first one lets it,
   but passes its wait only then. In natural order, one after the other. Returns whether it began early. */
static int test_order(int allowed, int trigger) {
    CUdeviceptr log = emu_upload(NULL, 256);
    CUstream s;
    unsigned said[64], begun = 99, passed = 99, over = 0;
    CUlaunchAttribute a = programmatic(allowed);
    CUfunction f = emu_function_of(module, "unit_order", 1024);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD8_v2(log, 0, 256));
    for (unsigned which = 0; which < 2; which++) {
        void *params[] = {&log, &which, &trigger};
        OK(launch_with(f, 2, 64, s, &a, 1, params));
    }
    OK(cuStreamSynchronize(s));
    emu_download(said, log, sizeof said);
    CHECK_IS(said[0], 8);
    for (unsigned i = 1; i <= 8; i++) {
        if (said[i] == 4 && begun == 99) begun = i;
        if (said[i] == 5 && passed == 99) passed = i;
        if (said[i] == 1) over = i;
    }
    CHECK(over < passed);
    OK(cuStreamDestroy_v2(s));
    return begun < over;
}

/* ---- results ---- */

enum { N = 256, STEPS = 7 };
static CUstream stream;

/* STEPS launches, the middle one with this name, through a graph or not; more: the output of two steps before. Returns
   the number of wrong values, or -1 for a fault. */
static int run_steps(const char *name, int by_graph) {
    float in[N], out[N];
    CUdeviceptr buffers[STEPS + 1];
    CUlaunchAttribute a = programmatic(1);
    CUgraph g = NULL;
    CUgraphExec e = NULL;
    int n = N, wrong = 0;
    for (int i = 0; i < N; i++) in[i] = (float)i;
    buffers[0] = emu_upload(in, sizeof in);
    for (int i = 1; i <= STEPS; i++) {
        buffers[i] = emu_upload(NULL, sizeof in);
        NEED(cuMemsetD8_v2(buffers[i], 0, N * 4));
    }
    /* Each step overwrites the input of the previous one. */
    if (strcmp(name, "step_early_write") == 0) buffers[4] = buffers[2];
    if (by_graph) OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < STEPS; i++) {
        CUfunction f = emu_function_of(module, i == 3 ? name : "step_fine", 1024);
        void *params[] = {&buffers[i], &buffers[i > 1 ? i - 1 : 0], &buffers[i + 1], &n};
        OK(launch_with(f, N / 64, 64, stream, &a, 1, params));
    }
    if (by_graph) {
        OK(cuStreamEndCapture(stream, &g));
        OK(cuGraphInstantiateWithFlags(&e, g, 0));
        OK(cuGraphLaunch(e, stream));
    }
    if (cuStreamSynchronize(stream)) return -1;
    NEED(cuMemcpyDtoH_v2(out, buffers[STEPS], sizeof out));
    for (int i = 0; i < N; i++) wrong += !(fabsf(out[i] - (float)(STEPS % 2 ? N - 1 - i : i) - (float)STEPS) < 0.5f);
    for (int i = 0; i <= STEPS; i++)
        if (i != 4 || buffers[4] != buffers[2]) NEED(cuMemFree_v2(buffers[i]));
    if (e) OK(cuGraphExecDestroy(e));
    if (g) OK(cuGraphDestroy(g));
    return wrong;
}

/* ---- bugs ---- */

#define RACE "by another launch, which is not over" /* in check mode, if the data is there already */

static const emu_bug bugs[] = {
    {"step_fine", "right", "right"},
    {"step_wait_twice", "right", "right"},
    {"step_no_trigger", "without griddepcontrol.wait", "without griddepcontrol.wait"},
    {"step_no_wait", "has ended without griddepcontrol.wait", "has ended without griddepcontrol.wait"},
    {"step_late_wait", OUTPUT, OUTPUT "|" RACE},
    {"step_some_wait", OUTPUT, OUTPUT "|" RACE},
    {"step_early_write", OUTPUT, RACE},
    {"step_early_copy", OUTPUT, OUTPUT "|" RACE},
    {"step_early_bulk", OUTPUT, OUTPUT "|" RACE},
    {"step_old_read", OUTPUT, OUTPUT "|" RACE},
};

static int run(const char *name, const char *cubin) {
    emu_start();
    NEED(cuModuleLoadData(&module, cubin));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    int wrong = 0;
    for (int i = 0; i < 40 && !wrong; i++) wrong = run_steps(name, i & 1);
    fprintf(stderr, wrong > 0 ? OUTPUT "\n" : wrong ? "" : "the output is right\n");
    return wrong != 0;
}

int main(int argc, char **argv) {
    char *cubin = emu_hopper_cubin(argc, argv, "grid_test.cu");
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        emu_bug b = bugs[i];
        if (natural()) b.plain = b.check = "right";
        emu_find_bugs(run, &b, 1, cubin);
    }
    emu_start();
    NEED(cuModuleLoadData(&module, cubin));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    test_attributes();
    for (int kind = 0; kind < 4; kind++) { /* early only if the one asks for it and the other one lets it */
        int early = 0;
        for (int i = 0; i < 16; i++) early += test_order(kind & 1, kind >> 1);
        CHECK((early > 0) == (kind == 3 && !natural()));
    }
    for (int i = 0; i < 4; i++) CHECK_IS(run_steps("step_fine", i & 1), 0);
    OK(cuStreamDestroy_v2(stream));
    emu_stop(module);
    free(cubin);
    return emu_done("test_grid");
}
