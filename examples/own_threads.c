/* Demonstrates how to let reid.h compute on your own thread pool, so that a program that already has threads does not
   get more of them.

     cc -O2 own_threads.c -o own_threads -lm -lpthread
     ./own_threads resnet50.safetensors

   Embeds an image on the pool and on reid.h's own threads, and prints:

     4 threads of the pool computed 1234 parts
     the two embeddings are equal, bit for bit

   reid.h calls desc.parallel_fn with a number of parts, which may run in any order and on any threads. The function
   must not return before all of them are done. The caller of reid_embed may run parts, too, as it does here. */
#define REID_IMPLEMENTATION
#include "../reid.h"

enum { THREADS = 4, SIDE = 224 };

typedef struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t begun, ended;
    reid_task_fn fn; /* the parts that run now */
    void *task;
    int count, next, done, quit;
    long computed; /* parts, over all calls */
} pool;

/* Runs parts until none is left. The caller holds the mutex before and after this call. */
static void run_parts(pool *p) {
    while (p->next < p->count) {
        int part = p->next++;
        pthread_mutex_unlock(&p->mutex);
        p->fn(p->task, part);
        pthread_mutex_lock(&p->mutex);
        p->computed++;
        if (++p->done == p->count) pthread_cond_broadcast(&p->ended);
    }
}

static void *worker(void *user) {
    pool *p = (pool *)user;
    pthread_mutex_lock(&p->mutex);
    while (!p->quit) {
        run_parts(p);
        pthread_cond_wait(&p->begun, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* desc.parallel_fn. Only one call at a time uses the pool here, because the handle has one lane. */
static void run_on_pool(reid_task_fn fn, void *task, int count, void *user) {
    pool *p = (pool *)user;
    pthread_mutex_lock(&p->mutex);
    p->fn = fn, p->task = task, p->count = count, p->next = p->done = 0;
    pthread_cond_broadcast(&p->begun);
    run_parts(p);
    while (p->done < p->count) pthread_cond_wait(&p->ended, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

/* Returns the embedding of one image, computed with desc; prints an error and returns NULL on failure. */
static float *embed(const reid_desc *desc, const unsigned char *rgb, int *dim) {
    reid_ctx *ctx;
    reid_error error = REID_INIT;
    reid_desc d = *desc;
    d.error = &error;
    if (reid_create(&d, &ctx) != REID_OK) {
        fprintf(stderr, "own_threads: %s\n", error.text);
        return NULL;
    }
    reid_image image = {rgb, SIDE, SIDE, 0, REID_RGB8, NULL};
    float *row = (float *)malloc(sizeof *row * (size_t)reid_dim(ctx));
    *dim = reid_dim(ctx);
    reid_result r = row ? reid_embed_ex(ctx, &image, 1, row, &error) : REID_ERR_OUT_OF_MEMORY;
    reid_destroy(ctx);
    if (r == REID_OK) return row;
    fprintf(stderr, "own_threads: %s\n", error.text[0] ? error.text : reid_result_string(r));
    free(row);
    return NULL;
}

int main(int argc, char **argv) {
    static unsigned char rgb[SIDE * SIDE * 3];
    pool p = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL, 0, 0, 0, 0, 0};
    pthread_t threads[THREADS - 1];
    reid_desc desc = REID_INIT;
    int started = 0, dim = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s WEIGHTS.safetensors\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof rgb; i++) rgb[i] = (unsigned char)(i * 7 + i / 672);
    while (started < THREADS - 1 && pthread_create(&threads[started], NULL, worker, &p) == 0) started++;

    desc.weights = argv[1];
    desc.device = REID_DEVICE_CPU;
    float *own = embed(&desc, rgb, &dim);
    desc.parallel_fn = run_on_pool;
    desc.parallel_user = &p;
    desc.threads = started + 1; /* how many threads can share the work */
    float *pooled = own ? embed(&desc, rgb, &dim) : NULL;

    pthread_mutex_lock(&p.mutex);
    p.quit = 1;
    pthread_cond_broadcast(&p.begun);
    pthread_mutex_unlock(&p.mutex);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (!pooled) return 1;
    int same = memcmp(own, pooled, sizeof *own * (size_t)dim) == 0;
    printf("%d threads of the pool computed %ld parts\n", started + 1, p.computed);
    printf(same ? "the two embeddings are equal, bit for bit\n" : "the two embeddings differ\n");
    free(own);
    free(pooled);
    return !same || !p.computed;
}
