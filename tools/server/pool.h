/* A few threads that run tasks: urgent ones first, otherwise in the order in which they came. */
#ifndef REID_TOOLS_POOL_H
#define REID_TOOLS_POOL_H

typedef struct pool pool;

/* Owned by the caller and usually a member of the struct that it works on, so that adding a task cannot fail. */
typedef struct pool_task {
    void (*run)(void *user);
    void *user;
    struct pool_task *next; /* used by the pool */
} pool_task;

/* NULL after reporting that memory ran out or that no thread can be started. */
pool *pool_start(int threads);
/* May be called on any thread. The task must stay valid until it runs; the pool does not touch it after that. */
void pool_add(pool *p, pool_task *task, int urgent);
int pool_threads(const pool *p);
/* Runs all tasks that were added, ends the threads and frees everything. NULL is allowed. */
void pool_stop(pool *p);

#endif
