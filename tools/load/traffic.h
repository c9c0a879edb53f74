/* Sends requests to an HTTP server over many connections from one thread, and measures how long each takes.  Open loop:
   requests arrive at random times (a Poisson process) whether or not earlier ones have been answered, as requests from
   people do. A request that finds no free connection waits, and its time counts from its arrival, so a slow server
   cannot hide its slowness by receiving fewer requests. Closed loop: each connection sends its next request as soon as
   it is answered, which measures the server's highest throughput. */
#ifndef REID_TOOLS_TRAFFIC_H
#define REID_TOOLS_TRAFFIC_H

#include "base/text.h"

#include <stdint.h>

typedef struct traffic_request {
    const char *host, *port;    /* TCP ... */
    const char *socket;         /* ... or the path of a Unix socket */
    const char *target, *type;  /* the request line's path, for example "/embed"; Content-Type */
    const char *token;          /* for Authorization: Bearer; NULL: none */
    const char *header;         /* another header, "NAME: VALUE"; NULL: none */
    const text *bodies;         /* [body_count]: request i sends body i % body_count */
    size_t body_count;
    int connections;            /* at most, at the same time */
    double rate;                /* requests per second; 0: closed loop */
    double warm_up, seconds;    /* first not measured, then measured */
    double patience;            /* seconds after which an unanswered request is abandoned */
    uint64_t seed;              /* for the arrival times */
} traffic_request;

#define TRAFFIC_STATUSES 600

typedef struct traffic_result {
    double *latencies;          /* [count] seconds of the answers with status 200, sorted */
    size_t count, cap;
    uint64_t statuses[TRAFFIC_STATUSES]; /* answers by status */
    uint64_t broken, given_up;  /* failed or broken connections; requests abandoned */
    double seconds;             /* that were measured */
    text first_failure;         /* the first error; "" for none */
} traffic_result;

/* Returns 0 with the reason in why if nothing could be measured. Free the result in any case. */
int traffic_run(const traffic_request *r, traffic_result *result, text *why);
/* The latency in seconds that a share (0 ... 1) of the answers did not exceed; 0 without answers. */
double traffic_quantile(const traffic_result *result, double share);
void traffic_free(traffic_result *result);

#endif
