/* Reads all records of a gallery file into its entries. */
#ifndef REID_TOOLS_STORE_WALK_H
#define REID_TOOLS_STORE_WALK_H

#include "gallery/store_entries.h"

/* Reads all records. Without fn it stops at the first damage; with fn, it calls fn for each damage and reads the rest.
   Returns 0 with the reason in why. */
int store_walk(gallery_store *s, store_damage_fn fn, void *user, store_report *report, char why[STORE_WHY]);

#endif
