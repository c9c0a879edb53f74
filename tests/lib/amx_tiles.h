/* amx_tiles.h: the AMX instructions that reid.h uses, in C, for t_amx.sh on CPUs that lack them: Intel, "Architecture
   Instruction Set Extensions Programming Reference", except that subnormal numbers, which TDPBF16PS treats as zeros,
   are kept. An instruction that the hardware would refuse, or that reads a register before it is written, ends the
   program. With AMX_WRONG set, products leave out the last two or four inputs, which tests must notice. */
#ifndef AMX_TILES_H
#define AMX_TILES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AMX_TILES 8
#define AMX_ROWS 16
#define AMX_BYTES 64 /* of a row */

typedef struct amx_state {
    int configured, rows[AMX_TILES], bytes[AMX_TILES], written[AMX_TILES];
    uint8_t tile[AMX_TILES][AMX_ROWS][AMX_BYTES];
} amx_state;

static __thread amx_state amx;

static void amx_check(int fine, const char *what) {
    if (fine) return;
    fprintf(stderr, "AMX: %s\n", what);
    abort();
}

/* LDTILECFG's 64 bytes: palette, first row, 14 zeros, 16 times bytes of a row, 16 times rows. */
static void amx_configure(const void *memory) {
    const uint8_t *shape = (const uint8_t *)memory;
    memset(&amx, 0, sizeof amx);
    amx_check(shape[0] == 1, "the palette is not 1");
    for (int i = 1; i < 16; i++) amx_check(shape[i] == 0, "a reserved byte of the configuration is not 0");
    for (int i = 0; i < AMX_TILES; i++) {
        amx.bytes[i] = shape[16 + 2 * i] + 256 * shape[17 + 2 * i];
        amx.rows[i] = shape[48 + i];
        amx_check(amx.bytes[i] <= AMX_BYTES && amx.rows[i] <= AMX_ROWS, "a register is larger than the palette's");
    }
    amx.configured = 1;
}

static void amx_release(void) { memset(&amx, 0, sizeof amx); }

static void amx_zero(int t) {
    amx_check(amx.configured, "TILEZERO without a configuration");
    memset(amx.tile[t], 0, sizeof amx.tile[t]);
    amx.written[t] = 1;
}

static void amx_load(int t, const void *from, ptrdiff_t stride) {
    amx_zero(t);
    for (int r = 0; r < amx.rows[t]; r++)
        memcpy(amx.tile[t][r], (const char *)from + r * stride, (size_t)amx.bytes[t]);
}

static void amx_store(int t, void *to, ptrdiff_t stride) {
    amx_check(amx.written[t], "TILESTORED of a register that nothing was written to");
    for (int r = 0; r < amx.rows[t]; r++) memcpy((char *)to + r * stride, amx.tile[t][r], (size_t)amx.bytes[t]);
}

/* Checks the requirements of both products. Returns the groups of four bytes that they take from a row of a. */
static int amx_groups(int c, int a, int b) {
    static int wrong = -1;
    if (wrong < 0) wrong = getenv("AMX_WRONG") != NULL;
    amx_check(amx.written[a] && amx.written[b] && amx.written[c], "a product of registers that nothing was written to");
    amx_check(c != a && c != b && a != b, "a product of a register with itself");
    amx_check(amx.rows[a] == amx.rows[c] && amx.bytes[b] == amx.bytes[c] && amx.rows[b] == amx.bytes[a] / 4,
              "a product of registers whose shapes do not fit");
    return amx.bytes[a] / 4 - wrong;
}

static float amx_bf16(const uint8_t *p) {
    uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* TDPBF16PS: for each sum, adds the even and the odd inputs in separate chains, then both to the sum. */
__attribute__((target("fma"))) static void amx_dot_bf16(int c, int a, int b) {
    int groups = amx_groups(c, a, b), columns = amx.bytes[c] / 4;
    for (int m = 0; m < amx.rows[c]; m++) {
        float sums[AMX_BYTES / 4], even[AMX_BYTES / 4] = {0}, odd[AMX_BYTES / 4] = {0};
        memcpy(sums, amx.tile[c][m], sizeof sums);
        for (int k = 0; k < groups; k++) {
            float x = amx_bf16(amx.tile[a][m] + 4 * k), y = amx_bf16(amx.tile[a][m] + 4 * k + 2);
            for (int n = 0; n < columns; n++) {
                even[n] = __builtin_fmaf(x, amx_bf16(amx.tile[b][k] + 4 * n), even[n]);
                odd[n] = __builtin_fmaf(y, amx_bf16(amx.tile[b][k] + 4 * n + 2), odd[n]);
            }
        }
        for (int n = 0; n < columns; n++) sums[n] += even[n] + odd[n];
        memcpy(amx.tile[c][m], sums, sizeof sums);
    }
}

/* TDPBUSD: bytes 0 ... 255 of a times -128 ... 127 of b. */
static void amx_dot_bytes(int c, int a, int b) {
    int groups = amx_groups(c, a, b), columns = amx.bytes[c] / 4;
    for (int m = 0; m < amx.rows[c]; m++) {
        int32_t sums[AMX_BYTES / 4];
        memcpy(sums, amx.tile[c][m], sizeof sums);
        for (int k = 0; k < 4 * groups; k++)
            for (int n = 0; n < columns; n++)
                sums[n] += amx.tile[a][m][k] * (int8_t)amx.tile[b][k / 4][4 * n + k % 4];
        memcpy(amx.tile[c][m], sums, sizeof sums);
    }
}

#endif
