/* What a writer of a gallery does. */
#ifndef REID_TOOLS_STORE_APPEND_H
#define REID_TOOLS_STORE_APPEND_H

#include "gallery/store_types.h"

/* row: dim finite values, float or IEEE half (uint16_t) as the gallery keeps them. An id that is in the gallery is
   refused, and the gallery can still be used. */
int store_add(gallery_store *s, const store_item *item, const void *row, char why[STORE_WHY]);
int store_remove(gallery_store *s, const char *id, char why[STORE_WHY]);
int store_set_threshold(gallery_store *s, double threshold, char why[STORE_WHY]);
/* What is added may come from JPEG files that were decoded by these, as store_join_decoders takes them. */
int store_add_decoders(gallery_store *s, const char *names, char why[STORE_WHY]);
/* Everything since the last commit is on disk when this returns 1. When it returns 0, the gallery is what it was before
   (only if the disk refuses the new end mark and then the old one, too, all of the commit may be seen). */
int store_commit(gallery_store *s, char why[STORE_WHY]);

/* Room for the payload of a record, which the caller fills, after a copy of the header where one is due. NULL with a
   reason. */
unsigned char *store_begin_record(gallery_store *s, uint32_t type, size_t size, char why[STORE_WHY]);
void store_end_record(gallery_store *s);

#endif
