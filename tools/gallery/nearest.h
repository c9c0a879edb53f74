/* The templates of a database that a query has to be compared with: those that the indexes of its embeddings (HNSW)
   find, read with their full-precision rows, so that their scores are exact. */
#ifndef REID_TOOLS_NEAREST_H
#define REID_TOOLS_NEAREST_H

#include "gallery/gallery_store.h"

/* Which templates are searched. */
typedef struct template_filter {
    const char *identity, *camera; /* NULL: any */
    int64_t from, until;           /* seen at `from` or later, before `until`; STORE_NO_TIME: any, or unknown */
} template_filter;

/* 1 for a filter that may leave templates out. */
int filter_is_set(const template_filter *f);
int filter_takes(const template_filter *f, const store_item *item);

/* NEAREST_FEW: if no more templates than this pass the filter, all of them are read, which is as fast, and exact.
   NEAREST_DEFAULT, NEAREST_MOST: candidates that an index is asked for. */
enum { NEAREST_FEW = 10000, NEAREST_DEFAULT = 200, NEAREST_MOST = 1000 };

typedef struct nearest_request {
    const char *url;
    template_filter filter;
    int candidates;      /* templates that an index is asked for; 0: NEAREST_DEFAULT, or all if they are few */
    int templates, identities; /* requested; the index is asked for more until it finds this many */
    int whole;           /* 1: read all templates of the identities found, because a score takes several */
} nearest_request;

typedef struct nearest_query {
    const float *row;         /* of all models, each part of unit length */
    const char *other_camera; /* templates of this camera are left out; NULL: none */
    const char *id;           /* so is the template of this id; NULL: none */
    uint64_t size, hash;      /* so are those of this image file; 0, 0: none */
} nearest_query;

typedef struct nearest nearest;

/* NULL after reporting an error. The request is borrowed. */
nearest *nearest_open(const nearest_request *r);
/* NULL is allowed. */
void nearest_close(nearest *n);
const store_meta *nearest_info(const nearest *n);
/* 1: at most NEAREST_FEW templates are in the gallery or, if filtered is 1, pass the filter; 0: more; -1 after saying
   why counting failed. */
int nearest_are_few(nearest *n, int filtered);
/* All templates that pass the filter. */
gallery_store *nearest_all(nearest *n);

/* The templates near a query, in the order of the gallery; *too_few: the index gave up before it found as many as are
   wanted. nearest_all and nearest_of return NULL after reporting an error, or without a message if interrupted(). */
gallery_store *nearest_of(nearest *n, const nearest_query *q, int *too_few);

#endif
