/* In place of macOS's semaphore.h, whose sem_init always fails: a semaphore is a pipe, and its value the number of
   bytes in it. sem_post may be called by a signal handler, as POSIX demands. */
#ifndef REID_MACOS_SEMAPHORE_H
#define REID_MACOS_SEMAPHORE_H

#include <time.h>

typedef struct macos_semaphore {
    int end[2]; /* to read from and to write to; neither blocks */
} macos_semaphore;
int macos_sem_init(macos_semaphore *s, unsigned value);
int macos_sem_destroy(macos_semaphore *s);
int macos_sem_post(macos_semaphore *s);
/* until: on CLOCK_REALTIME; NULL: forever. Fails with ETIMEDOUT, or EINTR after a signal. */
int macos_sem_wait(macos_semaphore *s, const struct timespec *until);

#define sem_t macos_semaphore
#define sem_init(s, shared, value) macos_sem_init(s, value)
#define sem_destroy(s) macos_sem_destroy(s)
#define sem_post(s) macos_sem_post(s)
#define sem_wait(s) macos_sem_wait(s, NULL)
#define sem_timedwait(s, until) macos_sem_wait(s, until)

#endif
