/* Repeats a system call that a signal has interrupted. One that is always interrupted has failed: a broken file system
   reports EINTR without a signal. */
#ifndef REID_TOOLS_INTERRUPTED_H
#define REID_TOOLS_INTERRUPTED_H

#include <errno.h>

enum { MOST_INTERRUPTIONS = 10000 };
#define UNINTERRUPTED(result, call)                                  \
    do {                                                             \
        int left_ = MOST_INTERRUPTIONS;                              \
        do (result) = (call);                                        \
        while ((result) < 0 && errno == EINTR && left_-- > 0);       \
    } while (0)

#endif
