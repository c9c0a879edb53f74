/* sys/socket.h, which MinGW-w64 lacks: what the code for databases calls, which finds no libpq here. */
#ifndef REID_WINDOWS_SOCKET_H
#define REID_WINDOWS_SOCKET_H

#define SHUT_RDWR 2
int shutdown(int fd, int how);

#endif
