/* A gallery's file opened, locked, and its header and end marks read and written. */
#ifndef REID_TOOLS_STORE_HEAD_H
#define REID_TOOLS_STORE_HEAD_H

#include "gallery/store_entries.h"

/* Opens the file; a writer locks it, and takes the file that has the name once it is locked. */
int store_open(gallery_store *s, int writer, char why[STORE_WHY]);
/* salvage: any copy of the header is enough, and all records are read when no end mark can be. */
int store_read_head(gallery_store *s, int salvage, char why[STORE_WHY]);
/* Headers and end marks of a file that has no records. */
int store_write_head(int fd, const store_meta *meta, char why[STORE_WHY]);
/* The end mark of this sequence: the older of the two gets the new end. */
int store_write_mark(int fd, uint64_t sequence, uint64_t end, uint64_t records, char why[STORE_WHY]);

#endif
