/* Opens and locks a gallery file; reads and writes its header and end marks. */
#ifndef REID_TOOLS_STORE_HEAD_H
#define REID_TOOLS_STORE_HEAD_H

#include "gallery/store_entries.h"

/* Opens the file. A writer locks it, and opens it again if its name leads to another file by then. */
int store_open(gallery_store *s, int writer, char why[STORE_WHY]);
/* salvage: any copy of the header is enough, and without a readable end mark all records are read. */
int store_read_head(gallery_store *s, int salvage, char why[STORE_WHY]);
/* Writes headers and end marks of a file without records. */
int store_write_head(int fd, const store_meta *meta, char why[STORE_WHY]);
/* Writes the end mark of this sequence over the older of the two. */
int store_write_mark(int fd, uint64_t sequence, uint64_t end, uint64_t records, char why[STORE_WHY]);

#endif
