/* Images with embeddings and labels, for `reid eval` and `reid calibrate`. */
#ifndef REID_TOOLS_EVAL_SET_H
#define REID_TOOLS_EVAL_SET_H

#include "embedding/stream.h"
#include "evaluate/eval_labels.h"
#include "gallery/gallery_file.h"
#include "reid.h"

typedef struct eval_image {
    const labelled *label;
    size_t picture;          /* equal for equal ids, so that an image is never compared with itself */
    size_t identity, camera; /* camera: SIZE_MAX if unknown */
} eval_image;

typedef struct eval_set {
    eval_image *at;
    float *rows; /* count × dim */
    size_t count, dim, identities, cameras;
    size_t queries, gallery; /* queries are 0 … queries-1, the gallery is gallery … count-1; they may overlap */
    store_meta makers;
    char device[MAX_MODELS][16]; /* the device that computed them; "" if a file does not name it */
    int every_camera; /* each image's camera is known */
    label_set labels;
    size_t failed;     /* labelled images without an embedding; each was reported */
    size_t unlabelled; /* embeddings without a label */
} eval_set;

/* A source of rows other than models. For each input in order, `run` passes a row of dim floats, or the reason why
   there is none, to `take`. It returns 0 after reporting an error, or silently if interrupted(). */
typedef struct eval_source {
    size_t dim;
    const store_meta *makers;
    int (*run)(void *user, const inputs *list, const decode_settings *how, stream_fn take, void *to);
    void *user;
} eval_source;

typedef struct eval_request {
    char *const *operands;   /* at most one folder; embeddings files: one, or two (queries, gallery) */
    int operand_count;
    const char *labels;      /* a table of labels, or NULL */
    const char *unknown;     /* the identity of strangers; NULL: there are no strangers */
    int strict;              /* stop at the first image that fails */
    const reid_desc *models; /* used when there is no embeddings file */
    int model_count;
    decode_settings decode;
    const eval_source *source; /* instead of models; NULL: none */
    int raw;                   /* files contain raw embeddings */
    const char *ways;          /* options that give identities, for a message; NULL: --labels FILE.csv */
} eval_request;

/* Embeddings come from the embeddings files among the operands, else from the models. Labels come from `given`, which
   the set then owns; if it is NULL, from the table, else from the folder among the operands, else from the ids. Returns
   0 after reporting an error, or silently if interrupted(), with *status the exit status of a command; free it in any
   case. */
int eval_set_open(eval_set *set, const eval_request *r, label_set *given, int *status);

/* The folder among the operands, to which paths in tables are relative; NULL: there is none. */
const char *eval_set_folder(const eval_request *r);
void eval_set_free(eval_set *set);

#endif
