/* gauge: measures how fast this machine is right now. Other work on the other half of a core, or in another virtual
   machine, slows every engine down but shows in no counter; compare.py runs this program before and after a turn.

     cc -O2 -march=native -D_GNU_SOURCE tools/peers/gauge.c -o gauge -lpthread
     ./gauge THREADS [...]

   The protocol is worker.py's: "ready {}", then for each line "run ..." the milliseconds (about three) that THREADS
   parallel threads, each on a CPU of its own, took for a fixed number of multiply-adds in registers. Further arguments,
   which engines need, are ignored. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHAINS = 12, ROUNDS = 1500000, MOST_THREADS = 256 };

typedef float vector __attribute__((vector_size(64))); /* the compiler splits it for shorter registers */

typedef struct worker {
    pthread_t thread;
    int cpu;
    float result;
} worker;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Independent chains, so that the arithmetic units are the limit. */
static void *multiply(void *argument) {
    worker *w = argument;
    vector sums[CHAINS], m = {0};
    m += 0.7f;
    for (int i = 0; i < CHAINS; i++) sums[i] = m + (float)i;
    for (int round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) sums[i] = sums[i] * m + m; /* in registers only if unrolled */
    }
    for (int i = 1; i < CHAINS; i++) sums[0] += sums[i];
    w->result = sums[0][0]; /* so that the compiler removes nothing */
    return NULL;
}

static cpu_set_t only(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return set;
}

/* Starts a thread on its own CPU: on its parent's CPU it would have to wait for the parent to pause. */
static int start(worker *w) {
    pthread_attr_t where;
    cpu_set_t set = only(w->cpu);
    if (pthread_attr_init(&where)) return -1;
    int failed = pthread_attr_setaffinity_np(&where, sizeof set, &set) ||
                 pthread_create(&w->thread, &where, multiply, w);
    pthread_attr_destroy(&where);
    return failed ? -1 : 0;
}

/* Returns milliseconds, or a negative number if a thread could not be created. */
static double measure(worker *workers, int count) {
    double began = now_ms();
    for (int i = 1; i < count; i++)
        if (start(&workers[i])) return -1;
    multiply(&workers[0]);
    for (int i = 1; i < count; i++) pthread_join(workers[i].thread, NULL);
    return now_ms() - began;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 0, found = 0;
    worker workers[MOST_THREADS];
    cpu_set_t all;
    char line[64];
    if (threads < 1 || threads > MOST_THREADS) return fprintf(stderr, "usage: gauge THREADS\n"), 2;
    if (sched_getaffinity(0, sizeof all, &all)) return perror("gauge"), 1;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < threads; cpu++)
        if (CPU_ISSET((size_t)cpu, &all)) workers[found++].cpu = cpu;
    if (found < threads) return printf("refused %d CPUs for %d threads\n", found, threads), 0;
    cpu_set_t own = only(workers[0].cpu);
    if (sched_setaffinity(0, sizeof own, &own)) return perror("gauge"), 1;
    puts("ready {}");
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin) && strncmp(line, "run", 3) == 0) {
        double ms = measure(workers, threads);
        if (ms < 0) return perror("gauge"), 1;
        printf("%.4f\n", ms);
    }
    return 0;
}
