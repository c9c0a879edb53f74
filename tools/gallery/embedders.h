/* The embedders of a gallery in PostgreSQL: the models that embed its templates now, did before, or could. The
   functions return 0 or NULL after reporting an error. */
#ifndef REID_TOOLS_EMBEDDERS_H
#define REID_TOOLS_EMBEDDERS_H

#include "gallery/gallery_store.h"

typedef enum embedder_role { EMBEDDER_NOW, EMBEDDER_BEFORE, EMBEDDER_OTHER } embedder_role;

typedef struct embedder {
    int id;
    embedder_role role;
    store_meta makers;                     /* with its threshold and decoders of JPEG files */
    size_t rows, missing, failed, claimed; /* templates; failed and claimed ones count as missing, too */
} embedder;

typedef struct embedder_worker {
    char *name;
    int embedder;        /* its id */
    size_t made, failed;
    double silent, lease; /* seconds since its last heartbeat; seconds after which it counts as dead */
} embedder_worker;

typedef struct embedder_list {
    char *url;
    size_t templates;
    embedder *at; /* the current one first, then the previous one, then by id */
    size_t count;
    embedder_worker *worker;
    size_t workers;
    struct database *database;
    struct pq *connection; /* the database's */
} embedder_list;

/* Reads the whole list, as of one moment. counted: 0 leaves out rows and missing, which take a pass over all
   templates. */
int embedders_open(embedder_list *l, const char *url, int counted);
void embedders_close(embedder_list *l);

/* "FINGERPRINT" or "FINGERPRINT+FINGERPRINT", the name that users give. */
void embedder_name(const embedder *e, char out[2 * 33]);
/* The embedder of these models, or of that name; NULL without a message when there is none. */
const embedder *embedders_of(const embedder_list *l, const store_meta *makers);
const embedder *embedders_named(const embedder_list *l, const char *name);

/* Makes it the gallery's embedder, in one transaction that waits for writers. Refused while there are missing templates
   that no worker has tried, and, without partial, while any are missing. threshold: NAN leaves the embedder's own. */
int embedders_switch(embedder_list *l, const embedder *to, double threshold, int partial);
/* Removes an embedder that is not the gallery's, with its rows. */
int embedders_drop(embedder_list *l, const embedder *gone);

/* Called for templates that could not be embedded, in their order. Returns 0 to stop. */
typedef int (*failure_fn)(void *user, const char *id, const char *why);
int embedders_failures(embedder_list *l, const embedder *e, size_t most, failure_fn fn, void *user);

/* One template with its rows of two embedders. */
typedef struct embedder_row {
    const char *id, *identity, *camera;
    uint64_t size, hash; /* of its image file; 0, 0: unknown */
    const float *one, *other;
} embedder_row;
typedef int (*embedder_row_fn)(void *user, const embedder_row *row);

/* Calls fn for all templates with rows of both embedders, in their order, as of one moment. fn returns 0 to stop, after
   saying why. */
int embedders_rows(embedder_list *l, const embedder *one, const embedder *other, embedder_row_fn fn, void *user);

#endif
