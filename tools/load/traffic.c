#include "load/traffic.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_HEADER 65536
#define MAX_CHUNK ((size_t)1 << 30)
#define EVENTS 256

typedef enum state { CLOSED, IDLE, CONNECTING, WRITING, READING } state;

typedef struct connection {
    int fd;
    state state;
    size_t body, sent;   /* index of its request in messages; bytes of it that were sent */
    double arrived;      /* when its request arrived */
    text in;
    size_t need;         /* bytes of the answer as far as known; 0: its header is not complete */
    int chunked;         /* 1: the answer is chunked, and the next chunk begins at `need` */
    int closing;         /* 1: the server closes the connection after this answer */
} connection;

/* Arrival times of the requests that wait for a free connection, oldest first. */
typedef struct waiting {
    double *at; /* a ring buffer of cap entries */
    size_t first, count, cap;
} waiting;

typedef struct traffic {
    const traffic_request *r;
    traffic_result *result;
    text *messages;      /* [body_count]: complete requests, header and body */
    connection *all;     /* [r->connections] */
    waiting queue;
    int poll, timer;
    struct sockaddr_storage address;
    socklen_t address_size;
    double from, until;  /* requests that arrive between these times are counted */
    double next;         /* the next arrival in the open loop */
    uint64_t random;
    size_t asked, open;  /* requests so far; those neither answered nor given up */
} traffic;

/* Returns a uniform number with 0 < x < 1, so that its logarithm is finite. */
static double uniform(traffic *t) { return random_unit(&t->random) + 0x1p-54; }

static void note(traffic *t, const char *what, const char *detail) {
    if (t->result->first_failure.len) return;
    text_printf(&t->result->first_failure, "%s%s%.300s", what, *detail ? ": " : "", detail);
}

static int counted(const traffic *t, double arrived) { return arrived >= t->from && arrived < t->until; }

/* --- one connection ----------------------------------------------------------------------------------------------- */

static int watch(traffic *t, connection *c, int how, uint32_t events) {
    struct epoll_event e = {events, {.u64 = (uint64_t)(c - t->all)}};
    return epoll_ctl(t->poll, how, c->fd, &e) == 0;
}

static void hang_up(connection *c) {
    if (c->fd >= 0) close(c->fd); /* which also removes it from epoll */
    c->fd = -1, c->state = CLOSED, c->need = 0, c->closing = c->chunked = 0;
    text_clear(&c->in);
}

/* Ends a request that failed, and closes its connection. */
static void break_off(traffic *t, connection *c, const char *what, const char *detail) {
    if (counted(t, c->arrived)) t->result->broken++;
    note(t, what, detail);
    t->open--;
    hang_up(c);
}

static void write_more(traffic *t, connection *c) {
    const text *message = &t->messages[c->body];
    while (c->sent < message->len) {
        ssize_t n = send(c->fd, message->s + c->sent, message->len - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            c->state = WRITING;
            watch(t, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n < 0) { /* the server may have answered anyway, saying why it stopped reading */
            break;
        }
        c->sent += (size_t)n;
    }
    c->state = READING;
    watch(t, c, EPOLL_CTL_MOD, EPOLLIN);
}

static void ask(traffic *t, connection *c, double arrived) {
    c->arrived = arrived, c->body = t->asked++ % t->r->body_count, c->sent = 0;
    t->open++;
    if (c->state == IDLE) {
        write_more(t, c);
        return;
    }
    int one = 1;
    c->fd = socket(t->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        break_off(t, c, "socket", strerror(errno));
        return;
    }
    if (t->address.ss_family != AF_UNIX) setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(c->fd, (const struct sockaddr *)&t->address, t->address_size) != 0 && errno != EINPROGRESS) {
        break_off(t, c, "cannot connect", strerror(errno)); /* EAGAIN: a Unix socket's backlog is full */
        return;
    }
    c->state = CONNECTING;
    if (!watch(t, c, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT)) break_off(t, c, "epoll", strerror(errno));
}

/* The value of a header field, or NULL. The header ends with a 0 byte. */
static const char *field(const char *header, const char *name) {
    size_t n = strlen(name);
    for (const char *line = strstr(header, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, n) != 0 || line[n] != ':') continue;
        for (line += n + 1; *line == ' '; line++) {}
        return line;
    }
    return NULL;
}

/* Passes over the chunks that have arrived. Returns 0 if they are malformed. *whole: the last one was among them. */
static int read_chunks(connection *c, int *whole) {
    for (*whole = 0; c->need < c->in.len && !*whole;) {
        const char *line = c->in.s + c->need, *end = memmem(line, c->in.len - c->need, "\r\n", 2);
        char *rest;
        if (!end) return c->in.len - c->need < 64;
        unsigned long long size = strtoull(line, &rest, 16);
        if (rest == line || size > MAX_CHUNK) return 0;
        c->need += (size_t)(end + 2 - line) + (size_t)size + 2;
        *whole = !size && c->need <= c->in.len;
        if (!size && !*whole) c->need -= (size_t)(end + 2 - line) + 2; /* try again when its end has arrived, too */
        if (!size) break;
    }
    return 1;
}

/* Reads the header once it is complete. Returns 0 if it is invalid. */
static int read_header(connection *c) {
    char *end = c->in.len ? memmem(c->in.s, c->in.len, "\r\n\r\n", 4) : NULL;
    if (!end) return c->in.len < MAX_HEADER;
    *end = 0;
    const char *length = field(c->in.s, "Content-Length"), *connection_field = field(c->in.s, "Connection");
    const char *coding = field(c->in.s, "Transfer-Encoding");
    char *rest = NULL;
    unsigned long long body = length ? strtoull(length, &rest, 10) : 0;
    c->chunked = coding && strncasecmp(coding, "chunked", 7) == 0;
    if (strncmp(c->in.s, "HTTP/1.", 7) != 0 || body > MAX_CHUNK || (!c->chunked && (!length || rest == length)))
        return 0;
    c->closing = connection_field && strncasecmp(connection_field, "close", 5) == 0;
    c->need = (size_t)(end + 4 - c->in.s) + (size_t)body;
    return 1;
}

static void take_answer(traffic *t, connection *c) {
    int status = atoi(c->in.s + 9);
    double latency = clock_seconds() - c->arrived;
    traffic_result *result = t->result;
    if (counted(t, c->arrived)) {
        if (status >= 0 && status < TRAFFIC_STATUSES) result->statuses[status]++;
        if (status != 200) note(t, "an answer was not 200", c->in.s + strlen(c->in.s) + 4); /* after its header */
        else if (GROW(result->latencies, result->count, result->cap)) result->latencies[result->count++] = latency;
    }
    t->open--;
    text_clear(&c->in);
    c->need = 0, c->chunked = 0;
    if (c->closing) hang_up(c);
    else c->state = IDLE;
}

static void read_more(traffic *t, connection *c) {
    char block[65536];
    for (;;) {
        ssize_t n = recv(c->fd, block, sizeof block, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            if (c->state == IDLE) hang_up(c);
            else break_off(t, c, "the connection broke", n < 0 ? strerror(errno) : "the server closed it");
            return;
        }
        if (c->state == IDLE) { /* an answer without a request */
            hang_up(c);
            return;
        }
        text_add(&c->in, block, (size_t)n);
        int good = !text_failed(&c->in) && (c->need || read_header(c)), whole = 0;
        if (good && c->need && c->chunked) good = read_chunks(c, &whole);
        if (!good) {
            break_off(t, c, "an answer is not valid HTTP", "");
            return;
        }
        if (c->chunked ? whole : c->need && c->in.len >= c->need) {
            take_answer(t, c);
            return;
        }
    }
}

static void on_event(traffic *t, connection *c, uint32_t events) {
    if (c->state == CLOSED) return;
    if (c->state == CONNECTING && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) {
        int error = 0;
        socklen_t size = sizeof error;
        if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
        if (error) break_off(t, c, "cannot connect", strerror(error));
        else write_more(t, c);
    } else if (c->state == WRITING && (events & EPOLLOUT)) {
        write_more(t, c);
    }
    if (c->state != CLOSED && (events & (EPOLLIN | EPOLLERR | EPOLLHUP))) read_more(t, c);
}

/* --- when to ask -------------------------------------------------------------------------------------------------- */

static connection *free_connection(traffic *t) {
    connection *closed = NULL;
    for (int i = 0; i < t->r->connections; i++) {
        if (t->all[i].state == IDLE) return &t->all[i];
        if (t->all[i].state == CLOSED) closed = &t->all[i];
    }
    return closed;
}

static int queue_add(waiting *q, double at) {
    if (q->count == q->cap) {
        size_t cap = q->cap ? 2 * q->cap : 1024;
        double *more = mem_array(cap, sizeof *more);
        if (!more) return 0;
        for (size_t i = 0; i < q->count; i++) more[i] = q->at[(q->first + i) % q->cap];
        free(q->at);
        q->at = more, q->first = 0, q->cap = cap;
    }
    q->at[(q->first + q->count++) % q->cap] = at;
    return 1;
}

/* Sends the requests that have arrived by now, as long as connections are free; the others wait. */
static void start_arrivals(traffic *t, double now) {
    connection *c;
    if (!t->r->rate) {
        while (now < t->until && (c = free_connection(t)) != NULL && t->open < (size_t)t->r->connections) {
            ask(t, c, clock_seconds());
            if (c->state == CLOSED) break; /* it failed: do not retry at once */
        }
        return;
    }
    for (; t->next <= now && t->next < t->until; t->next -= log(uniform(t)) / t->r->rate)
        if (!queue_add(&t->queue, t->next)) note(t, "out of memory", "");
    while (t->queue.count && (c = free_connection(t)) != NULL) {
        double arrived = t->queue.at[t->queue.first];
        t->queue.first = (t->queue.first + 1) % t->queue.cap, t->queue.count--;
        ask(t, c, arrived);
    }
}

/* Gives up the requests that were not answered in time, and those that have waited as long for a connection. */
static void give_up(traffic *t, double now) {
    for (int i = 0; i < t->r->connections; i++) {
        connection *c = &t->all[i];
        if (c->state <= IDLE || now - c->arrived < t->r->patience) continue;
        if (counted(t, c->arrived)) t->result->given_up++;
        note(t, "no answer in time", "");
        t->open--;
        hang_up(c);
    }
    while (t->queue.count && now - t->queue.at[t->queue.first] >= t->r->patience) {
        if (counted(t, t->queue.at[t->queue.first])) t->result->given_up++;
        t->queue.first = (t->queue.first + 1) % t->queue.cap, t->queue.count--;
    }
}

/* Sets a timer, because epoll's timeout in milliseconds would add to every latency. */
static void set_timer(const traffic *t, double now) {
    double wait = 0.02;
    if (t->r->rate && t->next < t->until && t->next - now < wait) wait = t->next - now;
    long ns = wait > 1e-6 ? (long)(wait * 1e9) : 1000;
    struct itimerspec when = {{0, 0}, {0, ns}};
    timerfd_settime(t->timer, 0, &when, NULL);
}

static void run(traffic *t) {
    struct epoll_event events[EVENTS];
    double now = clock_seconds();
    t->from = now + t->r->warm_up, t->until = t->from + t->r->seconds;
    t->next = now;
    while (now < t->until || ((t->open || t->queue.count) && now < t->until + t->r->patience)) {
        start_arrivals(t, now);
        give_up(t, now);
        set_timer(t, now);
        int n = epoll_wait(t->poll, events, EVENTS, 1000);
        for (int i = 0; i < n; i++)
            if (events[i].data.u64 < (uint64_t)t->r->connections)
                on_event(t, &t->all[events[i].data.u64], events[i].events);
        now = clock_seconds();
    }
    give_up(t, INFINITY);
    t->result->seconds = t->r->seconds;
}

/* --- a whole run -------------------------------------------------------------------------------------------------- */

static int find_address(traffic *t, text *why) {
    const traffic_request *r = t->r;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    if (r->socket) {
        if (strlen(r->socket) >= sizeof local.sun_path) {
            text_printf(why, "%s: the path of a socket may have at most %zu bytes", r->socket,
                        sizeof local.sun_path - 1);
            return 0;
        }
        memcpy(local.sun_path, r->socket, strlen(r->socket) + 1);
        memcpy(&t->address, &local, sizeof local);
        t->address_size = sizeof local;
        return 1;
    }
    int code = getaddrinfo(r->host, r->port, &hints, &found);
    if (code != 0) {
        text_printf(why, "%s:%s: %s", r->host, r->port, gai_strerror(code));
        return 0;
    }
    memcpy(&t->address, found->ai_addr, found->ai_addrlen);
    t->address_size = found->ai_addrlen;
    freeaddrinfo(found);
    return 1;
}

static int prepare(traffic *t, text *why) {
    const traffic_request *r = t->r;
    struct epoll_event e = {EPOLLIN, {.u64 = UINT64_MAX}};
    t->messages = mem_array(r->body_count, sizeof *t->messages);
    t->all = mem_array((size_t)r->connections, sizeof *t->all);
    if (!t->messages || !t->all) return text_no_memory(why);
    memset(t->messages, 0, r->body_count * sizeof *t->messages);
    memset(t->all, 0, (size_t)r->connections * sizeof *t->all);
    for (int i = 0; i < r->connections; i++) t->all[i].fd = -1;
    for (size_t i = 0; i < r->body_count; i++) {
        text *m = &t->messages[i];
        text_printf(m, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", r->target,
                    r->socket ? "localhost" : r->host, r->type, r->bodies[i].len);
        if (r->token) text_printf(m, "Authorization: Bearer %s\r\n", r->token);
        if (r->header) text_printf(m, "%s\r\n", r->header);
        text_puts(m, "\r\n");
        text_add(m, r->bodies[i].s, r->bodies[i].len);
        if (text_failed(m)) return text_no_memory(why);
    }
    t->poll = epoll_create1(EPOLL_CLOEXEC);
    t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (t->poll < 0 || t->timer < 0 || epoll_ctl(t->poll, EPOLL_CTL_ADD, t->timer, &e) != 0) {
        text_printf(why, "epoll: %s", strerror(errno));
        return 0;
    }
    return find_address(t, why);
}

int traffic_run(const traffic_request *r, traffic_result *result, text *why) {
    traffic t;
    memset(&t, 0, sizeof t);
    memset(result, 0, sizeof *result);
    t.r = r, t.result = result, t.random = r->seed, t.poll = t.timer = -1;
    int good = prepare(&t, why);
    if (good) run(&t);
    for (int i = 0; t.all && i < r->connections; i++) {
        hang_up(&t.all[i]);
        text_free(&t.all[i].in);
    }
    for (size_t i = 0; t.messages && i < r->body_count; i++) text_free(&t.messages[i]);
    if (t.poll >= 0) close(t.poll);
    if (t.timer >= 0) close(t.timer);
    free(t.messages);
    free(t.all);
    free(t.queue.at);
    if (result->count) qsort(result->latencies, result->count, sizeof *result->latencies, order_reals);
    return good;
}

double traffic_quantile(const traffic_result *result, double share) {
    if (!result->count) return 0;
    size_t at = (size_t)ceil(share * (double)result->count);
    return result->latencies[at ? (at > result->count ? result->count : at) - 1 : 0];
}

void traffic_free(traffic_result *result) {
    free(result->latencies);
    text_free(&result->first_failure);
    memset(result, 0, sizeof *result);
}
