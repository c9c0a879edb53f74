#include "review/web.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"

#if defined(__has_include)
#if __has_include(<microhttpd.h>)
#define HAVE_MICROHTTPD
#endif
#endif

#ifndef HAVE_MICROHTTPD

int web_is_there(void) { return 0; }
web *web_start(int fd, int threads, size_t max_body, web_fn answer, void *user) {
    (void)fd, (void)threads, (void)max_body, (void)answer, (void)user;
    say_error("this version was compiled without libmicrohttpd");
    return NULL;
}
void web_stop(web *w) { (void)w; }

#else

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CONNECTIONS = 64, HEADERS = 32 << 10, IDLE = 60 /* seconds */ };

struct web {
    struct MHD_Daemon *daemon;
    size_t max_body;
    web_fn answer;
    void *user;
};

/* A request that is being received. */
typedef struct exchange {
    text body;
    unsigned refusal; /* the status with which it is refused; 0: it is not */
    const char *why;
} exchange;

int web_is_there(void) { return 1; }

static const char *header_of(struct MHD_Connection *c, const char *name) {
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void add_headers(struct MHD_Response *to, const web_reply *r) {
    static const char *const always[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
    };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        MHD_add_response_header(to, always[i][0], always[i][1]);
    MHD_add_response_header(to, "Content-Security-Policy", r->policy ? r->policy : "default-src 'none'");
    MHD_add_response_header(to, MHD_HTTP_HEADER_CACHE_CONTROL, r->keep ? "private, max-age=3600" : "no-store");
    MHD_add_response_header(to, MHD_HTTP_HEADER_CONTENT_TYPE, r->type);
    if (r->allow) MHD_add_response_header(to, MHD_HTTP_HEADER_ALLOW, r->allow);
}

/* The body is the response's from now on. MHD_NO closes the connection without a word, which is what is left to do when
   there is no memory. */
static enum MHD_Result send_reply(struct MHD_Connection *c, web_reply *r) {
    struct MHD_Response *response = NULL;
    text_puts(&r->body, "");
    if (!text_failed(&r->body))
        response = MHD_create_response_from_buffer(r->body.len, r->body.s, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        text_free(&r->body);
        return MHD_NO;
    }
    r->body = (text)TEXT_INIT;
    add_headers(response, r);
    enum MHD_Result result = MHD_queue_response(c, r->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse_request(struct MHD_Connection *c, unsigned status, const char *why) {
    web_reply r;
    memset(&r, 0, sizeof r);
    r.status = status;
    r.type = "text/plain; charset=utf-8";
    text_puts(&r.body, why);
    text_putc(&r.body, '\n');
    return send_reply(c, &r);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* The body that is announced. */
static void check_length(const web *w, struct MHD_Connection *c, exchange *x) {
    const char *length = header_of(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const char *encoding = header_of(c, MHD_HTTP_HEADER_CONTENT_ENCODING);
    long long bytes;
    if (header_of(c, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        x->refusal = MHD_HTTP_LENGTH_REQUIRED, x->why = "Transfer-Encoding: give a Content-Length instead";
    else if (encoding && strcasecmp(encoding, "identity") != 0)
        x->refusal = MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, x->why = "Content-Encoding: compressed bodies are not supported";
    else if (length && !parse_int(length, 0, (long long)w->max_body, &bytes))
        x->refusal = MHD_HTTP_CONTENT_TOO_LARGE, x->why = "Content-Length: the body is too large";
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *bytes, size_t *len, void **state) {
    web *w = user;
    exchange *x = *state;
    (void)version;
    if (!x) {
        *state = x = mem_zeroed(1, sizeof *x);
        if (!x) return MHD_NO;
        text_puts(&x->body, "");
        check_length(w, c, x);
        return x->refusal ? refuse_request(c, x->refusal, x->why) : MHD_YES;
    }
    if (*len) {
        if (x->body.len + *len <= w->max_body) text_add(&x->body, bytes, *len);
        *len = 0;
        return MHD_YES;
    }
    if (text_failed(&x->body)) return refuse_request(c, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
    web_request r = {method, url, header_of(c, MHD_HTTP_HEADER_HOST), header_of(c, MHD_HTTP_HEADER_ORIGIN),
                     header_of(c, MHD_HTTP_HEADER_CONTENT_TYPE), x->body.s, x->body.len};
    web_reply reply;
    memset(&reply, 0, sizeof reply);
    w->answer(w->user, &r, &reply);
    return send_reply(c, &reply);
}

static void on_completed(void *user, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode how) {
    exchange *x = *state;
    (void)user, (void)c, (void)how;
    *state = NULL;
    if (!x) return;
    text_free(&x->body);
    free(x);
}

/* libmicrohttpd would turn %00 into the end of the path. */
static size_t leave_escaped(void *user, struct MHD_Connection *c, char *s) {
    (void)user, (void)c;
    return strlen(s);
}

web *web_start(int fd, int threads, size_t max_body, web_fn answer, void *user) {
    sigset_t before;
    web *w = need_zeroed(1, sizeof *w);
    if (!w) {
        close(fd);
        return NULL;
    }
    w->max_body = max_body;
    w->answer = answer;
    w->user = user;
    threads_block_signals(&before);
    w->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, w, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? (unsigned)threads : 0u, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, w,
        MHD_OPTION_END);
    int error = errno;
    threads_restore_signals(&before);
    if (w->daemon) return w;
    say_error("the server cannot be started: %s", strerror(error));
    close(fd);
    free(w);
    return NULL;
}

void web_stop(web *w) {
    if (!w) return;
    MHD_stop_daemon(w->daemon);
    free(w);
}

#endif
