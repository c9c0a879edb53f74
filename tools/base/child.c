#include "base/child.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ABOVE = 16 }; /* our descriptors start here, so that no dup2 to a number below CHILD_PIPES replaces one */

static void close_fd(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* Moves a descriptor out of the way of the child's descriptors; -1 on failure. */
static int moved(int fd) {
    int to = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE), error = errno;
    close(fd);
    errno = error;
    return to;
}

/* Makes a pipe whose reading end does not block. */
static int make_pipe(int *from, int *to) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    *from = moved(ends[0]);
    *to = moved(ends[1]);
    return *from >= 0 && *to >= 0 && fcntl(*from, F_SETFL, O_NONBLOCK) == 0;
}

/* --- between fork and exec: other threads' locks may be held forever, so nothing here allocates ------------------- */

/* Makes the child end with `parent`; 0 if that has already ended. The system watches the thread that has forked, not
   the process. */
static int end_with(pid_t parent) { return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent; }

/* Sets the child's descriptors: end[n] for n, or /dev/null. */
static int take_files(const int end[CHILD_PIPES]) {
    for (int n = 0; n < CHILD_PIPES; n++) {
        int fd = end[n] >= 0 ? end[n] : n < 3 ? open("/dev/null", O_RDWR) : n;
        if (fd < 0 || (fd != n && dup2(fd, n) < 0)) return 0;
        if (fd != n && fd != end[n]) close(fd);
    }
    return 1;
}

/* Resets signals to what a program expects at its start. */
static int take_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    return signal(SIGPIPE, SIG_DFL) != SIG_ERR && sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* Becomes the program, or sends the error through `news`. */
static void become(char *const *argv, pid_t parent, const int end[CHILD_PIPES], int news) {
    errno = 0;
    if (end_with(parent) && setpgid(0, 0) == 0 && take_files(end) && take_signals()) execvp(argv[0], argv);
    int error = errno ? errno : ECHILD;
    ssize_t n = write(news, &error, sizeof error);
    _exit(n == sizeof error ? 127 : 126);
}

/* --- the parent --------------------------------------------------------------------------------------------------- */

/* Reads `news`: an error, or 0 if it ends without data, because the child has become the other program. */
static int hear_error(int news) {
    int error = 0;
    ssize_t n;
    UNINTERRUPTED(n, read(news, &error, sizeof error));
    return n == 0 ? 0 : n == sizeof error ? error : EIO;
}

/* Returns 0 or an error. It uses fork because posix_spawn cannot set the signal at the parent's end. */
static int spawn(child *c, char *const *argv, const int end[CHILD_PIPES]) {
    int ends[2], error;
    pid_t us = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    ends[1] = moved(ends[1]);
    c->pid = ends[1] >= 0 ? fork() : -1;
    if (c->pid == 0) become(argv, us, end, ends[1]);
    error = c->pid < 0 ? errno : 0;
    close_fd(&ends[1]);
    if (!error) error = hear_error(ends[0]);
    close(ends[0]);
    if (c->pid > 0 && error) waitpid(c->pid, NULL, 0);
    if (error) c->pid = 0;
    return error;
}

int child_start(child *c, char *const *argv, unsigned pipes, int *missing, text *why) {
    int end[CHILD_PIPES], error = 0;
    c->pid = 0;
    for (int n = 0; n < CHILD_PIPES; n++) c->fd[n] = end[n] = -1;
    for (int n = 1; n < CHILD_PIPES && !error; n++)
        if (pipes & 1u << n && !make_pipe(&c->fd[n], &end[n])) error = errno;
    if (!error) error = spawn(c, argv, end);
    for (int n = 0; n < CHILD_PIPES; n++) close_fd(&end[n]);
    *missing = error == ENOENT;
    if (!error) return 1;
    text_clear(why);
    text_printf(why, "cannot start it: %s", strerror(error));
    child_end(c, 0);
    return 0;
}

void child_close(child *c, int n) { close_fd(&c->fd[n]); }

int child_end(child *c, double seconds) {
    const struct timespec pause = {0, 2000000};
    double until = clock_seconds() + seconds;
    int status = 0, killed = 0;
    if (c->pid == 0 && c->fd[0] == 0) return 0; /* a zeroed child has no descriptors */
    for (int n = 0; n < CHILD_PIPES; n++) close_fd(&c->fd[n]);
    while (c->pid > 0) {
        pid_t got = waitpid(c->pid, &status, killed ? 0 : WNOHANG);
        if (got == c->pid || (got < 0 && errno != EINTR)) c->pid = 0;
        else if (killed || got < 0) continue;
        else if (clock_seconds() >= until) kill(-c->pid, SIGKILL), killed = 1;
        else nanosleep(&pause, NULL);
    }
    return status;
}
