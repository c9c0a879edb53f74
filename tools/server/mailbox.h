/* Passes finished calls from the service's threads to the one thread that answers them. A descriptor becomes readable
   when there are some, so that this thread can poll for them together with everything else. */
#ifndef REID_TOOLS_MAILBOX_H
#define REID_TOOLS_MAILBOX_H

#include "server/call.h"

#include <pthread.h>

typedef struct mailbox {
    int fd, end;          /* a pipe: readable when there may be something to take, and its writing end */
    pthread_mutex_t lock; /* of newest */
    call *newest;         /* its `next` is the call that came before it */
} mailbox;

/* Returns 0 with the reason in errno; close it in any case. */
int mailbox_open(mailbox *m);
void mailbox_close(mailbox *m);
/* May be called on any thread, in particular as a call's `done`. Does not touch the mailbox after the call can have
   been taken from it. */
void mailbox_put(mailbox *m, call *c);
/* Makes the descriptor readable without a call. */
void mailbox_wake(mailbox *m);
/* Takes all calls, linked by `next` in the order in which they came; NULL: none. Never waits. */
call *mailbox_take(mailbox *m);

#endif
