#include "embedding/computers.h"

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

struct computers {
    models *all;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    batch_calls *waiting[MOST_LANES]; /* in the order in which they were given */
    int waits, stop;
    pthread_t thread[MOST_LANES];
    int threads, numbered;     /* threads started; threads that have taken their number */
};

static void compute(computers *c, batch_call *call) {
    text why = TEXT_INIT; /* who reports the rows embeds the images of a refused call one by one, and says why */
    call->began = clock_seconds();
    call->good = !call->count || models_embed(c->all, call->images, (int)call->count, call->rows, &why);
    call->computed = clock_seconds();
    text_free(&why);
}

static void *work(void *user) {
    computers *c = user;
    pthread_mutex_lock(&c->lock);
    const int mine = c->numbered++;
    for (;;) {
        while (!c->waits && !c->stop) pthread_cond_wait(&c->changed, &c->lock);
        if (c->stop) break;
        batch_calls *calls = c->waiting[0];
        memmove(c->waiting, c->waiting + 1, (size_t)--c->waits * sizeof(batch_calls *));
        calls->lane = mine;
        for (size_t i = 0, n = calls->count; i < n && !c->stop; i++) { /* the batch may be gone after its last call */
            pthread_mutex_unlock(&c->lock);
            compute(c, &calls->at[i]);
            pthread_mutex_lock(&c->lock);
            calls->done = i + 1;
            pthread_cond_broadcast(&c->changed);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

computers *computers_start(models *all, int count) {
    computers *c = need_zeroed(1, sizeof *c);
    if (!c) return NULL;
    c->all = all;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    while (count > 1 && c->threads < count && c->threads < MOST_LANES && thread_start(&c->thread[c->threads], work, c))
        c->threads++;
    if (c->threads || count <= 1) return c;
    say_error("cannot start a thread to compute embeddings");
    computers_stop(c);
    return NULL;
}

void computers_give(computers *c, batch_calls *calls) {
    calls->done = 0, calls->lane = 0;
    if (!c->threads) return;
    pthread_mutex_lock(&c->lock);
    REID_ASSERT(c->waits < MOST_LANES);
    c->waiting[c->waits++] = calls;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

int computers_busy(computers *c, const batch_calls *calls) {
    if (!c->threads) return 0;
    pthread_mutex_lock(&c->lock);
    const int busy = calls->done < calls->count;
    pthread_mutex_unlock(&c->lock);
    return busy;
}

void computers_wait(computers *c, batch_calls *calls, size_t i) {
    REID_ASSERT(i < calls->count);
    if (!c->threads) {
        compute(c, &calls->at[i]);
        calls->done = i + 1;
        return;
    }
    pthread_mutex_lock(&c->lock);
    while (calls->done <= i) pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void computers_stop(computers *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->stop = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->threads; i++) pthread_join(c->thread[i], NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c);
}
