#include "server/worker.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"
#include "server/answer.h"
#include "server/call.h"
#include "server/frame.h"
#include "server/mailbox.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LENGTHS = 8,           /* bytes before a header: its length and the body's */
    MAX_HEADER = 1 << 20,
    HELD_BODIES = 4,       /* times max_body: bytes of requests and answers in all */
    PIECE = 1 << 16,       /* bytes read at once */
    FILE_PIECE = 1 << 20,  /* bytes written at once to a file, which never blocks on a reader */
    LOOK = 100,            /* milliseconds between checks for signals */
    LAST_ANSWERS = 2       /* seconds to send the answers of requests that were given up */
};

typedef struct worker worker;

/* A request, until the last byte of its answer is written. */
typedef struct asked {
    worker *w;
    call *c;           /* NULL: it was answered at once, or is finished */
    text id;
    text head, body;   /* of the answer's frame */
    size_t cost, sent; /* bytes counted in w->held; bytes of head and body that are written */
    struct asked *next;
} asked;

typedef struct queue {
    asked *first, *last;
} queue;

typedef enum phase { IN_LENGTHS, IN_HEADER, IN_BODY, IN_UNWANTED } phase;

struct worker {
    worker_request r;
    int out_is_socket;
    size_t out_piece;
    /* What is being read. */
    unsigned char bytes[PIECE]; /* those from at to filled are not processed yet */
    size_t at, filled;
    phase now;
    unsigned char lengths[LENGTHS];
    size_t left, body_len; /* bytes to the end of the phase; length of the body */
    text header;
    asked *reading;        /* in IN_BODY */
    /* Requests in progress, and answers to write. */
    int working, most;
    size_t held;
    queue answers;
    mailbox finished;      /* finished calls */
    /* The end. */
    int ended, stopping;   /* reading has stopped: at the end of the input; because of a signal */
    int gone;              /* the reader of the answers is gone */
    int status;
    double until;          /* when stopping: the time at which unfinished requests are given up */
};

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void free_asked(asked *a) {
    if (!a) return;
    a->w->held -= a->cost;
    call_free(a->c);
    text_free(&a->id), text_free(&a->head), text_free(&a->body);
    free(a);
}

/* Sets the exit status, but keeps WORKER_BROKEN: invalid frames will not become valid later. */
static void note_status(worker *w, int status) {
    if (w->status != WORKER_BROKEN) w->status = status;
}

static void stop_reading(worker *w, double seconds) {
    if (!w->stopping) w->until = clock_seconds() + seconds;
    w->stopping = 1;
}

/* Adds the frame's header to the answer and queues it for writing. */
static void answer(asked *a, int status, size_t json_len) {
    worker *w = a->w;
    const unsigned char lengths[LENGTHS] = {0};
    if (a->body.len > UINT32_MAX) {
        status = STATUS_TOO_LARGE;
        text_free(&a->body);
        answer_error(&a->body, "the answer would be larger than 4 GiB");
        json_len = a->body.len;
    }
    text_add(&a->head, lengths, sizeof lengths);
    frame_answer(&a->head, a->id.s, status, json_len);
    if (text_failed(&a->head) || text_failed(&a->body)) {
        say_error("out of memory for an answer");
        note_status(w, WORKER_AGAIN);
        stop_reading(w, w->r.drain);
        free_asked(a);
        return;
    }
    for (int i = 0; i < 4; i++) {
        a->head.s[i] = (char)((a->head.len - LENGTHS) >> 8 * i);
        a->head.s[4 + i] = (char)(a->body.len >> 8 * i);
    }
    w->held += a->head.len + a->body.len - a->cost;
    a->cost = a->head.len + a->body.len;
    a->next = NULL;
    if (w->answers.last) w->answers.last->next = a;
    else w->answers.first = a;
    w->answers.last = a;
}

static void answer_refusal(asked *a, int status, const text *why) {
    text_clear(&a->body);
    answer_error(&a->body, why->s);
    answer(a, text_failed(why) ? STATUS_BUSY : status, a->body.len);
}

/* Runs on one of the service's threads. */
static void call_done(call *c, void *user) {
    const asked *a = user;
    mailbox_put(&a->w->finished, c);
}

/* Queues the answers of finished calls, in the order in which they finished. */
static void take_finished(worker *w) {
    for (call *c = mailbox_take(&w->finished), *next; c; c = next) {
        asked *a = c->user;
        next = c->next;
        a->body = c->answer, a->c = NULL;
        memset(&c->answer, 0, sizeof c->answer);
        int status = c->status;
        size_t json_len = c->binary ? c->answer_json : a->body.len;
        call_free(c);
        w->working--;
        answer(a, status, json_len);
    }
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Makes a call for a request with an image or a tensor. Returns 0 with the status and the reason. */
static int prepare_call(asked *a, const frame_header *h, int *status, text *why) {
    static const call_kind kinds[] = {CALL_INFER, CALL_EMBED, CALL_MATCH};
    service *s = a->w->r.s;
    int index = 0;
    *status = STATUS_NOT_FOUND;
    if (h->kind == FRAME_MATCH && !s->shared->has_gallery) return refuse(why, "match: this worker has no gallery");
    if (h->kind == FRAME_INFER && !call_choose_model(s, h->model.s, &index, status, why)) return 0;
    *status = STATUS_BUSY;
    call *c = a->c = call_create(s);
    if (!c) return text_no_memory(why);
    c->kind = kinds[h->kind];
    c->index = index;
    c->json_len = h->json_len;
    c->floats = h->binary;
    c->timeout_us = a->w->r.timeout_us;
    c->done = call_done, c->user = a;
    text_puts(&c->body, "");
    if (h->kind != FRAME_INFER) text_join(&c->query, &h->query);
    return !text_failed(&c->body) && !text_failed(&c->query) ? 1 : text_no_memory(why);
}

/* Answers requests that need no computing: statistics and metadata. */
static void answer_at_once(asked *a, const frame_header *h) {
    const service *s = a->w->r.s;
    text why = TEXT_INIT;
    int index = -1, status, named = h->kind == FRAME_MODEL || h->model.s;
    if (named && !call_choose_model(s, h->model.s, &index, &status, &why)) {
        answer_refusal(a, status, &why);
    } else {
        if (h->kind == FRAME_MODEL) answer_model(&a->body, s, index);
        else answer_stats(&a->body, s, index);
        answer(a, STATUS_OK, a->body.len);
    }
    text_free(&why);
}

/* Called when the body is complete. */
static void start_call(worker *w) {
    asked *a = w->reading;
    w->reading = NULL;
    if (text_failed(&a->c->body)) {
        text why = TEXT_INIT;
        text_no_memory(&why);
        call_free(a->c), a->c = NULL;
        answer_refusal(a, STATUS_BUSY, &why);
        text_free(&why);
        return;
    }
    w->working++;
    a->c->arrived = clock_seconds();
    call_start(a->c);
}

/* Called when the header is complete. A refused request is answered at once, and its body is skipped. */
static void take_header(worker *w) {
    frame_header h;
    text why = TEXT_INIT;
    int status = STATUS_BAD;
    asked *a = mem_zeroed(1, sizeof *a);
    w->now = IN_UNWANTED;
    if (!a) {
        say_no_memory();
        note_status(w, WORKER_AGAIN);
        stop_reading(w, w->r.drain);
        return;
    }
    a->w = w;
    int good = frame_read(&h, w->header.s, w->header.len, w->body_len, &why);
    if (text_failed(&w->header)) good = text_no_memory(&why); /* the header is incomplete */
    text_join(&a->id, &h.id);
    if (good && w->body_len > w->r.max_body) {
        status = STATUS_TOO_LARGE;
        good = refuse(&why, "body: larger than the limit of %zu bytes", w->r.max_body);
    }
    if (good && h.kind >= FRAME_STATS) answer_at_once(a, &h);
    else if (good && prepare_call(a, &h, &status, &why)) w->reading = a, w->now = IN_BODY;
    else call_free(a->c), a->c = NULL, answer_refusal(a, status, &why);
    if (w->now == IN_BODY) a->cost = w->body_len, w->held += a->cost;
    frame_free(&h);
    text_free(&why);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void break_off(worker *w) {
    note_status(w, WORKER_BROKEN);
    stop_reading(w, w->r.drain);
}

static void take_lengths(worker *w) {
    w->left = le32(w->lengths);
    w->body_len = le32(w->lengths + 4);
    w->now = IN_HEADER;
    text_clear(&w->header);
    if (w->left && w->left <= MAX_HEADER) return;
    say_error("stdin: not a frame: expected a header of 1 to %d bytes, found %zu", MAX_HEADER, w->left);
    break_off(w);
}

/* Handles all parts that are complete; an empty body is complete at once. */
static void end_phase(worker *w) {
    while (!w->left && !w->stopping) {
        if (w->now == IN_LENGTHS) {
            take_lengths(w);
            continue;
        }
        if (w->now == IN_HEADER) {
            w->left = w->body_len;
            take_header(w);
            if (w->left || w->stopping) continue;
        }
        if (w->now == IN_BODY) start_call(w);
        w->now = IN_LENGTHS;
        w->left = LENGTHS;
    }
}

/* Reads only while there is room. Otherwise data wait in the pipe, and the writer blocks. */
static int wants_more(const worker *w) {
    return !w->ended && !w->stopping && w->working < w->most &&
           (w->now != IN_LENGTHS || w->held < HELD_BODIES * w->r.max_body);
}

static void take_bytes(worker *w) {
    while (w->at < w->filled && wants_more(w)) {
        const unsigned char *bytes = w->bytes + w->at;
        size_t n = w->filled - w->at < w->left ? w->filled - w->at : w->left;
        if (w->now == IN_LENGTHS) memcpy(w->lengths + LENGTHS - w->left, bytes, n);
        else if (w->now == IN_HEADER) text_add(&w->header, bytes, n);
        else if (w->now == IN_BODY) text_add(&w->reading->c->body, bytes, n);
        w->at += n, w->left -= n;
        end_phase(w);
    }
}

static void end_of_input(worker *w) {
    w->ended = 1;
    if (w->now == IN_LENGTHS && w->left == LENGTHS) return;
    say_error("stdin: ends inside a frame");
    break_off(w);
}

static void read_some(worker *w) {
    ssize_t n = read(w->r.in, w->bytes, sizeof w->bytes);
    if (n > 0) {
        w->at = 0, w->filled = (size_t)n;
    } else if (!n) {
        end_of_input(w);
    } else if (errno != EINTR && errno != EAGAIN) {
        say_error("stdin: cannot read: %s", strerror(errno));
        note_status(w, WORKER_AGAIN);
        w->ended = 1;
    }
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Writes as much as possible without blocking: a pipe that poll reports as writable takes PIPE_BUF bytes. */
static ssize_t write_piece(const worker *w, const char *bytes, size_t len) {
    if (w->out_is_socket) return send(w->r.out, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(w->r.out, bytes, len < w->out_piece ? len : w->out_piece);
}

static int can_write(const worker *w) {
    struct pollfd out = {w->r.out, POLLOUT, 0};
    return poll(&out, 1, 0) == 1 && out.revents & POLLOUT;
}

static void drop_answers(worker *w) {
    while (w->answers.first) {
        asked *a = w->answers.first;
        w->answers.first = a->next;
        free_asked(a);
    }
    w->answers.last = NULL;
}

/* Cancels everything, because the reader of the answers is gone. */
static void lose_reader(worker *w, const char *why) {
    if (w->gone) return;
    if (!w->ended || w->working || w->answers.first) {
        say_error("stdout: %s", why);
        note_status(w, WORKER_AGAIN);
    }
    w->gone = w->stopping = 1;
    w->until = clock_seconds();
}

static void write_some(worker *w) {
    while (w->answers.first && can_write(w)) {
        asked *a = w->answers.first;
        const text *part = a->sent < a->head.len ? &a->head : &a->body;
        size_t at = part == &a->head ? a->sent : a->sent - a->head.len;
        ssize_t n = part->len > at ? write_piece(w, part->s + at, part->len - at) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n < 0) {
            lose_reader(w, strerror(errno));
            return;
        }
        a->sent += (size_t)n;
        if (a->sent < a->head.len + a->body.len) continue;
        w->answers.first = a->next;
        if (!a->next) w->answers.last = NULL;
        free_asked(a);
    }
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static void look_for_the_end(worker *w) {
    if (interrupted() && interrupt_take()) {
        stop_reading(w, w->r.drain);
        say_info("stopping: %d request%s in progress", w->working, plural((size_t)w->working));
    }
    if (service_lost(w->r.s) && !w->stopping) {
        say_error("the GPU is lost");
        note_status(w, WORKER_AGAIN);
        stop_reading(w, w->r.drain);
        service_give_up(w->r.s);
    }
    if (!w->stopping || clock_seconds() < w->until || !(w->working || w->answers.first)) return;
    if (!service_stopping(w->r.s)) {
        if (!w->gone) say_warning("dropped %d request%s after the time of --drain", w->working,
                                  plural((size_t)w->working));
        service_stop(w->r.s);
        service_give_up(w->r.s);
        w->until = clock_seconds() + (w->gone ? 0 : LAST_ANSWERS);
        note_status(w, WORKER_AGAIN);
    } else {
        w->gone = 1; /* a reader that has not read by now gets nothing more */
    }
}

static void run(worker *w) {
    for (;;) {
        struct pollfd fds[3] = {
            {w->at == w->filled && wants_more(w) ? w->r.in : -1, POLLIN, 0},
            {w->gone ? -1 : w->r.out, w->answers.first ? POLLOUT : 0, 0},
            {w->finished.fd, POLLIN, 0},
        };
        int any = poll(fds, 3, LOOK);
        if (any > 0 && fds[0].revents) read_some(w);
        if (any > 0 && fds[2].revents) take_finished(w);
        take_bytes(w);
        if (any > 0 && fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
            lose_reader(w, "stdout was closed");
        if (w->gone) drop_answers(w);
        else write_some(w);
        look_for_the_end(w);
        if ((w->ended || w->stopping) && !w->working && !w->answers.first) return;
    }
}

int worker_run(const worker_request *r) {
    worker w;
    struct stat st;
    memset(&w, 0, sizeof w);
    w.r = *r;
    if (w.r.max_body > UINT32_MAX) w.r.max_body = UINT32_MAX; /* the largest possible frame */
    w.left = LENGTHS;
    w.most = r->s->model[0]->limit;
    for (int i = 1; i < r->s->count; i++)
        if (r->s->model[i]->limit < w.most) w.most = r->s->model[i]->limit;
    w.out_piece = PIPE_BUF;
    if (fstat(r->out, &st) == 0) {
        w.out_is_socket = S_ISSOCK(st.st_mode);
        if (S_ISREG(st.st_mode)) w.out_piece = FILE_PIECE;
    }
    if (mailbox_open(&w.finished)) {
        run(&w);
    } else {
        say_error("cannot wait for events: %s", strerror(errno));
        w.status = WORKER_AGAIN;
    }
    free_asked(w.reading);
    text_free(&w.header);
    mailbox_close(&w.finished);
    return w.status;
}
