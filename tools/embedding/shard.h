/* The metadata of one run of `reid embed --shard`: enough to check whether shards belong together, and to write the
   metadata of all of them. */
#ifndef REID_TOOLS_SHARD_H
#define REID_TOOLS_SHARD_H

#include "embedding/output_meta.h"

typedef struct shard {
    const char *path;    /* the file of its rows */
    output_request made; /* includes shard and shards; its strings point to those below */
    text boxes, category, jpeg, weights[MAX_MODELS];
    models makers;       /* from the metadata; without handles */
    output_facts facts;  /* without a list; ids are empty */
    double rows, failed, inputs, dim; /* from the metadata; facts has what was counted */
} shard;

/* Reads the metadata file next to path. Returns 0 with the reason in why, which names the metadata file. The caller
   frees the shard in any case. */
int shard_read(shard *s, const char *path, text *why);
void shard_free(shard *s);

/* Sets the shard's inputs among those of all shards: first to end-1. */
void shard_slice(const shard *s, size_t *first, size_t *end);
/* NULL, or what differs between two that cannot be shards of one list, in a few words that fit between "has" and
   "than". */
const char *shard_differs(const shard *a, const shard *b);

#endif
