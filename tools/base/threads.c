#include "base/threads.h"

#include "base/container.h"

#include <sched.h>

int threads_here(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    double paid = container_cpus();
    if (paid > 0 && n > paid) n = (int)paid; /* a fraction of a CPU does not count */
    return n > 1 ? n : 1;
}

int threads_for(int wanted, int most) {
    int n = wanted ? wanted : threads_here();
    return n < most ? n : most;
}

void threads_block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

void threads_restore_signals(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }

int thread_start(pthread_t *thread, void *(*run)(void *user), void *user) {
    sigset_t before;
    threads_block_signals(&before);
    int started = pthread_create(thread, NULL, run, user) == 0;
    threads_restore_signals(&before);
    return started;
}
