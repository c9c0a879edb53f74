/* prelude_math.h: NVRTC's built-in arithmetic on the CPU. Part of prelude.h.
   Functions that CUDA documents as correctly rounded are exact here too; the approximate ones (__expf, rsqrtf, ...) are
   the C library's, which is closer to the true value than a GPU is. */
#ifndef REID_EMULATOR_PRELUDE_MATH_H
#define REID_EMULATOR_PRELUDE_MATH_H

extern "C" {
float expf(float) noexcept;
float exp2f(float) noexcept;
float logf(float) noexcept;
float log2f(float) noexcept;
float tanhf(float) noexcept;
float powf(float, float) noexcept;
float sinf(float) noexcept;
float cosf(float) noexcept;
float roundf(float) noexcept;
float fmodf(float, float) noexcept;
double exp(double) noexcept;
}

REID_EMULATOR_FN float fabsf(float a) { return __builtin_fabsf(a); }
REID_EMULATOR_FN float sqrtf(float a) { return __builtin_sqrtf(a); }
REID_EMULATOR_FN double sqrt(double a) { return __builtin_sqrt(a); }
REID_EMULATOR_FN double fabs(double a) { return __builtin_fabs(a); }
REID_EMULATOR_FN double fmax(double a, double b) { return __builtin_fmax(a, b); }
REID_EMULATOR_FN double rint(double a) { return __builtin_rint(a); }
REID_EMULATOR_FN float floorf(float a) { return __builtin_floorf(a); }
REID_EMULATOR_FN float ceilf(float a) { return __builtin_ceilf(a); }
REID_EMULATOR_FN float truncf(float a) { return __builtin_truncf(a); }
REID_EMULATOR_FN float rintf(float a) { return __builtin_rintf(a); }
REID_EMULATOR_FN float copysignf(float a, float b) { return __builtin_copysignf(a, b); }
REID_EMULATOR_FN float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
REID_EMULATOR_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
REID_EMULATOR_FN float rsqrtf(float a) { return 1.0f / __builtin_sqrtf(a); }
REID_EMULATOR_FN float fminf(float a, float b) { return __builtin_fminf(a, b); } /* the number, if one is NaN */
REID_EMULATOR_FN float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
REID_EMULATOR_FN float __saturatef(float a) { return fminf(fmaxf(a, 0.0f), 1.0f); } /* NaN gives 0 */
REID_EMULATOR_FN float __expf(float a) { return expf(a); }
REID_EMULATOR_FN float __logf(float a) { return logf(a); }
REID_EMULATOR_FN float __fdividef(float a, float b) { return a / b; }
REID_EMULATOR_FN float __frcp_rn(float a) { return 1.0f / a; }
REID_EMULATOR_FN float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
REID_EMULATOR_FN float __fdiv_rn(float a, float b) { return a / b; }
REID_EMULATOR_FN float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

/* Never contracted to an fma: the empty asm makes the compiler forget where the value came from. A sum needs it before,
   too: its operands may be products. */
REID_EMULATOR_FN float reid_emulator_rounded(float a) {
    __asm__("" : "+x"(a));
    return a;
}
REID_EMULATOR_FN double reid_emulator_rounded(double a) {
    __asm__("" : "+x"(a));
    return a;
}
#define REID_EMULATOR_ROUNDED(name, type, operator)                                                                    \
    REID_EMULATOR_FN type name(type a, type b) {                                                                       \
        return reid_emulator_rounded(reid_emulator_rounded(a) operator reid_emulator_rounded(b));                      \
    }
REID_EMULATOR_ROUNDED(__fadd_rn, float, +)
REID_EMULATOR_ROUNDED(__fsub_rn, float, -)
REID_EMULATOR_ROUNDED(__fmul_rn, float, *)
REID_EMULATOR_ROUNDED(__dadd_rn, double, +)
REID_EMULATOR_ROUNDED(__dsub_rn, double, -)
REID_EMULATOR_ROUNDED(__dmul_rn, double, *)
REID_EMULATOR_ROUNDED(__ddiv_rn, double, /)
#undef REID_EMULATOR_ROUNDED
REID_EMULATOR_FN double __dsqrt_rn(double a) { return __builtin_sqrt(a); }

#define REID_EMULATOR_MINMAX(type)                                                                                     \
    REID_EMULATOR_FN type min(type a, type b) { return b < a ? b : a; }                                                \
    REID_EMULATOR_FN type max(type a, type b) { return a < b ? b : a; }
REID_EMULATOR_MINMAX(int)
REID_EMULATOR_MINMAX(unsigned)
REID_EMULATOR_MINMAX(long long)
REID_EMULATOR_MINMAX(unsigned long long)
#undef REID_EMULATOR_MINMAX
REID_EMULATOR_FN float min(float a, float b) { return fminf(a, b); }
REID_EMULATOR_FN float max(float a, float b) { return fmaxf(a, b); }
REID_EMULATOR_FN int abs(int a) noexcept { return a < 0 ? -a : a; }

/* Bits. */
template <class reid_to, class reid_from> REID_EMULATOR_FN reid_to reid_emulator_bits(reid_from from) {
    static_assert(sizeof(reid_to) == sizeof(reid_from), "same size");
    reid_to to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
REID_EMULATOR_FN int __float_as_int(float a) { return reid_emulator_bits<int>(a); }
REID_EMULATOR_FN unsigned __float_as_uint(float a) { return reid_emulator_bits<unsigned>(a); }
REID_EMULATOR_FN float __int_as_float(int a) { return reid_emulator_bits<float>(a); }
REID_EMULATOR_FN float __uint_as_float(unsigned a) { return reid_emulator_bits<float>(a); }
REID_EMULATOR_FN int __popc(unsigned a) { return __builtin_popcount(a); }
REID_EMULATOR_FN int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
REID_EMULATOR_FN int __ffs(int a) { return __builtin_ffs(a); }
REID_EMULATOR_FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
REID_EMULATOR_FN int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
REID_EMULATOR_FN unsigned __brev(unsigned a) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (a >> i & 1u) << (31 - i);
    return r;
}
REID_EMULATOR_FN unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { /* four byte numbers in s, 0-7 of b:a */
    unsigned long long from = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned byte = (unsigned)(from >> 8 * (s >> 4 * i & 7u)) & 255u;
        if (s >> 4 * i & 8u) byte = byte & 128u ? 255u : 0u; /* the sign, replicated */
        r |= byte << 8 * i;
    }
    return r;
}
REID_EMULATOR_FN unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31u) >> 32);
}
REID_EMULATOR_FN unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31u));
}

/* float to integer saturates, and NaN gives 0, as the GPU's cvt does; the suffix is the rounding. */
REID_EMULATOR_FN int reid_emulator_to_int(float a) { /* a is an integer already */
    if (a != a) return 0;
    return a >= 2147483648.0f ? 2147483647 : a < -2147483648.0f ? -2147483647 - 1 : (int)a;
}
REID_EMULATOR_FN unsigned reid_emulator_to_uint(float a) {
    if (!(a > 0.0f)) return 0;
    return a >= 4294967296.0f ? 4294967295u : (unsigned)a;
}
REID_EMULATOR_FN int __float2int_rn(float a) { return reid_emulator_to_int(rintf(a)); }
REID_EMULATOR_FN int __float2int_rz(float a) { return reid_emulator_to_int(truncf(a)); }
REID_EMULATOR_FN int __float2int_rd(float a) { return reid_emulator_to_int(floorf(a)); }
REID_EMULATOR_FN int __float2int_ru(float a) { return reid_emulator_to_int(ceilf(a)); }
REID_EMULATOR_FN unsigned __float2uint_rn(float a) { return reid_emulator_to_uint(rintf(a)); }
REID_EMULATOR_FN unsigned __float2uint_rz(float a) { return reid_emulator_to_uint(truncf(a)); }
REID_EMULATOR_FN float __int2float_rn(int a) { return (float)a; }
REID_EMULATOR_FN float __uint2float_rn(unsigned a) { return (float)a; }

#endif
