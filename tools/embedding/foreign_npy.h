/* NumPy's arrays: .npy of any version and byte order, row by row or column by column, and .npz with one of them. */
#ifndef REID_TOOLS_FOREIGN_NPY_H
#define REID_TOOLS_FOREIGN_NPY_H

#include "embedding/foreign_rows.h"

/* They return 0 with the reason in why. */
int foreign_npy_read(foreign_rows *f, text *why);
int foreign_npz_read(foreign_rows *f, text *why);
/* 1 if the file is a zip archive with an array in it. */
int foreign_npz_is(const foreign_rows *f);

#endif
