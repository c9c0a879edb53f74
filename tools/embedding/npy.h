/* NumPy's .npy, version 1.0: two-dimensional little-endian float32, rows first. */
#ifndef REID_TOOLS_NPY_H
#define REID_TOOLS_NPY_H

#include "base/text.h"

enum { NPY_HEADER = 128 }; /* bytes before the data in files written here, for every shape */

enum { NPY_LONGEST_HEADER = 1034 }; /* the longest header that is read */

void npy_header(char out[NPY_HEADER], size_t rows, size_t columns);

/* Parses the header in the first bytes of a file, at most NPY_LONGEST_HEADER: the offset of the rows, their number, and
   the floats in each. Returns 0 if the file is not such a table. */
int npy_shape(const text *file, size_t *start, size_t *rows, size_t *columns);

/* Reads a whole .npy file; the caller frees *values. Returns 0 with the reason in why. */
int npy_read(const char *path, float **values, size_t *rows, size_t *columns, text *why);

#endif
