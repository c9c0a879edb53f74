/* decisions.jsonl: what people decided about crops, one line each (decisions_line.h). Lines are only ever added; taking
   one back is a new line. Several processes may write at a time, and each may be killed at any moment: what
   decisions_append has acknowledged is there.

   A writer holds flock(LOCK_EX) on the file while it reads what others have added, adds one line with one write(2) and
   calls fsync; readers hold LOCK_SH while they read. The end of the file is torn when
     - bytes follow the last newline, whatever they are: they were never acknowledged; at most DECISION_LINE of them, or
     - the last line has its newline and its checksum does not fit or is missing.
   Readers leave a torn end out. The next writer that adds a line first copies it behind what is in FILE.torn, which it
   syncs, then cuts it off; killed between, it leaves work that the next one does again. Whatever is wrong before the
   last line, or in a last line whose checksum fits, is an error that names the line: nothing is passed over.

   The file is a regular one under its own name: a symbolic link, a file with a second name, and one that everybody may
   write to are refused, by readers too. A new one gets the mode that the umask leaves, but for writing by everybody. It
   must not be replaced or cut by others while it is open; that is seen, and refused.

   Instead of a file there may be the database of a gallery, by its postgresql://…, which holds the same lines as rows
   of a table (decisions_table.h); then nothing is ever torn. */
#ifndef REID_TOOLS_DECISIONS_H
#define REID_TOOLS_DECISIONS_H

#include "journal/decisions_list.h"
#include "journal/decisions_table.h"

#include <stdint.h>

typedef struct decisions {
    decision_list list;
    char *path;             /* or the address of a database */
    decisions_table *table; /* of a database; NULL: it is a file */
    int fd;        /* -1: there is no file, which is no decision */
    int writes;
    uint64_t read; /* bytes of whole lines that are in the list */
    size_t torn;   /* bytes behind them that are left out */
} decisions;

/* Reads the journal. writes: a file is made when it is not there; otherwise that is an empty one. Returns 0 with the
   reason in why; close it in any case. Not for two threads at a time. */
int decisions_open(decisions *d, const char *path, int writes, text *why);
/* What others have added since. Returns 0 with the reason in why; what was read before is still there. */
int decisions_refresh(decisions *d, text *why);

/* Warns of a torn end, if there is one; path: the file as it was named. */
void decisions_warn_torn(const decisions *d, const char *path);

/* Adds a decision: kind and what belongs to it, by, when, models; its seq, given here, is d->list.count afterwards.
   What others have added in the meantime is read first. 1: it is on disk. 0: it is not, with the reason in why. -1: it
   is refused, with the reason in why, because it is malformed, undoes what cannot be undone, or contradicts those that
   hold (decisions_state.h). */
int decisions_append(decisions *d, const decision *what, text *why);
void decisions_close(decisions *d);

#endif
