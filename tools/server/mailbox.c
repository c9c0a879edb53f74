#include "server/mailbox.h"

#include <fcntl.h>
#include <unistd.h>

int mailbox_open(mailbox *m) {
    pthread_mutex_init(&m->lock, NULL);
    m->newest = NULL;
    int ends[2] = {-1, -1}, good = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
    m->fd = ends[0], m->end = ends[1];
    return good;
}

void mailbox_close(mailbox *m) {
    if (m->fd >= 0) close(m->fd), close(m->end);
    pthread_mutex_destroy(&m->lock);
}

/* Writing fails only when the pipe is full, and then it is already readable. */
void mailbox_wake(mailbox *m) {
    ssize_t unused = write(m->end, "", 1);
    (void)unused;
}

void mailbox_put(mailbox *m, call *c) {
    pthread_mutex_lock(&m->lock);
    c->next = m->newest;
    m->newest = c;
    mailbox_wake(m);
    pthread_mutex_unlock(&m->lock); /* from here on, the thread that takes the call may close the mailbox */
}

/* Reads the descriptor before the list, so that a call that comes in between is taken now or signalled again. */
call *mailbox_take(mailbox *m) {
    char wakes[256]; /* if there were more, the descriptor stays readable */
    call *list = NULL;
    if (read(m->fd, wakes, sizeof wakes) < 0) return NULL;
    pthread_mutex_lock(&m->lock);
    call *newest = m->newest;
    m->newest = NULL;
    pthread_mutex_unlock(&m->lock);
    while (newest) {
        call *older = newest->next;
        newest->next = list, list = newest, newest = older;
    }
    return list;
}
