/* How many threads to start on this machine, and how. */
#ifndef REID_TOOLS_THREADS_H
#define REID_TOOLS_THREADS_H

#include <pthread.h>
#include <signal.h>

/* CPUs that this process may keep busy: those of its affinity mask, limited by the cgroup's quota (v2, then
   v1). The engine's own default (reid_desc.threads = 0) is the same. */
int threads_here(void);
/* `wanted`, or threads_here if that is 0; at most `most`. */
int threads_for(int wanted, int most);

/* pthread_create with every signal blocked in the new thread: signals belong to the main thread, whose sleep and reads
   they interrupt. Returns 0 if the thread could not be started; the caller reports it. */
int thread_start(pthread_t *thread, void *(*run)(void *user), void *user);
/* For threads that a library starts between the two calls: blocks every signal in the calling thread, and restores
   them. */
void threads_block_signals(sigset_t *before);
void threads_restore_signals(const sigset_t *before);

#endif
