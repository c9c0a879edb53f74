/* All records of a gallery's file, to its entries. */
#ifndef REID_TOOLS_STORE_WALK_H
#define REID_TOOLS_STORE_WALK_H

#include "gallery/store_entries.h"

/* Reads all records. Without fn the first damage ends it; fn hears of each, and the rest is read. Returns 0 with the
   reason in why. */
int store_walk(gallery_store *s, store_damage_fn fn, void *user, store_report *report, char why[STORE_WHY]);

#endif
