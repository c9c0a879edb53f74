#include "server/mhd.h"


#include <string.h>
#include <strings.h>

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

unsigned mhd_check_body(struct MHD_Connection *c, const mhd_body *allowed, size_t *bytes, text *why) {
    const char *length = mhd_header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const char *encoding = mhd_header(c, MHD_HTTP_HEADER_CONTENT_ENCODING);
    *bytes = 0;
    if (mhd_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return refuse_with(MHD_HTTP_LENGTH_REQUIRED, why, "Transfer-Encoding: give a Content-Length instead");
    if (!length && allowed->required) return refuse_with(MHD_HTTP_LENGTH_REQUIRED, why, "Content-Length: is missing");
    if (count_headers(c, MHD_HTTP_HEADER_CONTENT_LENGTH) > 1)
        return refuse_with(MHD_HTTP_BAD_REQUEST, why, "Content-Length: is given twice");
    if (encoding && strcasecmp(encoding, "identity") != 0)
        return refuse_with(MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, why,
                           "Content-Encoding: compressed bodies are not supported");
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

size_t mhd_leave_escaped(void *user, struct MHD_Connection *c, char *s) {
    (void)user, (void)c;
    return strlen(s);
}

#endif
