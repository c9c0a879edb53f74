#include "gallery/pq.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/library.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"
#include "gallery/pq_binary.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

/* --- libpq -------------------------------------------------------------------------------------------------------- */

/* Values of libpq's public interface, which its documentation keeps stable ("libpq - C Library", chapter 32). */
enum { CONNECTION_IS_GOOD = 0, CONNECTION_IS_BAD = 1, SERVER_IS_BUSY_STARTING = 1 };
enum { ASKED_NOTHING = 0, COMMAND_DONE = 1, ROWS_CAME = 2, COPY_GOES_OUT = 3, COPY_GOES_IN = 4,
       COPY_GOES_BOTH = 8 };
enum { FIELD_SQLSTATE = 'C', FIELD_MESSAGE = 'M', FIELD_DETAIL = 'D', FIELD_HINT = 'H' };
enum { ARGUMENTS = 24, STATEMENTS = 64, LOOK_AROUND_MS = 100 };
enum { MOST_SAID = 300, MOST_NOTICES = 20 }; /* bytes of a server's message, and its notices, that are shown */
#define CONNECT_SECONDS "10" /* for each address of the server, unless the URL or PGCONNECT_TIMEOUT says otherwise */
#define TELL_SECONDS 5.0     /* after which a message says that the server does not answer */
#define CANCEL_SECONDS 2.0   /* that a server has after a signal to cancel a statement */
#define STEADY_SECONDS 20.0  /* that it has to finish one that a signal does not cancel */

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
    int (*PQsendPrepare)(void *connection, const char *name, const char *sql, int count, const unsigned *types);
    int (*PQsetnonblocking)(void *connection, int yes);
    int (*PQflush)(void *connection);
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
    int (*PQnfields)(const void *result);
    char *(*PQfname)(const void *result, int column);
    int (*PQfformat)(const void *result, int column);
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
    NAME(PQfinish), NAME(PQsetNoticeProcessor), NAME(PQsendPrepare), NAME(PQsendQueryPrepared), NAME(PQsendQuery),
    NAME(PQconsumeInput), NAME(PQisBusy), NAME(PQgetResult), NAME(PQgetCancel), NAME(PQcancel), NAME(PQfreeCancel),
    NAME(PQresultStatus), NAME(PQresultErrorField), NAME(PQntuples), NAME(PQgetisnull), NAME(PQgetvalue),
    NAME(PQgetlength), NAME(PQcmdTuples), NAME(PQclear), NAME(PQputCopyData), NAME(PQputCopyEnd),
    NAME(PQgetCopyData), NAME(PQfreemem), NAME(PQsetnonblocking), NAME(PQflush), NAME(PQnfields), NAME(PQfname),
    NAME(PQfformat),
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

/* --- errands ------------------------------------------------------------------------------------------------------ */

/* libpq connects, asks whether a server is starting, and cancels with calls that block, also while a name is looked up.
   A thread runs them, so that the caller can stop waiting; the thread then frees the result. */
typedef struct errand {
    pthread_mutex_t lock;
    pthread_cond_t over;
    void (*run)(struct errand *e);
    int done, left; /* left: the caller has stopped waiting, so the thread frees it */
    char *url;
    void *connection, *cancel;
    int status;
} errand;

static void free_errand(errand *e) {
    if (e->connection) lib.PQfinish(e->connection);
    if (e->cancel) lib.PQfreeCancel(e->cancel);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->over);
    free(e->url);
    free(e);
}

static void *run_errand(void *user) {
    errand *e = user;
    e->run(e);
    pthread_mutex_lock(&e->lock);
    int left = e->left;
    e->done = 1;
    pthread_cond_signal(&e->over);
    pthread_mutex_unlock(&e->lock);
    if (left) free_errand(e);
    return NULL;
}

/* NULL: out of memory. */
static errand *new_errand(void (*run)(errand *e), const char *url) {
    errand *e = mem_zeroed(1, sizeof *e);
    if (!e) return NULL;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->over, NULL);
    e->run = run;
    e->url = mem_copy(url, strlen(url));
    if (e->url) return e;
    free_errand(e);
    return NULL;
}

static void say_waiting(double since, int *said) {
    if (*said || clock_seconds() - since < TELL_SECONDS) return;
    say_warning("still waiting for the database server; Ctrl-C ends the command");
    *said = 1;
}

/* Waits a moment for the end of an errand. */
static void wait_for_errand(errand *e) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_AROUND_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L, until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&e->over, &e->lock, &until);
}

/* Runs an errand and waits for at most `seconds`, or with heed_signals until a signal. Returns 1 if it is done: the
   caller then frees it. */
static int run_and_wait(errand *e, double seconds, int heed_signals) {
    const double start = clock_seconds();
    pthread_t thread;
    int said = 0;
    if (!thread_start(&thread, run_errand, e)) {
        free_errand(e);
        return 0;
    }
    pthread_detach(thread);
    pthread_mutex_lock(&e->lock);
    while (!e->done && clock_seconds() - start < seconds && !(heed_signals && interrupted())) {
        wait_for_errand(e);
        if (heed_signals) say_waiting(start, &said);
    }
    int done = e->done;
    e->left = !done;
    pthread_mutex_unlock(&e->lock);
    return done;
}

/* --- connections -------------------------------------------------------------------------------------------------- */

struct pq {
    void *connection;
    char state[6];
    char *statement[STATEMENTS]; /* texts of the prepared statements, each named "s" and its index */
    int statements, copying;     /* copying: a COPY … FROM STDIN is open */
    int steady;                  /* 1: a signal does not cancel statements */
    int said_waiting;            /* 1: the user was told that the server does not answer */
    int notices;                 /* that were shown */
    char *piece;                 /* the last piece of a COPY … TO STDOUT */
};

/* Appends n bytes of a server's message, or what is shown of more than MOST_SAID. */
static void add_message(text *to, const char *message, size_t n) {
    size_t kept = n <= MOST_SAID ? n : MOST_SAID;
    while (n > MOST_SAID && kept && ((unsigned char)message[kept] & 0xC0) == 0x80) kept--; /* whole characters */
    text_add(to, message, kept);
    if (n > MOST_SAID) text_printf(to, "... (%zu bytes)", n);
}

static void say_notice(void *user, const char *message) {
    pq *c = user;
    text t = TEXT_INIT;
    if (c->notices == MOST_NOTICES) return;
    add_message(&t, message, strcspn(message, "\n"));
    if (!text_failed(&t)) say_warning("PostgreSQL: %s", shown(t.s));
    if (++c->notices == MOST_NOTICES) say_warning("PostgreSQL: further notices are not shown");
    text_free(&t);
}

/* Joins the lines of a libpq message into one. */
static void take_message(text *why, const char *message) {
    text_clear(why);
    const size_t len = strlen(message);
    if (len > MOST_SAID) {
        add_message(why, message, len);
        return;
    }
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

/* The URL overrides the parameters before dbname, but not those after it. */
static void connect_to(errand *e) {
    static const char *const NAMED[] = {"connect_timeout", "dbname", "client_encoding", "fallback_application_name",
                                        NULL};
    const char *own = getenv("PGCONNECT_TIMEOUT");
    const char *values[] = {own ? own : CONNECT_SECONDS, e->url, "UTF8", "reid", NULL};
    e->connection = lib.PQconnectdbParams(NAMED, values, 1);
}

static void ping(errand *e) {
    static const char *const NAMED[] = {"connect_timeout", "dbname", NULL};
    const char *values[] = {CONNECT_SECONDS, e->url, NULL};
    e->status = lib.PQpingParams(NAMED, values, 1);
}

/* Takes a connection from an errand; NULL with the reason in why, which is empty after a signal. */
static void *connected(const char *url, int heed_signals, text *why) {
    errand *e = new_errand(connect_to, url);
    void *connection = NULL;
    if (e && run_and_wait(e, 1e9, heed_signals)) {
        connection = e->connection;
        e->connection = NULL;
        free_errand(e);
        if (connection) return connection;
        e = NULL;
    }
    if (!e || !interrupted()) text_no_memory(why);
    return NULL;
}

static pq *open_connection(const char *url, int heed_signals, int *missing, text *why) {
    pthread_once(&once, load);
    text_clear(why);
    *missing = !loaded;
    if (!loaded) {
        text_puts(why, HELP_HERE("a gallery in PostgreSQL needs libpq.so.5 (Debian: apt-get install libpq5)",
                                 "a gallery in PostgreSQL needs libpq.5.dylib (brew install libpq)",
                                 "galleries in PostgreSQL are not available on Windows; use a gallery file"));
        return NULL;
    }
    if (!is_understood(url)) {
        text_puts(why,
                  "is not the address of a database; expected "
                  "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE, with %25 for %, %40 for @, %2F for /");
        return NULL;
    }
    pq *c = mem_zeroed(1, sizeof *c);
    if (!c) text_no_memory(why);
    else c->connection = connected(url, heed_signals, why);
    if (!c || !c->connection) {
        free(c);
        return NULL;
    }
    if (lib.PQstatus(c->connection) != CONNECTION_IS_GOOD) {
        say_no_connection(why, url, lib.PQerrorMessage(c->connection));
        pq_close(c);
        return NULL;
    }
    lib.PQsetNoticeProcessor(c->connection, say_notice, c);
    if (lib.PQsetnonblocking(c->connection, 1) == 0) return c;
    take_message(why, lib.PQerrorMessage(c->connection));
    pq_close(c);
    return NULL;
}

pq *pq_open(const char *url, int *missing, text *why) { return open_connection(url, 1, missing, why); }

int pq_is_starting(const char *url) {
    errand *e = loaded ? new_errand(ping, url) : NULL;
    if (!e || !run_and_wait(e, 1e9, 1)) return 0;
    int starting = e->status == SERVER_IS_BUSY_STARTING;
    free_errand(e);
    return starting;
}

/* Frees everything that belongs to the connection except the struct itself. */
static void release(pq *c) {
    if (c->piece) lib.PQfreemem(c->piece);
    lib.PQfinish(c->connection);
    for (int i = 0; i < c->statements; i++) free(c->statement[i]);
}

int pq_open_again(pq *c, const char *url, text *why) {
    int missing;
    pq *fresh = open_connection(url, !c->steady, &missing, why);
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
    if (message && detail) {
        text_puts(why, " (");
        add_message(why, detail, strlen(detail));
        text_putc(why, ')');
    }
    if (result) lib.PQclear(result);
    return NULL;
}

/* Cuts a connection, after which every call of libpq fails. */
static void cut(const pq *c) { shutdown(lib.PQsocket(c->connection), SHUT_RDWR); }

static void cancel(errand *e) {
    char unused[256];
    lib.PQcancel(e->cancel, unused, sizeof unused);
}

static void cancel_statement(const pq *c) {
    errand *e = new_errand(cancel, "");
    if (e) e->cancel = lib.PQgetCancel(c->connection);
    if (e && !e->cancel) free_errand(e);
    else if (e && run_and_wait(e, CANCEL_SECONDS, 0)) free_errand(e);
}

/* How long a wait for the server has lasted. All zero at the beginning. */
typedef struct patience {
    double since, signal; /* when it began; when a signal was seen, 0: none */
} patience;

/* Waits a moment for the server. A signal cancels the statement; if the server does not even answer that, the
   connection is cut, after which every call of libpq fails. */
static void wait_a_moment(pq *c, patience *p) {
    const int unsent = lib.PQflush(c->connection) == 1, fd = lib.PQsocket(c->connection);
    struct pollfd event = {fd, (short)(POLLIN | (unsent ? POLLOUT : 0)), 0};
    if (fd < 0) return;
    poll(&event, 1, LOOK_AROUND_MS);
    const double now = clock_seconds();
    if (p->since == 0) p->since = now;
    if (interrupted() && p->signal == 0) {
        p->signal = now;
        if (!c->steady) cancel_statement(c);
    } else if (p->signal != 0 && now - p->signal > (c->steady ? STEADY_SECONDS : CANCEL_SECONDS)) {
        cut(c);
    }
    if (!interrupted()) say_waiting(p->since, &c->said_waiting);
    if (event.revents & ~POLLOUT || p->signal != 0) lib.PQconsumeInput(c->connection);
}

/* Waits until everything has been sent. Returns 0 if the connection is lost. */
static int send_all(pq *c) {
    patience p = {0, 0};
    int left;
    while ((left = lib.PQflush(c->connection)) == 1) wait_a_moment(c, &p);
    return left == 0;
}

/* Waits for the answer of the server, or for Ctrl-C, which cancels the statement. Returns 0 if it was cancelled. */
static int wait_for_server(pq *c) {
    patience p = {0, 0};
    int sent = send_all(c);
    while (sent && lib.PQisBusy(c->connection) && lib.PQstatus(c->connection) == CONNECTION_IS_GOOD)
        wait_a_moment(c, &p);
    return c->steady || p.signal == 0;
}

static int is_copy(int status) {
    return status == COPY_GOES_IN || status == COPY_GOES_OUT || status == COPY_GOES_BOTH;
}

/* Returns the last result of the statements that were sent; NULL after a failure, with the first one in why. While a
   COPY goes on, libpq would return it without end. */
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
        if (status == COPY_GOES_BOTH) cut(c);
        if (is_copy(status)) break;
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
    pq_result *r = NULL;
    if (!copy) text_no_memory(why);
    else r = lib.PQsendPrepare(c->connection, name, sql, 0, NULL) ? answer(c, why) : failure(c, NULL, why);
    pq_free(r);
    if (r) {
        c->statement[c->statements] = copy;
        return c->statements++;
    }
    free(copy);
    return -1;
}

/* --- the shape of answers ----------------------------------------------------------------------------------------- */

/* Says what is wrong with an answer; always returns 0. */
static int is_damaged(pq *c, text *why, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int is_damaged(pq *c, text *why, const char *format, ...) {
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    memset(c->state, 0, sizeof c->state);
    text_clear(why);
    text_printf(why, "is damaged: an answer of the server %s", reason);
    return 0;
}

static int has_rows(pq *c, const pq_result *r, char wanted, text *why) {
    const int rows = lib.PQntuples(r);
    if (wanted == '*' || rows == 1 || (wanted == '?' && rows == 0)) return 1;
    return is_damaged(c, why, "has %d row%s; expected 1%s", rows, plural((size_t)rows),
                      wanted == '?' ? " at most" : "");
}

/* Checks that the fields of a column are of this kind; null: 1 if they may be NULL. */
static int has_column(pq *c, const pq_result *r, int column, char kind, int null, int binary, text *why) {
    const char *name = lib.PQfname(r, column);
    if (lib.PQfformat(r, column) != binary) return is_damaged(c, why, "is in the wrong format");
    for (int row = 0; row < lib.PQntuples(r); row++) {
        const int missing = lib.PQgetisnull(r, row, column);
        const char *wrong = missing ? (null ? NULL : "is NULL")
                                    : field_misfit(kind, binary, lib.PQgetvalue(r, row, column),
                                                   (size_t)lib.PQgetlength(r, row, column));
        if (wrong)
            return is_damaged(c, why, "has a row (%d) in which \"%.64s\" %s", row + 1, name ? shown(name) : "", wrong);
    }
    return 1;
}

/* 1 if the server has begun a COPY that no statement has asked for. */
static int is_uncalled_copy(pq *c, const pq_result *r, text *why) {
    if (!is_copy(lib.PQresultStatus(r))) return 0;
    cut(c);
    return !is_damaged(c, why, "begins a COPY");
}

/* 1 if the answer has the shape that pq.h describes. */
static int has_shape(pq *c, const pq_result *r, const char *shape, int binary, text *why) {
    int columns = 0;
    if (!has_rows(c, r, *shape++, why)) return 0;
    for (const char *k = shape; *k; k++) columns += *k != '?';
    if (lib.PQnfields(r) != columns)
        return is_damaged(c, why, "has %d column%s; expected %d", lib.PQnfields(r), plural((size_t)lib.PQnfields(r)),
                          columns);
    for (int i = 0; i < columns; i++) {
        const char kind = *shape++;
        const int null = *shape == '?';
        shape += null;
        if (!has_column(c, r, i, kind, null, binary, why)) return 0;
    }
    return 1;
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

pq_number pq_number_of(int64_t value) {
    pq_number n;
    snprintf(n.s, sizeof n.s, "%" PRId64, value);
    return n;
}

pq_argument pq_text(const char *s) { return (pq_argument){s, -1}; }

/* shape: NULL if the answer is not needed. */
static pq_result *ask(pq *c, const char *sql, const pq_argument *arguments, int count, const char *shape, int binary,
                      text *why) {
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
    pq_result *r = answer(c, why);
    if (r && !is_uncalled_copy(c, r, why) && (!shape || has_shape(c, r, shape, binary, why))) return r;
    pq_free(r);
    return NULL;
}

pq_result *pq_ask(pq *c, const char *sql, const pq_argument *arguments, int count, const char *shape, text *why) {
    const int binary = *shape == '=';
    return ask(c, sql, arguments, count, shape + binary, binary, why);
}

int pq_do(pq *c, const char *sql, const pq_argument *arguments, int count, text *why) {
    pq_result *r = ask(c, sql, arguments, count, NULL, 0, why);
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
    int good = send_script(c, sql, &r, why) && !is_uncalled_copy(c, r, why);
    pq_free(r);
    return good;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

size_t pq_rows(const pq_result *r) { return (size_t)lib.PQntuples(r); }
size_t pq_changed(const pq_result *r) { return (size_t)strtoull(lib.PQcmdTuples((void *)(uintptr_t)r), NULL, 10); }

int pq_is_null(const pq_result *r, size_t row, int column) { return lib.PQgetisnull(r, (int)row, column); }

const char *pq_bytes_at(const pq_result *r, size_t row, int column, size_t *len) {
    *len = 0;
    if (pq_is_null(r, row, column)) return NULL;
    *len = (size_t)lib.PQgetlength(r, (int)row, column);
    return lib.PQgetvalue(r, (int)row, column);
}

const char *pq_text_at(const pq_result *r, size_t row, int column) {
    size_t len;
    const char *s = pq_bytes_at(r, row, column, &len);
    return s ? s : "";
}

int pq_true_at(const pq_result *r, size_t row, int column) { return *pq_text_at(r, row, column) == 't'; }

int64_t pq_number_at(const pq_result *r, size_t row, int column) {
    const char *s = pq_text_at(r, row, column);
    if (pq_is_null(r, row, column)) return 0;
    return lib.PQfformat(r, column) ? binary_to_bigint(s) : strtoll(s, NULL, 10);
}

double pq_real_at(const pq_result *r, size_t row, int column) {
    return pq_is_null(r, row, column) ? (double)NAN : strtod(pq_text_at(r, row, column), NULL);
}

int64_t pq_time_at(const pq_result *r, size_t row, int column, int64_t none) {
    return pq_is_null(r, row, column) ? none : binary_to_milliseconds(pq_text_at(r, row, column));
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
        patience p = {0, 0};
        int put;
        while ((put = lib.PQputCopyData(c->connection, (const char *)bytes + done, n)) == 0) wait_a_moment(c, &p);
        if (put != 1 || !send_all(c)) {
            pq_copy_cancel(c);
            failure(c, NULL, why);
            return 0;
        }
        done += (size_t)n;
    }
    return 1;
}

static int put_end(pq *c, const char *error) {
    patience p = {0, 0};
    int put;
    while ((put = lib.PQputCopyEnd(c->connection, error)) == 0) wait_a_moment(c, &p);
    return put == 1;
}

int pq_copy_end(pq *c, text *why) {
    c->copying = 0;
    if (!put_end(c, NULL)) return failure(c, NULL, why), 0;
    pq_result *r = answer(c, why);
    int good = r != NULL;
    pq_free(r);
    return good;
}

void pq_copy_cancel(pq *c) {
    text unused = TEXT_INIT;
    if (c->copying && put_end(c, "given up")) pq_free(answer(c, &unused));
    c->copying = 0;
    text_free(&unused);
}

int pq_copy_out(pq *c, const char *sql, text *why) { return begin_copy(c, sql, COPY_GOES_OUT, why); }

int pq_copy_next(pq *c, const char **bytes, size_t *len, text *why) {
    if (c->piece) lib.PQfreemem(c->piece);
    c->piece = NULL;
    patience p = {0, 0};
    int n;
    while ((n = lib.PQgetCopyData(c->connection, &c->piece, 1)) == 0) wait_a_moment(c, &p);
    *bytes = c->piece;
    *len = n > 0 ? (size_t)n : 0;
    if (n > 0) return 1;
    if (n == -2) return failure(c, NULL, why), -1;
    pq_result *r = answer(c, why);
    int good = r != NULL;
    pq_free(r);
    return good ? 0 : -1;
}
