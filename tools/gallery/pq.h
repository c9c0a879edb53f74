/* PostgreSQL through its own client library, libpq, which is loaded at run time: Debian's libpq5 is enough; the build
   needs neither its header nor the library. libpq interprets connection strings, environment variables, password files
   and TLS settings, as in psql. A connection belongs to one thread at a time. */
#ifndef REID_TOOLS_PQ_H
#define REID_TOOLS_PQ_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pq pq;               /* a connection */
typedef struct pq_result pq_result; /* the answer to a statement */

/* One argument of a statement: bytes in PostgreSQL's binary format, or text. */
typedef struct pq_argument {
    const void *bytes; /* NULL: SQL's NULL */
    int len;           /* -1: text that ends with a 0 */
} pq_argument;

/* Arguments made of text. A number is written into a pq_number, which the argument points to. */
typedef struct pq_number {
    char s[24];
} pq_number;
pq_number pq_number_of(int64_t value);
pq_argument pq_text(const char *s);

/* 1 for postgresql://… and postgres://… */
int pq_is_url(const char *place);

/* NULL with the reason in why, which never holds a password; *missing: 1 if the reason is that libpq is missing. */
pq *pq_open(const char *url, int *missing, text *why);
/* Restores a lost connection. Prepared statements are gone, and the server rolls back the open transaction once it
   notices the loss. Returns 0 with the reason in why; the connection is then still lost. */
int pq_open_again(pq *c, const char *url, text *why);
/* 1 if the server is starting up or shutting down, and accepts no connections. */
int pq_is_starting(const char *url);
/* NULL is allowed. The server rolls back an open transaction. */
void pq_close(pq *c);

/* Runs one statement with its arguments $1, $2, …, which is prepared at its first use and found by its text from then
   on. NULL with the reason in why; when interrupted(), the statement is cancelled, and the reason is empty.

   shape describes the answer, and any other is refused, because the schema may have been changed, and a server may send
   anything. It begins with = if the answer comes in binary format, then the number of rows: 1, ? for at most one, or *,
   and for each column its kind of field_misfit (pq_binary.h), followed by a ? if it may be NULL. */
pq_result *pq_ask(pq *c, const char *sql, const pq_argument *arguments, int count, const char *shape, text *why);
/* Runs a statement whose answer is not needed; otherwise like pq_ask. Returns 0 with the reason in why. */
int pq_do(pq *c, const char *sql, const pq_argument *arguments, int count, text *why);
/* Runs several statements in one text, without arguments: a migration, BEGIN, COMMIT. The text must not contain user
   input. */
int pq_script(pq *c, const char *sql, text *why);

/* 1: from now on interrupted() does not cancel statements, so that work in progress can be finished; if the
   server does not answer for a while, the connection is closed all the same. */
void pq_steady(pq *c, int steady);

/* The five characters of the SQLSTATE of the last failure, "" if the server gave none. */
const char *pq_state(const pq *c);
/* 1 if repeating the transaction may help, because the last failure was a serialization failure or a deadlock. */
int pq_try_again(const pq *c);
/* 1 if the connection is lost. If that happened during a COMMIT, the caller has to look up whether it took effect. */
int pq_lost(const pq *c);
/* The server's version: 180004 is 18.4. */
int pq_version(const pq *c);

size_t pq_rows(const pq_result *r);
/* Rows that an INSERT, UPDATE or DELETE has changed. */
size_t pq_changed(const pq_result *r);
/* The fields of an answer, which have the kinds of its shape. */
int pq_is_null(const pq_result *r, size_t row, int column);
const char *pq_text_at(const pq_result *r, size_t row, int column);     /* "" for NULL */
int pq_true_at(const pq_result *r, size_t row, int column);             /* 0 for NULL */
int64_t pq_number_at(const pq_result *r, size_t row, int column);       /* 0 for NULL */
double pq_real_at(const pq_result *r, size_t row, int column);          /* NaN for NULL; only in text format */
int64_t pq_time_at(const pq_result *r, size_t row, int column, int64_t none); /* only in binary format */
/* The bytes, with a 0 after them that *len does not count; NULL for NULL. */
const char *pq_bytes_at(const pq_result *r, size_t row, int column, size_t *len);
void pq_free(pq_result *r);

/* COPY … FROM STDIN: begin, any number of puts, end. Each returns 0 with the reason in why when it fails; the COPY is
   then over and stores nothing. */
int pq_copy_in(pq *c, const char *sql, text *why);
int pq_copy_put(pq *c, const void *bytes, size_t len, text *why);
int pq_copy_end(pq *c, text *why);
/* Ends a COPY without storing anything. */
void pq_copy_cancel(pq *c);

/* COPY … TO STDOUT: begin, then one piece after another, each valid until the next call. pq_copy_next returns 1, 0 at
   the end, or -1 with the reason in why. A caller that does not read to the end must close the connection. */
int pq_copy_out(pq *c, const char *sql, text *why);
int pq_copy_next(pq *c, const char **bytes, size_t *len, text *why);

#endif
