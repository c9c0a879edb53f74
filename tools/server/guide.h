/* What a server says of itself: the page for people, the same as text for terminals, and the OpenAPI document. */
#ifndef REID_TOOLS_GUIDE_H
#define REID_TOOLS_GUIDE_H

#include "server/service.h"

typedef struct guide {
    const service *s;  /* NULL: nothing is said of this server, because the client has sent no token */
    const char *host;  /* the client's Host header, for the examples; NULL: none */
    int tcp, tls;      /* how the client is connected; not tcp: by the Unix socket */
    int tokens;        /* 1: TCP clients need one */
} guide;

/* A page that loads nothing. */
void guide_page(text *t, const guide *g);
void guide_text(text *t, const guide *g);
/* openapi.json: the description of every path, from which programs and tests call them. */
void guide_openapi(text *t);

/* The Content-Security-Policy of the page. */
#define GUIDE_POLICY "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
    "form-action 'none'; frame-ancestors 'none'"

#endif
