/* Numbers as printf writes them, in a fifth of its time: an answer of the server has thousands of them. */
#ifndef REID_TOOLS_DECIMAL_H
#define REID_TOOLS_DECIMAL_H

#include "base/text.h"

enum { DECIMAL_FLOAT = 24 }; /* bytes that decimal_float needs */

/* Writes what printf("%.9g") would, without a 0 at the end; 9 significant digits are enough to read every float32 back.
   Returns the number of characters. */
size_t decimal_float(char out[DECIMAL_FLOAT], float value);

/* Appends numbers, with commas between them. */
void decimal_floats(text *t, const float *values, size_t count);

#endif
