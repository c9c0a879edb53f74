/* HTTP/1.1 on libmicrohttpd: one thread for all connections, which never computes. A connection is suspended while
   its request is worked on. */
#ifndef REID_TOOLS_HTTP_H
#define REID_TOOLS_HTTP_H

#include "server/service.h"

typedef struct http http;

typedef struct http_request {
    service *s;
    int unix_fd, tcp_fd;  /* sockets that listen, or -1; the server closes them */
    const text *token;    /* what TCP clients have to show; NULL: nothing, and only this machine's names lead here */
    size_t max_body;      /* bytes */
    int connections;      /* how many are served at a time */
    int idle;             /* seconds until a client that does nothing is left */
    long long timeout_us; /* of requests that give none; 0: none */
} http_request;

/* NULL after reporting an error; the sockets are closed then, too. */
http *http_start(const http_request *r);
/* Requests that were received and not yet answered. */
int http_pending(const http *h);
/* Closes all connections and frees everything. Calls that are not over are waited for. */
void http_stop(http *h);

#endif
