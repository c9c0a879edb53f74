/* The models that a gallery in PostgreSQL is and was embedded with, and the results of reid gallery reembed, as text
   and as JSON. */
#ifndef REID_TOOLS_REEMBED_REPORT_H
#define REID_TOOLS_REEMBED_REPORT_H

#include "base/text.h"
#include "gallery/embedders.h"
#include "gallery/reembed.h"

/* These two read failures from the gallery. They return 0 after reporting an error. */
int reembed_status_lines(embedder_list *l, text *t);
int reembed_status_json(embedder_list *l, text *t);

/* The rows that this worker has computed, and all rows of all workers at the end. */
void reembed_done_line(const reembed_counts *c, size_t made, size_t failed, text *t);
void reembed_done_json(const reembed_counts *c, size_t made, size_t failed, text *t);

/* Reports a change of the embedder of this name; what: "now" or "dropped". */
void reembed_change_line(const char *what, const char *name, text *t);
void reembed_change_json(const char *what, const char *name, text *t);

#endif
