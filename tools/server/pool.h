/* A few threads that run tasks, urgent ones first, else in the order in which they came. */
#ifndef REID_TOOLS_POOL_H
#define REID_TOOLS_POOL_H

typedef struct pool pool;

/* Belongs to the caller and is part of what it is about, so that adding one cannot fail. */
typedef struct pool_task {
    void (*run)(void *user);
    void *user;
    struct pool_task *next; /* the pool's */
} pool_task;

/* NULL after saying that there is no memory or that no thread can be started. */
pool *pool_start(int threads);
/* From any thread. The task must stay until it runs; the pool does not look at it from then on. */
void pool_add(pool *p, pool_task *task, int urgent);
int pool_threads(const pool *p);
/* Runs what was added, ends the threads and frees everything. NULL is allowed. */
void pool_stop(pool *p);

#endif
