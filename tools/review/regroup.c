#include "review/regroup.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 2048 };

struct regroup {
    regroup_request r;
    pthread_t thread;
    pthread_mutex_t lock; /* protects all members below */
    pthread_cond_t wake;
    int started, busy;
    int stop;               /* also read by the grouping thread */
    decision_list decided;  /* its lines share their texts with the journal's */
    clusters made;          /* the groups, unless version is 1 */
    regroup_info now;
    char error[WORDS];
};

/* Returns 0 with the reason in error. */
static int make(regroup *g, clusters *made, char error[WORDS]) {
    clusters_request how = *g->r.how;
    decision_state state;
    text why = TEXT_INIT;
    memset(made, 0, sizeof *made);
    how.decided = &g->decided, how.state = &state, how.stop = &g->stop;
    say_listen(error, WORDS);
    int good = decisions_state(&state, &g->decided, &why) == 1;
    if (!good) say_error("%s", why.s);
    good = good && clusters_make(made, &how) &&
           (!g->r.carry || clusters_carry_on(made, how.crops, g->r.carry, how.decided));
    say_listen(NULL, 0);
    if (!good && !*error) snprintf(error, WORDS, "interrupted");
    if (!good) clusters_free(made);
    decision_state_free(&state);
    text_free(&why);
    return good;
}

static void *work(void *user) {
    regroup *g = user;
    pthread_mutex_lock(&g->lock);
    while (!g->stop) {
        clusters made;
        char error[WORDS] = "";
        if (!g->busy) {
            pthread_cond_wait(&g->wake, &g->lock);
            continue;
        }
        pthread_mutex_unlock(&g->lock);
        int good = make(g, &made, error);
        pthread_mutex_lock(&g->lock);
        if (good) {
            clusters_free(&g->made);
            g->made = made;
            g->now.groups = &g->made;
            g->now.seq = (long long)g->decided.count;
            g->now.version++;
            error[0] = 0; /* it contained only warnings */
        }
        memcpy(g->error, error, WORDS);
        g->error[strcspn(g->error, "\n")] = 0;
        g->busy = 0;
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

regroup *regroup_start(const regroup_request *r) {
    regroup *g = need_zeroed(1, sizeof *g);
    if (!g) return NULL;
    g->r = *r;
    g->now.groups = r->first, g->now.seq = r->seq, g->now.version = 1;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->wake, NULL);
    if (r->how) {
        g->started = thread_start(&g->thread, work, g);
        if (!g->started) say_error("cannot start a thread");
    }
    if (!r->how || g->started) return g;
    regroup_stop(g);
    return NULL;
}

void regroup_stop(regroup *g) {
    if (!g) return;
    pthread_mutex_lock(&g->lock);
    __atomic_store_n(&g->stop, 1, __ATOMIC_SEQ_CST);
    pthread_cond_signal(&g->wake);
    pthread_mutex_unlock(&g->lock);
    if (g->started) pthread_join(g->thread, NULL);
    pthread_cond_destroy(&g->wake);
    pthread_mutex_destroy(&g->lock);
    clusters_free(&g->made);
    free(g->decided.at);
    free(g);
}

regroup_info regroup_hold(regroup *g) {
    pthread_mutex_lock(&g->lock);
    regroup_info now = g->now;
    now.can = g->started, now.busy = g->busy, now.error = g->error;
    return now;
}

void regroup_release(regroup *g) { pthread_mutex_unlock(&g->lock); }

int regroup_begin(regroup *g, const decision_list *decided) {
    int good = 1;
    pthread_mutex_lock(&g->lock);
    if (g->started && !g->busy) {
        decision *copy = mem_array(decided->count, sizeof *copy);
        good = copy != NULL;
        if (good) {
            if (decided->count) memcpy(copy, decided->at, decided->count * sizeof *copy);
            free(g->decided.at);
            g->decided.at = copy, g->decided.count = g->decided.cap = decided->count;
            g->busy = 1, g->error[0] = 0;
            pthread_cond_signal(&g->wake);
        }
    }
    pthread_mutex_unlock(&g->lock);
    return good;
}
