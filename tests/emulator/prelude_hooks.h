/* prelude_hooks.h: how the compiler's own instrumentation reaches the emulator. Part of prelude.h.
   In check mode kernels are compiled with g++ -fsanitize=thread, whose calls (one per load or store) are answered here
   instead of by the ThreadSanitizer library. In every mode -fsanitize=alignment answers here too. */
#ifndef REID_EMULATOR_PRELUDE_HOOKS_H
#define REID_EMULATOR_PRELUDE_HOOKS_H

/* Defines a function under a name that is reserved for the compiler, without conflicting with its own declaration. */
#define REID_EMULATOR_HOOK(symbol, name, ...)                                                                          \
    extern "C" __attribute__((visibility("hidden"))) void name(__VA_ARGS__) __asm__(#symbol);                          \
    extern "C" __attribute__((used, noinline, no_sanitize("thread", "address", "undefined"))) void name(__VA_ARGS__)

#ifdef REID_EMULATOR_CHECK
#define REID_EMULATOR_ACCESS(access_name, bytes, is_write)                                                             \
    REID_EMULATOR_HOOK(__tsan_##access_name, reid_emulator_##access_name, void *p) {                                   \
        reid_emulator.access(p, bytes, is_write, __builtin_return_address(0));                                        \
    }
#define REID_EMULATOR_ACCESSES(bytes)                                                                                  \
    REID_EMULATOR_ACCESS(read##bytes, bytes, 0)                                                                        \
    REID_EMULATOR_ACCESS(write##bytes, bytes, 1)                                                                       \
    REID_EMULATOR_ACCESS(unaligned_read##bytes, bytes, 0)                                                              \
    REID_EMULATOR_ACCESS(unaligned_write##bytes, bytes, 1)
REID_EMULATOR_ACCESSES(1)
REID_EMULATOR_ACCESSES(2)
REID_EMULATOR_ACCESSES(4)
REID_EMULATOR_ACCESSES(8)
REID_EMULATOR_ACCESSES(16)
#undef REID_EMULATOR_ACCESSES
#undef REID_EMULATOR_ACCESS

REID_EMULATOR_HOOK(__tsan_read_range, reid_emulator_read_range, void *p, unsigned long bytes) {
    reid_emulator.access(p, (unsigned)bytes, 0, __builtin_return_address(0));
}
REID_EMULATOR_HOOK(__tsan_write_range, reid_emulator_write_range, void *p, unsigned long bytes) {
    reid_emulator.access(p, (unsigned)bytes, 1, __builtin_return_address(0));
}
/* clang calls these to copy and fill whole objects. */
REID_EMULATOR_HOOK(__tsan_memcpy, reid_emulator_memcpy, void *to, const void *from, unsigned long bytes) {
    reid_emulator.access(from, (unsigned)bytes, 0, __builtin_return_address(0));
    reid_emulator.access(to, (unsigned)bytes, 1, __builtin_return_address(0));
    __builtin_memcpy(to, from, bytes);
}
REID_EMULATOR_HOOK(__tsan_memset, reid_emulator_memset, void *to, int value, unsigned long bytes) {
    reid_emulator.access(to, (unsigned)bytes, 1, __builtin_return_address(0));
    __builtin_memset(to, value, bytes);
}
REID_EMULATOR_HOOK(__tsan_init, reid_emulator_init, void) {}
REID_EMULATOR_HOOK(__tsan_func_entry, reid_emulator_func_entry, void *) {}
REID_EMULATOR_HOOK(__tsan_func_exit, reid_emulator_func_exit, void) {}
#endif

/* Every record of the undefined-behaviour checks begins with its place in the text. */
struct reid_emulator_place {
    const char *file;
    unsigned line, column;
};
#define REID_EMULATOR_UNDEFINED(name, kind, value, ...)                                                                \
    REID_EMULATOR_HOOK(__ubsan_handle_##name, reid_emulator_##name, struct reid_emulator_place *at, __VA_ARGS__) {     \
        reid_emulator.undefined(kind, at->file, at->line, value);                                                     \
    }
REID_EMULATOR_UNDEFINED(type_mismatch_v1, REID_EMULATOR_MISALIGNED, p, void *p)
REID_EMULATOR_UNDEFINED(out_of_bounds, REID_EMULATOR_INDEX, index, void *index)
REID_EMULATOR_UNDEFINED(shift_out_of_bounds, REID_EMULATOR_SHIFT, by, void *, void *by)
REID_EMULATOR_UNDEFINED(add_overflow, REID_EMULATOR_ARITHMETIC, 0, void *, void *)
REID_EMULATOR_UNDEFINED(sub_overflow, REID_EMULATOR_ARITHMETIC, 0, void *, void *)
REID_EMULATOR_UNDEFINED(mul_overflow, REID_EMULATOR_ARITHMETIC, 0, void *, void *)
REID_EMULATOR_UNDEFINED(divrem_overflow, REID_EMULATOR_ARITHMETIC, 0, void *, void *)
REID_EMULATOR_UNDEFINED(negate_overflow, REID_EMULATOR_ARITHMETIC, 0, void *)
#undef REID_EMULATOR_UNDEFINED
#undef REID_EMULATOR_HOOK

/* ---- the table of kernels: nvrtc_scan.c appends one entry per kernel that it finds, in terms of these ---- */
template <unsigned... reid_i> struct reid_emulator_list {};
template <unsigned reid_n, unsigned... reid_i>
struct reid_emulator_count : reid_emulator_count<reid_n - 1, reid_n - 1, reid_i...> {};
template <unsigned... reid_i> struct reid_emulator_count<0, reid_i...> {
    typedef reid_emulator_list<reid_i...> type;
};

template <auto reid_kernel> struct reid_emulator_caller;
template <class... reid_t, void (*reid_kernel)(reid_t...)> struct reid_emulator_caller<reid_kernel> {
    static constexpr unsigned count = sizeof...(reid_t);
    static constexpr unsigned bytes[sizeof...(reid_t) + 1] = {(unsigned)sizeof(reid_t)..., 0};
    template <unsigned... reid_i>
    __attribute__((no_sanitize("thread"))) static void unpack(void **params, reid_emulator_list<reid_i...>) {
        (void)params;
        reid_kernel(*(reid_t *)params[reid_i]...);
    }
    __attribute__((no_sanitize("thread"))) static void call(void **params) {
        unpack(params, typename reid_emulator_count<sizeof...(reid_t)>::type());
    }
};

#endif
