/* The facts about an embeddings file: OUT.meta.json, the ids, and the key by which --resume recognises its own file. */
#ifndef REID_TOOLS_OUTPUT_META_H
#define REID_TOOLS_OUTPUT_META_H

#include "embedding/models.h"
#include "pictures/inputs.h"

/* Two tracks, by their names. */
typedef struct track_pair {
    const char *a, *b;
} track_pair;

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
    const track_pair *apart;      /* [apart_count]: tracks that show different individuals */
    size_t apart_count;
    const double *weights;        /* [models]: shares in a score that were chosen for these rows; NULL: none */
    const double *threshold;      /* that was chosen for these rows; NULL: none */
    const char *source_root;      /* source_root.h; NULL: sources are not relative, or unknown */
} output_request;

/* What is known of each row, as arrays in the metadata. An array is left out if nothing is known of any row, except for
   the identities. Unknown values are "", or null for numbers, which come last: scores, and boxes in the row's track. */
typedef enum row_fact {
    FACT_IDENTITY, FACT_CAMERA, FACT_TIME, FACT_SOURCE, FACT_TRACK, FACT_SCORE, FACT_BOXES, ROW_FACTS,
    ROW_FACT_NUMBERS = FACT_SCORE
} row_fact;
extern const char *const ROW_FACT_NAMES[ROW_FACTS];

typedef struct output_facts {
    const models *all;
    const inputs *list;
    size_t first, end, rows, failed;
    size_t listed;                  /* inputs of all shards together ... */
    uint64_t hash;                  /* ... and a hash of their list */
    text ids, failures;             /* lines; JSON elements */
    text column[ROW_FACTS];         /* JSON elements, one a row */
    size_t known[ROW_FACTS];        /* rows of which the fact is known */
    size_t count[ROW_FACTS];        /* elements of column; only a shard that is read may have fewer than rows */
} output_facts;

/* Sets first ... end-1 to slice I of N of a list; the slices in order make up the list. shards 0: all of it. */
void output_slice(size_t count, int shard, int shards, size_t *first, size_t *end);

void output_facts_begin(output_facts *f, const models *all, const inputs *list, size_t first, size_t end);
void output_facts_row(output_facts *f, const input *in);
void output_facts_failure(output_facts *f, const char *id, const char *why);
/* Adds the next row's value to a column, without counting the row. value: "" if unknown. */
void output_facts_add(output_facts *f, row_fact which, const char *value);
/* Appends the rows and failures of `from` to those of f; the caller joins the ids. */
void output_facts_join(output_facts *f, const output_facts *from);
void output_facts_free(output_facts *f);
/* 0 if memory ran out for any of the texts. */
int output_facts_whole(const output_facts *f);

/* One line that differs whenever the rows could differ. */
void output_meta_key(const output_facts *f, const output_request *o, text *line);
void output_meta_json(const output_facts *f, const output_request *o, text *out);

#endif
