/* What the container of this process (its cgroup, version 2 or 1) may use. */
#ifndef REID_TOOLS_CONTAINER_H
#define REID_TOOLS_CONTAINER_H

/* CPUs that the quota pays for, also parts of one; 0: there is no quota. */
double container_cpus(void);
/* Bytes of memory that the container may hold; 0: there is no limit. *used, unless NULL: what it holds. */
double container_memory(double *used);

#endif
