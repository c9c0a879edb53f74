#include "pictures/inputs.h"

#include "pictures/boxes.h"
#include "base/files.h"
#include "base/say.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Folders on the way down, so that a symbolic link to one of them is seen. */
typedef struct ancestor {
    const struct ancestor *up;
    dev_t device;
    ino_t inode;
} ancestor;

/* The first folder below the root, else the file name without its extension. */
static char *identity_of(const char *path, size_t root_len) {
    const char *name = path + root_len, *slash;
    name += strspn(name, "/");
    slash = strchr(name, '/');
    if (root_len && slash) return must_copy(name, (size_t)(slash - name));
    slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    const char *dot = strrchr(name, '.');
    return must_copy(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

input *inputs_add(inputs *list, const char *path, size_t root_len, const char *id) {
    GROW(list->at, list->count, list->cap);
    input *in = &list->at[list->count++];
    memset(in, 0, sizeof *in);
    in->path = must_copy(path, strlen(path));
    in->id = id == path ? in->path : must_copy(id, strlen(id));
    in->identity = identity_of(path, root_len);
    return in;
}

void inputs_free(inputs *list) {
    for (size_t i = 0; i < list->count; i++) {
        input *in = &list->at[i];
        if (in->id != in->path) free(in->id);
        free(in->path);
        free(in->identity);
        free(in->failure);
    }
    free(list->at);
    memset(list, 0, sizeof *list);
}

static void add_failure(inputs *list, const char *path, const char *why) {
    inputs_add(list, path, 0, path)->failure = must_copy(why, strlen(why));
}

static int is_picture_name(const char *name) {
    static const char *const known[] = {"jpg", "jpeg", "png", "bmp", "tga", "ppm", "pgm", "pnm"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (strcasecmp(dot + 1, known[i]) == 0) return 1;
    return 0;
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int by_bytes(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void walk(inputs *list, text *path, size_t root_len, const ancestor *up);

static void walk_entry(inputs *list, text *path, size_t root_len, const ancestor *here) {
    struct stat st;
    if (stat(path->s, &st) != 0) {
        if (is_picture_name(path->s)) add_failure(list, path->s, strerror(errno));
        return;
    }
    if (S_ISREG(st.st_mode) && is_picture_name(path->s)) inputs_add(list, path->s, root_len, path->s);
    if (!S_ISDIR(st.st_mode)) return;
    for (const ancestor *a = here; a; a = a->up) {
        if (a->device == st.st_dev && a->inode == st.st_ino) {
            say_info("%s: leads back to a folder above it, not followed", shown(path->s));
            return;
        }
    }
    ancestor next = {here, st.st_dev, st.st_ino};
    walk(list, path, root_len, &next);
}

static void walk(inputs *list, text *path, size_t root_len, const ancestor *up) {
    struct dirent **entries;
    int n = scandir(path->s, &entries, is_visible, by_bytes);
    size_t len = path->len;
    if (n < 0) {
        add_failure(list, path->s, strerror(errno));
        return;
    }
    for (int i = 0; i < n; i++) {
        if (path->s[path->len - 1] != '/') text_putc(path, '/');
        text_puts(path, entries[i]->d_name);
        walk_entry(list, path, root_len, up);
        path->len = len;
        path->s[len] = 0;
        free(entries[i]);
    }
    free(entries);
}

void inputs_add_path(inputs *list, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        inputs_add(list, path, 0, path);
        return;
    }
    text at = TEXT_INIT;
    size_t before = list->count;
    ancestor top = {NULL, st.st_dev, st.st_ino};
    text_puts(&at, path);
    while (at.len > 1 && at.s[at.len - 1] == '/') at.s[--at.len] = 0;
    walk(list, &at, at.len, &top);
    if (list->count == before) add_failure(list, path, "no pictures in this folder");
    text_free(&at);
}

/* A list of paths on stdin. */
static int add_list(inputs *list, int separator) {
    text all = TEXT_INIT, why = TEXT_INIT;
    int good = stdin_read((size_t)1 << 32, &all, &why);
    if (!good) say_error("the list on stdin: %s", why.s);
    for (size_t at = 0; good && at < all.len;) {
        char *end = memchr(all.s + at, separator, all.len - at);
        size_t n = end ? (size_t)(end - all.s) - at : all.len - at;
        if (memchr(all.s + at, 0, n)) {
            say_error("the list on stdin holds a zero byte; -0 reads lists that are separated by them");
            good = 0;
        } else if (n) {
            all.s[at + n] = 0;
            inputs_add_path(list, all.s + at);
        }
        at += n + 1;
    }
    text_free(&all);
    text_free(&why);
    return good;
}

static int add_boxes(inputs *list, const options *o) {
    const char *root = o->operand_count ? o->operands[0] : NULL;
    struct stat st;
    if (o->operand_count > 1 || (root && (stat(root, &st) != 0 || !S_ISDIR(st.st_mode)))) {
        say_error("with --boxes, INPUT is at most one folder: the one that the file's paths start from");
        return 0;
    }
    return boxes_read(list, o, root);
}

int inputs_collect(inputs *list, const options *o) {
    int lists = 0;
    if (o->boxes) return add_boxes(list, o);
    if (o->category || o->min_conf >= 0) {
        say_error("--min-conf and --category need --boxes");
        return 0;
    }
    for (int i = 0; i < o->operand_count; i++) lists += strcmp(o->operands[i], "-") == 0;
    if (lists > 1 || (o->nul_list && !lists)) {
        say_error(lists ? "- (the list on stdin) can be given once" : "-0 needs the INPUT - (a list on stdin)");
        return 0;
    }
    for (int i = 0; i < o->operand_count; i++) {
        if (strcmp(o->operands[i], "-") != 0) inputs_add_path(list, o->operands[i]);
        else if (!add_list(list, o->nul_list ? 0 : '\n')) return 0;
    }
    return 1;
}
