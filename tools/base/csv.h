/* A CSV reader (RFC 4180: quotes, doubled quotes, line breaks inside quotes; LF or CRLF; a byte order mark), and one of
   tables as spreadsheets and other programs write them. */
#ifndef REID_TOOLS_CSV_H
#define REID_TOOLS_CSV_H

#include "base/text.h"

enum { CSV_MAX_FIELDS = 256 };

typedef struct csv {
    const char *text;
    size_t len, at, line; /* line: where the current record began, from 1 */
    size_t next_line;
    int verbatim;         /* set it for files of other programs: apostrophes before formulas are kept */
    int separator;        /* between fields */
    int trims;            /* blanks around fields without quotes are not part of them */
    text converted;       /* UTF-16 as UTF-8 */
    text cells;           /* the record's fields, each ended by a 0 */
    size_t *start;        /* [count], in cells */
    size_t start_cap;
    int count, most;      /* fields of the record; most is CSV_MAX_FIELDS unless a caller sets another limit */
    const char *error;    /* NULL while all is well */
} csv;

void csv_begin(csv *c, const char *bytes, size_t len);
/* Begins to read a table with a header, in which the separator is found: comma, semicolon or tab, or the one that
   "sep=" in the line before names. UTF-16 with its mark is converted. Lines before the header that begin with # are
   skipped. If there are blanks before names in the header, blanks around all fields are dropped. */
void csv_begin_table(csv *c, const char *bytes, size_t len);
/* Reads the next record that is not an empty line. Returns 1, or 0 at the end or after an error. */
int csv_record(csv *c);
const char *csv_field(const csv *c, int index);
/* 1 if the field is this name, in capitals or not, with blanks around it or not. */
int csv_is_named(const csv *c, int index, const char *name);
/* Reads a field as a number, with blanks around it, and with a decimal comma if commas do not separate fields. Returns
   0 if it is not a number in lo ... hi. */
int csv_number(const csv *c, int index, double lo, double hi, double *out);
/* Drops fields beyond the first `count` if all of them are empty, as after a separator at the end of a line. Returns 0
   if the number of fields is still different. */
int csv_has_fields(csv *c, int count);
void csv_free(csv *c);

enum { CSV_MAX_COLUMNS = 9 };

/* A table with a header that names its columns, in any order; other columns are ignored. */
typedef struct csv_table {
    const char *const *names;
    int columns, needed;  /* the first `needed` columns are required */
    const char *hint;     /* appended to the message about missing columns */
    /* Takes a row. column: each name's index in the record, -1 for none. A text in why ends the reading. */
    void (*row)(const csv *c, const int *column, void *user, text *why);
    void *user;
} csv_table;

/* Reads all rows. Returns 0 with "line N: ..." in why, which must be empty before: the first row that is wrong, and how
   many more there are. */
int csv_read(const csv_table *t, const text *file, text *why);

#endif
