/* A request without HTTP: from the bytes of its body to the bytes of its answer. It is parsed, decoded, queued and
   answered on the service's own threads. Its status is an HTTP status code. */
#ifndef REID_TOOLS_CALL_H
#define REID_TOOLS_CALL_H

#include "server/job.h"

typedef enum call_kind {
    CALL_INFER,
    CALL_EMBED,
    CALL_MATCH,
    CALL_MODEL,  /* describes a model, after opening it if need be; so does the next */
    CALL_CONFIG,
    CALL_INDEX,  /* lists the models */
    CALL_LOAD,   /* these two belong to the keeper */
    CALL_UNLOAD
} call_kind;

typedef struct call call;

/* Called once, on a thread of the service or of a queue, when the answer is complete; then the call may be freed. */
typedef void (*call_done_fn)(call *c, void *user);

struct call {
    /* The request, filled in before call_start. */
    call_kind kind;
    int index;            /* the model of all kinds but CALL_EMBED, CALL_MATCH and CALL_INDEX */
    text query, body;     /* query: of CALL_EMBED and CALL_MATCH */
    text boundary;        /* of CALL_EMBED and CALL_MATCH: that of a form; s NULL: the body is an image */
    size_t json_len;      /* CALL_INFER: how much of the body is JSON */
    int floats;           /* CALL_EMBED: 1: the client wants the rows as bytes */
    long long timeout_us; /* used if the request has none of its own; 0: none */
    double arrived;       /* clock_seconds */
    call_done_fn done;
    void *user;
    /* The answer. */
    int status;
    text answer;
    int binary;           /* 1: bytes follow the first answer_json bytes of the answer, which are JSON */
    size_t answer_json;
    /* Internal. */
    service *s;
    job *work;
    pool_task first;
    struct call *next;    /* used by the mailbox and the keeper */
    infer_request infer;
    plain_request plain;
    span picture, *pictures; /* pictures: those of a form */
    int top;
};

/* Finds the model with that name, or the only model if name is NULL. Returns 0 with the status and the reason. */
int call_choose_model(const service *s, const char *name, int *index, int *status, text *why);

/* Returns NULL if memory runs out. Fields that the caller fills in are zero. */
call *call_create(service *s);
/* Returns at once. `done` is called in any case. */
void call_start(call *c);
/* Cancels a call whose answer is no longer needed. Call it on the thread that frees the call; `done` is still
   called. */
void call_cancel(call *c);
void call_free(call *c);

/* The next ones are for the keeper, while the call waits for a model. */

/* Lets it belong to another service. */
void call_move(call *c, service *s);
/* Starts it again in its service, which has the model. */
void call_again(call *c);
/* Ends the call; why: NULL for STATUS_OK. */
void call_end(call *c, int status, const char *why);
/* 1 if its timeout has passed. */
int call_is_late(const call *c);

#endif
