#include "base/replace.h"

#include "base/file_kind.h"
#include "base/memory.h"
#include "base/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { START = 1 << 16 }; /* bytes that are looked at */

typedef struct identity {
    dev_t device;
    ino_t inode;
} identity;

typedef struct claim {
    char *name; /* without links in its folder */
    const output_kind *kind;
} claim;

/* What this run reads and writes; filled before threads start. */
static identity *read_files;
static claim *claims;
static size_t input_count, input_room, claim_count, claim_room;
static int forced;

void replace_by_force(void) { forced = 1; }

/* --- inputs ------------------------------------------------------------------------------------------------------- */

int replace_never(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) return 1;
    if (!GROW(read_files, input_count, input_room)) return 0;
    read_files[input_count++] = (identity){st.st_dev, st.st_ino};
    return 1;
}

static int is_noted(const char *path, struct stat *st) {
    if (stat(path, st) != 0) return 0;
    for (size_t i = 0; i < input_count; i++)
        if (read_files[i].device == st->st_dev && read_files[i].inode == st->st_ino) return 1;
    return 0;
}

int replace_is_input(const char *path) {
    struct stat st;
    return is_noted(path, &st) && S_ISREG(st.st_mode);
}

/* Whether an input folder contains the file, directly or further down. */
static int in_input_folder(const char *path) {
    struct stat st;
    char *whole = realpath(path, NULL), *slash;
    int found = 0;
    while (whole && !found && (slash = strrchr(whole, '/')) != NULL && slash > whole) {
        *slash = 0;
        found = is_noted(whole, &st);
    }
    free(whole);
    return found;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

/* Returns the path with its folder resolved. NULL if the folder does not exist, which opening the file then reports, or
   if memory runs out. */
static char *whole_name(const char *path) {
    text given = TEXT_INIT, t = TEXT_INIT;
    path_folder(&given, path);
    char *folder = text_failed(&given) ? NULL : realpath(given.s, NULL), *name = NULL;
    if (folder) text_printf(&t, "%s/%s", folder, path_name(path));
    if (folder && !text_failed(&t)) name = mem_copy(t.s, t.len);
    text_free(&t), text_free(&given);
    free(folder);
    return name;
}

/* Notes the output. Returns 0 if this run writes another one under the same name. */
static int claim_name(const char *path, const output_kind *kind, text *why) {
    char *name = whole_name(path);
    for (size_t i = 0; name && i < claim_count; i++) {
        if (strcmp(claims[i].name, name) != 0) continue;
        free(name);
        return claims[i].kind == kind || refuse(why, "is already the name of another output of this command, %s; each "
                                                     "needs its own", claims[i].kind->what);
    }
    if (!name) return 1;
    if (!GROW(claims, claim_count, claim_room)) return free(name), text_no_memory(why);
    claims[claim_count++] = (claim){name, kind};
    return 1;
}

static int holds(const char *bytes, size_t size, const char *words) {
    return memmem(bytes, size, words, strlen(words)) != NULL;
}

static int is_of_kind(const char *path, const source *file, const char *start, size_t size, const output_kind *kind,
                      text *why) {
    size_t n = kind->start ? strlen(kind->start) : 0;
    if (size < n || (n && memcmp(start, kind->start, n) != 0)) return 0;
    return (!kind->holds || holds(start, size, kind->holds)) && (!kind->is || kind->is(path, file, why));
}

static int refuse_other(const char *start, size_t size, const output_kind *kind, text *why) {
    const file_kind *found = file_kind_of((const unsigned char *)start, size);
    if (found) return refuse(why, "exists and is not %s, so it is not replaced: it looks like %s (--force replaces it)",
                             kind->what, found->what);
    return refuse(why, "exists and is not %s, so it is not replaced (--force replaces it)", kind->what);
}

static int check_kind(const char *path, const output_kind *kind, text *why) {
    source old = {0};
    char *start = mem_alloc(START);
    size_t size = 0;
    int good = start ? source_open(&old, path, why) : text_no_memory(why);
    if (good) {
        size = old.size < START ? (size_t)old.size : START;
        good = source_read(&old, 0, start, size, why);
    }
    if (good && size && forced && file_kind_of((const unsigned char *)start, size) &&
        file_kind_of((const unsigned char *)start, size)->is == FILE_PICTURE && in_input_folder(path))
        good = refuse(why, "is both input and output: it is an image in an input folder; write the output elsewhere");
    else if (good && size && !forced && !is_of_kind(path, &old, start, size, kind, why))
        good = why->len ? 0 : refuse_other(start, size, kind, why);
    source_close(&old);
    free(start);
    return good;
}

int replace_allowed(const char *path, const output_kind *kind, text *why) {
    struct stat st;
    if (!kind) return 1;
    if (replace_is_input(path)) return refuse(why, "is both input and output; name another output");
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && !check_kind(path, kind, why)) return 0;
    return claim_name(path, kind, why);
}
