/* The results of the gallery commands, as text and as a line of JSON: pairs of functions with the same arguments. */
#ifndef REID_TOOLS_GALLERY_REPORT_H
#define REID_TOOLS_GALLERY_REPORT_H

#include "base/text.h"
#include "gallery/push.h"
#include "gallery/templates.h"

/* A template in columns separated by tabs; tabs in names are escaped. */
void gallery_item_line(const store_item *item, text *t);
void gallery_item_json(const store_item *item, text *t);

void gallery_identity_line(const char *name, size_t count, text *t);
void gallery_identity_json(const char *name, size_t count, text *t);

void gallery_removed_line(size_t removed, text *t);
void gallery_removed_json(size_t removed, text *t);

/* The result of templates_verify. */
typedef struct gallery_check {
    const char *place;
    const store_report *report;
    const store_meta *meta;
    const text *damage; /* lines */
} gallery_check;

void gallery_check_lines(const gallery_check *c, text *t);
void gallery_check_json(const gallery_check *c, text *t);

void gallery_compacted_line(const compacted *done, text *t);
void gallery_compacted_json(const compacted *done, text *t);

void gallery_push_line(const push_report *r, text *t);
void gallery_push_json(const push_report *r, text *t);

void gallery_pull_line(size_t pulled, double seconds, text *t);
void gallery_pull_json(size_t pulled, double seconds, text *t);

#endif
