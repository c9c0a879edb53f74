/* By which models a gallery in PostgreSQL is and was embedded, and what reid gallery reembed did about that, in words
   and as JSON. */
#ifndef REID_TOOLS_REEMBED_REPORT_H
#define REID_TOOLS_REEMBED_REPORT_H

#include "base/text.h"
#include "gallery/embedders.h"
#include "gallery/reembed.h"

/* They read failures from the gallery: return 0 after saying why that cannot be. */
int reembed_status_lines(embedder_list *l, text *t);
int reembed_status_json(embedder_list *l, text *t);

/* What a worker has made, and what is there in the end, whoever made it. */
void reembed_done_line(const reembed_counts *c, size_t made, size_t failed, text *t);
void reembed_done_json(const reembed_counts *c, size_t made, size_t failed, text *t);

/* The embedder of this name is what: now, dropped. */
void reembed_change_line(const char *what, const char *name, text *t);
void reembed_change_json(const char *what, const char *name, text *t);

#endif
