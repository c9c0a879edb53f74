/* How many threads are worth starting here. */
#ifndef REID_TOOLS_THREADS_H
#define REID_TOOLS_THREADS_H

/* CPUs that this process may keep busy: those of its affinity mask, at most what the cgroup's quota (v2, then v1) pays
   for. The engine's own default (reid_desc.threads = 0) counts likewise. */
int threads_here(void);
/* `wanted` when that is not 0, else threads_here; at most `most`. */
int threads_for(int wanted, int most);

#endif
