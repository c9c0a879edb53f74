#include "base/child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ABOVE = 16 }; /* descriptors of ours from here on: no dup2 to a number below CHILD_PIPES can hit one */

static void close_fd(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* Moves a descriptor out of the way of the child's own; -1 when that cannot be. */
static int moved(int fd) {
    int to = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE), error = errno;
    close(fd);
    errno = error;
    return to;
}

/* A pipe whose reading end does not wait. */
static int make_pipe(int *from, int *to) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    *from = moved(ends[0]);
    *to = moved(ends[1]);
    return *from >= 0 && *to >= 0 && fcntl(*from, F_SETFL, O_NONBLOCK) == 0;
}

/* Signals as a program expects them at its start, and a process group of its own. 0 or an error. */
static int set_attributes(posix_spawnattr_t *as) {
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    int error = posix_spawnattr_setflags(as, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawnattr_setpgroup(as, 0);
    if (!error) error = posix_spawnattr_setsigmask(as, &none);
    return error ? error : posix_spawnattr_setsigdefault(as, &usual);
}

/* Its descriptors: end[n] for n, or /dev/null. 0 or an error. */
static int set_files(posix_spawn_file_actions_t *files, const int end[CHILD_PIPES]) {
    int error = 0;
    for (int n = 0; n < CHILD_PIPES && !error; n++) {
        if (end[n] >= 0) error = posix_spawn_file_actions_adddup2(files, end[n], n);
        else if (n < 3) error = posix_spawn_file_actions_addopen(files, n, "/dev/null", O_RDWR, 0);
    }
    return error;
}

/* 0 or an error. */
static int spawn(child *c, char *const *argv, const int end[CHILD_PIPES]) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t as;
    int error = posix_spawn_file_actions_init(&files);
    if (error) return error;
    error = posix_spawnattr_init(&as);
    if (!error) {
        error = set_attributes(&as);
        if (!error) error = set_files(&files, end);
        if (!error) error = posix_spawnp(&c->pid, argv[0], &files, &as, argv, environ);
        posix_spawnattr_destroy(&as);
    }
    posix_spawn_file_actions_destroy(&files);
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
    if (c->pid == 0 && c->fd[0] == 0) return 0; /* a zeroed one: its descriptors are not ours */
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
