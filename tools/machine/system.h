/* The CPUs, memory and disk that this process can use. */
#ifndef REID_TOOLS_SYSTEM_H
#define REID_TOOLS_SYSTEM_H

#include "machine/findings.h"

#include <stddef.h>

/* CPUs of the machine, CPUs that this process may use, and its container's quota. */
void system_cpus(findings *f);
/* Memory of the machine, free memory, and the container's limit. */
void system_memory(findings *f);
/* Bytes of memory that can be allocated now; 0: unknown. */
size_t system_memory_free(void);
/* Free space for `output`, a file or folder that need not exist yet; NULL: the working directory. */
void system_disk(findings *f, const char *output);

#endif
