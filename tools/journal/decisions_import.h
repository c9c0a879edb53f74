/* Imports decisions from another journal, for example those made in a page that reid review --html wrote. */
#ifndef REID_TOOLS_DECISIONS_IMPORT_H
#define REID_TOOLS_DECISIONS_IMPORT_H

#include "journal/decisions.h"

typedef struct import_result {
    size_t added, known; /* lines; known: the journal already had them */
} import_result;

/* Adds the lines of `from`, in their order; each is on disk before the next. A line with the same content (same crops,
   person and time) is not added again, so a journal can be imported twice, and an interrupted import can be repeated.
   An undo refers to the imported copy of its target. Returns 1, or 0 or -1 like decisions_append with the line number
   in `from` and the reason in why; the lines before it have been added. */
int decisions_import(decisions *to, const decision_list *from, import_result *result, text *why);

#endif
