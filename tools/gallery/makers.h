/* The models that made embeddings: their fingerprints and sizes, from loaded models, a file or a gallery; and
   comparisons of them. */
#ifndef REID_TOOLS_MAKERS_H
#define REID_TOOLS_MAKERS_H

#include "embedding/models.h"
#include "gallery/gallery_store.h"

/* Fills in the models; leaves threshold, halves and jpeg unchanged. */
void makers_of_models(const models *all, store_meta *out);

/* 1 if rows by theirs and by ours can be compared: the same models in the same order, with as many values from each;
   else 0 after saying why. theirs made the rows in `path`. `all`: the loaded models that ours describes; NULL: ours
   made the gallery called `owner`. */
int makers_agree(const store_meta *theirs, const char *path, const store_meta *ours, const models *all,
                 const char *owner);

/* The reason why crops by these models may lack identities, to be appended to a message; "" if it is unknown. */
const char *makers_nameless(const store_meta *makers);

/* Warns when the JPEG decoders of both sides are known ("": unknown) and differ. path and owner are as in makers_agree;
   owner may be NULL for the images of this command. */
void makers_note_decoders(const char *theirs, const char *path, const char *ours, const char *owner);

/* Warns when the images behind `path`, which are compared with each other, were decoded by several decoders. */
void makers_note_mixture(const char *theirs, const char *path);

/* 1 if every model's part of a row has length 1, as models make it; else 0 with the reason in why. */
int row_is_unit(const store_meta *makers, const float *row, text *why);

#endif
