#include "base/files.h"

#include "base/interrupted.h"
#include "base/invariant.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PENDING = 8 };

static char *to_remove[MAX_PENDING];
static volatile sig_atomic_t signal_seen;
static volatile sig_atomic_t reload_asked, reopen_asked;
static sem_t signals; /* counts those that have come */

/* Makes room for a file of this size. If memory runs out for a large image, only its reading fails. */
static int make_room(text *out, size_t size, text *why) {
    char *block = realloc(out->s, size + 1);
    if (!block) return refuse_errno(why, "cannot read");
    out->s = block;
    out->cap = size + 1;
    out->len = 0;
    out->s[0] = 0;
    return 1;
}

static int read_all(int fd, size_t size, size_t limit, text *out, text *why) {
    enum { CHUNK = 1 << 16 };
    ssize_t n = 1;
    if (size <= limit && !make_room(out, size, why)) return 0;
    char *chunk = malloc(CHUNK);
    if (!chunk) return text_no_memory(why);
    while (n > 0 && size <= limit && out->len <= limit) {
        int left = MOST_INTERRUPTIONS;
        do n = read(fd, chunk, CHUNK);
        while (n < 0 && errno == EINTR && !interrupted() && left-- > 0); /* stdin may be a person who pressed ^C */
        if (n > 0) text_add(out, chunk, (size_t)n);
    }
    free(chunk);
    if (text_failed(out)) {
        text_free(out);
        return text_no_memory(why);
    }
    if (n < 0) return refuse_errno(why, "cannot read");
    if (size <= limit && out->len <= limit) return 1;
    text_clear(why);
    text_printf(why, "larger than %zu MiB", limit >> 20);
    return 0;
}

int file_read(const char *path, size_t limit, int regular_only, text *out, text *why) {
    struct stat st;
    int good = 0, fd = open(path, O_RDONLY | O_CLOEXEC | (regular_only ? O_NONBLOCK : 0));
    if (fd < 0) return refuse_errno(why, "cannot open");
    text_clear(why);
    if (fstat(fd, &st) != 0) refuse_errno(why, "cannot read");
    else if (S_ISDIR(st.st_mode)) text_puts(why, "is a folder; expected a file");
    else if (regular_only && !S_ISREG(st.st_mode)) text_puts(why, "is not a regular file");
    else good = read_all(fd, (size_t)st.st_size, limit, out, why);
    close(fd);
    return good;
}

int file_target(const char *path, const output_kind *kind, text *why) {
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) return replace_allowed(path, kind, why);
    text_clear(why);
    text_puts(why, S_ISDIR(st.st_mode) ? "is a folder" : "exists and is not a regular file");
    return 0;
}

int file_in_folder(text *name, const char *folder, const char *file) {
    struct stat st;
    text_clear(name);
    text_printf(name, "%s/%s", folder, file);
    return !text_failed(name) && stat(name->s, &st) == 0 && S_ISREG(st.st_mode);
}

int stdin_read(size_t limit, text *out, text *why) { return read_all(0, 0, limit, out, why); }

/* 1 if the name still leads to the locked file: another process may have renamed it just before it released the
   lock. */
static int still_named(int fd, const char *name) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && lstat(name, &b) == 0 && S_ISREG(a.st_mode) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

enum { NOT_THERE = -1, UNUSABLE = -2 };

/* Writes why a file could not be locked. Returns 0. */
static int refuse_lock(text *why, const char *temp) {
    if (errno == EWOULDBLOCK) return refuse(why, "another reid is writing %s", temp);
    return refuse(why, "cannot lock %s: %s", temp, strerror(errno));
}

/* Opens and locks an existing temporary file. One that is to be replaced is not written to: it may be a link to another
   file. */
static int open_existing(const char *temp, int keep, text *why) {
    struct stat st;
    int fd = open(temp, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) return NOT_THERE;
    if (fd < 0 && errno == EACCES && lstat(temp, &st) == 0)
        refuse(why, "another user is writing %s, or was; if no command is running, remove it", temp);
    else if (fd < 0) refuse_errno(why, "cannot write here");
    else if (fstat(fd, &st) != 0) refuse_errno(why, "cannot write here");
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0) refuse_lock(why, temp);
    else if (!still_named(fd, temp)) text_printf(why, "%s cannot be used as a temporary file", temp);
    else if (keep && st.st_uid != geteuid()) text_printf(why, "%s belongs to another user", temp);
    else if (keep && st.st_nlink != 1) text_printf(why, "%s is a hard link to another file", temp);
    else if (keep && st.st_mode & 022) text_printf(why, "%s is writable by other users", temp);
    if (fd >= 0 && why->len) close(fd);
    return why->len ? UNUSABLE : fd;
}

/* Creates an empty, locked file, which other users cannot read until it gets its final name. */
static int open_new(const char *temp, text *why) {
    int fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) refuse_errno(why, "cannot write here");
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        refuse_lock(why, temp);
        if (still_named(fd, temp)) unlink(temp);
    } else if (!still_named(fd, temp)) refuse(why, "another reid is writing %s", temp);
    if (fd >= 0 && why->len) close(fd);
    return why->len ? UNUSABLE : fd;
}

/* The file is removed when the program ends. Several threads may be writing files. */
static void list_for_removal(pending *p) {
    for (int i = 0; i < MAX_PENDING && p->slot < 0; i++) {
        char *none = NULL;
        if (__atomic_compare_exchange_n(&to_remove[i], &none, p->temp, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            p->slot = i;
    }
}

int pending_open(pending *p, const char *path, const output_kind *kind, const char *temp, int keep, text *why) {
    memset(p, 0, sizeof *p);
    p->slot = -1;
    int result = 0;
    if (path && !file_target(path, kind, why)) return 0;
    text_clear(why);
    int old = open_existing(temp, keep, why);
    p->fd = old;
    if (old >= 0 && !keep) UNINTERRUPTED(result, unlink(temp));
    if (result != 0) refuse_errno(why, "cannot replace the leftovers of an interrupted run");
    else if (old == NOT_THERE || (old >= 0 && !keep)) p->fd = open_new(temp, why);
    if (old >= 0 && p->fd != old) close(old); /* only now, because its lock kept other processes away */
    p->path = path ? mem_copy(path, strlen(path)) : NULL;
    p->temp = mem_copy(temp, strlen(temp));
    if (!why->len && (!p->temp || (path && !p->path))) {
        text_no_memory(why);
        if (p->fd != old) unlink(temp);
    }
    if (why->len) {
        if (p->fd >= 0) close(p->fd);
        free(p->path);
        free(p->temp);
        memset(p, 0, sizeof *p);
        return 0;
    }
    if (!keep) list_for_removal(p);
    return 1;
}

int pending_begin(pending *p, const char *path, const output_kind *kind, text *why) {
    text temp = TEXT_INIT;
    memset(p, 0, sizeof *p);
    text_printf(&temp, "%s" PENDING_ENDING, path);
    int good = text_failed(&temp) ? text_no_memory(why) : pending_open(p, path, kind, temp.s, 0, why);
    text_free(&temp);
    return good;
}

int file_write_at(int fd, const void *bytes, size_t len, uint64_t offset) {
    const char *from = bytes;
    while (len) {
        ssize_t n;
        UNINTERRUPTED(n, pwrite(fd, from, len, (off_t)offset));
        if (n <= 0) return 0;
        from += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return 1;
}

int file_sync(int fd) {
    int result;
    UNINTERRUPTED(result, fsync(fd));
    return result == 0;
}

int file_cut(int fd, uint64_t size) {
    int result;
    UNINTERRUPTED(result, ftruncate(fd, (off_t)size));
    return result == 0;
}

int pending_write(pending *p, const void *bytes, size_t len, size_t offset, text *why) {
    REID_ASSERT(p->fd >= 0);
    return file_write_at(p->fd, bytes, len, offset) || refuse_errno(why, "cannot write");
}

int pending_sync(pending *p, text *why) { return file_sync(p->fd) || refuse_errno(why, "cannot write"); }

int pending_cut(pending *p, size_t size, text *why) {
    return file_cut(p->fd, size) || refuse_errno(why, "cannot write");
}

int sync_folder_of(const char *path) {
    text folder = TEXT_INIT;
    path_folder(&folder, path);
    int good = 1, fd = text_failed(&folder) ? -1 : open(folder.s, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    text_free(&folder);
    if (fd < 0) return 1;
    if (!file_sync(fd)) good = errno != EIO && errno != ENOSPC;
    const int error = errno;
    close(fd);
    errno = error;
    return good;
}

static void forget(pending *p) {
    if (p->slot >= 0) __atomic_store_n(&to_remove[p->slot], NULL, __ATOMIC_SEQ_CST);
    p->slot = -1;
}

enum { TOGETHER = 4 }; /* files that are renamed together */

/* Sets the name that the old file has while the new ones get their names. */
static int old_name(const pending *p, text *name) {
    text_clear(name);
    text_printf(name, "%s" PENDING_ENDING ".old", p->path);
    return !text_failed(name);
}

/* Finds the file that is replaced, even if a killed run had given it its other name. */
static int find_old(const pending *p, struct stat *old) {
    text name = TEXT_INIT;
    int found = p->path && (lstat(p->path, old) == 0 || (old_name(p, &name) && lstat(name.s, old) == 0));
    text_free(&name);
    return found && S_ISREG(old->st_mode);
}

mode_t usual_mode(mode_t mode) {
    mode_t mask = umask(077); /* the mask can only be read by setting it */
    umask(mask);
    return mode & ~mask;
}

/* Sets the owner and mode of the file that is replaced; a new file gets what the umask leaves. If the owner cannot be
   set, it stays; if the group cannot be set, the group gets no more rights than others. */
static int set_rights(const pending *p, text *why) {
    struct stat old, mine;
    int result;
    mode_t mode = usual_mode(0666);
    if (fstat(p->fd, &mine) != 0) return refuse_errno(why, "cannot write");
    if (find_old(p, &old)) {
        int same = old.st_uid == mine.st_uid && old.st_gid == mine.st_gid;
        mode = old.st_mode & 0777;
        result = 0;
        if (!same) UNINTERRUPTED(result, fchown(p->fd, old.st_uid, old.st_gid));
        if (result != 0) UNINTERRUPTED(result, fchown(p->fd, (uid_t)-1, old.st_gid));
        if (result != 0)
            mode = (mode_t)((mode & ~(mode_t)070) | (mode & 07) << 3);
    }
    UNINTERRUPTED(result, fchmod(p->fd, mode));
    return result == 0 || refuse_errno(why, "cannot write");
}

static int give_name(pending *p, text *why) {
    int result;
    UNINTERRUPTED(result, rename(p->temp, p->path));
    if (result != 0) return refuse_errno(why, "cannot rename the finished file");
    forget(p);
    p->renamed = 1;
    return 1;
}

int pending_rename(pending *p, text *why) { return set_rights(p, why) && give_name(p, why); }

/* Gives the file a name that no file has yet. A link refuses an existing name; where the file system has no links, the
   moment between looking and renaming has to be accepted. */
static int give_new_name(pending *p, text *why) {
    struct stat st;
    int result;
    UNINTERRUPTED(result, link(p->temp, p->path));
    if (result != 0 && (errno == EEXIST || lstat(p->path, &st) == 0)) return refuse(why, "already exists");
    if (result != 0) return give_name(p, why);
    UNINTERRUPTED(result, unlink(p->temp));
    forget(p);
    p->renamed = 1;
    return 1;
}

int pending_rename_new(pending *p, text *why) {
    if (!set_rights(p, why) || !give_new_name(p, why)) return 0;
    if (sync_folder_of(p->path)) return 1;
    refuse_errno(why, "cannot write");
    unlink(p->path);
    return 0;
}

/* Gives the old file a second name, or, with `move` and on file systems without hard links, another one, in place of
   a file that a killed run left there. `name` stays empty if there is no old file. */
static int keep_old(const pending *p, int move, text *name, text *why) {
    struct stat st;
    int result = -1;
    if (!old_name(p, name)) return text_no_memory(why);
    if (lstat(p->path, &st) != 0 && errno == ENOENT) { /* a run that was killed may have moved it there */
        if (lstat(name->s, &st) != 0) text_clear(name);
        return 1;
    }
    unlink(name->s);
    if (!move) UNINTERRUPTED(result, link(p->path, name->s));
    if (result != 0) UNINTERRUPTED(result, rename(p->path, name->s));
    if (result == 0) return 1;
    text_clear(name);
    return refuse_errno(why, "cannot be replaced");
}

/* Gives the new file its temporary name again, and the old file its own. */
static void take_back(pending *p, int keep, const text *old) {
    int result = 0;
    if (p->renamed) UNINTERRUPTED(result, rename(p->path, p->temp));
    if (p->renamed && result == 0) {
        p->renamed = 0;
        if (!keep) list_for_removal(p);
    }
    if (!old->len) return;
    UNINTERRUPTED(result, rename(old->s, p->path));
    if (result == 0) unlink(old->s); /* two names of one file stay two */
}

int pending_rename_all(pending *const list[], int count, const char **failed, text *why) {
    text old[TOGETHER];
    int keep[TOGETHER], wanted[TOGETHER], good = 1;
    REID_ASSERT(count <= TOGETHER);
    memset(old, 0, sizeof old);
    for (int i = 0; i < count; i++) wanted[i] = list[i]->temp && !list[i]->renamed, keep[i] = list[i]->slot < 0;
    for (int i = 0; i < count && good; i++) {
        good = !wanted[i] || set_rights(list[i], why);
        if (!good) *failed = list[i]->path;
    }
    for (int i = count - 1; i >= 0 && good; i--) {
        good = !wanted[i] || keep_old(list[i], i == count - 1, &old[i], why);
        if (!good) *failed = list[i]->path;
    }
    for (int i = 0; i < count && good; i++) {
        good = !wanted[i] || give_name(list[i], why);
        if (!good) *failed = list[i]->path;
    }
    for (int i = 0; i < count; i++) {
        if (!good && list[i]->temp) take_back(list[i], keep[i], &old[i]);
        else if (good && list[i]->path && old_name(list[i], &old[i])) unlink(old[i].s);
        text_free(&old[i]);
    }
    return good;
}

void pending_close(pending *p) {
    if (!p->temp) return;
    if (p->slot >= 0) unlink(p->temp);
    forget(p);
    close(p->fd);
    free(p->path);
    free(p->temp);
    memset(p, 0, sizeof *p);
}

void pending_remove(pending *p) {
    if (p->temp && !p->renamed) unlink(p->temp);
    pending_close(p);
}

static int put_file(const char *path, const output_kind *kind, const text *content, int sync, text *why) {
    pending p;
    if (text_failed(content)) return text_no_memory(why);
    int good = pending_begin(&p, path, kind, why);
    if (good) {
        good = pending_write(&p, content->s, content->len, 0, why) && (!sync || pending_sync(&p, why)) &&
               pending_rename(&p, why);
        pending_close(&p);
    }
    if (good && sync) sync_folder_of(path);
    return good;
}

int file_write(const char *path, const output_kind *kind, const text *content, text *why) {
    return put_file(path, kind, content, 1, why);
}

int file_write_lazily(const char *path, const text *content, text *why) {
    return put_file(path, NULL, content, 0, why);
}

void pending_remove_all(void) {
    for (int i = 0; i < MAX_PENDING; i++) {
        if (to_remove[i]) unlink(to_remove[i]);
        to_remove[i] = NULL;
    }
}

/* Wakes the others with a semaphore, which a signal handler may use. The handler runs on any thread. */
static void on_signal(int number) {
    int before = errno;
    signal_seen = number;
    sem_post(&signals);
    errno = before;
}

static const int asked[] = {SIGINT, SIGTERM, SIGHUP};

void interrupt_setup(void) {
    struct sigaction action, old;
    sem_init(&signals, 0, 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        sigaction(asked[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) sigaction(asked[i], &action, NULL); /* nohup stays in force */
    }
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a full quota become write errors, which are reported */
    signal(SIGXFSZ, SIG_IGN);
}

int interrupted(void) { return signal_seen; }

int interrupt_take(void) {
    int seen = signal_seen;
    struct sigaction old;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        sigaction(asked[i], NULL, &old);
        if (old.sa_handler == on_signal) signal(asked[i], SIG_DFL);
    }
    signal_seen = 0;
    return seen;
}

/* Unlike the other one, it stays in force, and system calls go on. */
static void on_notice(int number) {
    int before = errno;
    if (number == SIGHUP) reload_asked = 1;
    else reopen_asked = 1;
    sem_post(&signals);
    errno = before;
}

void notice_setup(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_notice;
    action.sa_flags = SA_RESTART;
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
}

/* A flag is cleared before it is acted on, so that a signal in between is noticed the next time. */
int notice_take(void) {
    int asked_for = (reload_asked ? NOTICE_RELOAD : 0) | (reopen_asked ? NOTICE_REOPEN : 0);
    if (asked_for & NOTICE_RELOAD) reload_asked = 0;
    if (asked_for & NOTICE_REOPEN) reopen_asked = 0;
    return asked_for;
}

void notice_wait(double seconds) {
    struct timespec end;
    if (signal_seen || reload_asked || reopen_asked) return;
    if (seconds < 0) {
        sem_wait(&signals);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += (long)((seconds - (double)(long)seconds) * 1e9);
    end.tv_sec += (time_t)seconds + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    sem_timedwait(&signals, &end);
}

void notice_wake(void) { sem_post(&signals); }

void interrupt_wait(void) {
    while (!signal_seen) sem_wait(&signals);
}
