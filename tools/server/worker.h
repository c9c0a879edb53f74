/* The worker: the server's requests in frames over two descriptors, for a program that starts it as its child. One
   thread reads and writes and never computes. */
#ifndef REID_TOOLS_WORKER_H
#define REID_TOOLS_WORKER_H

#include "server/service.h"

/* A status is what the process ends with: schedulers know what to do then. */
enum {
    WORKER_DONE = 0,  /* everything was answered */
    WORKER_BROKEN = 2, /* what came in were no frames; trying again would not help */
    WORKER_AGAIN = 75 /* it might: the GPU is lost, the answers could not be written, no memory (EX_TEMPFAIL) */
};

typedef struct worker_request {
    service *s;
    int in, out;          /* pipes, sockets or files; they stay open */
    size_t max_body;      /* bytes; of four times as many in all, no more is read */
    int drain;            /* seconds, after a signal, for what was accepted */
    long long timeout_us; /* of requests that give none; 0: none */
} worker_request;

/* From the first frame to the last answer. Returns a status after saying what is wrong. */
int worker_run(const worker_request *r);

#endif
