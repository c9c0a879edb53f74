#include "server/inherited.h"

#include "server/door.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST = 3, MOST = 2 }; /* the first descriptor that is passed */

/* The variables are for one process; a child that inherits them is another. */
int inherited_are_there(void) {
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    long long wanted, sockets;
    return pid && count && parse_int(pid, 1, 1LL << 31, &wanted) && wanted == (long long)getpid() &&
           parse_int(count, 1, 1 << 16, &sockets);
}

static int take_one(int fd, int *unix_fd, int *tcp_fd, text *as, int *loopback, text *why) {
    struct sockaddr_storage name;
    int listens = 0, type = 0;
    socklen_t size = sizeof listens, name_size = sizeof name;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockname(fd, (struct sockaddr *)&name, &name_size) != 0)
        return refuse(why, "is not a listening stream socket; expected ListenStream=");
    int *to = name.ss_family == AF_UNIX ? unix_fd : tcp_fd;
    if (name.ss_family != AF_UNIX && name.ss_family != AF_INET && name.ss_family != AF_INET6)
        return refuse(why, "is neither a Unix socket nor a TCP socket");
    if (*to >= 0) return refuse(why, "is the second of its kind; expected at most one Unix socket and one TCP socket");
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return refuse_errno(why, "cannot be used");
    *to = fd;
    if (to == tcp_fd) door_peer(as, (struct sockaddr *)&name), *loopback = door_is_loopback((struct sockaddr *)&name);
    return 1;
}

int inherited_take(int *unix_fd, int *tcp_fd, text *as, int *loopback, text *why) {
    long long count = 0;
    text reason = TEXT_INIT;
    const char *given = getenv("LISTEN_FDS");
    int good = given && parse_int(given, 1, MOST, &count) ? 1 : refuse(why, "more than %d sockets", MOST);
    *loopback = 1;
    for (int i = 0; i < count && good; i++) {
        good = take_one(FIRST + i, unix_fd, tcp_fd, as, loopback, &reason);
        if (!good) refuse(why, "socket %d %s", i + 1, reason.s);
    }
    text_free(&reason);
    unsetenv("LISTEN_PID"), unsetenv("LISTEN_FDS"), unsetenv("LISTEN_FDNAMES");
    return good;
}
