/* Decisions in a gallery's database: the lines of a journal (decisions_line.h) as rows of reid.decision, whose key is
   the line number. A writer tries to insert the number after the last line it knows. If another process has taken the
   number, it reads the new lines and tries again. So nothing is locked between statements, and each line is a
   transaction of its own. */
#ifndef REID_TOOLS_DECISIONS_TABLE_H
#define REID_TOOLS_DECISIONS_TABLE_H

#include "journal/decisions_list.h"

typedef struct decisions_table decisions_table;

/* Returns NULL with the reason in why if there is no gallery at url, or if `writes` is set but adding is not
   allowed. */
decisions_table *decisions_table_open(const char *url, int writes, text *why);
/* NULL is allowed. */
void decisions_table_close(decisions_table *t);

/* Reads the lines after those in list, which must contain every line that was read or added through t. Returns 0 with
   the reason in why; the lines before the faulty one have been added. */
int decisions_table_read(decisions_table *t, decision_list *list, text *why);

/* Adds the line with this number. 1: it is stored, even if the connection was lost in the meantime. 0: it is not
   stored, or it is unknown whether it is, with the reason in why. -1: another line has this number. */
int decisions_table_add(decisions_table *t, long long seq, const text *line, text *why);

#endif
