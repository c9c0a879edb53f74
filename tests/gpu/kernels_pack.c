/* kernels_pack.c: packing by reid_kernels.cu gives the bits of the same arithmetic on the CPU, in the order of every
   kernel that reads weights. On the emulator; built and run by tests/gpu/t_kernels.sh. */
#include "kernels_test.h"

enum { F32_CONV, F16_CONV, DEPTHWISE, SQUEEZE_IN, SQUEEZE_OUT, STEM_F32, STEM_F16, LINEAR };

typedef struct matrix {
    const char *name;
    int order, n, ic, kh, kw;
} matrix;

/* Odd sizes, so that there is padding; several blocks. */
static const matrix matrices[] = {
    {"3x3", F32_CONV, 19, 33, 3, 3},      {"3x3", F16_CONV, 19, 33, 3, 3},    {"1x1", F32_CONV, 40, 24, 1, 1},
    {"1x1", F16_CONV, 40, 24, 1, 1},      {"5x5", DEPTHWISE, 37, 1, 5, 5},    {"squeeze", SQUEEZE_IN, 6, 24, 1, 1},
    {"excite", SQUEEZE_OUT, 24, 6, 1, 1}, {"stem 7x7", STEM_F32, 20, 3, 7, 7}, {"stem 7x7", STEM_F16, 20, 3, 7, 7},
    {"head 4x4", LINEAR, 11, 32, 4, 4},   {"stem 3x3", STEM_F16, 8, 3, 3, 3},
};

static int padded(int n) { return (n + 15) / 16 * 16; }

/* Strides of n, ic, kh and kw in the packed tensor; returns its size. */
static int strides_of(const matrix *m, int strides[4]) {
    int pad_n = padded(m->n), stem = m->order == STEM_F32 || m->order == STEM_F16;
    int c = stem ? 4 : m->order == LINEAR ? m->ic : padded(m->ic), columns = stem ? m->kw + 1 : m->kw;
    int slice = m->order == F16_CONV || m->order == STEM_F16 ? 32 : 16;
    int depth = m->kh * columns * c, pad_k = (depth + slice - 1) / slice * slice, transposed = 0;
    switch (m->order) {
    case DEPTHWISE: strides[0] = 1, strides[1] = 0, strides[2] = m->kw * pad_n, strides[3] = pad_n;
        return m->kh * m->kw * pad_n;
    case SQUEEZE_OUT: strides[0] = 1, strides[1] = pad_n, strides[2] = strides[3] = 0; return m->ic * pad_n;
    case F16_CONV: case STEM_F16: case LINEAR: transposed = 1; break;
    case SQUEEZE_IN: transposed = 1, pad_k = c; break;
    }
    strides[0] = transposed ? pad_k : 1;
    strides[1] = transposed ? 1 : pad_n;
    strides[2] = columns * c * strides[1];
    strides[3] = c * strides[1];
    return pad_k * pad_n;
}

/* Values with all bits of a float's fraction in use. */
static float *values_of(int count, unsigned *seed) {
    float *v = (float *)malloc((size_t)count * 4);
    for (int i = 0; i < count; i++) v[i] = emu_uniform(seed) + (float)emu_next_random(seed) * 3e-9f;
    return v;
}

static void test_pack(CUfunction f, const matrix *m, int half, int fold) {
    int strides[4], size = strides_of(m, strides), taps = m->kh * m->kw, count = m->n * m->ic * taps;
    int bytes = half ? 2 : 4, wrong = 0, n = m->n, ic = m->ic, kh = m->kh, kw = m->kw;
    unsigned seed = 17;
    float *from = values_of(count, &seed), *f32 = (float *)calloc((size_t)size, 4);
    uint16_t *f16 = (uint16_t *)calloc((size_t)size, 2);
    double *factors = (double *)malloc((size_t)n * sizeof *factors);
    for (int i = 0; i < n; i++) factors[i] = (double)emu_uniform(&seed) + 1.0 / (3 + i);
    for (int i = 0; i < count; i++) {
        int row = i / (ic * taps), c = i / taps % ic, y = i / kw % kh, x = i % kw;
        int at = row * strides[0] + c * strides[1] + y * strides[2] + x * strides[3];
        f32[at] = fold ? (float)((double)from[i] * factors[row]) : from[i];
        f16[at] = emu_half_from((double)f32[at]);
    }
    char *got = (char *)malloc((size_t)(size * bytes));
    CUdeviceptr in = emu_upload(from, (size_t)count * 4), out = emu_upload(NULL, (size_t)(size * bytes));
    CUdeviceptr times = emu_upload(factors, (size_t)n * sizeof *factors);
    reid__pack_arguments a = {in, fold ? times : 0, out, n, ic, kh, kw,
                              strides[0], strides[1], strides[2], strides[3]};
    NEED(cuMemsetD8_v2(out, 0, (size_t)(size * bytes)));
    run_kernel(f, (count + 255) / 256, 1, 256, 0, &a);
    emu_download(got, out, (size_t)(size * bytes));
    wrong = memcmp(got, half ? (const void *)f16 : (const void *)f32, (size_t)(size * bytes));
    if (wrong)
        printf("%s in order %d, %s, folded %d: other bits\n", m->name, m->order, half ? emu_halves() : "f32", fold);
    CHECK(!wrong);
    NEED(cuMemFree_v2(in) || cuMemFree_v2(times));
    free(from), free(f32), free(f16), free(factors), free(got);
}

/* If the host uses other offsets than the compiler, the kernels do not compile. */
static void test_layout(void) {
    static const char *const header_names[] = {"reid_contract.h"};
    const char *options[] = {"-DREID_PACK", "--pre-include=reid_contract.h"};
    char *text = strdup(contract_text()), *offset = strstr(text, "OFFSET_OF(pack_arguments, ic) == 28");
    const char *const headers[] = {text};
    nvrtcProgram program;
    if (!emu_case("a structure of another layout")) return;
    for (int wrong = 0; wrong < 2; wrong++) {
        NEED(nvrtcCreateProgram(&program, kernels_text, "reid_kernels.cu", 1, headers, header_names));
        CHECK(nvrtcCompileProgram(program, 2, options) == (wrong ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS));
        NEED(nvrtcDestroyProgram(&program));
        NEED(!offset);
        offset[strlen("OFFSET_OF(pack_arguments, ic) == ")]++;
    }
    free(text);
}

int main(void) {
    const constant constants[] = {{NULL, 0}};
    kernels_text = emu_read_file("reid_kernels.cu");
    emu_start();
    for (int half = 0; half < 2; half++) {
        if (!emu_case("pack to %s", half ? emu_halves() : "f32")) continue;
        CUmodule program = program_of("reid_pack", half, constants);
        CUfunction pack = emu_function_of(program, "reid_pack", 0);
        for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
            for (int folded = 0; folded < 2; folded++) test_pack(pack, &matrices[i], half, folded);
    }
    test_layout();
    free(kernels_text);
    return emu_done("kernels_pack");
}
