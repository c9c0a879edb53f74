/* compare: compares two files of embeddings from `reid embed`, row by row.

     cc -O2 -std=c99 compare.c -o compare -lm
     ./compare A.npy B.npy [--reversed] [--equal] [--abs LIMIT] [--cosine LIMIT]

   Prints rows, floats in a row, the largest difference, the smallest cosine, and the rows whose bytes are equal:

     36 rows of 2048: largest difference 3.1e-07, smallest cosine 0.999999999, 0 rows equal

   --reversed compares row i of A with row n - 1 - i of B. Exit status: 0 if all limits are kept, 1 if not, 2 on wrong
   usage. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    float *values;
    long rows, dim;
} table;

/* Reads a .npy of little-endian float32 in two dimensions. Returns 0 when it is something else. */
static int read_npy(const char *path, table *t) {
    unsigned char start[10];
    char header[4096];
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    int good = fread(start, 1, 10, f) == 10 && memcmp(start, "\x93NUMPY", 6) == 0;
    size_t size = good ? start[8] + 256u * start[9] : 0;
    good = good && size > 0 && size < sizeof header && fread(header, 1, size, f) == size;
    header[good ? size : 0] = 0;
    const char *shape = strstr(header, "'shape': (");
    good = good && strstr(header, "'<f4'") && shape && sscanf(shape + 10, "%ld, %ld", &t->rows, &t->dim) == 2;
    good = good && t->rows > 0 && t->dim > 0 && t->rows < 1 << 24 && t->dim < 1 << 16;
    size_t count = good ? (size_t)t->rows * (size_t)t->dim : 0;
    t->values = good ? malloc(count * sizeof *t->values) : NULL;
    good = t->values && fread(t->values, sizeof *t->values, count, f) == count && fgetc(f) == EOF;
    fclose(f);
    return good;
}

static double cosine(const float *a, const float *b, long dim) {
    double ab = 0, aa = 0, bb = 0;
    for (long i = 0; i < dim; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

static int usage(void) {
    fprintf(stderr, "usage: compare A.npy B.npy [--reversed] [--equal] [--abs LIMIT] [--cosine LIMIT]\n");
    return 2;
}

int main(int argc, char **argv) {
    table t[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    double most = -1, least = -2, worst = 0, smallest = 2;
    int reversed = 0, all_equal = 0;
    char rest;
    if (argc < 3) return usage();
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--reversed") == 0) reversed = 1;
        else if (strcmp(argv[i], "--equal") == 0) all_equal = 1;
        else if (i + 1 < argc && strcmp(argv[i], "--abs") == 0 && sscanf(argv[i + 1], "%lf%c", &most, &rest) == 1) i++;
        else if (i + 1 < argc && strcmp(argv[i], "--cosine") == 0 && sscanf(argv[i + 1], "%lf%c", &least, &rest) == 1)
            i++;
        else return usage();
    }
    for (int i = 0; i < 2; i++) {
        if (read_npy(argv[1 + i], &t[i])) continue;
        fprintf(stderr, "compare: %s is not a .npy file of embeddings\n", argv[1 + i]);
        return 2;
    }
    if (t[0].rows != t[1].rows || t[0].dim != t[1].dim) {
        fprintf(stderr, "compare: %ld x %ld and %ld x %ld floats\n", t[0].rows, t[0].dim, t[1].rows, t[1].dim);
        return 2;
    }
    long dim = t[0].dim, equal = 0;
    for (long r = 0; r < t[0].rows; r++) {
        const float *a = t[0].values + r * dim, *b = t[1].values + (reversed ? t[0].rows - 1 - r : r) * dim;
        double c = cosine(a, b, dim);
        equal += memcmp(a, b, (size_t)dim * sizeof *a) == 0;
        if (c < smallest || c != c) smallest = c; /* keeps a NaN */
        for (long i = 0; i < dim; i++) {
            double d = fabs((double)a[i] - (double)b[i]);
            if (d > worst || d != d) worst = d;
        }
    }
    printf("%ld rows of %ld: largest difference %.3g, smallest cosine %.9f, %ld rows equal\n", t[0].rows, dim, worst,
           smallest, equal);
    int kept = (!all_equal || equal == t[0].rows) && (most < 0 || worst <= most) && (least < -1 || smallest >= least);
    free(t[0].values), free(t[1].values);
    return !kept;
}
