/* cmocka.h: the part of cmocka that tests in tests/core need, for processors without an installed cmocka: see
   t_neon.sh, t_windows.sh. The first failure ends the program. */
#ifndef CMOCKA_SMALL_H
#define CMOCKA_SMALL_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(f) {#f, f}
#define cmocka_set_test_filter(text) (small_filter(text))
#define cmocka_run_group_tests(tests, setup, teardown) (small_run(tests, (int)(sizeof(tests) / sizeof *(tests))))
#define print_message printf
#define fail_msg(...) (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), puts(""), exit(1))
#define SMALL_NEED(good, text) ((good) ? (void)0 : (void)(printf("%s:%d: %s\n", __FILE__, __LINE__, text), exit(1)))
#define assert_true(x) SMALL_NEED((x) != 0, #x)
#define assert_false(x) SMALL_NEED((x) == 0, "not " #x)
#define assert_null(x) SMALL_NEED((x) == NULL, #x " is there")
#define assert_non_null(x) SMALL_NEED((x) != NULL, #x " is NULL")
#define assert_int_equal(a, b) small_equal((intmax_t)(a), (intmax_t)(b), #a " is not " #b, __FILE__, __LINE__)
#define assert_string_equal(a, b) SMALL_NEED(strcmp(a, b) == 0, #a " is not " #b)
#define assert_string_not_equal(a, b) SMALL_NEED(strcmp(a, b) != 0, #a " is " #b)
#define assert_in_range(x, from, to) SMALL_NEED((x) >= (from) && (x) <= (to), #x " is out of range")
#define assert_memory_equal(a, b, n) SMALL_NEED(memcmp(a, b, n) == 0, #a " is not " #b)
#define assert_memory_not_equal(a, b, n) SMALL_NEED(memcmp(a, b, n) != 0, #a " is " #b)

static inline void small_equal(intmax_t a, intmax_t b, const char *text, const char *file, int line) {
    if (a == b) return;
    printf("%s:%d: %s: %" PRIdMAX ", %" PRIdMAX "\n", file, line, text, a, b);
    exit(1);
}

/* The names of the tests to run, with spaces between; NULL: all. The program's own argument. */
static inline const char *small_filter(const char *set) {
    static const char *names;
    if (set) names = set;
    return names;
}

static inline int small_run(const struct CMUnitTest *tests, int count) {
    const char *wanted = small_filter(NULL);
    char padded[64], names[512];
    int ran = 0;
    snprintf(names, sizeof names, " %s ", wanted ? wanted : "");
    for (int i = 0; i < count; i++) {
        void *state = NULL;
        snprintf(padded, sizeof padded, " %s ", tests[i].name);
        if (wanted && !strstr(names, padded)) continue;
        tests[i].run(&state);
        printf("passed %s\n", tests[i].name);
        fflush(stdout);
        ran++;
    }
    return ran == 0; /* none: a name is wrong */
}
#endif
