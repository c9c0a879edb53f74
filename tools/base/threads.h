/* How many threads are worth starting here, and how they are started. */
#ifndef REID_TOOLS_THREADS_H
#define REID_TOOLS_THREADS_H

#include <pthread.h>
#include <signal.h>

/* CPUs that this process may keep busy: those of its affinity mask, at most what the cgroup's quota (v2, then v1) pays
   for. The engine's own default (reid_desc.threads = 0) counts likewise. */
int threads_here(void);
/* `wanted` when that is not 0, else threads_here; at most `most`. */
int threads_for(int wanted, int most);

/* pthread_create with every signal blocked in the new thread: signals belong to the main thread, whose sleep and reads
   they interrupt. Returns 0 if the thread could not be started; the caller reports it. */
int thread_start(pthread_t *thread, void *(*run)(void *user), void *user);
/* The same for threads that a library starts in between: blocks every signal in the calling thread. */
void threads_block_signals(sigset_t *before);
void threads_restore_signals(const sigset_t *before);

#endif
