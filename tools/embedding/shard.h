/* What the metadata of one run of `reid embed --shard` says: enough to tell whether shards belong together, and to
   write the metadata of all of them. */
#ifndef REID_TOOLS_SHARD_H
#define REID_TOOLS_SHARD_H

#include "embedding/output_meta.h"

typedef struct shard {
    const char *path;    /* of its rows */
    output_request made; /* with shard and shards; the names are those below */
    text boxes, category, jpeg, weights[MAX_MODELS];
    models makers;       /* what is known about them; no handles */
    output_facts facts;  /* without list, and ids are empty */
    double rows, failed, inputs, dim; /* as it says; facts has what was found */
} shard;

/* Reads the metadata beside path. Returns 0 with the reason in why, which names the metadata's file. The shard is the
   caller's to free in any case. */
int shard_read(shard *s, const char *path, text *why);
void shard_free(shard *s);

/* Its place among the inputs of all shards: those from first to end-1. */
void shard_slice(const shard *s, size_t *first, size_t *end);
/* NULL, or what differs between two that cannot be shards of one list: a few words that fit behind "has". */
const char *shard_differs(const shard *a, const shard *b);

#endif
