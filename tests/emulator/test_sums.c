/* test_sums.c: tensor_sum.h against the same definition by frexp, ldexp and trunc, and cases worked out by hand.
   What the emulator's instructions make of it is tested by kernels_wgmma.c with REID_EMULATOR_SUMS=tensor. */
#include "emu_test.h"
#include "tensor_sum.h"

/* A significand (1 <= |s| < 2, less for numbers below the least normal one) and its exponent. */
static double parts_of(double x, int least, int *e) {
    double s = 2 * frexp(x, e);
    *e -= 1;
    if (x == 0) return *e = -126, 0;
    if (*e < least) s = ldexp(s, *e - least), *e = least;
    return s;
}

static float by_definition(float c, const float *a, const float *b, int n, int least, int bits) {
    double s[33], sum = 0;
    int e[33], ea, eb, most;
    s[n] = parts_of((double)c, -126, &e[n]), most = e[n];
    for (int i = 0; i < n; i++) {
        s[i] = parts_of((double)a[i], least, &ea) * parts_of((double)b[i], least, &eb);
        e[i] = ea + eb;
        if (e[i] > most) most = e[i];
    }
    for (int i = 0; i <= n; i++) sum += ldexp(trunc(ldexp(s[i], bits + e[i] - most)), -bits);
    s[0] = parts_of(ldexp(sum, most), -126, &e[0]);
    double result = ldexp(trunc(ldexp(s[0], 23)), e[0] - 23);
    return result >= 0x1p128 ? INFINITY : result <= -0x1p128 ? -INFINITY : (float)result + 0.0f;
}

static int same(float x, float y) { return memcmp(&x, &y, 4) == 0; }

/* A half or bf16 with any exponent, sometimes zero. */
static float random_value(unsigned *seed, int bf16) {
    unsigned kind = emu_next_random(seed) % 16;
    uint32_t bits = emu_next_random(seed) << 16 ^ emu_next_random(seed);
    float f;
    if (kind == 0) return 0;
    if (!bf16) {
        if (kind < 8) bits = (bits & 0x83ff) | 0x3400 | (bits >> 10 & 0x800);
        double v = emu_half_value((uint16_t)bits);
        return isfinite(v) ? (float)v : 1;
    }
    bits = (bits & 0x80ff0000) | (kind < 8 ? 0x3f000000 : (bits & 0x7f) << 24 & 0x5f000000);
    memcpy(&f, &bits, 4);
    return f;
}

static void test_definition(void) {
    static const int all_bits[] = {23, 24, 25}, terms[] = {8, 16};
    unsigned seed = 29;
    int wrong = 0, chains = 0;
    for (int trial = 0; trial < 60000; trial++) {
        int n = terms[trial % 2], bits = all_bits[trial % 3], bf16 = trial % 5 == 0;
        int least = bf16 ? TENSOR_LEAST_BF16 : TENSOR_LEAST_F16;
        float a[16], b[16], c = random_value(&seed, 0) * random_value(&seed, 0) * random_value(&seed, 0), chain = c;
        for (int i = 0; i < n; i++) a[i] = random_value(&seed, bf16), b[i] = random_value(&seed, bf16);
        if (trial % 7 == 0) a[n - 1] = -a[0], b[n - 1] = b[0]; /* cancels */
        for (int i = 0; i < n; i++) chain = fmaf(a[i], b[i], chain);
        float got = tensor_sum(c, a, b, 1, n, least, bits), want = by_definition(c, a, b, n, least, bits);
        wrong += !same(got, want), chains += same(got, chain);
    }
    CHECK_IS(wrong, 0);
    CHECK(chains < 40000); /* not a chain of multiply-adds */
}

/* The results of these cases were worked out from the definition by hand. */
static void test_by_hand(void) {
    float halves[16], ones[16], tiny[16], big = 65504;
    for (int i = 0; i < 16; i++) halves[i] = 0.5f, ones[i] = 1, tiny[i] = 0x1p-24f;
    CHECK(tensor_sum(0x1p24f, halves, ones, 1, 16, -14, 25) == 0x1p24f + 8); /* 2^24's last digit kept is 2^-1 */
    CHECK(tensor_sum(0x1p24f, halves, ones, 1, 16, -14, 24) == 0x1p24f);     /* and here 2^0: halves are cut off */
    CHECK(tensor_sum(0x1p24f, halves, ones, 1, 15, -14, 25) == 0x1p24f + 6); /* 7.5, of which fp32 has even numbers */
    CHECK(tensor_sum(-0x1p24f, halves, ones, 1, 15, -14, 25) == -0x1p24f + 8); /* -16777208.5, towards zero */
    CHECK(tensor_sum(1, tiny, tiny, 1, 16, -14, 25) == 1);                   /* nothing is rounded up */
    CHECK(tensor_sum(-1, tiny, tiny, 1, 16, -14, 25) == -1);
    CHECK(same(tensor_sum(0, tiny, tiny, 1, 1, -14, 25), 0x1p-48f)); /* exact: the exponent is -28, 2^-53 is kept */
    CHECK(same(tensor_sum(-0.0f, tiny, tiny, 1, 0, -14, 25), 0.0f));         /* no negative zeros */
    CHECK(isinf(tensor_sum(0x1.fffffep127f, &big, &big, 1, 1, -14, 25)) == 0); /* cut off, as it is below 2^128 */
    CHECK(isinf(tensor_sum(INFINITY, &big, &big, 1, 1, -14, 25)));
    float nan = NAN, none = tensor_sum(0, &nan, &big, 1, 1, -14, 25);
    uint32_t bits;
    memcpy(&bits, &none, 4);
    CHECK(bits == 0x7fffffff);
}

/* Whole numbers below 2^24 are exact: what INT8's first layer relies on, whose levels are whole halves. */
static void test_exact(void) {
    unsigned seed = 31;
    for (int trial = 0; trial < 2000; trial++) {
        float a[224], b[224], sum = 0;
        long want = 0;
        for (int i = 0; i < 224; i++) {
            a[i] = (float)(emu_next_random(&seed) % 303) - 151;
            b[i] = (float)(emu_next_random(&seed) % 401) - 200;
            want += (long)a[i] * (long)b[i];
        }
        for (int i = 0; i < 224; i += 16) sum = tensor_sum(sum, a + i, b + i, 1, 16, -14, trial % 2 ? 25 : 24);
        CHECK(sum == (float)want);
    }
}

static void test_chips(void) {
    CHECK(tensor_bits(75) == 24 && tensor_bits(80) == 24 && tensor_bits(89) == 24 && tensor_bits(90) == 25 &&
          tensor_bits(120) == 25);
    CHECK(tensor_terms(80, 16) == 8 && tensor_terms(90, 16) == 16 && tensor_terms(90, 8) == 8);
}

int main(void) {
    test_definition();
    test_by_hand();
    test_exact();
    test_chips();
    return emu_done("test_sums");
}
