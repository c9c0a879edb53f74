#include "server/http.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/say.h"
#include "server/mhd.h"

#ifndef HAVE_MICROHTTPD

http *http_start(const http_request *r) {
    (void)r;
    say_error("this version was compiled without libmicrohttpd");
    return NULL;
}
void http_switch(http *h, service *s, const tokens *allowed, tls *t) { (void)h, (void)s, (void)allowed, (void)t; }
void http_note_reload(http *h, int done) { (void)h, (void)done; }
int http_pending(const http *h) { return h != NULL; }
void http_stop(http *h) { (void)h; }

#else

#include "base/threads.h"
#include "server/answer.h"
#include "server/call.h"
#include "server/door.h"
#include "server/form.h"
#include "server/guide.h"
#include "server/mailbox.h"
#include "server/prometheus.h"
#include "server/request_id.h"
#include "server/request_trace.h"
#include "server/routes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LISTENERS = 2,
    SPARE = 64,           /* connections beyond the limit, which are told that there are too many */
    AT_ONCE = 32,         /* connections accepted before others are served again; fewer than SPARE */
    MEMORY = 192 << 10,   /* bytes of a connection's memory: its header fields, and a list of the query's parameters */
    LONGEST_URL = 64 << 10, MOST_PARAMETERS = 1100, /* more of them would not fit into MEMORY */
    HEADERS = 64 << 10,   /* bytes of header fields */
    READ_STEP = 16 << 10, /* bytes by which the amount read at a time grows */
    WRITE_STEP = 64 << 10, /* bytes of an answer that are written at a time */
    SLOWEST = 64 << 10,   /* bytes per second, below which a client is disconnected */
    BODIES = 8,           /* limit of the bodies held at a time, and of the answers being sent, as a multiple of the
                             largest body */
    SMALL = 256 << 10,    /* bytes of a body or an answer that these limits do not hold up */
    LINGER = 2,           /* seconds that a client has to read that it was too slow */
    PASSED_OVER = 4,      /* bodies of a refused request up to this multiple of max_body are read, so that the client
                             sees the answer */
    EVENTS = 64,
    REST = 100,           /* milliseconds without accepting connections after there was no file descriptor for one */
    RETRY_AFTER = 1       /* seconds */
};

#define JSON_TYPE "application/json"
#define NEVER 1e300

typedef struct exchange exchange;

/* A connection. Only h's thread uses these members, and those of exchange and http unless their comments say
   otherwise. */
typedef struct client {
    http *h;
    struct MHD_Connection *connection;
    mhd_guest guest;
    int fd, tcp, suspended;
    tls *tls;              /* the certificate with which the connection began; NULL: it is not encrypted */
    int sending;           /* 1: a request line has arrived, but not the whole request, and nothing was answered */
    int dismissed;         /* 1: it was sent a final refusal; everything that still arrives is ignored */
    double deadline;       /* when it is disconnected; every byte that it sends or reads earns a little time */
    text uri;              /* of the request being received */
    exchange *now;         /* NULL between requests */
    char address[64];      /* for the log */
    struct client *next, *prev;
} client;

/* A request and its answer. */
struct exchange {
    http *h;
    client *from; /* NULL: it has disconnected */
    route to;
    call *c;      /* NULL: there is no body */
    size_t promised, received;
    size_t held;  /* bytes of the body, which count in h->counts.bodies */
    int working, over, body_lost, chunked; /* chunked: promised is the most that the body may have */
    unsigned refusal; /* the status of the refusal that is sent after the body was skipped; 0: not refused */
    int admitted;     /* 1: the client needs no token, or has sent one */
    const char *allow;
    text why;
    /* For the log. */
    double began;
    unsigned status;              /* of the reply; 0: none yet */
    size_t sent;                  /* bytes of its body */
    char method[16], token[TOKEN_NAME + 1];
    char id[REQUEST_ID + 1], trace[TRACE_ID + 1];
};

typedef struct listener {
    struct MHD_Daemon *daemon; /* NULL: this kind of socket is not served */
    http *h;
    int fd, tcp;
    double rests_until;        /* 0: connections are accepted */
} listener;

struct http {
    http_request r;
    listener listeners[LISTENERS];
    int epoll;
    pthread_t thread;
    int stop;              /* set by another thread */
    int switching;         /* set by another thread: next_service and next_tokens are to be used from now on */
    service *next_service;
    const tokens *next_tokens;
    tls *next_tls;
    sem_t switched;
    int pending;           /* exchanges from their last byte to the end of their answer; read by other threads */
    mailbox finished;      /* finished calls */
    client *clients;
    mhd_crowd crowd;
    int dismissing;        /* 1: libmicrohttpd may report an error for a request that was already answered */
    int said_no_files;
    uint64_t ids;          /* state from which ids of requests are made */
    size_t logged;         /* requests */
    front_counts counts;
};

/* --- answers ------------------------------------------------------------------------------------------------------ */

typedef struct reply {
    unsigned status;
    const char *type;
    text body;
    size_t json_len;      /* 0: the body is not JSON followed by bytes */
    const char *allow;    /* the allowed method */
    const char *policy;   /* of a page: its Content-Security-Policy */
    int last;             /* 1: the connection is closed after it */
} reply;

static void add_header(struct MHD_Response *response, const char *name, size_t number) {
    text value = TEXT_INIT;
    text_printf(&value, "%zu", number);
    if (!text_failed(&value)) MHD_add_response_header(response, name, value.s);
    text_free(&value);
}

/* Bytes that were sent or read earn the time that the slowest allowed client needs for them; no client saves up more
   than --idle. */
static void earn_time(client *c, size_t bytes) {
    const double now = clock_seconds(), earned = c->deadline + (double)bytes / SLOWEST;
    c->deadline = earned < now + c->h->r.idle ? earned : now + c->h->r.idle;
}

/* An answer that is being sent. */
typedef struct outgoing {
    client *to;
    http *h;
    text body;
} outgoing;

/* libmicrohttpd asks for the next piece after the client has taken the one before. */
static ssize_t next_piece(void *user, uint64_t at, char *to, size_t room) {
    outgoing *o = user;
    const size_t left = o->body.len - (size_t)at, n = left < room ? left : room;
    memcpy(to, o->body.s + at, n);
    if (at) earn_time(o->to, n);
    return (ssize_t)n;
}

static void free_outgoing(void *user) {
    outgoing *o = user;
    o->h->counts.unsent -= o->body.len;
    text_free(&o->body);
    free(o);
}

/* A body of one piece leaves together with the header fields, in one call of the system: the client wakes once. */
static struct MHD_Response *create_response(outgoing *o) {
#if MHD_VERSION >= 0x00097500
    if (o->body.len <= WRITE_STEP)
        return MHD_create_response_from_buffer_with_free_callback_cls(o->body.len, o->body.s, free_outgoing, o);
#endif
    size_t piece = o->body.len < WRITE_STEP ? o->body.len : WRITE_STEP;
    return MHD_create_response_from_callback(o->body.len, piece, next_piece, o, free_outgoing);
}

/* Moves the body into a response. NULL if memory runs out. */
static struct MHD_Response *response_of(client *to, text *body) {
    outgoing *o = text_failed(body) ? NULL : mem_zeroed(1, sizeof *o);
    struct MHD_Response *response = NULL;
    if (o) {
        *o = (outgoing){to, to->h, *body};
        *body = (text)TEXT_INIT;
        to->h->counts.unsent += o->body.len;
        response = create_response(o);
        if (!response) free_outgoing(o);
    }
    text_free(body);
    return response;
}

/* Replaces a large answer with a refusal while other clients leave too much unread. */
static void limit_unsent(const http *h, reply *r) {
    if (r->body.len <= SMALL || h->counts.unsent <= BODIES * h->r.max_body) return;
    text_free(&r->body);
    *r = (reply){.status = MHD_HTTP_SERVICE_UNAVAILABLE, .type = JSON_TYPE};
    answer_error(&r->body, "too many large answers are waiting to be read: try again later");
}

static void add_page_headers(struct MHD_Response *response, const char *policy) {
    MHD_add_response_header(response, "Content-Security-Policy", policy);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept");
}

/* Moves the body into the response. MHD_NO closes the connection without an answer, which is all that can be done if
   memory runs out. */
static enum MHD_Result send_reply(client *from, reply *r) {
    http *h = from->h;
    limit_unsent(h, r);
    if (from->now) from->now->status = r->status, from->now->sent = r->body.len;
    struct MHD_Response *response = response_of(from, &r->body);
    if (!response) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, r->type);
    if (r->json_len) add_header(response, "Inference-Header-Content-Length", r->json_len);
    if (r->status == MHD_HTTP_SERVICE_UNAVAILABLE) add_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER);
    if (r->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"reid\"");
    if (from->now && from->now->id[0]) MHD_add_response_header(response, "X-Request-ID", from->now->id);
    if (r->allow) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, r->allow);
    if (r->policy) add_page_headers(response, r->policy);
    if (r->last || service_stopping(h->r.s)) MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (r->status < FRONT_STATUSES) h->counts.answered[r->status]++;
    from->deadline = clock_seconds() + h->r.idle;
    from->sending = 0;
    enum MHD_Result result = MHD_queue_response(from->connection, r->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse_request(client *from, unsigned status, const char *allow, const char *why) {
    reply r = {.status = status, .type = JSON_TYPE, .allow = allow, .last = 1};
    answer_error(&r.body, why);
    return send_reply(from, &r);
}

static const char *header_of(const client *from, const char *name) {
    return mhd_header(from->connection, name);
}

/* Browsers ask for HTML; other clients get text. */
static void answer_guide(const client *from, const exchange *x, reply *r) {
    const char *accept = header_of(from, MHD_HTTP_HEADER_ACCEPT);
    const guide g = {x->admitted ? from->h->r.s : NULL, header_of(from, MHD_HTTP_HEADER_HOST), from->tcp,
                     from->tls != NULL, from->h->r.tokens != NULL};
    if (accept && strstr(accept, "text/html")) guide_page(&r->body, &g), r->type = "text/html; charset=utf-8";
    else guide_text(&r->body, &g), r->type = "text/plain; charset=utf-8";
    r->policy = GUIDE_POLICY;
}

static void answer_model_ready(reply *r, const service *s, int index) {
    model_view v;
    service_view(s, index, &v);
    const int ready = v.state == MODEL_READY && !service_stopping(s);
    if (!ready) r->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    answer_model_state(&r->body, s->names[index], ready);
    text_free(&v.reason);
}

/* Answers requests that need no computing. */
static enum MHD_Result answer_at_once(client *from, const exchange *x) {
    const service *s = from->h->r.s;
    reply r = {.status = MHD_HTTP_OK, .type = JSON_TYPE};
    switch (x->to.kind) {
    case ROUTE_HELP: answer_guide(from, x, &r); break;
    case ROUTE_OPENAPI: guide_openapi(&r.body); break;
    case ROUTE_METRICS:
        from->h->counts.log_dropped = access_log_dropped(from->h->r.log);
        prometheus_text(&r.body, s, &from->h->counts), r.type = "text/plain; version=0.0.4; charset=utf-8";
        break;
    case ROUTE_SERVER: answer_server(&r.body); break;
    case ROUTE_LIVE: answer_state(&r.body, "live", 1); break;
    case ROUTE_MODEL_READY: answer_model_ready(&r, s, x->to.index); break;
    case ROUTE_READY:
        if (service_stopping(s)) r.status = MHD_HTTP_SERVICE_UNAVAILABLE;
        answer_state(&r.body, "ready", !service_stopping(s));
        break;
    case ROUTE_MODEL: answer_model(&r.body, s, x->to.index); break;
    case ROUTE_CONFIG: answer_config(&r.body, s, x->to.index); break;
    default: answer_stats(&r.body, s, x->to.index); break;
    }
    return send_reply(from, &r);
}

static enum MHD_Result answer_call(client *from, exchange *x) {
    call *c = x->c;
    reply r = {.status = (unsigned)c->status,
               .type = c->binary ? "application/octet-stream" : JSON_TYPE,
               .body = c->answer,
               .json_len = c->binary ? c->answer_json : 0};
    c->answer = (text)TEXT_INIT;
    return send_reply(from, &r);
}

/* --- checking requests -------------------------------------------------------------------------------------------- */

static int is_type(const char *given, const char *type) {
    size_t n = strlen(type);
    if (strncasecmp(given, type, n) != 0) return 0;
    return type[n - 1] == '/' || !given[n] || given[n] == ';' || given[n] == ' ';
}

static int takes_json(route_kind kind) { return kind == ROUTE_INFER || kind >= ROUTE_INDEX; }

/* A form's type counts as none, because curl sends it by default for any body. */
static int may_be(const char *given, route_kind kind) {
    if ((kind == ROUTE_EMBED || kind == ROUTE_MATCH) && form_is_type(given)) return 1;
    if (!given || is_type(given, "application/octet-stream") || is_type(given, "application/x-www-form-urlencoded"))
        return 1;
    return is_type(given, takes_json(kind) ? JSON_TYPE : "image/");
}

typedef struct verdict {
    unsigned status; /* 0: go on */
    const char *allow;
    text why;
} verdict;

static void refuse_with(verdict *v, unsigned status, const char *why) {
    v->status = status;
    text_clear(&v->why);
    text_puts(&v->why, why);
}

/* 1 if a browser states that a page of another site has sent the request. Without a token, such a page could make the
   server compute, although it cannot read the answer. */
static int is_of_foreign_page(const client *from) {
    const char *origin = header_of(from, MHD_HTTP_HEADER_ORIGIN), *site = header_of(from, "Sec-Fetch-Site");
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0) return 1;
    return origin && !door_is_own_page(origin, header_of(from, MHD_HTTP_HEADER_HOST), from->tls != NULL);
}

/* Checks who may send requests. Liveness is not secret, and programs that check it often have no token; neither is what
   every server says in the same words. */
static void check_client(const client *from, exchange *x, verdict *v) {
    const http_request *r = &from->h->r;
    int harmless = x->to.kind < ROUTE_METRICS;
    const token *sent = NULL;
    if (from->tcp && r->tokens) sent = tokens_admit(r->tokens, header_of(from, MHD_HTTP_HEADER_AUTHORIZATION));
    if (sent) strcpy(x->token, sent->name.s);
    x->admitted = sent || !from->tcp || !r->tokens;
    if (mhd_crowd_is_full(&from->h->crowd))
        refuse_with(v, MHD_HTTP_SERVICE_UNAVAILABLE, "too many connections: try again later");
    else if (from->tcp && r->tokens && !harmless && !sent)
        refuse_with(v, MHD_HTTP_UNAUTHORIZED, "Authorization: a Bearer token is needed");
    else if (from->tcp && !r->tokens && !door_is_local_host(header_of(from, MHD_HTTP_HEADER_HOST)))
        refuse_with(v, MHD_HTTP_FORBIDDEN, "Host: without a token only this machine's names are accepted");
    else if (from->tcp && !r->tokens && is_of_foreign_page(from))
        refuse_with(v, MHD_HTTP_FORBIDDEN, "Origin: without a token, pages of other sites may not send requests");
}

/* Checks the announced body. */
static void check_body(const client *from, exchange *x, verdict *v) {
    const http *h = from->h;
    const mhd_body allowed = {h->r.max_body, "--max-body", x->to.kind < ROUTE_INDEX, 1};
    x->chunked = mhd_is_chunked(from->connection);
    v->status = mhd_check_body(from->connection, &allowed, &x->promised, &v->why);
    if (!v->status && !may_be(header_of(from, MHD_HTTP_HEADER_CONTENT_TYPE), x->to.kind))
        refuse_with(v, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                    takes_json(x->to.kind) ? "Content-Type: expected application/json or application/octet-stream"
                                           : "Content-Type: expected one image as the body, image/... or "
                                             "application/octet-stream, or multipart/form-data");
    if (v->status) x->promised = 0;
}

static int has_large_headers(const client *from) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(from->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info && info->header_size > HEADERS + from->uri.len;
}

static int may_change_models(const client *from) {
    const service_keeper *k = from->h->r.s->shared->keeper;
    return k && k->controlled;
}

static void check_request(client *from, exchange *x, const char *method, verdict *v) {
    const char *uri = from->uri.s ? from->uri.s : "/";
    int gets = strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    int known = route_find(&x->to, from->h->r.s, uri, strcspn(uri, "?"), &v->why);
    int wants_body = x->to.kind >= ROUTE_INFER;
    if (!known) x->to.kind = ROUTE_SERVER;
    check_client(from, x, v);
    if (!v->status && has_large_headers(from))
        refuse_with(v, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, "the header fields are over the limit of 64 KiB");
    if (v->status) return;
    if (!known && (text_failed(&from->uri) || text_failed(&v->why))) {
        refuse_with(v, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
    } else if (!known) {
        v->status = MHD_HTTP_NOT_FOUND;
    } else if (wants_body ? strcmp(method, MHD_HTTP_METHOD_POST) != 0 : !gets) {
        v->allow = wants_body ? MHD_HTTP_METHOD_POST : MHD_HTTP_METHOD_GET;
        refuse_with(v, MHD_HTTP_METHOD_NOT_ALLOWED, wants_body ? "this path takes POST" : "this path takes GET");
    } else if (x->to.kind >= ROUTE_LOAD && !may_change_models(from)) {
        refuse_with(v, MHD_HTTP_FORBIDDEN, "clients may not load or unload models here: the server was started without "
                                           "--model-control");
    } else if (wants_body) {
        check_body(from, x, v);
    } else if (header_of(from, MHD_HTTP_HEADER_CONTENT_LENGTH) || header_of(from, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
        refuse_with(v, MHD_HTTP_BAD_REQUEST, "a GET request must not have a body");
    }
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Runs on one of the service's threads. */
static void call_done(call *c, void *user) {
    const exchange *x = user;
    mailbox_put(&x->h->finished, c);
}

/* 1 if the request is answered by a call: if it has a body, or asks about a model that has to be opened first. */
static int needs_call(const client *from, const route *to) {
    const int describes = to->kind == ROUTE_MODEL || to->kind == ROUTE_CONFIG;
    return to->kind >= ROUTE_INFER || (describes && !from->h->r.s->model[to->index]);
}

static call_kind kind_of(route_kind kind) {
    static const call_kind kinds[] = {CALL_INFER, CALL_EMBED, CALL_MATCH, CALL_INDEX, CALL_LOAD, CALL_UNLOAD};
    if (kind == ROUTE_MODEL) return CALL_MODEL;
    return kind == ROUTE_CONFIG ? CALL_CONFIG : kinds[kind - ROUTE_INFER];
}

/* Prepares the call from the header fields, before the body arrives. Returns 0 if memory runs out. */
static int prepare_call(const client *from, exchange *x, verdict *v) {
    const char *json_len = header_of(from, "Inference-Header-Content-Length");
    const char *query = from->uri.s ? strchr(from->uri.s, '?') : NULL;
    call *c = x->c = call_create(from->h->r.s);
    if (!c) return 0;
    c->kind = kind_of(x->to.kind);
    c->index = x->to.index;
    if (c->kind <= CALL_MATCH) c->timeout_us = from->h->r.timeout_us;
    c->done = call_done, c->user = x;
    c->json_len = x->promised;
    text_puts(&c->body, "");
    const int plain = c->kind == CALL_EMBED || c->kind == CALL_MATCH;
    if (plain && query) text_puts(&c->query, query + 1);
    const char *type = header_of(from, MHD_HTTP_HEADER_CONTENT_TYPE);
    if (plain && form_is_type(type) && !form_boundary(&c->boundary, type, &v->why)) {
        v->status = MHD_HTTP_BAD_REQUEST;
        return !text_failed(&v->why);
    }
    if (c->kind == CALL_INFER && query) refuse_with(v, MHD_HTTP_BAD_REQUEST, "infer takes no query string");
    else if (x->to.kind >= ROUTE_INDEX && query)
        refuse_with(v, MHD_HTTP_BAD_REQUEST, "this path takes no query string");
    else if (c->kind == CALL_INFER && json_len && !parse_size(json_len, x->promised, &c->json_len))
        refuse_with(v, MHD_HTTP_BAD_REQUEST,
                    "Inference-Header-Content-Length: expected a number of bytes, at most Content-Length");
    return !text_failed(&c->query) && !text_failed(&c->body);
}

/* Suspends a connection: libmicrohttpd ignores it until it is resumed, so this file watches whether the client closes
   it. A TCP client that shuts down sending counts as gone; a Unix socket reports whether the other side can still
   read. */
static void suspend(client *from) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = from->tcp ? EPOLLRDHUP : 0;
    event.data.ptr = from;
    from->suspended = epoll_ctl(from->h->epoll, EPOLL_CTL_ADD, from->fd, &event) == 0 ? 2 : 1;
    from->deadline = NEVER;
    from->sending = 0;
    MHD_suspend_connection(from->connection);
}

static void resume(client *from) {
    struct epoll_event unused;
    memset(&unused, 0, sizeof unused);
    if (from->suspended == 2) epoll_ctl(from->h->epoll, EPOLL_CTL_DEL, from->fd, &unused);
    if (from->suspended) MHD_resume_connection(from->connection);
    from->suspended = 0;
    from->deadline = clock_seconds() + from->h->r.idle;
}

static void count_pending(http *h, int change) { __atomic_add_fetch(&h->pending, change, __ATOMIC_SEQ_CST); }

static void free_exchange(exchange *x) {
    x->h->counts.bodies -= x->held;
    if (x->working) count_pending(x->h, -1);
    call_free(x->c);
    text_free(&x->why);
    free(x);
}

/* --- the log ------------------------------------------------------------------------------------------------------ */

static int is_logging(const http *h) { return h->r.log || h->r.trace; }

enum { CLIENT_GONE = 499 }; /* as nginx writes it: the client left before the answer */

static void name_models(access_entry *e, const exchange *x) {
    const service *s = x->c ? x->c->s : x->h->r.s;
    const int all = x->c && x->c->kind == CALL_MATCH, index = x->c ? x->c->index : x->to.index;
    for (int i = 0; all && i < s->count && i < 2; i++) e->models[i] = s->names[i];
    if (!all && index >= 0 && index < s->count) e->models[0] = s->names[index];
}

/* What a call that is over has found out: another thread may still work on one that is not. */
static void add_result(access_entry *e, const exchange *x) {
    const job_result *rows = job_answer(x->c->work);
    e->images = (long long)rows->n;
    e->queue = rows->queued, e->compute = rows->computing, e->batch = rows->batch, e->computed = rows->computed;
}

/* x: NULL for a request that was refused before its header fields had arrived. */
static void log_request(const client *from, const exchange *x, unsigned status) {
    http *h = from->h;
    access_entry e = {.images = -1, .queue = -1, .compute = -1, .batch = -1, .status = status};
    if (!is_logging(h)) return;
    e.client = from->address;
    e.path = from->uri.s;
    e.path_len = from->uri.s ? strcspn(from->uri.s, "?") : 0; /* a query might contain what is secret */
    if (x) {
        e.seconds = clock_seconds() - x->began;
        e.id = x->id, e.trace = x->trace, e.token = x->token, e.method = x->method;
        e.received = x->received, e.sent = x->sent;
        if (!x->c || x->over) name_models(&e, x);
        if (x->over && x->c->kind <= CALL_MATCH) add_result(&e, x);
    }
    access_log_add(h->r.log, &e);
    request_trace_add(h->r.trace, &e, h->logged++, x ? x->began + e.seconds : clock_seconds());
}

/* --- callbacks of libmicrohttpd ----------------------------------------------------------------------------------- */

static void *session_of(const client *c) {
    return MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
}

/* Sends the last bytes that a client gets, without waiting. */
static int send_last(const client *c, const text *all) {
    if (c->tls) return tls_send_last(session_of(c), all->s, all->len);
    return send(c->fd, all->s, all->len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)all->len;
}

/* Sends a refusal directly to the socket, because libmicrohttpd can answer a request only after all of it has arrived.
   Its own answers cannot interfere: the kernel has earlier ones, and on_request refuses everything that still arrives.
   The client may still be sending, so the connection is closed a little later: otherwise it would be reset before the
   client has read the answer. */
static void dismiss(client *c, unsigned status, const char *reason, const char *what) {
    text why = TEXT_INIT, all = TEXT_INIT;
    answer_error(&why, what);
    text_printf(&all, "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: " JSON_TYPE
                      "\r\nContent-Length: %zu\r\n\r\n", status, reason, why.len);
    text_puts(&all, why.s ? why.s : "");
    if (!text_failed(&why) && !text_failed(&all) && send_last(c, &all)) c->h->counts.answered[status]++;
    if (c->now) c->now->status = status;
    else log_request(c, NULL, status);
    shutdown(c->fd, SHUT_WR);
    c->dismissed = 1;
    c->deadline = clock_seconds() + LINGER;
    text_free(&why);
    text_free(&all);
}

/* 1 if the body of a refused request is skipped before the answer. Closing a connection while its client still sends
   resets it, and the client never reads why it was refused. Endless bodies, and bodies that the client announces with
   Expect, are not skipped. */
static int passes_over(const client *from) {
    const char *length = header_of(from, MHD_HTTP_HEADER_CONTENT_LENGTH);
    size_t bytes;
    return length && !header_of(from, MHD_HTTP_HEADER_TRANSFER_ENCODING) && !header_of(from, MHD_HTTP_HEADER_EXPECT) &&
           parse_size(length, PASSED_OVER * from->h->r.max_body, &bytes) && bytes > 0;
}

/* Notes by what the request can be found again. */
static void note_request(const client *from, exchange *x, const char *method) {
    const char *id = header_of(from, "X-Request-ID");
    x->began = clock_seconds();
    if (id || is_logging(x->h)) request_id_take(x->id, id, &x->h->ids);
    if (!is_logging(x->h)) return;
    trace_id_take(x->trace, header_of(from, "traceparent"));
    snprintf(x->method, sizeof x->method, "%s", method);
}

static enum MHD_Result begin_exchange(client *from, const char *method, void **state) {
    verdict v = {0, NULL, TEXT_INIT};
    exchange *x = mem_zeroed(1, sizeof *x);
    if (!x) return MHD_NO;
    x->h = from->h;
    x->from = from;
    from->now = x;
    note_request(from, x, method);
    check_request(from, x, method, &v);
    if (!v.status && needs_call(from, &x->to) && !prepare_call(from, x, &v))
        refuse_with(&v, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
    from->deadline = clock_seconds() + from->h->r.idle;
    if (!v.status) mhd_guest_is_busy(&from->h->crowd, &from->guest, 1);
    *state = x;
    x->refusal = v.status, x->allow = v.allow, x->why = v.why;
    return !v.status || passes_over(from) ? MHD_YES : refuse_request(from, v.status, v.allow, v.why.s);
}

static void drop_body(exchange *x) {
    text_free(&x->c->body);
    x->h->counts.bodies -= x->held;
    x->held = 0;
}

/* The length that a client announces reserves nothing: only received bytes count. Beyond their limit, all but small
   bodies are skipped and refused. */
static void take_bytes(exchange *x, const char *bytes, size_t len) {
    http *h = x->h;
    earn_time(x->from, len);
    if (!x->c || x->body_lost || x->refusal) return;
    x->received += len;
    if (x->received > SMALL && h->counts.bodies + len > BODIES * h->r.max_body) {
        drop_body(x);
        x->refusal = MHD_HTTP_SERVICE_UNAVAILABLE;
        text_puts(&x->why, "too many large requests at once: try again later");
        return;
    }
    if (x->chunked && x->received > x->promised) {
        drop_body(x);
        x->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
        text_printf(&x->why, "the body is over the limit of %zu bytes (--max-body)", x->promised);
        dismiss(x->from, x->refusal, "Content Too Large", x->why.s); /* the rest might be endless */
        return;
    }
    if (x->received <= x->promised) text_add(&x->c->body, bytes, len), x->held += len, h->counts.bodies += len;
    if (x->received > x->promised || text_failed(&x->c->body)) x->body_lost = 1, drop_body(x);
}

/* A body in chunks has come to its end, so its length is known. */
static void end_chunks(exchange *x) {
    if (x->c->json_len == x->promised) x->c->json_len = x->received;
    x->promised = x->received;
}

/* 1 while the rest of a body in chunks that is too large is skipped, until LINGER has passed: closing the connection at
   once would reset it before the client reads why. */
static int passes_on(exchange *x, size_t len) {
    x->received += len;
    return x->received <= PASSED_OVER * x->h->r.max_body;
}

/* Called after the headers, for each piece of the body, after the whole body, and after the connection is resumed. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *bytes, size_t *len, void **state) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    client *from = info ? info->socket_context : NULL;
    exchange *x = *state;
    (void)user, (void)url, (void)version;
    if (from && from->dismissed && x && x->chunked && *len && passes_on(x, *len)) {
        *len = 0;
        return MHD_YES;
    }
    if (!from || from->dismissed) return MHD_NO;
    if (!x) return begin_exchange(from, method, state);
    if (*len) {
        take_bytes(x, bytes, *len);
        *len = 0;
        return MHD_YES;
    }
    if (x->refusal) return refuse_request(from, x->refusal, x->allow, x->why.s);
    if (x->over) return answer_call(from, x);
    if (x->working) return MHD_NO; /* resumed because the client has gone */
    if (!x->c) return answer_at_once(from, x);
    if (x->chunked && !x->body_lost) end_chunks(x);
    if (x->body_lost || x->received != x->promised)
        return refuse_request(from, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "out of memory");
    count_pending(x->h, 1); /* before the check: the thread that stops the service then sees this request, or it is
                               refused */
    if (service_stopping(x->h->r.s)) {
        count_pending(x->h, -1); /* not suspended, because libmicrohttpd could not close it at the end */
        return refuse_request(from, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "the server is stopping");
    }
    x->working = 1;
    x->c->arrived = clock_seconds();
    suspend(from);
    call_start(x->c);
    return MHD_YES;
}

/* Called after the answer to a request was sent, or when its client is gone; the call is then cancelled. */
static void on_completed(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how) {
    exchange *x = *state;
    (void)user, (void)connection, (void)how;
    *state = NULL;
    if (!x) return;
    x->from->deadline = clock_seconds() + x->h->r.idle;
    x->from->sending = 0;
    x->from->now = NULL;
    log_request(x->from, x, x->status ? x->status : CLIENT_GONE);
    mhd_guest_is_busy(&x->h->crowd, &x->from->guest, 0);
    if (x->working && !x->over) {
        call_cancel(x->c);
        x->from = NULL; /* take_finished frees the exchange */
    } else {
        free_exchange(x);
    }
}

/* 1 if libmicrohttpd has room for the list of the query's parameters, which it makes in any case. */
static int fits_in_memory(const char *uri) {
    int parameters = 1;
    for (const char *p = uri; *p; p++) parameters += *p == '&';
    return parameters <= MOST_PARAMETERS && strlen(uri) <= LONGEST_URL;
}

/* Called after the request line. */
static void *on_uri(void *user, const char *uri, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    client *from = info ? info->socket_context : NULL;
    (void)user;
    if (!from) return NULL;
    text_clear(&from->uri);
    text_puts(&from->uri, uri);
    from->deadline = clock_seconds() + from->h->r.idle;
    from->sending = 1;
    if (fits_in_memory(uri)) return NULL;
    dismiss(from, MHD_HTTP_URI_TOO_LONG, "URI Too Long", "the URL is over the limit of 64 KiB or 1100 parameters");
    from->h->dismissing = 1;
    return NULL;
}

/* The address of a TCP client; all others are on this machine. */
static void note_address(client *c) {
    const union MHD_ConnectionInfo *info =
        c->tcp ? MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS) : NULL;
    text address = TEXT_INIT;
    if (info && info->client_addr) door_peer(&address, info->client_addr);
    snprintf(c->address, sizeof c->address, "%s", address.len ? address.s : "unix");
    text_free(&address);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    listener *d = user;
    http *h = d->h;
    client *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        h->counts.accepted++;
        c = mem_zeroed(1, sizeof *c);
        if (!c) return;
        c->h = h, c->connection = connection, c->tcp = d->tcp;
        c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        c->deadline = clock_seconds() + h->r.idle;
        if (c->tcp && h->r.tls) c->tls = tls_keep(h->r.tls), tls_attach(session_of(c), c->tls);
        if (is_logging(h)) note_address(c);
        mhd_crowd_join(&h->crowd, &c->guest, c->fd);
        c->next = h->clients;
        if (c->next) c->next->prev = c;
        h->clients = c;
        h->counts.connections++;
        *context = c;
    } else if (c) {
        if (c->next) c->next->prev = c->prev;
        if (c->prev) c->prev->next = c->next;
        else h->clients = c->next;
        h->counts.connections--;
        mhd_crowd_leave(&h->crowd, &c->guest);
        text_free(&c->uri);
        tls_drop(c->tls);
        free(c);
        *context = NULL;
    }
}

/* libmicrohttpd answers some requests itself, and reports them only to its log: header fields that are too large (431),
   a request line that is too long (414), what is not HTTP (400). */
__attribute__((format(printf, 2, 0))) static void on_log(void *user, const char *format, va_list arguments) {
    http *h = user;
    char line[256];
    unsigned status;
    vsnprintf(line, sizeof line, format, arguments);
    if (sscanf(line, "Error processing request (HTTP response code is %u", &status) != 1) return;
    if (status < FRONT_STATUSES && !h->dismissing) {
        const access_entry e = {.images = -1, .queue = -1, .compute = -1, .batch = -1, .status = status};
        h->counts.answered[status]++;
        access_log_add(h->r.log, &e);
    }
    h->dismissing = 0;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static int watch(http *h, int fd, void *who) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    event.data.ptr = who;
    return fd >= 0 && epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Called when no file descriptor is left for a new client: an idle one is disconnected, and no connection is accepted
   for a moment, because epoll would report the waiting client again and again. */
static void rest(listener *d, int error) {
    http *h = d->h;
    struct epoll_event unused;
    memset(&unused, 0, sizeof unused);
    if (!h->said_no_files) say_warning("clients have to wait: %s (ulimit -n)", strerror(error));
    h->said_no_files = 1;
    h->counts.rests++;
    mhd_crowd_dismiss(&h->crowd);
    epoll_ctl(h->epoll, EPOLL_CTL_DEL, d->fd, &unused);
    d->rests_until = clock_seconds() + REST / 1000.0;
}

static void wake_listeners(http *h, double now) {
    for (listener *d = h->listeners; d < h->listeners + LISTENERS; d++)
        if (d->rests_until != 0 && d->rests_until <= now && watch(h, d->fd, &d->fd)) d->rests_until = 0;
}

/* accept4() takes a descriptor before it looks for a client, so it also lacks one when nobody waits. */
static int is_waiting(int fd) {
    struct pollfd wanted = {fd, POLLIN, 0};
    return poll(&wanted, 1, 0) > 0;
}

static int lacks_files(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void accept_clients(listener *d) {
    for (int i = 0; i < AT_ONCE; i++) {
        struct sockaddr_storage from;
        socklen_t size = sizeof from;
        int fd = accept4(d->fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        const int error = errno;
        if (fd >= 0) MHD_add_connection(d->daemon, fd, (struct sockaddr *)&from, size);
        else if (lacks_files(error) && is_waiting(d->fd)) rest(d, error);
        if (fd < 0) return;
    }
}

static void take_finished(http *h) {
    for (call *c = mailbox_take(&h->finished), *next; c; c = next) {
        exchange *x = c->user;
        next = c->next;
        x->over = 1;
        if (x->from) resume(x->from);
        else free_exchange(x);
    }
}

/* Closes the connections of slow clients. In the middle of a request a client gets status 408. Between requests it gets
   nothing, because it would take the status for the answer to its next request. */
static void leave_slow_clients(http *h, double now) {
    for (client *c = h->clients; c; c = c->next) {
        if (c->deadline >= now) continue;
        if (c->sending && !c->dismissed) {
            dismiss(c, MHD_HTTP_REQUEST_TIMEOUT, "Request Timeout",
                    "timeout: the request arrived too slowly (--idle)");
        } else {
            shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd notices the end and closes it */
            c->deadline = NEVER;
        }
    }
}

/* Milliseconds until something is due without an event, at most a second. */
static int time_to_wait(const http *h) {
    MHD_UNSIGNED_LONG_LONG wait = 1000, ms;
    for (const listener *d = h->listeners; d < h->listeners + LISTENERS; d++) {
        if (d->daemon && MHD_get_timeout(d->daemon, &ms) == MHD_YES && ms < wait) wait = ms;
        if (d->rests_until != 0 && wait > REST) wait = REST;
    }
    return (int)wait;
}

static void take_events(http *h, const struct epoll_event *events, int n) {
    for (int i = 0; i < n; i++) {
        void *who = events[i].data.ptr;
        listener *d = h->listeners;
        if (who == &h->finished) take_finished(h);
        else if (who == &d[0].fd || who == &d[1].fd) accept_clients(who == &d[0].fd ? &d[0] : &d[1]);
        else if (who != &d[0] && who != &d[1]) resume(who); /* a suspended client has gone */
    }
}

static void run_listeners(http *h) {
    for (int i = 0; i < LISTENERS; i++)
        if (h->listeners[i].daemon) MHD_run(h->listeners[i].daemon);
}

static void switch_service(http *h) {
    h->r.s = h->next_service;
    h->r.tokens = h->next_tokens;
    h->r.tls = h->next_tls;
    __atomic_store_n(&h->switching, 0, __ATOMIC_SEQ_CST);
    sem_post(&h->switched);
}

static void *serve(void *user) {
    http *h = user;
    struct epoll_event events[EVENTS];
    double looked = clock_seconds();
    while (!__atomic_load_n(&h->stop, __ATOMIC_SEQ_CST)) {
        int n = epoll_wait(h->epoll, events, EVENTS, time_to_wait(h));
        if (__atomic_load_n(&h->switching, __ATOMIC_SEQ_CST)) switch_service(h);
        take_events(h, events, n);
        run_listeners(h);
        h->dismissing = 0;
        double now = clock_seconds();
        wake_listeners(h, now);
        if (now - looked < 1) continue;
        looked = now;
        leave_slow_clients(h, now);
    }
    return NULL;
}

/* --- start and stop ----------------------------------------------------------------------------------------------- */

/* Opens libmicrohttpd without a thread and without the listening socket: h's thread accepts for both listeners. */
static int listener_open(http *h, listener *d, int tcp, int fd) {
    const int spare = h->r.connections < SPARE ? h->r.connections : SPARE, encrypted = tcp && h->r.tls;
    struct MHD_OptionItem more[] = {{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback()},
                                    {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)tls_priorities},
                                    {MHD_OPTION_END, 0, NULL}};
    d->h = h;
    d->tcp = tcp;
    d->fd = fd;
    if (fd < 0) return 1;
    d->daemon = MHD_start_daemon(
        (encrypted ? MHD_USE_TLS : 0u) | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
            MHD_USE_ERROR_LOG, 0, NULL, NULL,
        on_request, d, MHD_OPTION_EXTERNAL_LOGGER, on_log, h, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(h->r.connections + spare), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)READ_STEP, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_UNESCAPE_CALLBACK, mhd_leave_escaped, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, d, MHD_OPTION_NOTIFY_CONNECTION, on_connection, d,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, d, MHD_OPTION_ARRAY, encrypted ? more : &more[2], MHD_OPTION_END);
    return d->daemon && watch(h, MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, d) &&
           watch(h, fd, &d->fd);
}

static void stop_listeners(http *h) {
    for (listener *d = h->listeners; d < h->listeners + LISTENERS; d++) {
        if (d->daemon) MHD_stop_daemon(d->daemon);
        if (d->fd >= 0) close(d->fd);
        d->daemon = NULL;
        d->fd = -1;
    }
}

static void close_all(http *h) {
    stop_listeners(h);
    mhd_crowd_close(&h->crowd);
    sem_destroy(&h->switched);
    if (h->epoll >= 0) close(h->epoll);
    mailbox_close(&h->finished);
    free(h);
}

http *http_start(const http_request *r) {
    http *h = need_zeroed(1, sizeof *h);
    if (!h) return NULL;
    h->r = *r;
    mhd_crowd_open(&h->crowd, r->connections);
    sem_init(&h->switched, 0, 0);
    h->ids = request_id_start();
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    int good = mailbox_open(&h->finished) && h->epoll >= 0 && watch(h, h->finished.fd, &h->finished);
    int unix_open = listener_open(h, &h->listeners[0], 0, r->unix_fd);
    int tcp_open = listener_open(h, &h->listeners[1], 1, r->tcp_fd); /* in any case, because it closes its socket */
    if (good && unix_open && tcp_open && thread_start(&h->thread, serve, h)) return h;
    say_error("the server cannot be started: %s", strerror(errno));
    close_all(h);
    return NULL;
}

void http_switch(http *h, service *s, const tokens *allowed, tls *t) {
    h->next_service = s;
    h->next_tokens = allowed;
    h->next_tls = t;
    __atomic_store_n(&h->switching, 1, __ATOMIC_SEQ_CST);
    mailbox_wake(&h->finished);
    while (sem_wait(&h->switched) != 0) {} /* a signal may interrupt it */
}

void http_note_reload(http *h, int done) {
    __atomic_add_fetch(done ? &h->counts.reloads : &h->counts.failed_reloads, 1, __ATOMIC_RELAXED);
}

int http_pending(const http *h) { return __atomic_load_n(&h->pending, __ATOMIC_SEQ_CST); }

/* Suspended connections must be resumed before libmicrohttpd can close them. */
void http_stop(http *h) {
    __atomic_store_n(&h->stop, 1, __ATOMIC_SEQ_CST);
    mailbox_wake(&h->finished);
    pthread_join(h->thread, NULL);
    for (client *c = h->clients; c; c = c->next) resume(c);
    run_listeners(h);
    stop_listeners(h);
    service_give_up(h->r.s);
    while (http_pending(h)) {
        struct epoll_event event;
        take_events(h, &event, epoll_wait(h->epoll, &event, 1, 10));
    }
    close_all(h);
}

#endif
