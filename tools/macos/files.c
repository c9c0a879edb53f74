/* Files, pipes and sockets. */
#include <errno.h>
#undef fsync
#undef socket

int macos_fsync(int fd) { return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd); /* not every file system has it */ }

int macos_syncfs(int fd) { return fsync_volume_np(fd, SYNC_VOLUME_FULLSYNC | SYNC_VOLUME_WAIT); }

/* Returns 0 with the reason in errno. */
static int set_flags(int fd, int cloexec, int nonblock) {
    return (!cloexec || fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) && (!nonblock || fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
}

static void close_quietly(int fd) {
    const int error = errno;
    close(fd);
    errno = error;
}

int macos_pipe2(int ends[2], int flags) {
    if (pipe(ends) != 0) return -1;
    int good = 1;
    for (int i = 0; i < 2; i++) good = good && set_flags(ends[i], flags & O_CLOEXEC, flags & O_NONBLOCK);
    for (int i = 0; i < 2 && !good; i++) close_quietly(ends[i]);
    return good ? 0 : -1;
}

int macos_socket(int domain, int type, int protocol) {
    int fd = socket(domain, type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), protocol);
    if (fd < 0 || set_flags(fd, type & SOCK_CLOEXEC, type & SOCK_NONBLOCK)) return fd;
    close_quietly(fd);
    return -1;
}
