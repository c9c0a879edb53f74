/* Labels of images: identity, camera, and whether an image is a query or part of the gallery. They come from the
   layouts of the usual data sets, a folder per identity, or a table. */
#ifndef REID_TOOLS_EVAL_LABELS_H
#define REID_TOOLS_EVAL_LABELS_H

#include "base/text.h"

typedef struct labelled {
    char *id;       /* path of the image, or the row's id */
    char *identity;
    char *camera;   /* NULL: unknown */
    int query, gallery;
    int distractor; /* shows no known identity (0000 in a name): only a possible wrong answer in the gallery */
} labelled;

typedef struct label_set {
    labelled *at;
    size_t count, cap;
    const char *layout; /* the detected layout, in words */
    size_t junk;        /* images with identity -1 in their name, left out as the data set's authors require */
    size_t elsewhere;   /* ids that are neither query nor gallery, left out */
} label_set;

/* All return 0 after reporting an error; free the set in any case. */

/* A data set: Market-1501 or DukeMTMC-reID (query/ and bounding_box_test/, names as 0001_c1…), MSMT17 (list_query.txt
   and list_gallery.txt), query/ and gallery/ with a folder per identity in each, or a folder per identity. */
int labels_of_folder(label_set *set, const char *folder);
/* What a file of embeddings contains about a row; camera: "" if unknown. */
typedef struct known_row {
    const char *id, *identity, *camera;
} known_row;

/* Takes labels from rows alone; their ids may be paths of a data set. */
int labels_of_ids(label_set *set, const known_row *rows, size_t count);
/* Takes labels from the rows of two files: the first `queries` rows are the queries, the others the gallery. */
int labels_of_two(label_set *set, const known_row *rows, size_t queries, size_t count);

/* Appends an image without a role and returns it; NULL after reporting that memory ran out. */
labelled *labels_add(label_set *set, const char *id, const char *identity, size_t identity_len);
/* Replaces the contents of `to` by "folder/name"; check text_failed afterwards. */
void labels_join(text *to, const char *folder, const char *name);
/* Returns 0 after saying that there are no images. */
int labels_any_left(const label_set *set, const char *where);

/* Warns if an identity has a name that people give to a folder of strangers, such as "unknown", because it counts as
   one individual unless --unknown is given. Returns 1 if it has warned. */
int warn_of_strangers(const char *identity);

/* Marks all images with this identity as strangers; those that are query and gallery remain only in the gallery.
   unknown = NULL: there are no strangers, and names like "unknown" cause a warning. Returns 0 after saying that no
   image has this identity, or that all have it. */
int labels_strangers(label_set *set, const char *unknown);

/* Sorts images: those that are only queries, then those that are both, then those that are only in the gallery, and
   otherwise in their order. So queries and gallery are contiguous. Returns 0 after reporting that memory ran out. */
int labels_order_by_role(label_set *set);

void labels_free(label_set *set);

#endif
