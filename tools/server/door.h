/* Where clients come in, and who may: sockets and tokens. */
#ifndef REID_TOOLS_DOOR_H
#define REID_TOOLS_DOOR_H

#include "base/text.h"

/* Listens on a Unix socket that only this user can connect to. A socket on which nobody listens any more is replaced if
   it is this user's; anything else at this path is left alone. Returns the descriptor, or -1 with the reason in why. */
int door_unix(const char *path, text *why);
/* After the socket was closed: takes its name away, unless another server listens there by now. */
void door_unix_remove(const char *path);

/* Listens on "127.0.0.1:8000", "[::1]:8000" or "localhost:0". What it became (port 0: any) is added to as; *loopback is
   1 when only this machine can connect. Returns the descriptor, or -1 with the reason in why. */
int door_tcp(const char *address, text *as, int *loopback, text *why);

/* The one line of a file that nobody else may read. Returns 0 with the reason in why. */
int door_token(const char *path, text *token, text *why);
/* Is what was given the secret? How long that takes does not depend on what is right in it. */
int door_same(const text *secret, const char *given, size_t len);
/* Does an Authorization header have it, compared like that? NULL: there is no header. */
int door_admits(const text *token, const char *authorization);

/* 1 for a Host header that means this machine: a page in a browser that was led here by a name of its own has another
   one. NULL: there is no header. */
int door_is_local_host(const char *host);

#endif
