/* t_decimal.c: floats as text are what printf writes, character by character: all powers of ten and of two with their
   neighbours, halves, and a grid over every float.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/base/t_decimal.c tools/base/decimal.c tools/base/text.c
      -o build/t_decimal -lcmocka -lm */
#include "base/decimal.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/test_util.h"

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void same(float value) {
    char wanted[40], got[DECIMAL_FLOAT + 1];
    snprintf(wanted, sizeof wanted, "%.9g", (double)value);
    got[decimal_float(got, value)] = 0;
    if (strcmp(wanted, got) != 0) fail_msg("%a: %s, not %s", (double)value, got, wanted);
}

/* The value, its neighbours, and their negatives. */
static void same_around(float value) {
    for (int i = -3; i <= 3; i++) {
        const float near = float_of(bits_of(value) + (uint32_t)i);
        same(near), same(-near);
    }
}

static void test_borders(void **state) {
    (void)state;
    for (int ten = -44; ten <= 38; ten++) same_around((float)pow(10, ten));
    for (int two = -148; two <= 127; two++) same_around(ldexpf(1, two));
    same(0), same(-0.0f), same(INFINITY), same(-INFINITY), same(NAN);
}

/* Numbers of ten digits that end in a 5 are rounded to the even ninth digit. */
static void test_halves(void **state) {
    int halves = 0;
    (void)state;
    for (uint32_t odd = 1; odd < 1 << 17; odd += 2)
        for (int two = -18; two <= -1; two++) {
            char ten[40];
            const float value = ldexpf((float)odd, two);
            snprintf(ten, sizeof ten, "%.9e", (double)value);
            if (ten[10] != '5' || strtof(ten, NULL) != value) continue;
            halves++;
            same(value);
        }
    assert_true(halves > 1000);
}

static void test_grid(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 10007) same(float_of((uint32_t)bits));
}

static void test_list(void **state) {
    const float values[] = {0.5f, -1, 1.5e-9f, 2e10f, 0.1f};
    text t = TEXT_INIT;
    (void)state;
    text_putc(&t, '[');
    decimal_floats(&t, values, 5);
    assert_string_equal(t.s, "[0.5,-1,1.50000001e-09,2e+10,0.100000001");
    text_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
