/* A gallery file into a database, in the file's order: what is there already and equal is left alone, what is there and
   differs is refused by its id. */
#ifndef REID_TOOLS_PUSH_H
#define REID_TOOLS_PUSH_H

#include "gallery/gallery_store.h"

/* Templates of one transaction. Whatever ends a push, whole ones of these are there, and pushing again goes on. Most of
   them do not wait until they are on the server's disk; if that is lost before a later one has, they are pushed again,
   and nothing is told to be stored before it is. */
enum { PUSH_TOGETHER = 4096 };

typedef struct push_request {
    const gallery_store *from; /* read with its rows */
    const char *path, *url;    /* path: of the file, for messages */
    int strict;                /* the first template that is refused ends it */
} push_request;

typedef struct push_report {
    size_t pushed, equal, refused; /* templates: new ones, those that were there, those that differ or cannot be */
    double seconds, index_seconds; /* of the rows, and of building the index behind them; 0: it was kept up */
    int created;                   /* 1: there was no gallery in the database */
} push_report;

/* Returns 0 after saying what is wrong, or without a word when interrupted(); the report holds in any case. */
int gallery_push(const push_request *r, push_report *report);

#endif
