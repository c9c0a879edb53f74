/* Decisions in a gallery's database: the lines of a journal (decisions_line.h) as rows of reid.decision, whose key is
   the number of the line. Whoever adds one takes the next number that he has not seen; of two who take the same one,
   one is told that it is taken, reads what the other has added, and tries the next. So nothing is locked between
   statements, and each line is a transaction of its own. */
#ifndef REID_TOOLS_DECISIONS_TABLE_H
#define REID_TOOLS_DECISIONS_TABLE_H

#include "journal/decisions_list.h"

typedef struct decisions_table decisions_table;

/* NULL with the reason in why: there is no gallery at url, or nothing may be added although `writes`. */
decisions_table *decisions_table_open(const char *url, int writes, text *why);
/* NULL is allowed. */
void decisions_table_close(decisions_table *t);

/* The lines behind those that list has, which must be all that were read and added through t. Returns 0 with the reason
   in why; the lines before the one that is wrong have been taken. */
int decisions_table_read(decisions_table *t, decision_list *list, text *why);

/* Adds the line with this number. 1: it is stored, also when the connection was lost meanwhile. 0: it is not, or nobody
   can tell, with the reason in why. -1: another line has this number. */
int decisions_table_add(decisions_table *t, long long seq, const text *line, text *why);

#endif
