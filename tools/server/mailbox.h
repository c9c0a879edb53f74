/* Where the service's threads leave the calls that are over, for the one thread that answers them. A descriptor tells
   it that there are some, so that it can wait for them beside everything else. */
#ifndef REID_TOOLS_MAILBOX_H
#define REID_TOOLS_MAILBOX_H

#include "server/call.h"

#include <pthread.h>

typedef struct mailbox {
    int fd;               /* readable when there may be something to take */
    pthread_mutex_t lock; /* of newest */
    call *newest;         /* its `next` came before it */
} mailbox;

/* Returns 0 with the reason in errno; close it in any case. */
int mailbox_open(mailbox *m);
void mailbox_close(mailbox *m);
/* From any thread, a call's `done` first of all. Does not look at the mailbox when the call can have been taken. */
void mailbox_put(mailbox *m, call *c);
/* Makes the descriptor readable without a call. */
void mailbox_wake(mailbox *m);
/* All that are there, linked by `next` in the order in which they came; NULL: none. Never waits. */
call *mailbox_take(mailbox *m);

#endif
