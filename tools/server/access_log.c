#include "server/access_log.h"

#include "base/interrupted.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_WAITING = 8 << 20, /* bytes of lines that are not written yet */
    ENOUGH = 256 << 10,     /* bytes of lines that are written at once */
    PAUSE = 100,            /* milliseconds in which fewer lines are collected */
    LAST_WAIT = 2000,       /* milliseconds that a reader has at the end */
    LONGEST_PATH = 256
};

struct access_log {
    const char *path;
    int fd, is_file, said;
    int torn;               /* 1: the last line in the file has no end */
    pthread_t thread;
    pthread_mutex_t lock;   /* of the next members */
    pthread_cond_t changed;
    text waiting;
    int stop, reopen;
    unsigned long long dropped;
    /* Used by access_log_add. */
    text line;
    time_t second;          /* the one that day_time is */
    char day_time[32];
};

/* --- the file ----------------------------------------------------------------------------------------------------- */

static int is_stdout(const char *path) { return strcmp(path, "-") == 0; }

/* A pipe is not waited for: without a reader it is an error. */
static int open_file(const char *path) {
    if (is_stdout(path)) return STDOUT_FILENO;
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
}

static void use_file(access_log *l, int fd) {
    struct stat st;
    l->fd = fd;
    l->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static void open_again(access_log *l) {
    int fd = is_stdout(l->path) ? -1 : open_file(l->path);
    if (is_stdout(l->path)) return;
    if (fd < 0) {
        say_error("%s: the log cannot be opened again, so lines still go to the old file: %s", shown(l->path),
                  strerror(errno));
        return;
    }
    close(l->fd);
    use_file(l, fd);
    l->said = l->torn = 0;
}

static int is_stopping(access_log *l) {
    pthread_mutex_lock(&l->lock);
    int stop = l->stop;
    pthread_mutex_unlock(&l->lock);
    return stop;
}

/* Waits until a pipe or terminal takes bytes; a write of at most PIPE_BUF then does not block. Returns 0 if its reader
   is gone, or has taken nothing for too long at the end. */
static int wait_for_reader(access_log *l) {
    struct pollfd p = {l->fd, POLLOUT, 0};
    for (int left = LAST_WAIT; left > 0; left -= is_stopping(l) ? PAUSE : 0) {
        int ready = poll(&p, 1, PAUSE);
        if (ready > 0) return !(p.revents & (POLLERR | POLLNVAL));
    }
    return 0;
}

/* Returns how many bytes could be written, fewer than all of them after an error. */
static size_t write_out(access_log *l, const text *lines) {
    size_t at = 0;
    while (at < lines->len) {
        size_t n = lines->len - at;
        ssize_t written;
        if (!l->is_file && n > PIPE_BUF) n = PIPE_BUF;
        if (!l->is_file && !wait_for_reader(l)) break;
        UNINTERRUPTED(written, write(l->fd, lines->s + at, n));
        if (written < 0 && errno != EAGAIN) break;
        if (written > 0) at += (size_t)written;
    }
    return at;
}

/* The lines that were not written, or not to their end. */
static unsigned long long count_lines(const text *lines, size_t from) {
    unsigned long long count = 0;
    for (size_t i = from; i < lines->len; i++) count += lines->s[i] == '\n';
    return count;
}

static void count_dropped(access_log *l, unsigned long long lines) {
    pthread_mutex_lock(&l->lock);
    l->dropped += lines;
    pthread_mutex_unlock(&l->lock);
}

/* Writes lines, and counts those that are lost. A line that broke off is ended before the next one, which is readable
   then. */
static void write_lines_out(access_log *l, const text *lines) {
    static char end[] = "\n";
    const text rest = {.s = end, .len = 1};
    if (l->torn && lines->len && write_out(l, &rest) == rest.len) l->torn = 0;
    const size_t written = l->torn ? 0 : write_out(l, lines);
    if (written == lines->len) return;
    l->torn = l->torn || (written && lines->s[written - 1] != '\n');
    count_dropped(l, count_lines(lines, written));
    if (!l->said) say_error("%s: lines of the log are lost: %s", shown(l->path), strerror(errno));
    l->said = 1;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

/* Takes the lines that have come, after a pause in which more may come. Returns 0 at the end. */
static int take_lines(access_log *l, text *lines, int *reopen) {
    struct timespec until;
    pthread_mutex_lock(&l->lock);
    while (!l->waiting.len && !l->stop && !l->reopen) pthread_cond_wait(&l->changed, &l->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PAUSE * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!l->stop && !l->reopen && l->waiting.len < ENOUGH &&
           pthread_cond_timedwait(&l->changed, &l->lock, &until) == 0) {}
    const text empty = *lines;
    *lines = l->waiting;
    l->waiting = empty;
    *reopen = l->reopen;
    l->reopen = 0;
    int more = lines->len || !l->stop;
    pthread_mutex_unlock(&l->lock);
    return more;
}

static void *write_lines(void *user) {
    access_log *l = user;
    text lines = TEXT_INIT;
    int reopen;
    while (take_lines(l, &lines, &reopen)) {
        if (reopen) open_again(l);
        write_lines_out(l, &lines);
        text_clear(&lines);
    }
    text_free(&lines);
    return NULL;
}

/* Lines are appended only to a file that looks like a log: a mistyped name must not damage another file. */
static int may_append(int fd, const char *path) {
    static const char start[] = "{\"time\": \"";
    char found[sizeof start - 1];
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return 1;
    int reader = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = reader < 0 ? -1 : read(reader, found, sizeof found);
    if (reader >= 0) close(reader);
    if (n == (ssize_t)sizeof found && memcmp(found, start, sizeof found) == 0) return 1;
    say_error("%s: exists and is not an access log, so nothing is appended to it: name another file", shown(path));
    return 0;
}

access_log *access_log_open(const char *path) {
    access_log *l = need_zeroed(1, sizeof *l);
    if (!l) return NULL;
    l->path = path;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    int fd = open_file(path), good = fd >= 0 && may_append(fd, path);
    if (fd >= 0) use_file(l, fd);
    if (good && thread_start(&l->thread, write_lines, l)) return l;
    if (good || fd < 0) say_error("%s: cannot open the log: %s", shown(path), strerror(errno));
    if (fd >= 0 && !is_stdout(path)) close(fd);
    free(l);
    return NULL;
}

static void ask(access_log *l, int *what) {
    pthread_mutex_lock(&l->lock);
    *what = 1;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

void access_log_reopen(access_log *l) {
    if (l) ask(l, &l->reopen);
}

unsigned long long access_log_dropped(const access_log *l) {
    access_log *locked = (access_log *)l;
    if (!l) return 0;
    pthread_mutex_lock(&locked->lock);
    unsigned long long dropped = l->dropped;
    pthread_mutex_unlock(&locked->lock);
    return dropped;
}

void access_log_close(access_log *l) {
    if (!l) return;
    ask(l, &l->stop);
    pthread_join(l->thread, NULL);
    if (!is_stdout(l->path)) close(l->fd);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    text_free(&l->waiting), text_free(&l->line);
    free(l);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

static void put_word(json_writer *w, const char *key, const char *value) {
    if (value && *value) json_put_string(w, key, value);
}

/* Most requests arrive in the same second as the one before. */
static void put_time(access_log *l, json_writer *w, double ago) {
    struct timespec now;
    struct tm day;
    clock_gettime(CLOCK_REALTIME, &now);
    const double at = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - ago;
    const time_t second = (time_t)at;
    if (second != l->second && gmtime_r(&second, &day)) {
        strftime(l->day_time, sizeof l->day_time, "%Y-%m-%dT%H:%M:%S", &day);
        l->second = second;
    }
    text_printf(json_put_value(w, "time"), "\"%s.%03dZ\"", l->day_time, (int)((at - (double)second) * 1000));
}

static void put_ms(json_writer *w, const char *key, double seconds) {
    if (seconds >= 0) json_put_fixed(w, key, seconds * 1000, 3);
}

static void put_path(json_writer *w, const char *path, size_t len) {
    char cut[LONGEST_PATH + 1];
    if (!path) return;
    if (len > LONGEST_PATH) len = LONGEST_PATH;
    memcpy(cut, path, len);
    cut[len] = 0;
    json_put_string(w, "path", cut);
}

static void put_models(json_writer *w, const char *const models[2]) {
    if (models[0] && models[1]) json_put_format(w, "model", "%s+%s", models[0], models[1]);
    else put_word(w, "model", models[0]);
}

static void put_entry(access_log *l, const access_entry *e) {
    json_writer w = json_write(&l->line);
    json_put_object(&w, NULL);
    put_time(l, &w, e->seconds);
    put_word(&w, "id", e->id);
    put_word(&w, "trace", e->trace);
    put_word(&w, "client", e->client);
    put_word(&w, "token", e->token);
    put_word(&w, "method", e->method);
    put_path(&w, e->path, e->path_len);
    put_models(&w, e->models);
    if (e->images >= 0) json_put_int(&w, "images", e->images);
    json_put_count(&w, "bytes", e->received);
    json_put_count(&w, "sent", e->sent);
    json_put_count(&w, "status", e->status);
    put_ms(&w, "ms", e->seconds);
    put_ms(&w, "queue_ms", e->queue);
    put_ms(&w, "compute_ms", e->compute);
    if (e->batch >= 0) json_put_number(&w, "batch", e->batch, 4);
    json_put_finish(&w);
}

void access_log_add(access_log *l, const access_entry *e) {
    if (!l) return;
    text_clear(&l->line);
    put_entry(l, e);
    pthread_mutex_lock(&l->lock);
    const size_t before = l->waiting.len;
    if (before + l->line.len <= MOST_WAITING && !text_failed(&l->line)) text_add(&l->waiting, l->line.s, l->line.len);
    else l->dropped++;
    if (text_failed(&l->waiting)) l->dropped++, text_clear(&l->waiting);
    if (!before || (before < ENOUGH && l->waiting.len >= ENOUGH)) pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
}
