/* test_hopper.c: Hopper's instructions against the PTX manual's words, and planted bugs, each of which has to be reported
   or seen in the output, as in test_bugs.c. Usage: test_hopper FOLDER, which holds hopper.cuh and hopper_test.cu */
#include "emu_test.h"

static CUmodule module;

static CUfunction function(const char *name, unsigned shared) { return emu_function_of(module, name, shared); }

/* ---- mbarrier, bulk copies ---- */

static void test_mbarrier(void) {
    /* After every step of unit_mbarrier, two arrivals being a phase: is parity 0 over, is parity 1? */
    static const unsigned want[17] = {0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0};
    float in[12];
    unsigned out[96];
    for (int i = 0; i < 12; i++) in[i] = (float)(i * 3 + 1);
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout};
    OK(emu_launch_1d(function("unit_mbarrier", 2048), 1, 64, 2048, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < 17; i++) CHECK_IS(out[i], want[i]);
    for (int i = 0; i < 12; i++) CHECK_IS(out[32 + i], in[i]);
    NEED(cuMemFree_v2(din));
}

static void test_ring(void) {
    enum { ROUNDS = 7, BLOCKS = 3 };
    float in[BLOCKS][ROUNDS][64], out[BLOCKS][32];
    unsigned random = 11;
    int rounds = ROUNDS;
    for (int i = 0; i < BLOCKS * ROUNDS * 64; i++) in[i / 64 / ROUNDS][i / 64 % ROUNDS][i % 64] = emu_uniform(&random);
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout, &rounds};
    OK(emu_launch_1d(function("unit_ring", 544), BLOCKS, 64, 544, params));
    emu_download(out, dout, sizeof out);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < 32; i++) {
            double sum = 0;
            for (int r = 0; r < ROUNDS; r++) sum = sum * 0.5 + (double)(in[b][r][i] - in[b][r][63 - i]);
            CHECK(fabs((double)out[b][i] - sum) < 1e-5);
        }
    NEED(cuMemFree_v2(din));
}

static void test_bulk_store(void) {
    float out[256];
    CUdeviceptr dout = emu_upload(NULL, sizeof out);
    void *params[] = {&dout};
    OK(emu_launch_1d(function("unit_bulk_store", 256), 1, 64, 256, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < 192; i++) CHECK_IS(out[i], i);
    CHECK_IS(out[192], 127);
}

/* ---- bugs ---- */

#define OUTPUT "the output is wrong" /* nothing is reported, but a comparison with the right result fails */

/* What has to be said, in plain and AddressSanitizer mode and in check mode. NULL: it cannot know. */
typedef struct bug {
    const char *name, *plain, *check;
} bug;
static const bug bugs[] = {
    {"load_fine", "right", "right"},
    {"load_no_init", "which is no mbarrier: mbarrier.init is missing", "which is no mbarrier"},
    {"load_no_init_fence", "no fence.mbarrier_init", "no fence.mbarrier_init"},
    {"load_no_init_barrier", NULL, "mbarrier"},
    {"load_two_inits", "which is an mbarrier already", "which is an mbarrier already"},
    {"load_no_expect", "thread (0,0,0): phase 0 of the mbarrier at shared offset 512 completes while a bulk copy of 256",
     "were not expected"},
    {"load_expect_less", "were not expected", "were not expected"},
    {"load_expect_more", "for parity 0 of shared offset 512 (phase 0: 0 of 1 arrivals pending, transaction count 256)",
     "deadlock, no thread can go on: threads 0-63 at mbarrier.try_wait"},
    {"load_wrong_parity", "arrives too often", "shared memory offset"},
    {"load_old_parity", "the block ends while a bulk copy", "shared memory offset"},
    {"load_arrive_more", "arrives too often at the mbarrier at shared offset 512 (phase 0: 0 of 1 arrivals pending",
     "arrives too often"},
    {"load_arrive_less", "(phase 0: 1 of 2 arrivals pending, transaction count 0)", "deadlock"},
    {"load_overwritten", "has been overwritten", "thread (5,0,0): write of shared memory offset 512, where an mbarrier"},
    {"load_no_loop", "arrives too often", "shared memory offset"},
    {"load_no_wait", "arrives too often", "shared memory offset"},
    {"load_one_waits", OUTPUT, "shared memory offset"},
    {"load_no_arrival", "(phase 0: 1 of 1 arrivals pending, transaction count 0)", "deadlock"},
    {"load_misaligned", "between shared offset 8", "all have to be multiples of 16"},
    {"load_outside", "0 bytes past the end of allocation #1", "0 bytes past the end of allocation #1"},
    {"load_no_proxy_fence", NULL, "there is no fence.proxy.async"},
    {"load_left_behind", "the block ends while a bulk copy to shared offset 0 is under way", "the block ends while"},
    {"store_fine", "right", "right"},
    {"store_no_fence", NULL, "there is no fence.proxy.async"},
    {"store_no_commit", "it may not have been read", "it may not have been read"},
    {"store_no_wait", OUTPUT, "which nothing has written"},
    {"store_no_read", "it may not have been read", "asynchronous read of"},
    {"store_overwrites", OUTPUT, "while an asynchronous read of it"},
};

static int run(const char *name, const char *cubin) {
    float in[128], out[130];
    int wrong = 0;
    emu_start();
    for (int i = 0; i < 128; i++) in[i] = (float)(i + 1);
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout};
    NEED(cuModuleLoadData(&module, cubin));
    if (emu_launch_1d(function(name, 1024), 2, 64, 1024, params)) return 1;
    NEED(cuMemcpyDtoH_v2(out, dout, sizeof out));
    for (int i = 0; i < 128; i++) wrong += !(fabsf(out[i] - in[i / 64 * 64 + 63 - i % 64]) < 0.5f);
    if (*name == 's') wrong += out[128] != out[0] || out[129] != out[64];
    fprintf(stderr, wrong ? OUTPUT "\n" : "the output is right\n");
    return wrong != 0;
}

static void test_bugs(const char *cubin) {
    const char *check = getenv("REID_EMULATOR_CHECK");
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        const char *want = check && *check == '1' ? bugs[i].check : bugs[i].plain;
        char said[16384];
        if (!want) continue;
        int status = emu_in_child(run, bugs[i].name, cubin, said, sizeof said);
        int noticed = strstr(said, want) != NULL && (status != 0) == (strcmp(want, "right") != 0);
        if (strncmp(said, "reid emulator: kernel", 21) == 0)
            noticed = noticed && strstr(said, bugs[i].name) && strstr(said, "block (");
        if (!noticed) printf("%s: wanted \"%s\", got (status %d): %s\n", bugs[i].name, want, status, said);
        CHECK(noticed);
    }
}

int main(int argc, char **argv) {
    char wrappers[512], path[512];
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    snprintf(wrappers, sizeof wrappers, "%s/hopper.cuh", folder);
    snprintf(path, sizeof path, "%s/hopper_test.cu", folder);
    char *cubin = emu_cubin_of(wrappers, path, NULL);
    test_bugs(cubin);
    emu_start();
    NEED(cuModuleLoadData(&module, cubin));
    test_mbarrier();
    test_ring();
    test_bulk_store();
    emu_stop(module);
    free(cubin);
    return emu_done("test_hopper");
}
