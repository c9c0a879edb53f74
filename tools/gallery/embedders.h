/* The embedders of a gallery in PostgreSQL: by which models its templates are embedded now, were before and could be.
   All of these return 0 or NULL after saying what is wrong. */
#ifndef REID_TOOLS_EMBEDDERS_H
#define REID_TOOLS_EMBEDDERS_H

#include "gallery/gallery_store.h"

typedef enum embedder_role { EMBEDDER_NOW, EMBEDDER_BEFORE, EMBEDDER_OTHER } embedder_role;

typedef struct embedder {
    int id;
    embedder_role role;
    store_meta makers;                     /* with its threshold and decoders of JPEG files */
    size_t rows, missing, failed, claimed; /* templates; failed and claimed ones are missing, too */
} embedder;

typedef struct embedder_worker {
    char *name;
    int embedder;        /* its id */
    size_t made, failed;
    double silent, lease; /* seconds since it has shown itself, and after which it counts as dead */
} embedder_worker;

typedef struct embedder_list {
    char *url;
    size_t templates;
    embedder *at; /* the one of now first, then the one before, then by number */
    size_t count;
    embedder_worker *worker;
    size_t workers;
    struct database *database;
    struct pq *connection; /* its */
} embedder_list;

/* All of it, as it is at one moment. counted: 0 leaves out rows and missing, which take a look at every template. */
int embedders_open(embedder_list *l, const char *url, int counted);
void embedders_close(embedder_list *l);

/* "FINGERPRINT" or "FINGERPRINT+FINGERPRINT", which is what people call it by. */
void embedder_name(const embedder *e, char out[2 * 33]);
/* The one of these models, or of that name; NULL without a word when there is none. */
const embedder *embedders_of(const embedder_list *l, const store_meta *makers);
const embedder *embedders_named(const embedder_list *l, const char *name);

/* Makes it the gallery's, in one transaction that waits for writers: refused while templates are missing that nobody
   has tried, and while any are missing unless partial. threshold: NAN leaves the embedder's own. */
int embedders_switch(embedder_list *l, const embedder *to, double threshold, int partial);
/* Takes one away that is not the gallery's, with its rows. */
int embedders_drop(embedder_list *l, const embedder *gone);

/* Templates that could not be embedded, in their order. Returns 0 to stop. */
typedef int (*failure_fn)(void *user, const char *id, const char *why);
int embedders_failures(embedder_list *l, const embedder *e, size_t most, failure_fn fn, void *user);

/* One template with its rows of two embedders. */
typedef struct embedder_row {
    const char *id, *identity, *camera;
    uint64_t size, hash; /* of its picture, 0, 0: unknown */
    const float *one, *other;
} embedder_row;
typedef int (*embedder_row_fn)(void *user, const embedder_row *row);

/* All templates that have both, in their order, as they are at one moment. fn returns 0 to stop, after saying why. */
int embedders_rows(embedder_list *l, const embedder *one, const embedder *other, embedder_row_fn fn, void *user);

#endif
