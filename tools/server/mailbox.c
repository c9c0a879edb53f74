#include "server/mailbox.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int mailbox_open(mailbox *m) {
    pthread_mutex_init(&m->lock, NULL);
    m->newest = NULL;
    m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return m->fd >= 0;
}

void mailbox_close(mailbox *m) {
    if (m->fd >= 0) close(m->fd);
    pthread_mutex_destroy(&m->lock);
}

/* Writing to an eventfd fails only when its counter is full, and then it is already readable. */
void mailbox_wake(mailbox *m) {
    const uint64_t one = 1;
    ssize_t unused = write(m->fd, &one, sizeof one);
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
    uint64_t count;
    call *list = NULL;
    if (read(m->fd, &count, sizeof count) < 0) return NULL;
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
