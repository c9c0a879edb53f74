/* poll.h, which MinGW-w64 lacks: for pipes that a child writes, and for pauses. */
#ifndef REID_WINDOWS_POLL_H
#define REID_WINDOWS_POLL_H

#define POLLIN 1
#define POLLOUT 4

typedef unsigned nfds_t;
struct pollfd {
    int fd;
    short events, revents;
};
int poll(struct pollfd *list, nfds_t count, int milliseconds);

#endif
