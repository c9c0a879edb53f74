/* What made embeddings: fingerprints and sizes, from models, a file or a gallery, and whether two of them agree. */
#ifndef REID_TOOLS_MAKERS_H
#define REID_TOOLS_MAKERS_H

#include "embedding/models.h"
#include "gallery/gallery_store.h"

/* threshold, halves and jpeg are left alone. */
void makers_of_models(const models *all, store_meta *out);

/* 1 when rows of the one can be compared with rows of the other; else 0 after saying why. theirs made what lies at
   `path`. `all`: the models behind ours, NULL when it is the gallery called `owner`. */
int makers_agree(const store_meta *theirs, const char *path, const store_meta *ours, const models *all,
                 const char *owner);

/* Warns where the decoders of JPEG files are both known ("" is not) and are two; path and owner are as above, and owner
   may be NULL for the pictures of this command. */
void makers_note_decoders(const char *theirs, const char *path, const char *ours, const char *owner);

/* Warns where what lies at `path` is the work of several decoders and is compared with itself. */
void makers_note_mixture(const char *theirs, const char *path);

/* Every part of a row has length 1: it can only come from a model. Else 0 with the reason in why. */
int row_is_unit(const store_meta *makers, const float *row, text *why);

#endif
