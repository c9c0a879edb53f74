/* System calls that fail or kill the program at a chosen call. The test is linked with

   -Wl,--wrap=fsync,--wrap=pwrite,--wrap=ftruncate,--wrap=rename,--wrap=unlink,--wrap=link,--wrap=fchmod,--wrap=fchown

   so that these calls of the code under test come here; with FAULT_WRITE defined and --wrap=write, also write(2). */
#ifndef TEST_FAULTS_H
#define TEST_FAULTS_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_ONCE,   /* call `at` fails */
    FAULT_REST,   /* and so do all that follow */
    FAULT_BEFORE, /* the program is killed instead of the call */
    FAULT_AFTER,  /* and after it */
    FAULT_TWICE,  /* calls `at` and `at` + 1 fail */
} fault_kind;

static struct {
    fault_kind kind;
    int at, calls, error; /* calls are counted from 1 */
} fault;

/* 1 when this call fails. */
static int fault_strikes(void) {
    int mine = ++fault.calls == fault.at || (fault.kind == FAULT_REST && fault.calls > fault.at) ||
               (fault.kind == FAULT_TWICE && fault.calls == fault.at + 1);
    if (!mine || fault.kind == FAULT_NONE || fault.kind == FAULT_AFTER) return 0;
    if (fault.kind == FAULT_BEFORE) kill(getpid(), SIGKILL);
    errno = fault.error;
    return 1;
}

static int fault_passes(int result) {
    if (fault.kind == FAULT_AFTER && fault.calls == fault.at) kill(getpid(), SIGKILL);
    return result;
}

#define FAULT_WRAP(name, parameters, arguments) \
    int __real_##name parameters;               \
    int __wrap_##name parameters;               \
    int __wrap_##name parameters { return fault_strikes() ? -1 : fault_passes(__real_##name arguments); }

FAULT_WRAP(fsync, (int fd), (fd))
FAULT_WRAP(ftruncate, (int fd, off_t size), (fd, size))
FAULT_WRAP(rename, (const char *from, const char *to), (from, to))
FAULT_WRAP(unlink, (const char *path), (path))
FAULT_WRAP(link, (const char *from, const char *to), (from, to))
FAULT_WRAP(fchmod, (int fd, mode_t mode), (fd, mode))
FAULT_WRAP(fchown, (int fd, uid_t user, gid_t group), (fd, user, group))

/* A failing write writes half, as on a disk that fills up; an interrupted one, or one on a full disk, nothing. */
ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at) {
    if (!fault_strikes()) {
        ssize_t n = __real_pwrite(fd, bytes, size, at);
        fault_passes(0);
        return n;
    }
    int error = errno;
    if (error != EINTR && fault.kind == FAULT_ONCE && __real_pwrite(fd, bytes, size / 2, at) < 0) error = EIO;
    errno = error;
    return -1;
}

#ifdef FAULT_WRITE
ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size) {
    if (!fault_strikes()) {
        ssize_t n = __real_write(fd, bytes, size);
        fault_passes(0);
        return n;
    }
    int error = errno;
    if (error == ENOSPC && fault.kind == FAULT_ONCE) return __real_write(fd, bytes, size / 2);
    errno = error;
    return -1;
}
#endif

/* Runs work(user) in a child with this fault. Returns its exit status, or -1 if it was killed; if not, *calls receives
   the number of calls. */
static int fault_run(fault_kind kind, int at, int error, int (*work)(void *user), void *user, int *calls) {
    int *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), status = 0;
    *shared = 0;
    pid_t child = fork();
    if (child == 0) {
        fault.kind = kind, fault.at = at, fault.error = error, fault.calls = 0;
        int result = work(user);
        *shared = fault.calls;
        _exit(result);
    }
    while (waitpid(child, &status, 0) != child) {}
    *calls = *shared;
    munmap(shared, sizeof *shared);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* Kills work(NULL) before and after each of its calls. fresh() comes before every run; check(what, 1) after it looks at
   what is on disk, which may be more than was acknowledged. */
static inline void fault_kill_each(int calls, int (*work)(void *user), void (*fresh)(void),
                                   void (*check)(const char *what, int more)) {
    char what[80];
    int ignored;
    for (int at = 1; at <= calls; at++)
        for (fault_kind kind = FAULT_BEFORE; kind <= FAULT_AFTER; kind++) {
            snprintf(what, sizeof what, "killed %s call %d", kind == FAULT_BEFORE ? "before" : "after", at);
            fresh();
            assert_int_equal(fault_run(kind, at, 0, work, NULL, &ignored), -1);
            check(what, 1);
        }
}

#endif
