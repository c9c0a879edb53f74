/* The worker: takes the server's requests as frames over two descriptors, for a program that starts it as a child
   process. One thread reads and writes; it never computes. */
#ifndef REID_TOOLS_WORKER_H
#define REID_TOOLS_WORKER_H

#include "server/service.h"

/* The exit status of the process, which tells schedulers what to do. */
enum {
    WORKER_DONE = 0,  /* everything was answered */
    WORKER_BROKEN = 2, /* the input was not frames; do not try again */
    WORKER_AGAIN = 75 /* try again: the GPU is lost, answers could not be written, or no memory (EX_TEMPFAIL) */
};

typedef struct worker_request {
    service *s;
    int in, out;          /* pipes, sockets or files; they stay open */
    size_t max_body;      /* bytes; reading pauses while requests and answers hold four times as many */
    int drain;            /* seconds to finish accepted requests after a signal */
    long long timeout_us; /* used for requests that give none; 0: none */
} worker_request;

/* Runs from the first frame to the last answer. Returns a status after reporting an error. */
int worker_run(const worker_request *r);

#endif
