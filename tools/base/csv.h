/* A CSV reader (RFC 4180: quotes, doubled quotes, line breaks inside quotes; LF or CRLF; a byte order mark). */
#ifndef REID_TOOLS_CSV_H
#define REID_TOOLS_CSV_H

#include "base/text.h"

enum { CSV_MAX_FIELDS = 256 };

typedef struct csv {
    const char *text;
    size_t len, at, line; /* line: where the current record began, from 1 */
    size_t next_line;
    int verbatim;         /* to be set: cells of other programs, whose apostrophes are no marks of text_csv */
    text cells;           /* the record's fields, each ended by a 0 */
    size_t start[CSV_MAX_FIELDS];
    int count;
    const char *error;    /* NULL while all is well */
} csv;

void csv_begin(csv *c, const char *bytes, size_t len);
/* The next record that is not an empty line: 1, or 0 at the end or after a mistake. */
int csv_record(csv *c);
const char *csv_field(const csv *c, int index);
void csv_free(csv *c);

enum { CSV_MAX_COLUMNS = 8 };

/* A table with a header that names its columns, in any order; columns that are not asked for are passed over. */
typedef struct csv_table {
    const char *const *names;
    int columns, needed;  /* the first `needed` names have to be there */
    const char *hint;     /* said behind what the header must name */
    /* One row. column: where each name stands in the record, -1 for nowhere. A text in why ends it. */
    void (*row)(const csv *c, const int *column, void *user, text *why);
    void *user;
} csv_table;

/* Reads them all; 0 with "line N: ..." in why, which has to be empty, at the first mistake. */
int csv_read(const csv_table *t, const text *file, text *why);

#endif
