/* Changes to a gallery file. */
#ifndef REID_TOOLS_STORE_APPEND_H
#define REID_TOOLS_STORE_APPEND_H

#include "gallery/store_types.h"

/* row: dim finite values, float or IEEE half (uint16_t) as the gallery keeps them. An id that is already in the gallery
   is refused, and the gallery can still be used. */
int store_add(gallery_store *s, const store_item *item, const void *row, char why[STORE_WHY]);
int store_remove(gallery_store *s, const char *id, char why[STORE_WHY]);
int store_set_threshold(gallery_store *s, double threshold, char why[STORE_WHY]);
/* Notes the decoders of the JPEG files that added templates may come from; names as in store_join_decoders. */
int store_add_decoders(gallery_store *s, const char *names, char why[STORE_WHY]);
/* Everything since the last commit is on disk when this returns 1. When it returns 0, the gallery is as it was before;
   only if writing the new end mark and then restoring the old one both fail may readers see the whole commit. */
int store_commit(gallery_store *s, char why[STORE_WHY]);

/* Begins a record, after a copy of the header where one is due, and returns its payload for the caller to fill. NULL
   with a reason. */
unsigned char *store_begin_record(gallery_store *s, uint32_t type, size_t size, char why[STORE_WHY]);
void store_end_record(gallery_store *s);

#endif
