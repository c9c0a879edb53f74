/* Joins the shards of `reid embed --shard` into the files of one run. */
#ifndef REID_TOOLS_MERGE_H
#define REID_TOOLS_MERGE_H

#include <stddef.h>

typedef struct merge_request {
    char *const *shards; /* files of rows, in any order */
    int count;
    const char *output;
} merge_request;

typedef struct merge_result {
    size_t rows, inputs, failed;
    int dim;
} merge_result;

/* Checks that these are all shards of one list, each given once, and joins them. Returns 0 after reporting an error, or
   after a signal; nothing is written then. */
int merge_shards(const merge_request *r, merge_result *result);

#endif
