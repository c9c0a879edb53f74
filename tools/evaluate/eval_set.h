/* Pictures with embeddings and labels: what `reid eval` and `reid calibrate` work on. */
#ifndef REID_TOOLS_EVAL_SET_H
#define REID_TOOLS_EVAL_SET_H

#include "embedding/stream.h"
#include "evaluate/eval_labels.h"
#include "gallery/gallery_file.h"
#include "reid.h"

typedef struct eval_image {
    const labelled *label;
    size_t picture;          /* the same number for the same id: a picture is never compared with itself */
    size_t identity, camera; /* camera: SIZE_MAX when it is not known */
} eval_image;

typedef struct eval_set {
    eval_image *at;
    float *rows; /* count × dim */
    size_t count, dim, identities, cameras;
    size_t queries, gallery; /* queries are 0 … queries-1, the gallery is gallery … count-1; they may overlap */
    store_meta makers;
    char device[MAX_MODELS][16]; /* that computed them; "" when a file does not say */
    int every_camera; /* each picture's camera is known */
    label_set labels;
    size_t failed;     /* labelled pictures without an embedding; each was named */
    size_t unlabelled; /* embeddings without a label */
} eval_set;

/* Rows of pictures by other means than embeddings: `run` hands one of dim floats, or the reason why there is none, to
   take for each input in order. It returns 0 after saying what is wrong, or without a word when interrupted(). */
typedef struct eval_source {
    size_t dim;
    const store_meta *makers;
    int (*run)(void *user, const inputs *list, const decode_settings *how, stream_fn take, void *to);
    void *user;
} eval_source;

/* What is to be opened. */
typedef struct eval_request {
    char *const *operands;   /* at most one folder; files of embeddings: one, or two (queries, gallery) */
    int operand_count;
    const char *labels;      /* a table of labels, or NULL */
    const char *unknown;     /* what strangers are called; NULL: nobody is one */
    int strict;              /* the first picture that fails ends it */
    const reid_desc *models; /* when there is no file of embeddings */
    int model_count;
    decode_settings decode;
    const eval_source *source; /* in place of models; NULL: none */
    int raw;                   /* files hold raw embeddings */
} eval_request;

/* Embeddings come from the files of them among the operands, else from the models. Labels are those given, which the
   set then owns; given = NULL: from the table, else from the folder among the operands, else from the ids. Returns 0
   after saying what is wrong, or without a word when interrupted(), with *status the exit status of a command; free it
   in any case. */
int eval_set_open(eval_set *set, const eval_request *r, label_set *given, int *status);

/* The folder among the operands, from which paths in tables start; NULL: there is none. */
const char *eval_set_folder(const eval_request *r);
void eval_set_free(eval_set *set);

#endif
