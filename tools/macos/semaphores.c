/* Semaphores made of pipes. This file needs nothing that only macOS has, so the test runs it on Linux. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <unistd.h>

int macos_sem_init(macos_semaphore *s, unsigned value) {
    if (pipe2(s->end, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    while (value--) macos_sem_post(s);
    return 0;
}

int macos_sem_destroy(macos_semaphore *s) { return close(s->end[0]) | close(s->end[1]); }

int macos_sem_post(macos_semaphore *s) { return write(s->end[1], "", 1) == 1 ? 0 : -1; }

/* How long poll has to wait: -1 without an end. */
static int milliseconds_to(const struct timespec *until) {
    enum { MOST = 60000 }; /* then the clock is asked again, as it may have been set */
    struct timespec now;
    if (!until) return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    const double left = (double)(until->tv_sec - now.tv_sec) * 1e3 + (double)(until->tv_nsec - now.tv_nsec) / 1e6;
    return left <= 0 ? 0 : left > (double)MOST ? MOST : (int)left + 1;
}

int macos_sem_wait(macos_semaphore *s, const struct timespec *until) {
    for (;;) {
        char byte;
        ssize_t n = read(s->end[0], &byte, 1); /* another thread may be faster, so this comes before and after poll */
        if (n == 1) return 0;
        if (n == 0 || errno != EAGAIN) return -1;
        struct pollfd look = {s->end[0], POLLIN, 0};
        const int most = milliseconds_to(until);
        if (most == 0) return errno = ETIMEDOUT, -1;
        if (poll(&look, 1, most) < 0) return -1;
    }
}
