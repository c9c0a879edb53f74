/* The use of libmicrohttpd that the server and the review page share: whether it is compiled in, checks of an announced
   body, responses, and which connection is closed if there are too many. */
#ifndef REID_TOOLS_MHD_H
#define REID_TOOLS_MHD_H

#include "base/library.h"
#include "base/text.h"

#include <pthread.h>
#include <stddef.h>

/* REID_NO_HTTP leaves the server out, although libmicrohttpd's header is there. */
#if defined(__has_include) && !defined(REID_NO_HTTP)
#if __has_include(<microhttpd.h>)
#define HAVE_MICROHTTPD
#include <microhttpd.h>
#endif
#endif

/* 1 if libmicrohttpd is compiled in; else MHD_MISSING says what to do. */
int mhd_is_there(void);
#define MHD_MISSING \
    HELP_HERE("this version was compiled without libmicrohttpd (Debian: libmicrohttpd-dev)", \
              "it is not available on macOS, which lacks epoll; run it on Linux", "")

#ifdef HAVE_MICROHTTPD

/* A header field of the request; NULL if it is missing. */
const char *mhd_header(struct MHD_Connection *c, const char *name);

/* What the body of a request may be. */
typedef struct mhd_body {
    size_t most;        /* bytes */
    const char *option; /* the option that sets `most`, or NULL */
    int required;       /* 0: a request without Content-Length has no body */
    int chunked;        /* 1: the body may come in chunks instead, of which nobody knows the length before */
} mhd_body;

/* 1 if the body comes in chunks. */
int mhd_is_chunked(struct MHD_Connection *c);
/* Checks the header fields that announce a body, before any byte of it is read. Returns 0 with its length in *bytes,
   of a body in chunks the most that it may have, or the status with which to refuse the request, and why. */
unsigned mhd_check_body(struct MHD_Connection *c, const mhd_body *allowed, size_t *bytes, text *why);

/* A response that owns the text from now on; the text is empty afterwards. NULL if memory runs out. */
struct MHD_Response *mhd_response(text *body);

/* Connections, the one that has been idle for longest first. If there are more than `most`, the first that is not busy
   with a request is shut down, so that idle clients shut nobody out. Its functions may be called by any thread. */
typedef struct mhd_guest {
    int fd, busy, leaving; /* leaving: it was shut down, and libmicrohttpd has not closed it yet */
    struct mhd_guest *next, *prev;
} mhd_guest;

typedef struct mhd_crowd {
    pthread_mutex_t lock;
    mhd_guest *first, *last;
    int count, most; /* count: without those that are leaving */
} mhd_crowd;

void mhd_crowd_open(mhd_crowd *c, int most);
void mhd_crowd_close(mhd_crowd *c);
/* For MHD_OPTION_NOTIFY_CONNECTION: the descriptor is open until mhd_crowd_leave returns. */
void mhd_crowd_join(mhd_crowd *c, mhd_guest *g, int fd);
void mhd_crowd_leave(mhd_crowd *c, mhd_guest *g);
/* 1: a request has arrived, 0: it was answered. */
void mhd_guest_is_busy(mhd_crowd *c, mhd_guest *g, int busy);
/* 1 if there are more than `most`, all of them busy. */
int mhd_crowd_is_full(mhd_crowd *c);
/* Shuts down the connection that has been idle for longest. */
void mhd_crowd_dismiss(mhd_crowd *c);

/* For MHD_OPTION_UNESCAPE_CALLBACK: paths are left as they were sent, because libmicrohttpd would end one at %00. */
size_t mhd_leave_escaped(void *user, struct MHD_Connection *c, char *s);

#endif
#endif
