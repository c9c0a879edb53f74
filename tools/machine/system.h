/* CPUs, memory and disk: what this process has of them. */
#ifndef REID_TOOLS_SYSTEM_H
#define REID_TOOLS_SYSTEM_H

#include "machine/findings.h"

#include <stddef.h>

/* How many CPUs there are, how many this process may use, and what its container pays for. */
void system_cpus(findings *f);
/* Memory that is there, free, and allowed to the container. */
void system_memory(findings *f);
/* Bytes of memory that could be taken now; 0: not known. */
size_t system_memory_free(void);
/* Room for what will be written to `output`, a file or folder that may not be there yet; NULL: the working
   directory. */
void system_disk(findings *f, const char *output);

#endif
