/* Who is in a picture, which camera took it, and is it a query or part of the gallery: from the layouts of the usual
   data sets, a folder per identity, or a table. */
#ifndef REID_TOOLS_EVAL_LABELS_H
#define REID_TOOLS_EVAL_LABELS_H

#include "base/text.h"

typedef struct labelled {
    char *id;       /* path of the picture, or the row's id */
    char *identity;
    char *camera;   /* NULL: not known */
    int query, gallery;
    int distractor; /* nobody in particular (0000 in a name): in the gallery only to be wrong */
} labelled;

typedef struct label_set {
    labelled *at;
    size_t count, cap;
    const char *layout; /* what it was taken for, in words */
    size_t junk;        /* pictures with identity -1 in their name, left out as their authors want it */
    size_t elsewhere;   /* ids that are neither query nor gallery, left out */
} label_set;

/* All return 0 after saying what is wrong; free the set in any case. */

/* A data set: Market-1501 or DukeMTMC-reID (query/ and bounding_box_test/, names as 0001_c1…), MSMT17 (list_query.txt
   and list_gallery.txt), query/ and gallery/ with a folder per identity in each, or a folder per identity. */
int labels_of_folder(label_set *set, const char *folder);
/* What a file of embeddings knows about a row; camera: "" when it does not. */
typedef struct known_row {
    const char *id, *identity, *camera;
} known_row;

/* The same from rows alone: their ids may be paths of a data set. */
int labels_of_ids(label_set *set, const known_row *rows, size_t count);
/* Of two files: the first `queries` rows are the queries, the others the gallery. */
int labels_of_two(label_set *set, const known_row *rows, size_t queries, size_t count);

/* Appends a picture without a role and returns it; NULL after saying that there is no memory. */
labelled *labels_add(label_set *set, const char *id, const char *identity, size_t identity_len);
/* "folder/name" in place of what `to` holds, which may fail for want of memory. */
void labels_join(text *to, const char *folder, const char *name);
/* Returns 0 after saying that there are no pictures. */
int labels_any_left(const label_set *set, const char *where);

/* Warns where an identity is called as people call a folder of strangers: it is one individual like all others,
   unless --unknown says otherwise. Returns 1 when it has warned. */
int warn_of_strangers(const char *identity);

/* Whoever has this identity is a stranger, and no query where it is also part of the gallery; unknown NULL: nobody is,
   and an identity that is called "unknown" is warned about. Returns 0 after saying that nobody has it, or that all
   have. */
int labels_strangers(label_set *set, const char *unknown);

/* Pictures that are only queries first, then those that are both, then those of the gallery alone; else in their order.
   Queries and gallery are then one stretch each. Returns 0 after saying that there is no memory. */
int labels_order_by_role(label_set *set);

void labels_free(label_set *set);

#endif
