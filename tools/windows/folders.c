/* Folders by wide names: listing, making, removing. */
#include "windows/names.h"

#include <sys/syscall.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* --- listing ------------------------------------------------------------------------------------------------------ */

struct windows_dir {
    HANDLE search;
    WIN32_FIND_DATAW found;
    int more; /* 1: found has the next name */
    struct windows_dirent entry;
};

windows_dir *windows_opendir(const char *path) {
    wchar_t *wide = wide_path(path), *all = wide ? malloc((wcslen(wide) + 3) * sizeof *all) : NULL;
    windows_dir *d = all ? calloc(1, sizeof *d) : NULL;
    if (d) {
        const size_t length = wcslen(wide);
        wcscpy(all, wide);
        wcscpy(all + length, length && wide[length - 1] == L'\\' ? L"*" : L"\\*");
        d->search = FindFirstFileW(all, &d->found);
        d->more = d->search != INVALID_HANDLE_VALUE;
    }
    free(wide), free(all);
    if (d && !d->more) {
        fail_with_errno();
        free(d);
        return NULL;
    }
    return d;
}

struct windows_dirent *windows_readdir(windows_dir *d) {
    if (!d->more) return NULL;
    if (!WideCharToMultiByte(CP_UTF8, 0, d->found.cFileName, -1, d->entry.d_name, sizeof d->entry.d_name, NULL, NULL))
        d->entry.d_name[0] = 0;
    d->more = FindNextFileW(d->search, &d->found);
    return &d->entry;
}

int windows_closedir(windows_dir *d) {
    FindClose(d->search);
    free(d);
    return 0;
}

/* Allocates only the bytes that the name needs, which is all that an entry has. */
static struct windows_dirent *copy_entry(const struct windows_dirent *entry) {
    const size_t size = strlen(entry->d_name) + 1;
    struct windows_dirent *copy = malloc(size);
    if (copy) memcpy(copy, entry, size);
    return copy;
}

static void free_entries(struct windows_dirent **at, size_t count) {
    for (size_t i = 0; i < count; i++) free(at[i]);
    free(at);
}

/* Adds an entry to the array, which has room for a power of two. */
static int add_entry(struct windows_dirent ***at, size_t *count, const struct windows_dirent *entry) {
    if ((*count & (*count - 1)) == 0) {
        void *more = realloc(*at, (*count ? 2 * *count : 1) * sizeof **at);
        if (!more) return 0;
        *at = more;
    }
    (*at)[*count] = copy_entry(entry);
    return (*at)[*count] ? ++*count != 0 : 0;
}

int windows_scandir(const char *path, struct windows_dirent ***out, int (*keep)(const struct windows_dirent *),
                    int (*order)(const struct windows_dirent **, const struct windows_dirent **)) {
    struct windows_dirent **at = NULL;
    size_t count = 0;
    int good = 1;
    windows_dir *d = windows_opendir(path);
    if (!d) return -1;
    for (const struct windows_dirent *entry; good && (entry = windows_readdir(d)) != NULL;)
        if (!keep || keep(entry)) good = add_entry(&at, &count, entry);
    windows_closedir(d);
    if (!good || count > INT_MAX) {
        free_entries(at, count);
        errno = ENOMEM;
        return -1;
    }
    int (*compare)(const void *, const void *);
    memcpy(&compare, &order, sizeof compare);
    if (count) qsort(at, count, sizeof *at, compare);
    *out = at;
    return (int)count;
}

/* --- making and removing ------------------------------------------------------------------------------------------ */

int windows_mkdir(const char *path, mode_t mode) {
    wchar_t *wide = wide_path(path);
    (void)mode;
    int result = !wide ? -1 : CreateDirectoryW(wide, NULL) ? 0 : fail_with_errno();
    free(wide);
    return result;
}

int windows_rmdir(const char *path) {
    wchar_t *wide = wide_path(path);
    int result = !wide ? -1 : RemoveDirectoryW(wide) ? 0 : fail_with_errno();
    free(wide);
    return result;
}

/* Replaces the six X at the end of the path with random letters. */
char *windows_mkdtemp(char *path) {
    enum { TRIES = 100, LETTERS = 6 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    char *end = path + strlen(path) - LETTERS;
    for (int i = 0; i < TRIES; i++) {
        unsigned char random[LETTERS];
        if (windows_random(random, LETTERS) < 0) return NULL;
        for (int n = 0; n < LETTERS; n++) end[n] = letters[random[n] % 32];
        if (windows_mkdir(path, 0700) == 0) return path;
        if (errno != EEXIST) return NULL;
    }
    return NULL;
}

/* The only kind of nftw that the rooms use: contents before their folder, without following links. */
static int walk(const char *path, int (*fn)(const char *, const struct windows_stat *, int, struct FTW *), int level) {
    struct windows_stat st;
    struct FTW where = {0, level};
    int result = 0;
    if (windows_lstat(path, &st) != 0) return 0;
    windows_dir *d = S_ISDIR(st.st_mode) ? windows_opendir(path) : NULL;
    for (const struct windows_dirent *entry; d && !result && (entry = windows_readdir(d)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        const size_t size = strlen(path) + strlen(entry->d_name) + 2;
        char *below = malloc(size);
        if (!below) result = -1;
        else snprintf(below, size, "%s/%s", path, entry->d_name), result = walk(below, fn, level + 1);
        free(below);
    }
    if (d) windows_closedir(d);
    return result ? result : fn(path, &st, S_ISDIR(st.st_mode) ? FTW_DP : FTW_F, &where);
}

int windows_nftw(const char *path, int (*fn)(const char *, const struct windows_stat *, int, struct FTW *), int most,
                 int flags) {
    (void)most, (void)flags;
    return walk(path, fn, 0);
}

/* --- syncing ------------------------------------------------------------------------------------------------------ */

static int sync_entry(const char *path, const struct windows_stat *st, int kind, struct FTW *where) {
    (void)kind, (void)where;
    if (!S_ISREG(st->st_mode)) return 0;
    int fd = windows_open(path, O_RDWR), result = fd >= 0 ? windows_fsync(fd) : -1;
    if (fd >= 0) windows_close(fd);
    return result;
}

/* Syncs the files of the folder one by one: only an administrator may have the whole volume written. */
int windows_syncfs(int fd) {
    wchar_t *wide = NULL;
    HANDLE folder = (HANDLE)_get_osfhandle(fd);
    DWORD units = GetFinalPathNameByHandleW(folder, NULL, 0, VOLUME_NAME_DOS);
    if (units) wide = malloc(((size_t)units + 1) * sizeof *wide);
    if (!wide || !GetFinalPathNameByHandleW(folder, wide, units + 1, VOLUME_NAME_DOS)) {
        free(wide);
        return fail_with_errno();
    }
    char *path = path_of(wide);
    int result = path ? walk(path, sync_entry, 0) : -1;
    free(wide), free(path);
    return result;
}
