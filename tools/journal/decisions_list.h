/* The lines of a journal of decisions, in their order, read strictly. decisions.h explains torn ends. */
#ifndef REID_TOOLS_DECISIONS_LIST_H
#define REID_TOOLS_DECISIONS_LIST_H

#include "journal/decisions_line.h"

typedef struct decision_list {
    decision *at; /* at[i].seq is i + 1 */
    size_t count, cap;
} decision_list;

/* Appends next and takes ownership of it, even on failure. Returns 0 with the reason in why: a wrong seq, an undo of a
   line that cannot be undone, or no memory. */
int decision_list_add(decision_list *d, decision *next, text *why);
/* Removes the last decision. */
void decision_list_drop(decision_list *d);
/* Adds the lines in the next len bytes of a journal. *used: how many of the bytes were whole lines that are now in the
   list; the rest is a torn end. Returns 0 with the reason, which begins with the line number, in why; the lines before
   that one have been added. */
int decision_list_lines(decision_list *d, const char *bytes, size_t len, size_t *used, text *why);
/* Reads a whole journal that was made elsewhere; here a torn end is an error, too. A 0 must follow the bytes. Returns 0
   with the reason in why; free d in any case. */
int decision_list_read(decision_list *d, const char *bytes, size_t len, text *why);
void decision_list_free(decision_list *d);

#endif
