/* test_rows.h: the rows, identities and cameras of tests/golden/make_metrics.py, and its results. Include it after
   tools/scores/metrics.h. */
#ifndef TEST_ROWS_H
#define TEST_ROWS_H

enum { ROWS_QUERIES = 30, ROWS_GALLERY = 90, ROWS_DIM = 8, ROWS_IDENTITIES = 14, ROWS_CAMERAS = 3,
       ROWS = ROWS_QUERIES + ROWS_GALLERY };

static float row_values[ROWS * ROWS_DIM];
static size_t row_identity[ROWS], row_camera[ROWS];

static size_t rows_below(uint64_t *state, unsigned below) { return (size_t)(random_next(state) % below); }

static void make_rows(uint64_t seed) {
    double centre[ROWS_IDENTITIES][ROWS_DIM];
    for (int c = 0; c < ROWS_IDENTITIES; c++)
        for (int k = 0; k < ROWS_DIM; k++) centre[c][k] = (double)rows_below(&seed, 1025) - 512;
    for (int i = 0; i < ROWS; i++) {
        size_t who = i < ROWS_QUERIES ? rows_below(&seed, ROWS_IDENTITIES - 1) + 1
                                      : rows_below(&seed, ROWS_IDENTITIES - 2);
        row_identity[i] = who;
        row_camera[i] = rows_below(&seed, ROWS_CAMERAS);
        for (int k = 0; k < ROWS_DIM; k++)
            row_values[i * ROWS_DIM + k] = (float)((centre[who][k] + (double)rows_below(&seed, 1025) - 512) / 4096);
    }
}

/* Reads the numbers of one line of metrics.txt; ends the program if it is missing. Returns their number. */
static size_t read_rows_golden(const char *name, double *out, size_t most) {
    FILE *f = fopen("tests/golden/metrics.txt", "r");
    char word[64];
    size_t count = 0;
    int found = 0;
    while (f && !found && fscanf(f, "%63s %zu", word, &count) == 2) {
        found = strcmp(word, name) == 0;
        for (size_t i = 0; i < count; i++) {
            double value;
            if (fscanf(f, "%lf", &value) != 1) count = 0;
            if (found && i < most) out[i] = value;
        }
    }
    if (f) fclose(f);
    if (!found || count > most) {
        fprintf(stderr, "tests/golden/metrics.txt: no %s\n", name);
        exit(1);
    }
    return count;
}

#endif
