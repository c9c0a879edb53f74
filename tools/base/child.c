#include "base/child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ABOVE = 16 }; /* descriptors of ours from here on: no dup2 to a number below CHILD_PIPES can hit one */

/* What the new process needs between fork and exec, where nothing may be allocated. */
typedef struct launch {
    char *const *argv;
    int null, report; /* /dev/null; where errno is written when exec fails */
    int end[CHILD_PIPES];
    pid_t parent;
} launch;

static int fail(text *why, const char *what) {
    text_clear(why);
    text_printf(why, "cannot %s: %s", what, strerror(errno));
    return 0;
}

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

/* A pipe whose reading end does not wait, when it is not to. */
static int make_pipe(int *from, int *to, int wait) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    *from = moved(ends[0]);
    *to = moved(ends[1]);
    return *from >= 0 && *to >= 0 && (wait || fcntl(*from, F_SETFL, O_NONBLOCK) == 0);
}

static void give_up(const launch *l) {
    int error = errno;
    if (write(l->report, &error, sizeof error) < 0) _exit(126);
    _exit(127);
}

/* In the new process: nothing but system calls. */
static void become(const launch *l) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != l->parent) _exit(127); /* it was gone before that */
    sigaction(SIGPIPE, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int n = 0; n < CHILD_PIPES; n++) {
        int source = l->end[n] >= 0 ? l->end[n] : n < 3 ? l->null : -1;
        if (source >= 0 && dup2(source, n) < 0) give_up(l);
    }
    execvp(l->argv[0], l->argv);
    give_up(l);
}

/* Waits until exec has closed the pipe of reports; 0 with errno when the program could not be started. */
static int started(int report) {
    int error;
    ssize_t got;
    do got = read(report, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof error) return 1;
    errno = error;
    return 0;
}

static int run(child *c, launch *l, int report, int *missing, text *why) {
    l->parent = getpid();
    c->pid = fork();
    if (c->pid == 0) become(l);
    close_fd(&l->report);
    if (c->pid < 0) {
        c->pid = 0;
        return fail(why, "start another program");
    }
    if (started(report)) return 1;
    *missing = errno == ENOENT;
    fail(why, "start it");
    return 0;
}

int child_start(child *c, char *const *argv, unsigned pipes, int *missing, text *why) {
    launch l = {.argv = argv, .null = -1, .report = -1};
    int report = -1, good = 1;
    c->pid = 0;
    *missing = 0;
    for (int n = 0; n < CHILD_PIPES; n++) c->fd[n] = l.end[n] = -1;
    for (int n = 1; n < CHILD_PIPES && good; n++)
        if (pipes & 1u << n) good = make_pipe(&c->fd[n], &l.end[n], 0);
    good = good && make_pipe(&report, &l.report, 1);
    if (good) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        l.null = null < 0 ? -1 : moved(null);
        good = l.null >= 0;
    }
    if (good) good = run(c, &l, report, missing, why);
    else fail(why, "start another program");
    for (int n = 0; n < CHILD_PIPES; n++) close_fd(&l.end[n]);
    close_fd(&l.null), close_fd(&l.report), close_fd(&report);
    if (!good) child_end(c, 0);
    return good;
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
