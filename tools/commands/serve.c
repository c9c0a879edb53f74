/* reid serve: serves models and a gallery to many clients, over HTTP. */
#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "commands/answering.h"
#include "commands/commands.h"
#include "server/door.h"
#include "server/http.h"
#include "server/inherited.h"
#include "server/keeper.h"
#include "server/mhd.h"
#include "server/secret_file.h"
#include "server/tokens.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { OTHER_FILES = 128, FEWEST_FILES = 32 }; /* descriptors besides those of connections; the least that is enough */

/* What a reload reads anew besides models and gallery. */
typedef struct secrets {
    tokens tokens;
    tls *tls; /* NULL: without TLS */
} secrets;

typedef struct serving {
    const options *o;
    answering a;
    keeper *models;
    secrets *now;
    text path, address;  /* path of the Unix socket, "" without one; TCP address */
    int unix_fd, tcp_fd;
    int connections;
    int on_terminal;     /* 1: stderr is a terminal, which may be closed */
    access_log *log;     /* NULL: none, as for the trace */
    trace *trace;
    http *http;
} serving;

static int check_options(const options *o) {
    if (o->operand_count) say_error("serve: unexpected argument: %s (weights go after -m)", shown(o->operands[0]));
    else if (!mhd_is_there()) say_error("serve: " MHD_MISSING);
    else if (inherited_are_there() && (o->serve.socket || o->serve.listen))
        say_error("serve: systemd has passed a socket: remove --socket and --listen, or the socket unit");
    else if (o->models && o->serve.token_file && !o->serve.listen && !inherited_are_there())
        say_error("serve: --token-file needs --listen");
    else if (!o->serve.tls_cert != !o->serve.tls_key)
        say_error("serve: --tls-cert and --tls-key need each other");
    else if (o->serve.tls_cert && !o->serve.listen && !inherited_are_there())
        say_error("serve: --tls-cert needs --listen");
    else if (o->serve.tls_cert && !tls_is_there())
        say_error("serve: this version was compiled without TLS; it needs GnuTLS, and libmicrohttpd with GnuTLS "
                  "(Debian: libmicrohttpd-dev)");
    else if (o->serve.lazy && o->match.gallery)
        say_error("serve: --lazy cannot be combined with --gallery, which needs its models from the start");
    else return answering_check(o, "serve");
    return 0;
}

/* --- sockets ------------------------------------------------------------------------------------------------------ */

/* Chooses the path of the Unix socket; "" for TCP alone. */
static int choose_path(serving *s) {
    const char *folder = getenv("XDG_RUNTIME_DIR");
    text_puts(&s->path, "");
    if (s->o->serve.socket) {
        text_puts(&s->path, s->o->serve.socket);
    } else if (!s->o->serve.listen && !inherited_are_there()) {
        if (!folder || *folder != '/') {
            say_error("serve: no address: XDG_RUNTIME_DIR is not set; give --socket or --listen");
            return 0;
        }
        text_printf(&s->path, "%s/reid.sock", folder);
    }
    return need_text(&s->path);
}

/* Opens both sockets. Returns 0 after saying what is wrong. */
static int open_doors(serving *s) {
    const options *o = s->o;
    text why = TEXT_INIT;
    const char *at = o->serve.listen;
    int loopback = 1, good = 1;
    if (inherited_are_there()) {
        at = "systemd";
        good = inherited_take(&s->unix_fd, &s->tcp_fd, &s->address, &loopback, &why);
    } else if (o->serve.listen) {
        s->tcp_fd = door_tcp(o->serve.listen, &s->address, &loopback, &why);
        good = s->tcp_fd >= 0;
    }
    if (good && !loopback && !o->serve.token_file) {
        good = 0;
        text_puts(&why, "other machines could connect: give --token-file, and --tls-cert or a proxy in front");
    }
    if (good && s->path.len) {
        at = s->path.s;
        s->unix_fd = door_unix(s->path.s, &why);
        good = s->unix_fd >= 0;
    }
    if (!good) say_error("%s: %s", shown(at), why.s);
    text_free(&why);
    return good && need_text(&s->address);
}

/* Raises the limit of open files, because every connection is one; else lowers the number of connections. A low limit
   is mostly left to models, sockets, and clients that are told to wait. Returns 0 after reporting that the limit is too
   low. */
static int make_room_for_connections(serving *s) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)s->o->serve.connections + OTHER_FILES;
    s->connections = s->o->serve.connections;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return 1;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= wanted) return 1;
    if (limit.rlim_cur < FEWEST_FILES) {
        say_error("serve: this process may open only %llu files; expected at least %d (ulimit -n)",
                  (unsigned long long)limit.rlim_cur, FEWEST_FILES);
        return 0;
    }
    s->connections = limit.rlim_cur > 2 * OTHER_FILES ? (int)(limit.rlim_cur - OTHER_FILES) : (int)(limit.rlim_cur / 4);
    say_warning("%d connections instead of %d: this process may open only %llu files (ulimit -n)", s->connections,
                s->o->serve.connections, (unsigned long long)limit.rlim_cur);
    return 1;
}

/* --- what is read anew -------------------------------------------------------------------------------------------- */

static int read_tokens(tokens *t, const char *path) {
    text why = TEXT_INIT;
    unsigned mode;
    int good = tokens_read(t, path, &why);
    if (!good) say_error("%s: %s", shown(path), why.s);
    else if (secret_file_is_open(path, &mode))
        say_warning("%s: other users may read the token: chmod 600", shown(path));
    text_free(&why);
    return good;
}

static void secrets_free(secrets *c) {
    if (!c) return;
    tokens_free(&c->tokens);
    tls_drop(c->tls);
    free(c);
}

/* Returns NULL after saying what is wrong. */
static secrets *secrets_read(const serving *s) {
    secrets *c = need_zeroed(1, sizeof *c);
    const char *file = s->o->serve.token_file, *cert = s->o->serve.tls_cert;
    if (c && (!file || read_tokens(&c->tokens, file)) &&
        (!cert || (c->tls = tls_open(cert, s->o->serve.tls_key)) != NULL)) return c;
    secrets_free(c);
    return NULL;
}

static const tokens *tokens_of(const serving *s) { return s->o->serve.token_file ? &s->now->tokens : NULL; }

/* For the keeper: a new service goes into force, at a reload together with new secrets. */
static void use_service(service *fresh, void *user) {
    const serving *s = user;
    http_switch(s->http, fresh, tokens_of(s), s->now->tls);
}

static keeper *open_models_of(serving *s) {
    const keeper_request r = {answering_request(&s->a, s->o), s->o->serve.lazy, s->o->serve.model_control, use_service,
                              notice_wake, s};
    return keeper_open(&r);
}

/* Reads everything beside what answers meanwhile. */
static void reload(serving *s) {
    secrets *before = s->now, *fresh = secrets_read(s);
    if (fresh) s->now = fresh;
    const int done = fresh && keeper_reload(s->models);
    if (!done) s->now = before;
    secrets_free(done ? before : fresh);
    http_note_reload(s->http, done);
    if (done) say_warning("reloaded");
    else say_error("the reload failed, and nothing was changed");
}

/* --- serving ------------------------------------------------------------------------------------------------------ */

static void nap(void) {
    const struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
}

/* Accepted requests may still need models that are not open. */
static void wait_until_answered(const serving *s, double seconds) {
    double end = clock_seconds() + seconds;
    for (; http_pending(s->http) && clock_seconds() < end; nap()) keeper_work(s->models);
}

/* A closed terminal sends the signal that asks for a reload, too. */
static int terminal_is_gone(const serving *s) { return s->on_terminal && !isatty(STDERR_FILENO); }

/* Returns when the server is to stop. A reload waits until the requests before the last change have ended, so that
   there are never more than two sets of models. */
static void run_until_stopped(serving *s) {
    const double moment = 0.02;
    int wanted = 0;
    while (!interrupted()) {
        notice_wait(keeper_waits(s->models) ? moment : -1);
        wanted |= notice_take();
        if (wanted & NOTICE_REOPEN) access_log_reopen(s->log), wanted &= ~NOTICE_REOPEN;
        keeper_work(s->models);
        if (!(wanted & NOTICE_RELOAD) || keeper_has_old(s->models) || interrupted()) continue;
        if (terminal_is_gone(s)) return;
        wanted &= ~NOTICE_RELOAD;
        reload(s);
    }
}

/* Finishes the requests that have arrived. */
static void stop(serving *s) {
    enum { LAST_ANSWERS = 2 }; /* seconds to send the answers to dropped requests */
    const int drain = s->o->serve.drain;
    keeper_stop(s->models);
    const int waiting = http_pending(s->http);
    say_info("stopping; %d request%s still to be answered", waiting, plural((size_t)waiting));
    wait_until_answered(s, drain);
    const int late = http_pending(s->http);
    if (late) {
        say_warning("%d request%s dropped after %d s (--drain)", late, plural((size_t)late), drain);
        keeper_give_up(s->models);
        wait_until_answered(s, LAST_ANSWERS);
    }
    keeper_give_up(s->models);
    http_stop(s->http);
    if (s->path.len) door_unix_remove(s->path.s);
}

static int open_logs(serving *s) {
    const char *path = s->o->serve.access_log;
    if (path && !(s->log = access_log_open(path))) return 0;
    return open_trace(s->o, "serve", &s->trace);
}

/* The trace of a server that has served is kept. Returns 0 after saying why it could not be written. */
static int close_logs(serving *s, int keep) {
    access_log_close(s->log);
    return trace_end(s->trace, keep) || !keep;
}

/* Serves until stopped and drained. */
static int serve(serving *s) {
    const options *o = s->o;
    const http_request r = {keeper_now(s->models), s->unix_fd,        s->tcp_fd,      tokens_of(s),
                            s->now->tls,      o->serve.max_body, s->connections, o->serve.idle,
                            (long long)(o->serve.timeout * 1e6), s->log,         s->trace};
    const char *scheme = s->now->tls ? "https://" : "http://";
    const int has_unix = s->unix_fd >= 0;
    s->http = http_start(&r);
    s->unix_fd = s->tcp_fd = -1; /* now owned by the server */
    if (!s->http) return 2;
    const char *path = s->path.len ? shown(s->path.s) : has_unix ? "(passed by systemd)" : "";
    say_warning("listening on %s%s%s%s%s", has_unix ? "unix:" : "", path, has_unix && s->address.len ? " and " : "",
                s->address.len ? scheme : "", s->address.len ? s->address.s : "");
    run_until_stopped(s);
    interrupt_take();
    stop(s);
    return 0;
}

int serve_main(options *o) {
    serving s;
    int status = 2, good = check_options(o);
    memset(&s, 0, sizeof s);
    s.o = o;
    s.unix_fd = s.tcp_fd = -1;
    s.on_terminal = isatty(STDERR_FILENO);
    notice_setup();
    good = good && answering_name(&s.a, o, "serve");
    if (good && choose_path(&s) && make_room_for_connections(&s) && open_logs(&s) && open_doors(&s)) {
        s.now = secrets_read(&s);
        s.models = s.now ? open_models_of(&s) : NULL;
        if (s.models) status = serve(&s);
        keeper_close(s.models);
        secrets_free(s.now);
    }
    if (s.unix_fd >= 0) close(s.unix_fd);
    if (s.unix_fd >= 0 && s.path.len) door_unix_remove(s.path.s);
    if (s.tcp_fd >= 0) close(s.tcp_fd);
    if (!close_logs(&s, status == 0)) status = 2;
    answering_free(&s.a);
    text_free(&s.path), text_free(&s.address);
    return status;
}
