/* What __builtin_cpu_supports answers, for zig, whose own answer is always no: wheel.py includes this file first. A
   feature counts if the system also saves its registers (XGETBV; Intel SDM, volume 1, 13.3). */
#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>

static inline unsigned wheel_saved(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

static inline int wheel_cpu_supports(const char *name) {
    static const struct {
        const char *name;
        int leaf, place, bit; /* place: 1 EBX, 2 ECX */
        unsigned saved;       /* bits of XCR0 */
    } features[] = {{"avx2", 7, 1, 5, 0x6},      {"fma", 1, 2, 12, 0x6},      {"avx512f", 7, 1, 16, 0xe6},
                    {"avx512dq", 7, 1, 17, 0xe6}, {"avx512bw", 7, 1, 30, 0xe6}, {"avx512vl", 7, 1, 31, 0xe6},
                    {"avx512vnni", 7, 2, 11, 0xe6}};
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++) {
        unsigned r[4] = {0};
        if (strcmp(features[i].name, name) != 0) continue;
        return __get_cpuid_count((unsigned)features[i].leaf, 0, &r[0], &r[1], &r[2], &r[3]) &&
               (wheel_saved() & features[i].saved) == features[i].saved &&
               (r[features[i].place] >> features[i].bit & 1);
    }
    return 0;
}
#define __builtin_cpu_init() ((void)0)
#define __builtin_cpu_supports(name) wheel_cpu_supports(name)
#endif
