#include "base/folder.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 1 when there is nothing, or a folder with nothing in it. */
static int is_free(const char *path, text *why) {
    struct stat st;
    if (lstat(path, &st) != 0) return errno == ENOENT || refuse(why, "%s", strerror(errno));
    if (!S_ISDIR(st.st_mode)) return refuse(why, "is there already, and is no folder");
    DIR *d = opendir(path);
    if (!d) return refuse(why, "cannot open: %s", strerror(errno));
    int entries = 0;
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(d);
    return entries == 0 || refuse(why, "is there already, and not empty");
}

int folder_begin(folder *f, const char *path, text *why) {
    text temp = TEXT_INIT;
    size_t len = strlen(path);
    memset(f, 0, sizeof *f);
    while (len > 1 && path[len - 1] == '/') len--;
    f->path = mem_copy(path, len);
    if (!f->path) return text_no_memory(why);
    if (!is_free(f->path, why)) return 0;
    text_printf(&temp, "%s.part.XXXXXX", f->path);
    if (text_failed(&temp)) text_no_memory(why);
    else if (!mkdtemp(temp.s) || chmod(temp.s, 0755) != 0) refuse(why, "cannot make %s: %s", temp.s, strerror(errno));
    else {
        f->temp = temp.s;
        return 1;
    }
    text_free(&temp);
    return 0;
}

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

int folder_write(const folder *f, const char *name, const text *content, text *why) {
    text path = TEXT_INIT;
    int good = inside(f, name, &path, why) && (!text_failed(content) || text_no_memory(why)) &&
               file_write(path.s, content, why);
    text_free(&path);
    return good;
}

int folder_finish(folder *f, text *why) {
    sync_folder_of(f->temp);
    if (rename(f->temp, f->path) != 0) return refuse(why, "cannot rename %s to it: %s", f->temp, strerror(errno));
    sync_folder_of(f->path);
    free(f->temp);
    f->temp = NULL;
    return 1;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st, (void)where;
    (kind == FTW_DP ? rmdir : unlink)(path); /* what cannot be removed stays; there is nobody to tell */
    return 0;
}

void folder_end(folder *f) {
    enum { OPEN_FOLDERS = 8 };
    if (f->temp) nftw(f->temp, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    free(f->temp), free(f->path);
    memset(f, 0, sizeof *f);
}
