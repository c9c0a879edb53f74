#include "server/mhd.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#ifndef HAVE_MICROHTTPD

int mhd_is_there(void) { return 0; }

#else

int mhd_is_there(void) { return 1; }

const char *mhd_header(struct MHD_Connection *c, const char *name) {
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

typedef struct counting {
    const char *name;
    int count;
} counting;

static enum MHD_Result count_header(void *user, enum MHD_ValueKind kind, const char *key, const char *value) {
    counting *c = user;
    (void)kind, (void)value;
    c->count += strcasecmp(key, c->name) == 0;
    return MHD_YES;
}

static int count_headers(struct MHD_Connection *c, const char *name) {
    counting found = {name, 0};
    MHD_get_connection_values(c, MHD_HEADER_KIND, count_header, &found);
    return found.count;
}

static unsigned refuse_with(unsigned status, text *why, const char *what) {
    text_clear(why);
    text_puts(why, what);
    return status;
}

int mhd_is_chunked(struct MHD_Connection *c) {
    const char *coding = mhd_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    return coding && strcasecmp(coding, "chunked") == 0;
}

/* A request with both fields, or with another coding, could be understood differently by a proxy, which is how requests
   are smuggled past it (RFC 9112, 6.1 and 11.2). */
static unsigned check_chunks(struct MHD_Connection *c, text *why) {
    if (!mhd_is_chunked(c) || count_headers(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) > 1)
        return refuse_with(MHD_HTTP_NOT_IMPLEMENTED, why, "Transfer-Encoding: only chunked is supported");
    if (mhd_header(c, MHD_HTTP_HEADER_CONTENT_LENGTH))
        return refuse_with(MHD_HTTP_BAD_REQUEST, why, "Transfer-Encoding: is not allowed with a Content-Length");
    return 0;
}

unsigned mhd_check_body(struct MHD_Connection *c, const mhd_body *allowed, size_t *bytes, text *why) {
    const char *length = mhd_header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const char *encoding = mhd_header(c, MHD_HTTP_HEADER_CONTENT_ENCODING);
    const int has_coding = mhd_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
    *bytes = 0;
    if (has_coding && !allowed->chunked)
        return refuse_with(MHD_HTTP_LENGTH_REQUIRED, why, "Transfer-Encoding: give a Content-Length instead");
    unsigned status = has_coding ? check_chunks(c, why) : 0;
    if (status) return status;
    if (!length && !has_coding && allowed->required)
        return refuse_with(MHD_HTTP_LENGTH_REQUIRED, why, "Content-Length: is missing");
    if (count_headers(c, MHD_HTTP_HEADER_CONTENT_LENGTH) > 1)
        return refuse_with(MHD_HTTP_BAD_REQUEST, why, "Content-Length: is given twice");
    if (encoding && strcasecmp(encoding, "identity") != 0)
        return refuse_with(MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, why,
                           "Content-Encoding: compressed bodies are not supported");
    if (has_coding) *bytes = allowed->most;
    if (!length || parse_size(length, allowed->most, bytes)) return 0;
    *bytes = 0;
    text_clear(why);
    text_printf(why, "Content-Length: over the limit of %zu bytes", allowed->most);
    if (allowed->option) text_printf(why, " (%s)", allowed->option);
    return MHD_HTTP_CONTENT_TOO_LARGE;
}

struct MHD_Response *mhd_response(text *body) {
    struct MHD_Response *response = NULL;
    text_puts(body, "");
    if (!text_failed(body))
        response = MHD_create_response_from_buffer(body->len, body->s, MHD_RESPMEM_MUST_FREE);
    if (!response) text_free(body);
    *body = (text)TEXT_INIT;
    return response;
}

/* --- crowds ------------------------------------------------------------------------------------------------------- */

void mhd_crowd_open(mhd_crowd *c, int most) {
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->most = most;
}

void mhd_crowd_close(mhd_crowd *c) { pthread_mutex_destroy(&c->lock); }

static void put_last(mhd_crowd *c, mhd_guest *g) {
    g->next = NULL;
    g->prev = c->last;
    if (c->last) c->last->next = g;
    else c->first = g;
    c->last = g;
}

static void take_out(mhd_crowd *c, mhd_guest *g) {
    if (g->next) g->next->prev = g->prev;
    else c->last = g->prev;
    if (g->prev) g->prev->next = g->next;
    else c->first = g->next;
}

/* libmicrohttpd notices the end and closes the connection. */
static void shut_down_first(mhd_crowd *c) {
    mhd_guest *g = c->first;
    while (g && (g->busy || g->leaving)) g = g->next;
    if (!g) return;
    shutdown(g->fd, SHUT_RDWR);
    g->leaving = 1;
    c->count--;
}

void mhd_crowd_dismiss(mhd_crowd *c) {
    pthread_mutex_lock(&c->lock);
    shut_down_first(c);
    pthread_mutex_unlock(&c->lock);
}

void mhd_crowd_join(mhd_crowd *c, mhd_guest *g, int fd) {
    pthread_mutex_lock(&c->lock);
    g->fd = fd;
    if (c->count >= c->most) shut_down_first(c);
    put_last(c, g);
    c->count++;
    pthread_mutex_unlock(&c->lock);
}

void mhd_crowd_leave(mhd_crowd *c, mhd_guest *g) {
    pthread_mutex_lock(&c->lock);
    take_out(c, g);
    c->count -= !g->leaving;
    pthread_mutex_unlock(&c->lock);
}

void mhd_guest_is_busy(mhd_crowd *c, mhd_guest *g, int busy) {
    pthread_mutex_lock(&c->lock);
    g->busy = busy;
    take_out(c, g);
    put_last(c, g);
    pthread_mutex_unlock(&c->lock);
}

int mhd_crowd_is_full(mhd_crowd *c) {
    pthread_mutex_lock(&c->lock);
    int full = c->count > c->most;
    pthread_mutex_unlock(&c->lock);
    return full;
}

size_t mhd_leave_escaped(void *user, struct MHD_Connection *c, char *s) {
    (void)user, (void)c;
    return strlen(s);
}

#endif
