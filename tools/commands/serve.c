/* reid serve: serves models and a gallery to many clients, over HTTP. */
#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "commands/answering.h"
#include "commands/commands.h"
#include "server/door.h"
#include "server/http.h"
#include "server/mhd.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { OTHER_FILES = 128, FEWEST_FILES = 32 }; /* descriptors besides those of connections; the least that is enough */

typedef struct serving {
    const options *o;
    answering a;
    service service;
    text path, address, token; /* path of the Unix socket, "" without one; TCP address */
    int unix_fd, tcp_fd;
    int connections;
} serving;

static int check_options(const options *o) {
    if (o->operand_count) say_error("serve: unexpected argument: %s (weights go after -m)", shown(o->operands[0]));
    else if (!mhd_is_there())
        say_error("serve: this version was compiled without libmicrohttpd (Debian: libmicrohttpd-dev)");
    else if (o->models && o->serve.token_file && !o->serve.listen) say_error("serve: --token-file needs --listen");
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
    } else if (!s->o->serve.listen) {
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
    int loopback = 1, good = !o->serve.token_file || door_token(o->serve.token_file, &s->token, &why);
    const char *at = o->serve.token_file;
    if (good && o->serve.listen) {
        at = o->serve.listen;
        s->tcp_fd = door_tcp(o->serve.listen, &s->address, &loopback, &why);
        good = s->tcp_fd >= 0;
    }
    if (good && !loopback && !o->serve.token_file) {
        good = 0;
        text_puts(&why, "other machines could connect: give --token-file, and put a proxy in front for TLS");
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

/* --- serving ------------------------------------------------------------------------------------------------------ */

static void nap(void) {
    const struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
}

static void wait_until_answered(const http *h, double seconds) {
    double end = clock_seconds() + seconds;
    while (http_pending(h) && clock_seconds() < end) nap();
}

/* Serves until stopped and drained. */
static int serve(serving *s) {
    enum { LAST_ANSWERS = 2 }; /* seconds to send the answers to dropped requests */
    const options *o = s->o;
    const http_request r = {&s->service,       s->unix_fd,     s->tcp_fd,     o->serve.token_file ? &s->token : NULL,
                            o->serve.max_body, s->connections, o->serve.idle, (long long)(o->serve.timeout * 1e6)};
    http *h = http_start(&r);
    s->unix_fd = s->tcp_fd = -1; /* now owned by the server */
    if (!h) return 2;
    say_warning("listening on %s%s%s%s", s->path.len ? "unix:" : "", shown(s->path.s),
                s->path.len && o->serve.listen ? " and http://" : o->serve.listen ? "http://" : "",
                s->address.len ? s->address.s : "");
    interrupt_wait();
    interrupt_take();
    service_stop(&s->service);
    const int waiting = http_pending(h);
    say_info("stopping; %d request%s still to be answered", waiting, plural((size_t)waiting));
    wait_until_answered(h, o->serve.drain);
    const int late = http_pending(h);
    if (late) {
        say_warning("%d request%s dropped after %d s (--drain)", late, plural((size_t)late), o->serve.drain);
        service_give_up(&s->service);
        wait_until_answered(h, LAST_ANSWERS);
    }
    http_stop(h);
    if (s->path.len) door_unix_remove(s->path.s);
    return 0;
}

int serve_main(options *o) {
    serving s;
    int status = 2, good = check_options(o);
    memset(&s, 0, sizeof s);
    s.o = o;
    s.unix_fd = s.tcp_fd = -1;
    good = good && answering_name(&s.a, o, "serve");
    if (good && choose_path(&s) && make_room_for_connections(&s) && open_doors(&s)) {
        if (answering_open(&s.service, &s.a, o)) status = serve(&s);
        service_close(&s.service);
    }
    if (s.unix_fd >= 0) close(s.unix_fd), door_unix_remove(s.path.s);
    if (s.tcp_fd >= 0) close(s.tcp_fd);
    answering_free(&s.a);
    text_free(&s.path), text_free(&s.address), text_free(&s.token);
    return status;
}
