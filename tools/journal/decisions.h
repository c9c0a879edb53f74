/* decisions.jsonl: the decisions of people about crops, one per line (decisions_line.h). Lines are only ever added; a
   decision is taken back by a new line. Several processes may write at the same time, and each may be killed at any
   moment: no line is lost that decisions_append has acknowledged.

   A writer holds flock(LOCK_EX) on the file while it reads what others have added, adds one line with one write(2) and
   calls fsync. Readers hold LOCK_SH while they read. The end of the file is torn when
     - any bytes, at most DECISION_LINE, follow the last newline: they were never acknowledged, or
     - the last line has its newline, but its checksum is wrong or missing.
   Readers ignore a torn end. The next writer that adds a line first appends the torn end to FILE.torn, syncs that and
   then cuts the end off; if it is killed in between, the next writer repeats this. Any other error, before the last
   line or in a last line with a correct checksum, is reported with its line number: no line is skipped.

   The file must be a regular one with a single name: a symbolic link, a file with several hard links, and one that
   everybody may write to are refused, also for reading. A new file gets its mode from the umask, but is never writable
   by everybody. If other programs replace or shorten it while it is open, this is detected and refused.

   Instead of a file, path may be the postgresql://… address of a gallery's database, which stores the same lines as
   rows of a table (decisions_table.h). A table is never torn. */
#ifndef REID_TOOLS_DECISIONS_H
#define REID_TOOLS_DECISIONS_H

#include "journal/decisions_list.h"
#include "journal/decisions_table.h"

#include <stdint.h>

typedef struct decisions {
    decision_list list;
    char *path;             /* or the address of a database */
    decisions_table *table; /* of a database; NULL: it is a file */
    int fd;        /* -1: there is no file, which means no decisions */
    int writes;
    uint64_t read; /* bytes of whole lines that are in the list */
    size_t torn;   /* bytes of the torn end after them */
} decisions;

/* Reads the journal. If the file does not exist, it is created if `writes` is set, and otherwise counts as empty.
   Returns 0 with the reason in why; close it in any case. Not for two threads at a time. */
int decisions_open(decisions *d, const char *path, int writes, text *why);
/* Reads what others have added since. Returns 0 with the reason in why; the lines read before are kept. */
int decisions_refresh(decisions *d, text *why);

/* Warns of a torn end, if there is one; path: the file's name for the message. */
void decisions_warn_torn(const decisions *d, const char *path);

/* Adds a decision; the caller fills in kind and its fields, by, when and models. The function assigns seq, which equals
   d->list.count afterwards. It first reads what others have added. Returns 1 if the line is on disk; 0 if it is not,
   with the reason in why; -1 if the decision is refused, with the reason in why, because it is malformed, undoes a line
   that cannot be undone, or contradicts decisions in force (decisions_state.h). */
int decisions_append(decisions *d, const decision *what, text *why);
void decisions_close(decisions *d);

#endif
