/* Rows of numbers as other programs write them: NumPy's .npy and .npz, tensors of PyTorch and safetensors, .fvecs, text
   with commas, semicolons, tabs or blanks between numbers. Nothing in a file is trusted or executed. foreign_open.h
   opens one. */
#ifndef REID_TOOLS_FOREIGN_ROWS_H
#define REID_TOOLS_FOREIGN_ROWS_H

#include "base/source.h"
#include "pictures/inputs.h"

enum { FOREIGN_MOST_COLUMNS = 65536 }; /* as in galleries */

typedef enum number_type { NUMBER_F16, NUMBER_BF16, NUMBER_F32, NUMBER_F64 } number_type;

typedef struct foreign_rows {
    const char *what; /* "a NumPy array", for messages */
    size_t rows, columns;
    inputs names; /* of a table that has them, one per row; otherwise empty */
    source from;  /* the file, or memory */
    void *memory; /* owned; NULL: the rows are read from the file */
    number_type type;
    int big_endian, prefixed;             /* prefixed: the number of its values precedes each row, as in .fvecs */
    uint64_t start, row_step, value_step; /* bytes: offset of the first value, from row to row, from value to value */
    unsigned char *buffer;                /* one row */
} foreign_rows;

/* Reads the values of a row, which may be infinite or not numbers. Returns 0 with the reason in why. */
int foreign_rows_get(foreign_rows *f, size_t row, double *to, text *why);
void foreign_rows_close(foreign_rows *f);

/* --- for the readers of the formats, which set the members above -------------------------------------------------- */

/* Checks that a table of this shape and type fills the bytes from start to end, and sets the steps from value to value.
   by_column: the values of a column follow each other. Returns 0 with the reason in why. */
int foreign_rows_shape(foreign_rows *f, uint64_t start, uint64_t end, int by_column, text *why);

#endif
