/* What goes to stdout. With --strict nothing appears before everything has succeeded. */
#ifndef REID_TOOLS_RESULTS_H
#define REID_TOOLS_RESULTS_H

#include "base/text.h"

/* hold: keep everything back (in an unnamed file) until results_end. Returns 0 after saying why that cannot be. */
int results_begin(int hold);
/* Returns 0 when stdout cannot take more; results_end says why. */
int results_write(const text *t);
/* keep = 0 drops what was held back. Returns 0 after a write error, which it reports unless the reader just left. */
int results_end(int keep);
/* All there is to say: begins without holding back, writes t, frees it and ends. Returns 0 as results_end does. */
int results_print(text *t);
/* After a signal: drops what was held back and leaves stdout as it is. */
void results_abandon(void);

#endif
