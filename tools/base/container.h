/* What the container of this process (its cgroup, version 2 or 1) may use. */
#ifndef REID_TOOLS_CONTAINER_H
#define REID_TOOLS_CONTAINER_H

/* The CPU quota, fractions included; 0: no quota. */
double container_cpus(void);
/* The container's memory limit in bytes; 0: no limit. *used, unless NULL, is set to the bytes in use. */
double container_memory(double *used);

#endif
