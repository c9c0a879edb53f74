/* The lines of a journal of decisions, read strictly, in their order. decisions.h says what a torn end is. */
#ifndef REID_TOOLS_DECISIONS_LIST_H
#define REID_TOOLS_DECISIONS_LIST_H

#include "journal/decisions_line.h"

typedef struct decision_list {
    decision *at; /* at[i].seq is i + 1 */
    size_t count, cap;
} decision_list;

/* Takes next over, also when the list cannot have it: a wrong seq, an undo of what cannot be undone, no memory. Returns
   0 with the reason in why. */
int decision_list_add(decision_list *d, decision *next, text *why);
/* Takes the last one off again. */
void decision_list_drop(decision_list *d);
/* The lines in len bytes, which follow those that were read. *used: how many of the bytes are whole lines that the list
   has; those behind them are a torn end. Returns 0 with the reason, which begins with the line's number, in why; the
   lines before that one have been taken. */
int decision_list_lines(decision_list *d, const char *bytes, size_t len, size_t *used, text *why);
/* A whole journal that comes from elsewhere: a torn end is an error, too. A 0 follows the bytes. Returns 0 with the
   reason in why; free d in any case. */
int decision_list_read(decision_list *d, const char *bytes, size_t len, text *why);
void decision_list_free(decision_list *d);

#endif
