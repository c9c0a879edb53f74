/* Comparison functions for qsort and bsearch over arrays of plain values. */
#ifndef REID_TOOLS_ORDER_H
#define REID_TOOLS_ORDER_H

#include <string.h>

/* For arrays of char *, by bytes. */
static inline int order_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* For arrays of double without NaN, ascending. */
static inline int order_reals(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
