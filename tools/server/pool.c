#include "server/pool.h"

#include "base/invariant.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 2 }; /* urgent tasks, other tasks */

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t added;
    pool_task *first[LINES], *last[LINES];
    int stop, threads;
    pthread_t thread[];
};

/* Waits for the next task; NULL if there will be no more. */
static pool_task *next_task(pool *p) {
    pool_task *task = NULL;
    pthread_mutex_lock(&p->lock);
    while (!p->first[0] && !p->first[1] && !p->stop) pthread_cond_wait(&p->added, &p->lock);
    for (int i = 0; i < LINES && !task; i++) {
        task = p->first[i];
        if (task) p->first[i] = task->next;
    }
    pthread_mutex_unlock(&p->lock);
    return task;
}

static void *work(void *user) {
    pool *p = user;
    for (pool_task *task = next_task(p); task; task = next_task(p)) task->run(task->user);
    return NULL;
}

pool *pool_start(int threads) {
    pool *p = need_zeroed(1, sizeof *p + (size_t)threads * sizeof *p->thread);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->added, NULL);
    while (p->threads < threads && thread_start(&p->thread[p->threads], work, p)) p->threads++;
    if (p->threads) return p;
    say_error("cannot start a thread");
    pool_stop(p);
    return NULL;
}

void pool_add(pool *p, pool_task *task, int urgent) {
    int line = !urgent;
    task->next = NULL;
    pthread_mutex_lock(&p->lock);
    REID_ASSERT(!p->stop && task->run && (!p->first[line] || !p->last[line]->next));
    if (p->first[line]) p->last[line]->next = task;
    else p->first[line] = task;
    p->last[line] = task;
    pthread_mutex_unlock(&p->lock);
    pthread_cond_signal(&p->added); /* only now, so that the thread which wakes does not have to wait for the lock */
}

int pool_threads(const pool *p) { return p->threads; }

void pool_stop(pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->added);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads; i++) pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->added);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
