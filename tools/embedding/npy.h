/* NumPy's .npy, version 1.0: two-dimensional little-endian float32, rows first. */
#ifndef REID_TOOLS_NPY_H
#define REID_TOOLS_NPY_H

#include "base/text.h"

enum { NPY_HEADER = 128 }; /* bytes before the data in the files that we write, whatever the shape */

enum { NPY_LONGEST_HEADER = 1034 }; /* that is read */

void npy_header(char out[NPY_HEADER], size_t rows, size_t columns);

/* What the header says, from the first bytes of a file, at most NPY_LONGEST_HEADER: where the rows start, and how many
   of how many floats there are. Returns 0 if it is not such a table. */
int npy_shape(const text *file, size_t *start, size_t *rows, size_t *columns);

/* Reads a whole .npy file; *values is the caller's to free. Returns 0 with the reason in why. */
int npy_read(const char *path, float **values, size_t *rows, size_t *columns, text *why);

#endif
