#include "journal/decisions.h"

#include "base/files.h"
#include "base/interrupted.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "journal/decisions_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* Checks that the open file is still the one of this name, and that it may hold decisions. */
static int is_usable(const decisions *d, struct stat *st, text *why) {
    struct stat named;
    if (fstat(d->fd, st) != 0) return refuse_errno(why, "cannot read");
    if (S_ISDIR(st->st_mode)) return refuse(why, "is a folder; expected a journal of decisions");
    if (!S_ISREG(st->st_mode)) return refuse(why, "is not a regular file");
    if (lstat(d->path, &named) != 0 || named.st_dev != st->st_dev || named.st_ino != st->st_ino)
        return refuse(why, "was replaced or removed while it was in use");
    if (st->st_nlink != 1) return refuse(why, "is a hard link; a journal of decisions must have one name only");
    if (st->st_mode & 02) return refuse(why, "is writable by all users: chmod o-w");
    if ((uint64_t)st->st_size < d->read) return refuse(why, "became shorter while it was in use");
    return 1;
}

static int open_file(decisions *d, text *why) {
    const int flags = (d->writes ? O_RDWR | O_APPEND : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    d->fd = open(d->path, flags);
    if (d->fd < 0 && errno == ENOENT && d->writes) {
        d->fd = open(d->path, flags | O_CREAT | O_EXCL, 0664);
        if (d->fd < 0 && errno == EEXIST) d->fd = open(d->path, flags); /* another writer was faster */
    }
    if (d->fd >= 0 || (errno == ENOENT && !d->writes)) return 1;
    if (errno == ELOOP) return refuse(why, "is a symbolic link: give the file itself");
    return refuse_errno(why, "cannot open");
}

static int lock(const decisions *d, int kind, text *why) {
    while (flock(d->fd, kind) != 0)
        if (errno != EINTR || interrupted()) return refuse_errno(why, "cannot lock");
    return 1;
}

static void unlock(const decisions *d) { flock(d->fd, LOCK_UN); }

/* Reads the bytes from offset to the present end of the file. */
static int read_from(int fd, uint64_t offset, size_t size, text *out, text *why) {
    enum { CHUNK = 1 << 16 };
    char *chunk = mem_alloc(CHUNK);
    ssize_t n = 1;
    text_clear(out);
    while (chunk && n > 0 && out->len < size && !text_failed(out)) {
        size_t rest = size - out->len;
        UNINTERRUPTED(n, pread(fd, chunk, rest < CHUNK ? rest : CHUNK, (off_t)(offset + out->len)));
        if (n > 0) text_add(out, chunk, (size_t)n);
    }
    int error = errno;
    free(chunk);
    errno = error;
    if (!chunk || text_failed(out)) return text_no_memory(why);
    if (n < 0) return refuse_errno(why, "cannot read");
    return out->len == size || refuse(why, "became shorter while it was in use");
}

/* Whether an incomplete first line can be the start of a decision. Otherwise the file is not a torn journal but
   something else, and must not be overwritten. */
static int may_be_torn(const text *bytes) {
    static const char start[] = "{\"seq\": ";
    size_t n = bytes->len < sizeof start - 1 ? bytes->len : sizeof start - 1;
    return memcmp(bytes->s, start, n) == 0;
}

/* Reads all new lines; the caller holds a lock. */
static int catch_up(decisions *d, text *why) {
    static const uint64_t most = (uint64_t)1 << 32;
    struct stat st;
    text bytes = TEXT_INIT;
    if (!is_usable(d, &st, why)) return 0;
    if ((uint64_t)st.st_size > most) return refuse(why, "is larger than 4 GiB");
    size_t size = (size_t)((uint64_t)st.st_size - d->read);
    size_t used = 0;
    int good = read_from(d->fd, d->read, size, &bytes, why) &&
               decision_list_lines(&d->list, size ? bytes.s : "", size, &used, why);
    if (good && size && !used && !d->read && !may_be_torn(&bytes))
        good = refuse(why, "is not a journal of decisions");
    d->read += used;
    d->torn = size - used;
    text_free(&bytes);
    return good;
}

void decisions_warn_torn(const decisions *d, const char *path) {
    if (d->torn)
        say_warning("%s: its last line is incomplete (%zu byte%s) and is ignored: it was never acknowledged",
                    shown(path), d->torn, plural(d->torn));
}

int decisions_refresh(decisions *d, text *why) {
    if (d->table) return decisions_table_read(d->table, &d->list, why);
    if (d->fd < 0 && !open_file(d, why)) return 0;
    if (d->fd < 0) return 1;
    if (!lock(d, LOCK_SH, why)) return 0;
    int good = catch_up(d, why);
    unlock(d);
    return good;
}

int decisions_open(decisions *d, const char *path, int writes, text *why) {
    memset(d, 0, sizeof *d);
    d->fd = -1;
    d->writes = writes;
    d->path = mem_copy(path, strlen(path));
    if (!d->path) return text_no_memory(why);
    if (is_database_url(path) && !(d->table = decisions_table_open(path, writes, why))) return 0;
    return decisions_refresh(d, why);
}

void decisions_close(decisions *d) {
    decision_list_free(&d->list);
    decisions_table_close(d->table);
    if (d->path && d->fd >= 0) close(d->fd);
    free(d->path);
    memset(d, 0, sizeof *d);
    d->fd = -1;
}

/* --- adding ------------------------------------------------------------------------------------------------------- */

/* Calls write(2) once; returns 1 if the whole line is in the file. */
static int written(int fd, const text *line) {
    ssize_t n;
    UNINTERRUPTED(n, write(fd, line->s, line->len));
    if (n >= 0 && (size_t)n != line->len) errno = ENOSPC; /* the reason for a short write to a file */
    return n >= 0 && (size_t)n == line->len;
}

/* Truncates the file to the whole lines that were read. */
static int cut(const decisions *d) { return file_cut(d->fd, d->read); }

/* Opens the file that keeps torn ends. */
static int open_torn(const char *name, text *why) {
    struct stat st;
    int fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0664);
    if (fd < 0) return refuse_errno(why, "its incomplete last line cannot be moved aside") - 1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1) return fd;
    close(fd);
    return refuse(why, "its incomplete last line cannot be moved aside: %s is not a regular file of its own", name) - 1;
}

/* Copies the torn end to FILE.torn, then cuts it off. */
static int set_aside(decisions *d, text *why) {
    text bytes = TEXT_INIT, name = TEXT_INIT;
    text_printf(&name, "%s.torn", d->path);
    int good = text_failed(&name) ? text_no_memory(why) : read_from(d->fd, d->read, d->torn, &bytes, why);
    int fd = good ? open_torn(name.s, why) : -1;
    good = fd >= 0;
    if (good && !(written(fd, &bytes) && file_sync(fd)))
        good = refuse_errno(why, "its incomplete last line cannot be moved aside");
    if (fd >= 0) close(fd), sync_folder_of(name.s);
    if (good && !cut(d)) good = refuse_errno(why, "its incomplete last line cannot be cut off");
    if (good) d->torn = 0;
    text_free(&bytes);
    text_free(&name);
    return good;
}

/* Writes the line to disk, or restores the file. If restoring fails as well, a torn end remains, or a line that was
   never acknowledged. */
static int store(decisions *d, const text *line, text *why) {
    int first = d->read == 0;
    if (d->torn && !set_aside(d, why)) return 0;
    if (written(d->fd, line) && file_sync(d->fd)) {
        if (first) sync_folder_of(d->path);
        d->read += line->len;
        return 1;
    }
    refuse_errno(why, "cannot write");
    if (cut(d)) file_sync(d->fd);
    return 0;
}

/* Reads the line back as a reader would, so that an unreadable line is never written. Returns as decisions_append
   does. */
static int check_line(decisions *d, const text *line, text *why) {
    decision next;
    decision_state state;
    if (text_failed(line)) return text_no_memory(why);
    if (decision_read(&next, line->s, line->len - 1, why) != LINE_GOOD) {
        decision_free(&next);
        return text_failed(why) ? 0 : -1;
    }
    int is_undo = next.kind == DECISION_UNDO;
    if (!decision_list_add(&d->list, &next, why)) return text_failed(why) ? 0 : -1;
    int good = is_undo ? 1 : decisions_state(&state, &d->list, why);
    if (!is_undo) decision_state_free(&state);
    if (good > 0) return 1;
    decision_list_drop(&d->list);
    return good;
}

/* Stores the line after all others. Returns as decisions_append does, or 2 if another writer to the table was
   faster. */
static int append_once(decisions *d, const decision *what, text *why) {
    text line = TEXT_INIT;
    decision next = *what;
    if (!(d->table ? decisions_refresh(d, why) : catch_up(d, why))) return 0;
    next.seq = (long long)d->list.count + 1;
    decision_write(&next, &line);
    int done = check_line(d, &line, why);
    if (done > 0) {
        int stored = d->table ? decisions_table_add(d->table, next.seq, &line, why) : store(d, &line, why);
        if (stored <= 0) decision_list_drop(&d->list);
        done = stored < 0 ? 2 : stored;
    }
    text_free(&line);
    return done;
}

int decisions_append(decisions *d, const decision *what, text *why) {
    int done = 2;
    if (!d->writes || (d->fd < 0 && !d->table)) return refuse(why, "was opened for reading");
    if (d->table) {
        while (done == 2) done = append_once(d, what, why);
        return done;
    }
    if (!lock(d, LOCK_EX, why)) return 0;
    done = append_once(d, what, why);
    unlock(d);
    return done;
}
