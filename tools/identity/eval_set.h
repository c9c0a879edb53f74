/* Pictures with embeddings and labels: what `reid eval` and `reid calibrate` work on. */
#ifndef REID_TOOLS_EVAL_SET_H
#define REID_TOOLS_EVAL_SET_H

#include "identity/eval_labels.h"
#include "gallery/gallery_file.h"
#include "cli/options.h"

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

/* Embeddings come from the files of them among the operands (one; or two: queries, gallery), else from the models of
   -m. Labels are those given, which the set then owns; given = NULL: from --labels, else from the folder among the
   operands, else from the ids. Returns 0 after saying what is wrong, with *status the exit status; free it in any
   case. */
int eval_set_open(eval_set *set, const options *o, label_set *given, int *status);

/* The folder among the operands, from which paths in tables start; NULL: there is none. */
const char *eval_set_folder(const options *o);
void eval_set_free(eval_set *set);

#endif
