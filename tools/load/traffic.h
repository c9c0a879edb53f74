/* Requests to an HTTP server by many connections from one thread, and how long each took.

   Open loop: requests arrive at random times (a Poisson process) whether or not earlier ones have been answered, as
   they do when people ask. One that finds no connection free waits, and its time counts from its arrival, so that a
   slow server cannot hide its slowness by being asked less. Closed loop: each connection asks again as soon as it is
   answered, which finds out how much a server can do at most. */
#ifndef REID_TOOLS_TRAFFIC_H
#define REID_TOOLS_TRAFFIC_H

#include "base/text.h"

#include <stdint.h>

typedef struct traffic_request {
    const char *host, *port;    /* TCP ... */
    const char *socket;         /* ... or the path of a Unix socket */
    const char *target, *type;  /* of the request line: "/embed"; Content-Type */
    const char *token;          /* for Authorization: Bearer; NULL: none */
    const char *header;         /* one more, "NAME: VALUE"; NULL: none */
    const text *bodies;         /* [body_count]: request i sends body i % body_count */
    size_t body_count;
    int connections;            /* most at the same time */
    double rate;                /* requests in a second; 0: closed loop */
    double warm_up, seconds;    /* not counted, and then counted */
    double patience;            /* seconds after which a request without an answer is given up */
    uint64_t seed;              /* of the arrivals */
} traffic_request;

#define TRAFFIC_STATUSES 600

typedef struct traffic_result {
    double *latencies;          /* [count] seconds of those with status 200, sorted */
    size_t count, cap;
    uint64_t statuses[TRAFFIC_STATUSES]; /* how many answers had which */
    uint64_t broken, given_up;  /* connections that failed or broke; requests without an answer in time */
    double seconds;             /* for which it was counted */
    text first_failure;         /* what went wrong first, "" if nothing */
} traffic_result;

/* Returns 0 with the reason in why when it could not be done at all. Free the result in any case. */
int traffic_run(const traffic_request *r, traffic_result *result, text *why);
/* The latency that a share of all (0 ... 1) did not exceed, in seconds; 0 if there is none. */
double traffic_quantile(const traffic_result *result, double share);
void traffic_free(traffic_result *result);

#endif
