/* How much memory this process uses. */
#ifndef REID_TOOLS_RESIDENT_H
#define REID_TOOLS_RESIDENT_H

#include <stddef.h>

/* The resident memory of this process in bytes; 0: unknown. */
size_t mem_resident(void);

#endif
