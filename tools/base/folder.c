#include "base/folder.h"

#include "base/files.h"
#include "base/interrupted.h"
#include "base/memory.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* 1 if nothing exists at path, or an empty folder. */
static int is_free(const char *path, text *why) {
    struct stat st;
    if (lstat(path, &st) != 0) return errno == ENOENT || refuse(why, "%s", strerror(errno));
    if (!S_ISDIR(st.st_mode)) return refuse(why, "already exists and is not a folder");
    DIR *d = opendir(path);
    if (!d) return refuse_errno(why, "cannot open");
    int entries = 0;
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(d);
    return entries == 0 || refuse(why, "already exists and is not empty");
}

/* Checks the final name and stores it in f. */
static int begin(folder *f, const char *path, text *why) {
    size_t len = strlen(path);
    memset(f, 0, sizeof *f);
    f->lock = -1;
    while (len > 1 && path[len - 1] == '/') len--;
    f->path = mem_copy(path, len);
    return f->path ? is_free(f->path, why) : text_no_memory(why);
}

/* mkdtemp excludes all other users, whatever the umask; the folder then gets the mode that mkdir would give it. */
int folder_begin(folder *f, const char *path, text *why) {
    text temp = TEXT_INIT;
    if (!begin(f, path, why)) return 0;
    text_printf(&temp, "%s.part.XXXXXX", f->path);
    if (text_failed(&temp)) text_no_memory(why);
    else if (!mkdtemp(temp.s) || chmod(temp.s, usual_mode(0777)) != 0)
        refuse(why, "cannot make %s: %s", temp.s, strerror(errno));
    else {
        f->temp = temp.s;
        return 1;
    }
    text_free(&temp);
    return 0;
}

/* --- work that can be continued ----------------------------------------------------------------------------------- */

static const char WHOLE[] = "whole", NOTE[] = ".note";

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st, (void)where;
    (kind == FTW_DP ? rmdir : unlink)(path); /* files that cannot be removed stay, without a message */
    return 0;
}

static int remove_inside(const char *path, const struct stat *st, int kind, struct FTW *where) {
    return where->level ? remove_entry(path, st, kind, where) : 0;
}

enum { OPEN_FOLDERS = 8 };
static void remove_all(const char *path) { nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS); }

/* 1 if the folder contains only what an interrupted run leaves, so that it may be emptied. */
static int is_ours(const char *path, int *found, text *why) {
    DIR *d = opendir(path);
    if (!d) return refuse(why, "cannot open %s: %s", path, strerror(errno));
    int ours = 1;
    *found = 0;
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        *found = 1;
        ours = ours && (strcmp(name, WHOLE) == 0 || text_ends_with(name, NOTE) ||
                        text_ends_with(name, ".note" PENDING_ENDING));
    }
    closedir(d);
    return ours || refuse(why, "%s already exists and was not left by an interrupted run", path);
}

/* Locks the work folder and checks that its name still leads to it. */
static int lock_work(folder *f, text *why) {
    struct stat a, b;
    f->lock = open(f->work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->lock < 0) return refuse(why, "cannot open %s: %s", f->work, strerror(errno));
    const int locked = flock(f->lock, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK) return refuse(why, "cannot lock %s: %s", f->work, strerror(errno));
    if (!locked || fstat(f->lock, &a) != 0 || lstat(f->work, &b) != 0 ||
        a.st_dev != b.st_dev || a.st_ino != b.st_ino) return refuse(why, "another reid is writing %s", f->work);
    if (a.st_uid != geteuid()) return refuse(why, "%s belongs to another user", f->work);
    return !(a.st_mode & 022) || refuse(why, "%s is writable by other users", f->work);
}

static int make_folder(const char *path, mode_t mode, text *why) {
    return mkdir(path, mode) == 0 || errno == EEXIST || refuse(why, "cannot make %s: %s", path, strerror(errno));
}

int folder_resume(folder *f, const char *path, int resume, int *found, text *why) {
    text work = TEXT_INIT, temp = TEXT_INIT;
    *found = 0;
    if (!begin(f, path, why)) return 0;
    text_printf(&work, "%s.part", f->path);
    text_printf(&temp, "%s.part/%s", f->path, WHOLE);
    int good = (!text_failed(&work) && !text_failed(&temp)) || text_no_memory(why);
    if (good) f->work = work.s, f->temp = temp.s;
    good = good && make_folder(f->work, 0700, why) && lock_work(f, why) && is_ours(f->work, found, why);
    if (good && *found && !resume) nftw(f->work, remove_inside, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    if (good && make_folder(f->temp, 0777, why)) return 1;
    if (f->lock >= 0) close(f->lock);
    f->work = f->temp = NULL; /* they may belong to another process, so folder_end must leave them alone */
    text_free(&work), text_free(&temp);
    return 0;
}

static int note_path(const folder *f, const char *name, text *path, text *why) {
    text_printf(path, "%s/%s%s", f->work, name, NOTE);
    return !text_failed(path) || text_no_memory(why);
}

int folder_note(const folder *f, const char *name, const text *content, text *why) {
    text path = TEXT_INIT;
    int good = note_path(f, name, &path, why) && (!text_failed(content) || text_no_memory(why)) &&
               file_write(path.s, NULL, content, why);
    text_free(&path);
    return good;
}

int folder_noted(const folder *f, const char *name, text *content, text *why) {
    static const size_t most = (size_t)1 << 36;
    struct stat st;
    text path = TEXT_INIT;
    int result = note_path(f, name, &path, why) ? 1 : -1;
    if (result > 0 && lstat(path.s, &st) != 0) result = errno == ENOENT ? 0 : refuse(why, "%s", strerror(errno)) - 1;
    if (result > 0 && !file_read(path.s, most, 1, content, why)) result = -1;
    text_free(&path);
    return result;
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

static int inside(const folder *f, const char *name, text *path, text *why) {
    text_printf(path, "%s/%s", f->temp, name);
    return !text_failed(path) || text_no_memory(why);
}

int folder_add(const folder *f, const char *name, text *why) {
    text path = TEXT_INIT;
    int good = inside(f, name, &path, why);
    if (good && mkdir(path.s, 0777) != 0) good = refuse(why, "cannot make %s: %s", path.s, strerror(errno));
    text_free(&path);
    return good;
}

int folder_renew(const folder *f, const char *name, text *why) {
    text path = TEXT_INIT;
    int good = inside(f, name, &path, why);
    if (good) remove_all(path.s);
    text_free(&path);
    return good && folder_add(f, name, why);
}

int folder_write(const folder *f, const char *name, const text *content, text *why) {
    text path = TEXT_INIT;
    int good = inside(f, name, &path, why) && (!text_failed(content) || text_no_memory(why)) &&
               file_write(path.s, NULL, content, why);
    text_free(&path);
    return good;
}

int folder_sync(const folder *f, text *why) {
    int fd = open(f->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = -1;
    if (fd >= 0) UNINTERRUPTED(result, syncfs(fd));
    int good = result == 0 || refuse_errno(why, "cannot write");
    if (fd >= 0) close(fd);
    return good;
}

int folder_finish(folder *f, text *why) {
    if (!folder_sync(f, why)) return 0;
    sync_folder_of(f->temp);
    if (rename(f->temp, f->path) != 0) return refuse(why, "cannot rename %s to it: %s", f->temp, strerror(errno));
    sync_folder_of(f->path);
    free(f->temp);
    f->temp = NULL;
    return 1;
}

void folder_end(folder *f) {
    if (f->work && !(f->temp && f->keep)) remove_all(f->work);
    else if (f->temp && !f->work) remove_all(f->temp);
    if (f->work) close(f->lock);
    free(f->temp), free(f->path), free(f->work);
    memset(f, 0, sizeof *f);
}
