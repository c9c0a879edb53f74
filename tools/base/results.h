/* Writes results to stdout; with --strict nothing appears before everything has succeeded. */
#ifndef REID_TOOLS_RESULTS_H
#define REID_TOOLS_RESULTS_H

#include "base/text.h"

/* hold: keep everything back (in an unnamed file) until results_end. Returns 0 after reporting an error. */
int results_begin(int hold);
/* Returns 0 if writing failed; results_end reports why. */
int results_write(const text *t);
/* keep = 0 drops what was held back. Returns 0 after a write error, reported unless the reader closed the pipe. */
int results_end(int keep);
/* Writes t as the only result, without holding it back, and frees it. Returns 0 as results_end does. */
int results_print(text *t);
/* After a signal: drops what was held back and leaves stdout as it is. */
void results_abandon(void);

#endif
