/* Copies a gallery file into a database, in the file's order. A template whose id is already there is skipped if it is
   equal, and refused if it differs. */
#ifndef REID_TOOLS_PUSH_H
#define REID_TOOLS_PUSH_H

#include "gallery/gallery_store.h"

/* Templates per transaction. However a push ends, only whole transactions are stored, and another push continues after
   them. Most transactions do not wait for the server's disk; if the server loses them before a later one has waited,
   they are pushed again. Templates are reported as stored only once they are on disk. */
enum { PUSH_TOGETHER = 4096 };

typedef struct push_request {
    const gallery_store *from; /* read with its rows */
    const char *path, *url;    /* path: of the file, for messages */
    int strict;                /* stop at the first template that is refused */
} push_request;

typedef struct push_report {
    size_t pushed, equal, refused; /* templates: new; already there; different or impossible to store */
    double seconds, index_seconds; /* for the rows; for building the index afterwards, 0: it was updated row by row */
    int created;                   /* 1: there was no gallery in the database */
} push_report;

/* Returns 0 after reporting an error, or without a message if interrupted(); the report is valid in either case. */
int gallery_push(const push_request *r, push_report *report);

#endif
