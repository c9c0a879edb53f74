/* A line of JSON about each request. A thread of its own writes the lines, so that a slow disk or reader holds up no
   request; lines that find no room are dropped and counted. */
#ifndef REID_TOOLS_ACCESS_LOG_H
#define REID_TOOLS_ACCESS_LOG_H

#include "base/text.h"

typedef struct access_log access_log;

/* One request. Texts that are NULL or empty, and numbers below 0, are left out. */
typedef struct access_entry {
    double seconds;       /* since it arrived */
    const char *id, *trace, *client, *token, *method, *path; /* token: its name, never the secret */
    size_t path_len;
    const char *models[2]; /* the second one: of requests to two models together */
    long long images;
    size_t received, sent; /* bytes of the bodies */
    unsigned status;
    double queue, compute, batch; /* seconds, seconds, images */
    double computed;              /* the end of that batch, of clock_seconds; it is not in the log */
} access_entry;

/* Opens a file, to which lines are appended, or stdout for "-". Returns NULL after saying what is wrong. */
access_log *access_log_open(const char *path);
/* Called by one thread. With a NULL log it does nothing. */
void access_log_add(access_log *l, const access_entry *e);
/* Opens the file again under its name, because the old one was moved away. Any thread. NULL is allowed. */
void access_log_reopen(access_log *l);
/* Lines that were dropped so far. Any thread. */
unsigned long long access_log_dropped(const access_log *l);
/* Writes the rest, as far as the reader takes it, and frees everything. NULL is allowed. */
void access_log_close(access_log *l);

#endif
