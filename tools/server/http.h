/* HTTP/1.1 on libmicrohttpd: one thread serves all connections and never computes. A connection is suspended while its
   request is being processed. */
#ifndef REID_TOOLS_HTTP_H
#define REID_TOOLS_HTTP_H

#include "base/trace.h"
#include "server/access_log.h"
#include "server/service.h"
#include "server/tls.h"
#include "server/tokens.h"

typedef struct http http;

typedef struct http_request {
    service *s;
    int unix_fd, tcp_fd;  /* listening sockets, or -1; the server closes them */
    const tokens *tokens; /* TCP clients must send one; NULL: none, and the Host header must name this machine */
    tls *tls;             /* for TCP clients; NULL: without TLS */
    size_t max_body;      /* bytes */
    int connections;      /* the most that are served at a time */
    int idle;             /* seconds until an idle client is disconnected */
    long long timeout_us; /* for requests that give none; 0: none */
    access_log *log;      /* NULL: none */
    trace *trace;         /* NULL: none */
} http_request;

/* NULL after reporting an error; the sockets are closed then, too. */
http *http_start(const http_request *r);
/* From its return on, new requests are answered by this service and must send one of these tokens; those that have
   begun are finished by the service before it, which can be closed when its service_jobs is 0. New connections use this
   certificate; none if there was none at the start. Call it on the thread that calls http_stop. */
void http_switch(http *h, service *s, const tokens *allowed, tls *t);
/* Counts a reload, which was done or has failed. */
void http_note_reload(http *h, int done);
/* Requests that were received and not yet answered. */
int http_pending(const http *h);
/* Waits for unfinished calls, closes all connections and frees everything. */
void http_stop(http *h);

#endif
