/* The templates of a database that a query has to be compared with: those that the indexes of its embeddings (HNSW) find
   near, read with their full-precision rows, so that their scores are exact. */
#ifndef REID_TOOLS_NEAREST_H
#define REID_TOOLS_NEAREST_H

#include "gallery/gallery_store.h"

/* Which templates count at all. */
typedef struct template_filter {
    const char *identity, *camera; /* NULL: any */
    int64_t from, until;           /* seen at `from` or later, before `until`; STORE_NO_TIME: whenever, also unknown */
} template_filter;

/* 1 for a filter that leaves something out. */
int filter_is_set(const template_filter *f);
int filter_takes(const template_filter *f, const store_item *item);

/* Galleries of so few templates, or of so few that a filter takes, are read whole: that is as fast, and exact. */
enum { NEAREST_FEW = 10000, NEAREST_DEFAULT = 200, NEAREST_MOST = 1000 };

typedef struct nearest_request {
    const char *url;
    template_filter filter;
    int candidates;      /* templates that an index is asked for; 0: NEAREST_DEFAULT, and reading few ones whole */
    int templates, identities; /* that are wanted; more are asked for until so many are there */
    int whole;           /* 1: all templates of those identities are read, because a score takes several */
} nearest_request;

typedef struct nearest_query {
    const float *row;         /* of all models, each part of unit length */
    const char *other_camera; /* templates of this camera do not count; NULL: they do */
    const char *id;           /* nor does the template of this id; NULL: it does */
    uint64_t size, hash;      /* nor do those of this picture; 0, 0: none */
} nearest_query;

typedef struct nearest nearest;

/* NULL after saying what is wrong. The request is borrowed. */
nearest *nearest_open(const nearest_request *r);
/* NULL is allowed. */
void nearest_close(nearest *n);
const store_meta *nearest_info(const nearest *n);
/* 1: the gallery's templates are few, or (filtered) those that the filter takes; 0: they are more; -1 after saying why
   nobody can tell. */
int nearest_are_few(nearest *n, int filtered);
/* All that the filter takes. */
gallery_store *nearest_all(nearest *n);

/* Those near a query, in the order of the gallery; *too_few: the index has given up before as many as are wanted were found. Both
   return NULL after saying what is wrong, or without a word when interrupted(). */
gallery_store *nearest_of(nearest *n, const nearest_query *q, int *too_few);

#endif
