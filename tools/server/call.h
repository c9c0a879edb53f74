/* A request from the bytes of its body to those of its answer: parsed, decoded, queued and written on the service's own
   threads. No HTTP; the numbers of the status are HTTP's. */
#ifndef REID_TOOLS_CALL_H
#define REID_TOOLS_CALL_H

#include "server/job.h"

typedef enum call_kind { CALL_INFER, CALL_EMBED, CALL_MATCH } call_kind;

typedef struct call call;

/* Told once, on one of the service's threads, when the answer is there; then the call may be freed. */
typedef void (*call_done_fn)(call *c, void *user);

struct call {
    /* What is asked, filled in before call_start. */
    call_kind kind;
    int index;            /* CALL_INFER: the model */
    text query, body;     /* query: of the plain ones */
    size_t json_len;      /* CALL_INFER: how much of the body is JSON */
    int floats;           /* CALL_EMBED: 1: the rows are wanted as bytes */
    long long timeout_us; /* of requests that have none of their own; 0: none */
    double arrived;       /* clock_seconds */
    call_done_fn done;
    void *user;
    /* The answer. */
    int status;
    text answer;
    int binary;           /* 1: bytes follow the first answer_json bytes of the answer, which are JSON */
    size_t answer_json;
    /* On the way. */
    service *s;
    job *work;
    pool_task first;
    struct call *next;    /* the mailbox's */
    infer_request infer;
    plain_request plain;
    span picture;
    int top;
};

/* Which model a client means: the one with that name, or without one (NULL) the only one. Returns 0 with the status and
   the reason. */
int call_choose_model(const service *s, const char *name, int *index, int *status, text *why);

/* NULL when there is no memory; zeroed but for what this fills in. */
call *call_create(service *s);
/* Returns at once. `done` is called in any case. */
void call_start(call *c);
/* Nobody waits for the answer any more. From the thread that frees it; `done` is still called. */
void call_cancel(call *c);
void call_free(call *c);

#endif
