/* HTTP/1.1 on libmicrohttpd: one thread serves all connections and never computes. A connection is suspended while its
   request is being processed. */
#ifndef REID_TOOLS_HTTP_H
#define REID_TOOLS_HTTP_H

#include "server/service.h"

typedef struct http http;

typedef struct http_request {
    service *s;
    int unix_fd, tcp_fd;  /* listening sockets, or -1; the server closes them */
    const text *token;    /* required from TCP clients; NULL: none, and the Host header must name this machine */
    size_t max_body;      /* bytes */
    int connections;      /* the most that are served at a time */
    int idle;             /* seconds until an idle client is disconnected */
    long long timeout_us; /* for requests that give none; 0: none */
} http_request;

/* NULL after reporting an error; the sockets are closed then, too. */
http *http_start(const http_request *r);
/* Requests that were received and not yet answered. */
int http_pending(const http *h);
/* Waits for unfinished calls, closes all connections and frees everything. */
void http_stop(http *h);

#endif
