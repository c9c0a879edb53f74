#include "review/web.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"
#include "server/mhd.h"

#ifndef HAVE_MICROHTTPD

web *web_start(int fd, int threads, size_t max_body, web_fn answer, void *user) {
    (void)fd, (void)threads, (void)max_body, (void)answer, (void)user;
    say_error("this version was compiled without libmicrohttpd");
    return NULL;
}
void web_stop(web *w) { (void)w; }

#else

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS = 64, SPARE = 64, HEADERS = 32 << 10, IDLE = 60 /* seconds */ };

struct web {
    struct MHD_Daemon *daemon;
    size_t max_body;
    web_fn answer;
    void *user;
    mhd_crowd crowd;
};

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

/* Moves the body into the response. MHD_NO closes the connection without an answer, which is all that can be done if
   memory runs out. */
static enum MHD_Result send_reply(struct MHD_Connection *c, web_reply *r) {
    struct MHD_Response *response = mhd_response(&r->body);
    if (!response) return MHD_NO;
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

/* Refuses the request if its body may not be sent. */
static enum MHD_Result check_body(const web *w, struct MHD_Connection *c) {
    const mhd_body allowed = {w->max_body, NULL, 0, 0};
    size_t bytes;
    text why = TEXT_INIT;
    unsigned refusal = mhd_check_body(c, &allowed, &bytes, &why);
    enum MHD_Result result = refusal ? refuse_request(c, refusal, why.s) : MHD_YES;
    text_free(&why);
    return result;
}

/* Connections on which nothing happens must not shut out the page: their clients may not have the token. */
static void on_connection(void *user, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    web *w = user;
    mhd_guest *g = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = g = mem_zeroed(1, sizeof *g);
        if (g) mhd_crowd_join(&w->crowd, g, MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    } else if (g) {
        mhd_crowd_leave(&w->crowd, g);
        free(g);
    }
}

static void is_busy(web *w, struct MHD_Connection *c, int busy) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info && info->socket_context) mhd_guest_is_busy(&w->crowd, info->socket_context, busy);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *bytes, size_t *len, void **state) {
    web *w = user;
    text *body = *state; /* of the request that is being received */
    (void)version;
    if (!body) {
        *state = body = mem_zeroed(1, sizeof *body);
        if (!body) return MHD_NO;
        text_puts(body, "");
        return check_body(w, c);
    }
    if (*len) {
        if (body->len + *len <= w->max_body) text_add(body, bytes, *len);
        *len = 0;
        return MHD_YES;
    }
    if (text_failed(body)) return refuse_request(c, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
    web_request r = {method, url, mhd_header(c, MHD_HTTP_HEADER_HOST), mhd_header(c, MHD_HTTP_HEADER_ORIGIN),
                     mhd_header(c, MHD_HTTP_HEADER_CONTENT_TYPE), body->s, body->len};
    web_reply reply;
    memset(&reply, 0, sizeof reply);
    is_busy(w, c, 1); /* not earlier: a request whose body never arrives must not hold a connection */
    w->answer(w->user, &r, &reply);
    return send_reply(c, &reply);
}

static void on_completed(void *user, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode how) {
    text *body = *state;
    (void)how;
    *state = NULL;
    if (!body) return;
    is_busy(user, c, 0);
    text_free(body);
    free(body);
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
    mhd_crowd_open(&w->crowd, CONNECTIONS);
    threads_block_signals(&before);
    w->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, w, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? (unsigned)threads : 0u, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(CONNECTIONS + SPARE) * (threads > 1 ? (unsigned)threads : 1u), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEADERS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_UNESCAPE_CALLBACK, mhd_leave_escaped, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, w, MHD_OPTION_NOTIFY_CONNECTION, on_connection, w, MHD_OPTION_END);
    int error = errno;
    threads_restore_signals(&before);
    if (w->daemon) return w;
    say_error("the server cannot be started: %s", strerror(error));
    mhd_crowd_close(&w->crowd);
    close(fd);
    free(w);
    return NULL;
}

void web_stop(web *w) {
    if (!w) return;
    MHD_stop_daemon(w->daemon);
    mhd_crowd_close(&w->crowd);
    free(w);
}

#endif
