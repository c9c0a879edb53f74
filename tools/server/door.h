/* Listening sockets, and the names by which browsers may lead to them. */
#ifndef REID_TOOLS_DOOR_H
#define REID_TOOLS_DOOR_H

#include "base/text.h"

/* Listens on a Unix socket that only this user can connect to. Replaces this user's old socket if no process listens on
   it any more; leaves anything else at this path alone. Returns the descriptor, or -1 with the reason in why. */
int door_unix(const char *path, text *why);
/* Removes the name of a closed socket, unless another server listens there by now. */
void door_unix_remove(const char *path);

/* Listens on "127.0.0.1:8000", "[::1]:8000" or "localhost:0". Appends the actual address to as (port 0: any free port);
   *loopback is 1 if only this machine can connect. Returns the descriptor, or -1 with the reason in why. */
int door_tcp(const char *address, text *as, int *loopback, text *why);

/* 1 for a TCP address of this machine alone. */
struct sockaddr;
int door_is_loopback(const struct sockaddr *address);

/* Compares the given text with the secret. The time that this takes does not depend on which bytes are right. */
int door_same(const text *secret, const char *given, size_t len);

/* Appends the address of a TCP client. */
void door_peer(text *t, const struct sockaddr *address);

/* Returns 1 for a Host header that names this machine. It protects against DNS rebinding: a browser that was led here
   by a foreign name sends that name. NULL: there is no header. */
int door_is_local_host(const char *host);
/* Returns 1 if the Origin header is "http://", with TLS "https://", followed by the Host header. NULL: the request
   lacks that header. */
int door_is_own_page(const char *origin, const char *host, int tls);

#endif
