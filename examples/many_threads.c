/* Demonstrates how to share one handle between 32 threads without locks. Each thread submits one image at a time, and
   the queue puts the images of all threads into common batches.

     cc -O2 many_threads.c -o many_threads -lm
     ./many_threads resnet50.safetensors a.jpg b.jpg c.jpg

   Every thread embeds every image, one at a time, and compares the bits with those of one call for all images:

     32 threads, 96 embeddings in 13 batches, 0 differ from one call with 3 images */
#define _GNU_SOURCE 1
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define REID_IMPLEMENTATION
#include "../reid.h"
#include <pthread.h>

#define THREADS 32

typedef struct shared { /* read by all threads, written by none */
    reid_queue *queue;
    const reid_image *pictures; /* [n] */
    const float *expected;      /* (n, dim): computed by one call */
    int n, dim;
} shared;

typedef struct worker {
    const shared *all;
    pthread_t thread;
    int number, done, different;
    reid_error error; /* one for each thread, because the handle stores none */
} worker;

static void *work(void *argument) {
    worker *w = (worker *)argument;
    const shared *s = w->all;
    size_t row = (size_t)s->dim;
    float *embedding = (float *)malloc(row * sizeof *embedding);
    for (int i = 0; i < s->n; i++) {
        int at = (w->number + i) % s->n; /* threads start at different images */
        reid_request request = REID_INIT;
        request.images = &s->pictures[at];
        request.n = 1;
        request.out = embedding;
        if (reid_submit(s->queue, &request, NULL, &w->error) != REID_OK) break; /* waits for the result */
        w->different += memcmp(embedding, s->expected + row * (size_t)at, row * sizeof *embedding) != 0;
        w->done++;
    }
    free(embedding);
    return NULL;
}

/* Returns 1 if all threads ran and all bits agree. */
static int run_threads(const shared *s) {
    static worker workers[THREADS];
    reid_queue_stats stats;
    int started = 0, done = 0, different = 0;
    for (; started < THREADS; started++) {
        worker *w = &workers[started];
        w->all = s;
        w->number = started;
        if (pthread_create(&w->thread, NULL, work, w) != 0) break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
        different += workers[i].different;
        if (workers[i].done < s->n) fprintf(stderr, "many_threads: thread %d: %s\n", i, workers[i].error.text);
    }
    reid_queue_query(s->queue, &stats);
    printf("%d threads, %d embeddings in %d batches, %d differ from one call with %d image%s\n", started, done,
           (int)stats.batches, different, s->n, s->n == 1 ? "" : "s");
    return started == THREADS && done == THREADS * s->n && different == 0;
}

/* Loads the images and computes the expected embeddings. */
static reid_result prepare(reid_ctx *ctx, shared *s, reid_image *pictures, char **paths, float **expected,
                           reid_error *error) {
    for (int i = 0; i < s->n; i++) {
        reid_result r = reid_image_load(paths[i], &pictures[i], error);
        if (r != REID_OK) return r;
    }
    *expected = (float *)malloc((size_t)s->n * (size_t)s->dim * sizeof **expected);
    s->pictures = pictures;
    s->expected = *expected;
    return reid_embed_ex(ctx, pictures, s->n, *expected, error);
}

int main(int argc, char **argv) {
    reid_image pictures[16] = REID_INIT;
    int n = argc - 2, limit = (int)(sizeof pictures / sizeof *pictures), ok = 0;
    if (n < 1 || n > limit) {
        fprintf(stderr, "usage: %s WEIGHTS IMAGE ... (at most %d)\n", argv[0], limit);
        return 2;
    }
    float *expected = NULL;
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_queue_desc how = REID_INIT;
    reid_ctx *ctx;
    reid_queue *queue = NULL;
    desc.weights = argv[1];
    desc.error = how.error = &error;

    reid_result r = reid_create(&desc, &ctx);
    how.ctx = ctx;
    if (r == REID_OK) r = reid_queue_create(&how, &queue);
    if (r == REID_OK) {
        shared s = {queue, NULL, NULL, n, reid_dim(ctx)};
        r = prepare(ctx, &s, pictures, argv + 2, &expected, &error);
        ok = r == REID_OK && run_threads(&s);
    }
    reid_queue_destroy(queue, -1);
    if (r != REID_OK) fprintf(stderr, "many_threads: %s\n", error.text);
    for (int i = 0; i < n; i++) reid_image_free(&pictures[i]);
    free(expected);
    reid_destroy(ctx);
    return !ok;
}
