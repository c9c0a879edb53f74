#include "gallery/pq.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- libpq -------------------------------------------------------------------------------------------------------- */

/* Values of libpq's public interface, which its documentation keeps stable ("libpq - C Library", chapter 32). */
enum { CONNECTION_IS_GOOD = 0, CONNECTION_IS_BAD = 1, SERVER_IS_BUSY_STARTING = 1 };
enum { ASKED_NOTHING = 0, COMMAND_DONE = 1, ROWS_CAME = 2, COPY_GOES_OUT = 3, COPY_GOES_IN = 4 };
enum { FIELD_SQLSTATE = 'C', FIELD_MESSAGE = 'M', FIELD_DETAIL = 'D', FIELD_HINT = 'H' };
enum { ARGUMENTS = 24, STATEMENTS = 64, LOOK_AROUND_MS = 100 };

typedef void (*notice_fn)(void *user, const char *message);

/* The libpq functions in use, by name. Connections and results are void pointers here. */
static struct library {
    void *(*PQconninfoParse)(const char *url, char **error);
    void (*PQconninfoFree)(void *parameters);
    int (*PQpingParams)(const char *const *names, const char *const *values, int expand);
    void *(*PQconnectdbParams)(const char *const *names, const char *const *values, int expand);
    int (*PQstatus)(const void *connection);
    char *(*PQerrorMessage)(const void *connection);
    int (*PQserverVersion)(const void *connection);
    int (*PQsocket)(const void *connection);
    void (*PQfinish)(void *connection);
    notice_fn (*PQsetNoticeProcessor)(void *connection, notice_fn fn, void *user);
    void *(*PQprepare)(void *connection, const char *name, const char *sql, int count, const unsigned *types);
    int (*PQsendQueryPrepared)(void *connection, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format);
    int (*PQsendQuery)(void *connection, const char *sql);
    int (*PQconsumeInput)(void *connection);
    int (*PQisBusy)(void *connection);
    void *(*PQgetResult)(void *connection);
    void *(*PQgetCancel)(void *connection);
    int (*PQcancel)(void *cancel, char *error, int size);
    void (*PQfreeCancel)(void *cancel);
    int (*PQresultStatus)(const void *result);
    char *(*PQresultErrorField)(const void *result, int field);
    int (*PQntuples)(const void *result);
    int (*PQgetisnull)(const void *result, int row, int column);
    char *(*PQgetvalue)(const void *result, int row, int column);
    int (*PQgetlength)(const void *result, int row, int column);
    char *(*PQcmdTuples)(void *result);
    void (*PQclear)(void *result);
    int (*PQputCopyData)(void *connection, const char *bytes, int len);
    int (*PQputCopyEnd)(void *connection, const char *error);
    int (*PQgetCopyData)(void *connection, char **bytes, int async);
    void (*PQfreemem)(void *bytes);
} lib;

static const struct name {
    const char *name;
    size_t at;
} NAMES[] = {
#define NAME(f) {#f, offsetof(struct library, f)}
    NAME(PQconninfoParse), NAME(PQconninfoFree), NAME(PQpingParams), NAME(PQconnectdbParams),
    NAME(PQstatus), NAME(PQerrorMessage), NAME(PQserverVersion), NAME(PQsocket),
    NAME(PQfinish), NAME(PQsetNoticeProcessor), NAME(PQprepare), NAME(PQsendQueryPrepared), NAME(PQsendQuery),
    NAME(PQconsumeInput), NAME(PQisBusy), NAME(PQgetResult), NAME(PQgetCancel), NAME(PQcancel), NAME(PQfreeCancel),
    NAME(PQresultStatus), NAME(PQresultErrorField), NAME(PQntuples), NAME(PQgetisnull), NAME(PQgetvalue),
    NAME(PQgetlength), NAME(PQcmdTuples), NAME(PQclear), NAME(PQputCopyData), NAME(PQputCopyEnd),
    NAME(PQgetCopyData), NAME(PQfreemem),
#undef NAME
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int loaded;

/* The library stays loaded until the process ends. */
static void load(void) {
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        void *function = dlsym(library, NAMES[i].name);
        if (!function) return;
        memcpy((char *)&lib + NAMES[i].at, &function, sizeof function);
    }
    loaded = 1;
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

int pq_is_url(const char *place) { return is_database_url(place); }

/* --- connections -------------------------------------------------------------------------------------------------- */

struct pq {
    void *connection;
    char state[6];
    char *statement[STATEMENTS]; /* texts of the prepared statements, each named "s" and its index */
    int statements, copying;     /* copying: a COPY … FROM STDIN is open */
    int steady;                  /* 1: a signal does not cancel statements */
    char *piece;                 /* the last piece of a COPY … TO STDOUT */
};

static void say_notice(void *user, const char *message) {
    (void)user;
    text t = TEXT_INIT;
    text_add(&t, message, strcspn(message, "\n"));
    if (!text_failed(&t)) say_warning("PostgreSQL: %s", shown(t.s));
    text_free(&t);
}

/* Joins the lines of a libpq message into one. */
static void take_message(text *why, const char *message) {
    text_clear(why);
    for (const char *p = message; *p; p++)
        if (*p == '\n' && p[1] == '\t') text_putc(why, ' '), p++; /* continuation line */
        else if (*p != '\n') text_putc(why, *p);
        else if (p[1]) text_puts(why, "; ");
    if (!why->len) text_puts(why, "the connection failed without a message");
}

/* 1 if libpq can parse the address. Its message about an invalid one is not shown, because it may contain the
   password. */
static int is_understood(const char *url) {
    char *error = NULL;
    void *parameters = lib.PQconninfoParse(url, &error);
    if (error) lib.PQfreemem(error);
    if (parameters) lib.PQconninfoFree(parameters);
    return parameters != NULL;
}

/* Writes why there is no connection. */
static void say_no_connection(text *why, const char *url, const char *message) {
    if (is_plain_url(url) && !strstr(message, "invalid integer value") && !strstr(message, "invalid port number"))
        take_message(why, message);
    else
        text_puts(why, "cannot be reached; check the address: in a password, write %40 for @, %2F for /, %3F for ?, "
                       "%3A for :");
}

pq *pq_open(const char *url, int *missing, text *why) {
    static const char *const NAMED[] = {"dbname", "client_encoding", "fallback_application_name", NULL};
    const char *values[] = {url, "UTF8", "reid", NULL};
    pthread_once(&once, load);
    text_clear(why);
    *missing = !loaded;
    if (!loaded) {
        text_puts(why, "a gallery in PostgreSQL needs libpq.so.5 (Debian: apt-get install libpq5)");
        return NULL;
    }
    if (!is_understood(url)) {
        text_puts(why,
                  "is not the address of a database; expected "
                  "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE, with %25 for %, %40 for @, %2F for /");
        return NULL;
    }
    pq *c = mem_zeroed(1, sizeof *c);
    if (c) c->connection = lib.PQconnectdbParams(NAMED, values, 1);
    if (!c || !c->connection) {
        free(c);
        text_no_memory(why);
        return NULL;
    }
    if (lib.PQstatus(c->connection) != CONNECTION_IS_GOOD) {
        say_no_connection(why, url, lib.PQerrorMessage(c->connection));
        pq_close(c);
        return NULL;
    }
    lib.PQsetNoticeProcessor(c->connection, say_notice, NULL);
    return c;
}

int pq_is_starting(const char *url) {
    static const char *const NAMED[] = {"dbname", NULL};
    const char *values[] = {url, NULL};
    return loaded && lib.PQpingParams(NAMED, values, 1) == SERVER_IS_BUSY_STARTING;
}

/* Frees everything that belongs to the connection except the struct itself. */
static void release(pq *c) {
    if (c->piece) lib.PQfreemem(c->piece);
    lib.PQfinish(c->connection);
    for (int i = 0; i < c->statements; i++) free(c->statement[i]);
}

int pq_open_again(pq *c, const char *url, text *why) {
    int missing;
    pq *fresh = pq_open(url, &missing, why);
    if (!fresh) return 0;
    fresh->steady = c->steady;
    release(c);
    *c = *fresh;
    free(fresh);
    return 1;
}

void pq_close(pq *c) {
    if (!c) return;
    release(c);
    free(c);
}

void pq_steady(pq *c, int steady) { c->steady = steady; }
const char *pq_state(const pq *c) { return c->state; }
int pq_try_again(const pq *c) { return strcmp(c->state, "40001") == 0 || strcmp(c->state, "40P01") == 0; }
int pq_lost(const pq *c) { return lib.PQstatus(c->connection) == CONNECTION_IS_BAD; }
int pq_version(const pq *c) { return lib.PQserverVersion(c->connection); }

/* --- statements --------------------------------------------------------------------------------------------------- */

/* Writes the error to why and c->state. Frees the result; always returns NULL. */
static pq_result *failure(pq *c, void *result, text *why) {
    const char *state = result ? lib.PQresultErrorField(result, FIELD_SQLSTATE) : NULL;
    const char *message = result ? lib.PQresultErrorField(result, FIELD_MESSAGE) : NULL;
    const char *detail = result ? lib.PQresultErrorField(result, FIELD_DETAIL) : NULL;
    memset(c->state, 0, sizeof c->state);
    if (state) memcpy(c->state, state, strnlen(state, sizeof c->state - 1));
    take_message(why, message ? message : lib.PQerrorMessage(c->connection));
    if (message && detail) text_printf(why, " (%s)", detail);
    if (result) lib.PQclear(result);
    return NULL;
}

/* Waits for the answer of the server, or for Ctrl-C, which cancels the statement. Returns 0 if it was cancelled. */
static int wait_for_server(pq *c) {
    int cancelled = 0;
    while (lib.PQisBusy(c->connection)) {
        struct pollfd p = {lib.PQsocket(c->connection), POLLIN, 0};
        poll(&p, 1, LOOK_AROUND_MS);
        if (!c->steady && interrupted() && !cancelled) {
            char unused[256];
            void *cancel = lib.PQgetCancel(c->connection);
            if (cancel) lib.PQcancel(cancel, unused, sizeof unused);
            if (cancel) lib.PQfreeCancel(cancel);
            cancelled = 1;
        }
        if ((p.revents || cancelled) && !lib.PQconsumeInput(c->connection)) break;
    }
    return !cancelled;
}

/* Returns the last result of the statements that were sent; NULL after a failure, with the first one in why. */
static pq_result *answer(pq *c, text *why) {
    void *last = NULL, *next;
    int failed = 0, whole = 1;
    while (whole &= wait_for_server(c), (next = lib.PQgetResult(c->connection)) != NULL) {
        int status = lib.PQresultStatus(next);
        if (failed) {
            lib.PQclear(next);
            continue;
        }
        if (last) lib.PQclear(last);
        last = next;
        failed = status != COMMAND_DONE && status != ROWS_CAME && status != COPY_GOES_IN && status != COPY_GOES_OUT &&
                 status != ASKED_NOTHING;
        if (status == COPY_GOES_IN || status == COPY_GOES_OUT) break;
    }
    if (failed || !last) failure(c, last, why);
    if (!whole) text_clear(why);
    return failed ? NULL : last;
}

/* Prepares a statement at its first use. Returns its number, or -1 with the reason in why. */
static int prepared(pq *c, const char *sql, text *why) {
    for (int i = 0; i < c->statements; i++)
        if (strcmp(c->statement[i], sql) == 0) return i;
    char *copy = c->statements < STATEMENTS ? mem_copy(sql, strlen(sql)) : NULL;
    char name[16];
    snprintf(name, sizeof name, "s%d", c->statements);
    void *result = copy ? lib.PQprepare(c->connection, name, sql, 0, NULL) : NULL;
    int good = result && lib.PQresultStatus(result) == COMMAND_DONE;
    if (good) {
        lib.PQclear(result);
        c->statement[c->statements] = copy;
        return c->statements++;
    }
    if (copy) failure(c, result, why);
    else text_no_memory(why);
    free(copy);
    return -1;
}

pq_number pq_number_of(int64_t value) {
    pq_number n;
    snprintf(n.s, sizeof n.s, "%" PRId64, value);
    return n;
}

pq_argument pq_text(const char *s) { return (pq_argument){s, -1}; }

pq_result *pq_ask(pq *c, const char *sql, const pq_argument *arguments, int count, int binary, text *why) {
    const char *values[ARGUMENTS];
    int lengths[ARGUMENTS], formats[ARGUMENTS], number = prepared(c, sql, why);
    char name[16] = "s";
    if (number < 0) return NULL;
    for (int i = 0; i < count; i++) {
        values[i] = arguments[i].bytes;
        formats[i] = arguments[i].len >= 0;
        lengths[i] = arguments[i].len;
    }
    text_clear(why);
    snprintf(name, sizeof name, "s%d", number);
    if (!lib.PQsendQueryPrepared(c->connection, name, count, values, lengths, formats, binary))
        return failure(c, NULL, why);
    return answer(c, why);
}

int pq_do(pq *c, const char *sql, const pq_argument *arguments, int count, text *why) {
    pq_result *r = pq_ask(c, sql, arguments, count, 0, why);
    int good = r != NULL;
    pq_free(r);
    return good;
}

static int send_script(pq *c, const char *sql, pq_result **r, text *why) {
    text_clear(why);
    if (lib.PQsendQuery(c->connection, sql)) *r = answer(c, why);
    else *r = failure(c, NULL, why);
    return *r != NULL;
}

int pq_script(pq *c, const char *sql, text *why) {
    pq_result *r;
    int good = send_script(c, sql, &r, why);
    pq_free(r);
    return good;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

size_t pq_rows(const pq_result *r) { return (size_t)lib.PQntuples(r); }
size_t pq_changed(const pq_result *r) { return (size_t)strtoull(lib.PQcmdTuples((void *)(uintptr_t)r), NULL, 10); }

const char *pq_field(const pq_result *r, size_t row, int column, size_t *len) {
    if (lib.PQgetisnull(r, (int)row, column)) return NULL;
    if (len) *len = (size_t)lib.PQgetlength(r, (int)row, column);
    return lib.PQgetvalue(r, (int)row, column);
}

int64_t pq_number_at(const pq_result *r, size_t row, int column) {
    const char *s = pq_field(r, row, column, NULL);
    return s ? strtoll(s, NULL, 10) : 0;
}

void pq_free(pq_result *r) {
    if (r) lib.PQclear(r);
}

/* --- COPY --------------------------------------------------------------------------------------------------------- */

static int begin_copy(pq *c, const char *sql, int way, text *why) {
    pq_result *r;
    if (!send_script(c, sql, &r, why)) return 0;
    int good = lib.PQresultStatus(r) == way;
    if (!good) text_puts(why, "the server did not start the COPY");
    pq_free(r);
    return good;
}

int pq_copy_in(pq *c, const char *sql, text *why) { return c->copying = begin_copy(c, sql, COPY_GOES_IN, why); }

int pq_copy_put(pq *c, const void *bytes, size_t len, text *why) {
    for (size_t done = 0; done < len;) {
        int n = len - done < 1 << 20 ? (int)(len - done) : 1 << 20;
        if (lib.PQputCopyData(c->connection, (const char *)bytes + done, n) != 1) {
            pq_copy_cancel(c);
            failure(c, NULL, why);
            return 0;
        }
        done += (size_t)n;
    }
    return 1;
}

int pq_copy_end(pq *c, text *why) {
    c->copying = 0;
    if (lib.PQputCopyEnd(c->connection, NULL) != 1) return failure(c, NULL, why), 0;
    pq_result *r = answer(c, why);
    int good = r != NULL;
    pq_free(r);
    return good;
}

void pq_copy_cancel(pq *c) {
    text unused = TEXT_INIT;
    if (c->copying && lib.PQputCopyEnd(c->connection, "given up") == 1) pq_free(answer(c, &unused));
    c->copying = 0;
    text_free(&unused);
}

int pq_copy_out(pq *c, const char *sql, text *why) { return begin_copy(c, sql, COPY_GOES_OUT, why); }

int pq_copy_next(pq *c, const char **bytes, size_t *len, text *why) {
    if (c->piece) lib.PQfreemem(c->piece);
    c->piece = NULL;
    int n = lib.PQgetCopyData(c->connection, &c->piece, 0);
    *bytes = c->piece;
    *len = n > 0 ? (size_t)n : 0;
    if (n > 0) return 1;
    if (n == -2) return failure(c, NULL, why), -1;
    pq_result *r = answer(c, why);
    int good = r != NULL;
    pq_free(r);
    return good ? 0 : -1;
}
