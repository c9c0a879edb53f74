/* PostgreSQL by its own client library, libpq, which is found at run time: Debian's libpq5 is enough, no header is
   needed and nothing is linked. Connection strings, environment variables, password files and TLS are libpq's and mean
   what they mean to psql. A connection belongs to one thread at a time. */
#ifndef REID_TOOLS_PQ_H
#define REID_TOOLS_PQ_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pq pq;               /* a connection */
typedef struct pq_result pq_result; /* what a statement has answered */

/* One argument of a statement: bytes in PostgreSQL's binary format, or a text. */
typedef struct pq_argument {
    const void *bytes; /* NULL: SQL's NULL */
    int len;           /* -1: a text that ends with a 0 */
} pq_argument;

/* Arguments that are texts; numbers are written out in a pq_number, which the argument points into. */
typedef struct pq_number {
    char s[24];
} pq_number;
pq_number pq_number_of(int64_t value);
pq_argument pq_text(const char *s);

/* 1 for postgresql://… and postgres://… */
int pq_is_url(const char *place);

/* NULL with the reason in why, which never holds a password; *missing: because there is no libpq. */
pq *pq_open(const char *url, int *missing, text *why);
/* The same connection anew, after it was lost: nothing is prepared any more, and what was open is rolled back by the
   server when it notices. Returns 0 with the reason in why; it is as lost as before then. */
int pq_open_again(pq *c, const char *url, text *why);
/* 1 when a server is there that takes no connections yet, or none any more. */
int pq_is_starting(const char *url);
/* NULL is allowed. A transaction that is open is rolled back by the server. */
void pq_close(pq *c);

/* Runs one statement with its arguments $1, $2, …, prepared at its first use and known by its text from then on.
   Answers come in binary format if binary is 1. NULL with the reason in why; also when interrupted(), then after
   cancelling it, and with an empty reason. */
pq_result *pq_ask(pq *c, const char *sql, const pq_argument *arguments, int count, int binary, text *why);
/* The same for what has no answer. Returns 0 with the reason in why. */
int pq_do(pq *c, const char *sql, const pq_argument *arguments, int count, text *why);
/* Several statements in one text, without arguments: a migration, BEGIN, COMMIT. Nothing of a user's is in it. */
int pq_script(pq *c, const char *sql, text *why);

/* 1: from now on statements are waited for although interrupted(): those that end what was begun. */
void pq_steady(pq *c, int steady);

/* The five characters of SQLSTATE that the last failure had, "" if the server has told none. */
const char *pq_state(const pq *c);
/* 1 when the last failure goes away by itself if the transaction is tried again: it could not be serialized, or was in
   a deadlock. */
int pq_try_again(const pq *c);
/* 1 when the connection is gone. Whether a COMMIT that it took with it has happened has to be looked up. */
int pq_lost(const pq *c);
/* Of the server: 180004 is 18.4. */
int pq_version(const pq *c);

size_t pq_rows(const pq_result *r);
/* Rows that an INSERT, UPDATE or DELETE has changed. */
size_t pq_changed(const pq_result *r);
/* The bytes of a field, which end with a 0 that does not count in *len. NULL for SQL's NULL. len may be NULL. */
const char *pq_field(const pq_result *r, size_t row, int column, size_t *len);
/* A field that came as a text, as a number; 0 for SQL's NULL. */
int64_t pq_number_at(const pq_result *r, size_t row, int column);
void pq_free(pq_result *r);

/* COPY … FROM STDIN: begin, any number of puts, end. When one of them fails, which is told by 0 and the reason in why,
   the COPY is over and nothing of it is stored. */
int pq_copy_in(pq *c, const char *sql, text *why);
int pq_copy_put(pq *c, const void *bytes, size_t len, text *why);
int pq_copy_end(pq *c, text *why);
/* Ends it without storing anything. */
void pq_copy_cancel(pq *c);

/* COPY … TO STDOUT: begin, then one piece after the other, which are valid until the next one. Returns 1, 0 at the end,
   -1 with the reason in why. Whoever does not read to the end closes the connection. */
int pq_copy_out(pq *c, const char *sql, text *why);
int pq_copy_next(pq *c, const char **bytes, size_t *len, text *why);

#endif
