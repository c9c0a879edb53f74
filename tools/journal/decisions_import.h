/* Decisions of one journal into another: those of a page that was written by reid review --html come back this way. */
#ifndef REID_TOOLS_DECISIONS_IMPORT_H
#define REID_TOOLS_DECISIONS_IMPORT_H

#include "journal/decisions.h"

typedef struct import_result {
    size_t added, known; /* lines; known: the journal had the same one */
} import_result;

/* Adds the lines of `from`, in their order, each on disk before the next. A line that says the same (of the same crops,
   by the same person at the same time) is not added again, so that a journal can be imported twice, or continued where
   it stopped. An undo is of the line that its target has become. 1; 0 or -1 as decisions_append, with the line of
   `from` and the reason in why: the lines before it have been added. */
int decisions_import(decisions *to, const decision_list *from, import_result *result, text *why);

#endif
