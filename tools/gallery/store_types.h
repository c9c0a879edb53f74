/* The types of a gallery in a file; gallery_store.h describes the format. */
#ifndef REID_TOOLS_STORE_TYPES_H
#define REID_TOOLS_STORE_TYPES_H

#include "reid.h"

#include <stddef.h>
#include <stdint.h>

enum { STORE_MODELS = 2, STORE_MAX_DIM = 65536, STORE_MAX_TEXT = 65535, STORE_WHY = 1024 };
enum { STORE_DECODERS = 4, STORE_DECODER = 32, STORE_JPEG = STORE_DECODERS * (STORE_DECODER + 1) };
#define STORE_NO_TIME INT64_MIN

/* A model that made the embeddings; texts end with a 0. */
typedef struct store_model {
    char fingerprint[33], network[REID_NETWORK_NAME], preset[33], precision[9];
    int dim;
} store_model;

typedef struct store_meta {
    store_model model[STORE_MODELS];
    int models, dim, halves; /* dim: of all models together */
    double threshold;        /* NAN: none */
    char jpeg[STORE_JPEG];   /* decoders of the JPEG files behind the templates, as far as they are known: names in
                                order with ", " between them; "": unknown */
} store_meta;

/* One template. Texts may hold any byte but 0; "" stands for an unknown camera or source. */
typedef struct store_item {
    const char *id, *identity, *camera, *source; /* source: the path of its image */
    int64_t time;                                /* milliseconds since 1970 in UTC, or STORE_NO_TIME */
    uint64_t source_size, source_hash;           /* of the image file, see store_hash_file; 0, 0: unknown */
} store_item;

typedef struct gallery_store gallery_store;

/* Callbacks of the calling program. The pointer and each function may be NULL. */
typedef struct store_host {
    void (*waiting)(const char *path); /* called once when a writer has to wait for another one */
    int (*stopped)(void);              /* called now and then; returns 1 to give up */
} store_host;

/* Called for each damage, in the order of the file. */
typedef void (*store_damage_fn)(const char *text, void *user);
typedef struct store_report {
    size_t records, damaged, templates; /* templates: not removed, as far as they can be read */
    uint64_t bytes, unused;             /* of the file; after its end mark */
    int version;                        /* of the format; 0: unknown */
} store_report;

#endif
