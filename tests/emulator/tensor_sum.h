/* tensor_sum.h: how NVIDIA's tensor cores add. One sum of products and an accumulator, as MMA-Sim describes it for each
   generation (Xie, Wang, Yang, Yang: MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores,
   arXiv:2511.10909, github.com/microsoft/MMA-Sim), in code of our own:

   - Products are exact. A term's exponent is the sum of its factors' exponents, each as it is stored: products are not
     normalised, numbers below the least normal one have its exponent, zero has -126.
   - All terms and the accumulator are shifted to the largest exponent among them and cut off, towards zero, behind
     `bits` binary digits after the point; what is left is added exactly.
   - The sum is cut off, towards zero, to an fp32. From 2^128 on it is infinite.
   - If the plain sum is NaN or infinite, so is the result; NaN is 0x7fffffff.

   This holds for fp16 and bf16, which differ in the least exponent of a normal number. The order of terms within a sum
   does not matter, nor does N. Sums of bytes in s32 are exact (modulo 2^32) on every chip, and need no such rule.
   Nothing here was measured; tools/gpu/families.cu tests whether a GPU does this. */
#ifndef REID_EMULATOR_TENSOR_SUM_H
#define REID_EMULATOR_TENSOR_SUM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { TENSOR_LEAST_F16 = -14, TENSOR_LEAST_BF16 = -126, TENSOR_ZERO = -126 };

/* Digits after the point, by chip: 90 is Hopper. */
static inline int tensor_bits(int arch) { return arch < 75 ? 23 : arch < 90 ? 24 : 25; }

/* Products in one sum of an instruction with this K: Ampere and Ada do m16n8k16 as two sums of eight. */
static inline int tensor_terms(int arch, int k) { return arch < 90 && k > 8 ? 8 : k; }

/* The exponent of a float that holds a number of another type, `least` that of its least normal number. */
static inline int tensor_exponent(float x, int least) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    int e = (int)(bits >> 23 & 255) - 127;
    if (!(bits << 1)) return TENSOR_ZERO;
    return e < least ? least : e;
}

/* 2^e, for e of a normal double. */
static inline double tensor_power(int e) {
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return power;
}

/* Cut off towards zero to an fp32; x is finite. */
static inline float tensor_cut(double x) {
    uint64_t bits;
    if (fabs(x) >= tensor_power(128)) return x < 0 ? -INFINITY : INFINITY;
    if (fabs(x) < tensor_power(-126)) return (float)((double)(int64_t)(x * tensor_power(149)) * tensor_power(-149));
    memcpy(&bits, &x, 8);
    bits &= ~(((uint64_t)1 << 29) - 1);
    memcpy(&x, &bits, 8);
    return (float)x;
}

/* c + a[0] * b[0] + a[step] ... : n products (at most 32); b's elements are `b_step` floats apart. */
static inline float tensor_sum(float c, const float *a, const float *b, int b_step, int n, int least, int bits) {
    int most = tensor_exponent(c, -126);
    double plain = c;
    int64_t total;
    for (int i = 0; i < n; i++) {
        int e = tensor_exponent(a[i], least) + tensor_exponent(b[i * b_step], least);
        if (e > most) most = e;
        plain += (double)a[i] * b[i * b_step];
    }
    if (!isfinite(plain)) {
        const uint32_t nan = 0x7fffffff;
        float result = (float)plain;
        if (isnan(plain)) memcpy(&result, &nan, 4);
        return result;
    }
    double up = tensor_power(bits - most), down = tensor_power(most - bits);
    total = (int64_t)((double)c * up);
    for (int i = 0; i < n; i++) total += (int64_t)((double)a[i] * b[i * b_step] * up);
    return tensor_cut((double)total * down);
}

#endif
