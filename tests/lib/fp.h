/* fp.h: the floating-point settings of this thread, as a caller could have left them. */
#ifndef TEST_FP_H
#define TEST_FP_H

#if defined(__x86_64__)
#include <immintrin.h>
#define ROUND_UP_AND_FLUSH 0xdfc0u /* everything that could change a result: round up, denormals are zero and flushed */
#else
#define ROUND_UP_AND_FLUSH 0x1400000u /* ARM's: RMode = 1, FZ = 1 */
#endif

/* Returns the previous settings. */
static unsigned set_fp(unsigned value) {
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(value);
    return before;
#elif defined(__aarch64__)
    unsigned long long before, after = value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" ::"r"(after));
    return (unsigned)before;
#else
    return value;
#endif
}
#endif
