/* t_values.c: the FP32 values read from every dtype, in any pieces; and refused values: NaN, infinity, integers.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_values.c -o build/t_values -lcmocka -lm -lpthread -ldl */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/test_files.h"

/* One tensor "t" of `count` elements, open while the test runs. */
typedef struct opened {
    test_bytes file;
    reid__mem mem;
    reid__weights weights;
    const reid__tensor *t;
} opened;

static void open_values(opened *o, const char *dtype, const void *values, size_t count, size_t size) {
    reid_desc desc = REID_INIT;
    test_weights w = {NULL, NULL, 0, 0, 0};
    test_weights_add(&w, "before", "U8", &count, 0, "", 1); /* so that nothing is aligned */
    test_weights_add(&w, "t", dtype, &count, 1, values, size);
    o->file = test_weights_finish(&w);
    desc.weights_data = o->file.data, desc.weights_size = o->file.size;
    reid__mem_init(&o->mem, &desc);
    assert_int_equal(reid__weights_open(&o->weights, &desc, &o->mem, NULL), REID_OK);
    o->t = reid__weights_find(&o->weights, "t");
    assert_non_null(o->t);
    assert_string_equal(reid__dtypes[o->t->dtype].name, dtype);
}

static void close_values(opened *o) {
    reid__weights_close(&o->weights, &o->mem);
    free(o->file.data);
}

/* All 65,536 halves, and all bfloat16, against their definitions. */
static void sixteen_bits(void **state) {
    static uint16_t bits[65536];
    (void)state;
    for (size_t i = 0; i < 65536; i++) bits[i] = (uint16_t)i;
    for (int brain = 0; brain < 2; brain++) {
        opened o;
        int fraction_bits = brain ? 7 : 10, bias = brain ? 127 : 15;
        open_values(&o, brain ? "BF16" : "F16", bits, 65536, sizeof bits);
        for (size_t i = 0; i < 65536; i++) {
            int fraction = (int)i & ((1 << fraction_bits) - 1), exponent = (int)(i & 0x7fff) >> fraction_bits;
            float got = -1;
            reid_error error;
            reid_result r = reid__weights_read(&o.weights, o.t, i, 1, &got, &error);
            if (exponent == 2 * bias + 1) {
                char where[60];
                snprintf(where, sizeof where, "tensor \"t\", element %zu is %s", i, fraction ? "NaN" : "infinite");
                assert_int_equal(r, REID_ERR_NOT_FINITE);
                assert_says(error.text, where);
                continue;
            }
            int normal = exponent > 0;
            double want = ldexp(fraction + (normal << fraction_bits), exponent + !normal - bias - fraction_bits);
            assert_int_equal(r, REID_OK);
            if (got != (i & 0x8000 ? -want : want) || !signbit(got) != !(i & 0x8000)) fail_msg("pattern %04zx", i);
        }
        close_values(&o);
    }
}

/* Doubles are rounded to nearest, ties to even; a value that rounds to infinity is refused. */
static void doubles(void **state) {
    static const double values[] = {
        0.0, -0.0, 1.0, 0.1, -1e-45, 1e-50, 3.4028234663852886e38, 1 + 0x1p-24, 1 + 0x3p-24, 1 + 0x1.000001p-24,
        0x1p-149, 0x1p-150, 0x1.8p-149, -0x1.fffffefffffffp127,
    };
    static const float want[] = {
        0.0f, -0.0f, 1.0f, 0.1f, -0x1p-149f, 0.0f, 0x1.fffffep127f, 1.0f, 1 + 0x1p-22f, 1 + 0x1p-23f, 0x1p-149f,
        0.0f, 0x1p-148f, -0x1.fffffep127f,
    };
    static const double bad[] = {0x1.ffffffp127, 1e300, -1e300, (double)INFINITY, (double)NAN};
    float got[sizeof want / sizeof want[0]];
    reid_error error;
    opened o;
    (void)state;
    open_values(&o, "F64", values, sizeof values / sizeof values[0], sizeof values);
    assert_int_equal(reid__weights_read(&o.weights, o.t, 0, o.t->count, got, &error), REID_OK);
    assert_memory_equal(got, want, sizeof want);
    close_values(&o);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        open_values(&o, "F64", &bad[i], 1, sizeof bad[i]);
        assert_int_equal(reid__weights_read(&o.weights, o.t, 0, 1, got, &error), REID_ERR_NOT_FINITE);
        close_values(&o);
    }
}

/* Every start and length gives the same values; reading beyond the end is refused; a NaN is found anywhere. */
static void pieces(void **state) {
    enum { COUNT = 9000 }; /* more than two chunks */
    static const size_t counts[] = {0, 1, 2, 4095, 4096, 4097, 8192, COUNT};
    static float values[COUNT], got[COUNT];
    uint32_t nans[] = {0x7f800000, 0xff800000, 0x7f800001, 0xffc00000};
    reid_error error;
    opened o;
    (void)state;
    for (size_t i = 0; i < COUNT; i++) values[i] = (float)i * 0.37f - 1000.0f;
    open_values(&o, "F32", values, COUNT, sizeof values);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t first = 0; first + counts[i] <= COUNT; first += 313) {
            assert_int_equal(reid__weights_read(&o.weights, o.t, first, counts[i], got, &error), REID_OK);
            assert_memory_equal(got, values + first, counts[i] * sizeof got[0]);
        }
    }
    assert_int_equal(reid__weights_read(&o.weights, o.t, COUNT, 1, got, &error), REID_ERR_INVALID_ARG);
    assert_int_equal(reid__weights_read(&o.weights, o.t, 1, COUNT, got, &error), REID_ERR_INVALID_ARG);
    assert_int_equal(reid__weights_read(&o.weights, o.t, SIZE_MAX, 2, got, &error), REID_ERR_INVALID_ARG);
    close_values(&o);
    for (size_t at = 0; at < COUNT; at += 1999) {
        memcpy(&values[at], &nans[at % 4], 4);
        open_values(&o, "F32", values, COUNT, sizeof values);
        char where[40];
        snprintf(where, sizeof where, "element %zu", at);
        assert_int_equal(reid__weights_read(&o.weights, o.t, 0, COUNT, got, &error), REID_ERR_NOT_FINITE);
        assert_says(error.text, where);
        values[at] = 1;
        close_values(&o);
    }
}

static void no_weights(void **state) {
    static const char *const names[] = {"I64", "U64", "I32", "U32", "I16", "U16", "I8", "U8", "BOOL", "C64", "F8_E4M3",
                                        "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3", "F6_E3M2", "F4"};
    static const int bits[] = {64, 64, 32, 32, 16, 16, 8, 8, 8, 64, 8, 8, 8, 8, 8, 6, 6, 4};
    static const char zeros[64];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        reid_error error;
        float got[8];
        opened o;
        open_values(&o, names[i], zeros, 8, (size_t)bits[i]);
        assert_int_equal(reid__weights_read(&o.weights, o.t, 0, 8, got, &error), REID_ERR_TENSOR_DTYPE);
        assert_says(error.text, names[i]);
        close_values(&o);
    }
    assert_int_equal(sizeof names / sizeof names[0] + 4, REID__DTYPES); /* the other four are floats */
}

/* Finds the first one anywhere among the largest finite numbers. */
static void not_finite(void **state) {
    static const uint32_t bad[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xff800001, 0x7fffffff, 0xffffffff};
    static const uint32_t good[] = {0x7f7fffff, 0xff7fffff, 0, 0x80000000, 0x007fffff, 0x3f800000};
    float x[21];
    (void)state;
    for (size_t n = 0; n <= 21; n++)
        for (size_t at = 0; at <= n; at++)
            for (size_t kind = 0; kind < 36; kind++) {
                for (size_t i = 0; i < n; i++) memcpy(x + i, i < at ? &good[(i + kind) % 6] : &bad[kind / 6], 4);
                for (size_t i = at + 1; i < n; i++) memcpy(x + i, &good[(i + kind) % 6], 4);
                assert_int_equal(reid__first_not_finite(x, n), at);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_bits), cmocka_unit_test(doubles), cmocka_unit_test(pieces),
        cmocka_unit_test(no_weights), cmocka_unit_test(not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
