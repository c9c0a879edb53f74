/* The facts about an embeddings file: OUT.meta.json, the ids, and the key by which --resume recognises its own file. */
#ifndef REID_TOOLS_OUTPUT_META_H
#define REID_TOOLS_OUTPUT_META_H

#include "embedding/models.h"
#include "pictures/inputs.h"

/* How the rows are computed, besides the models; output.h has the rest. */
typedef struct output_request {
    const char *path;         /* NULL or "-": JSON lines on stdout */
    int resume, strict;       /* strict: no file appears before everything has succeeded */
    int shard, shards;        /* 0: not divided */
    int flip, raw;            /* the models' settings */
    long long max_pixels;
    const char *boxes, *category; /* NULL: whole images; all categories */
    double min_conf;              /* NAN: any confidence */
    const char *jpeg;             /* jpeg_decoder_name; NULL: no image file is decoded */
} output_request;

typedef struct output_facts {
    const models *all;
    const inputs *list;
    size_t first, end, rows, failed;
    size_t listed;                  /* inputs of all shards together ... */
    uint64_t hash;                  /* ... and a hash of their list */
    text ids, identities, failures; /* lines; JSON elements; JSON elements */
} output_facts;

/* Sets first ... end-1 to slice I of N of a list; the slices in order make up the list. shards 0: all of it. */
void output_slice(size_t count, int shard, int shards, size_t *first, size_t *end);

void output_facts_begin(output_facts *f, const models *all, const inputs *list, size_t first, size_t end);
void output_facts_row(output_facts *f, const input *in);
void output_facts_failure(output_facts *f, const char *id, const char *why);
/* Adds a row's identity; the caller keeps the row's id. */
void output_facts_identity(output_facts *f, const char *identity);
void output_facts_free(output_facts *f);
/* 0 if memory ran out for any of the texts. */
int output_facts_whole(const output_facts *f);

/* One line that differs whenever the rows could differ. */
void output_meta_key(const output_facts *f, const output_request *o, text *line);
void output_meta_json(const output_facts *f, const output_request *o, text *out);

#endif
