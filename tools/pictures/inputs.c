#include "pictures/inputs.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
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
    if (root_len && slash) return need_copy(name, (size_t)(slash - name));
    slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    const char *dot = strrchr(name, '.');
    return need_copy(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static void free_input(input *in) {
    if (in->id != in->path) free(in->id);
    free(in->path);
    free(in->identity);
    free(in->camera);
    free(in->source);
    free(in->track);
    free(in->failure);
}

static int replace(char **what, const char *by) {
    char *copy = need_copy(by, strlen(by));
    if (!copy) return 0;
    free(*what);
    *what = copy;
    return 1;
}

int input_set_identity(input *in, const char *identity) { return replace(&in->identity, identity); }

int input_set_camera(input *in, const char *camera) { return replace(&in->camera, camera); }

int input_set_track(input *in, const char *track) { return replace(&in->track, track); }

input *inputs_add(inputs *list, const char *path, size_t root_len, const char *id) {
    if (!NEED(list->at, list->count, list->cap)) return NULL;
    input *in = &list->at[list->count];
    memset(in, 0, sizeof *in);
    in->score = (double)NAN;
    in->path = need_copy(path, strlen(path));
    if (in->path) in->id = id == path ? in->path : need_copy(id, strlen(id));
    if (in->id) in->identity = identity_of(path, root_len);
    if (in->identity) {
        list->count++;
        return in;
    }
    free_input(in);
    return NULL;
}

/* A row that cannot be made. */
static int add_failure(inputs *list, const char *path, const char *id, const char *why) {
    char *failure = need_copy(why, strlen(why));
    input *in = failure ? inputs_add(list, path, 0, id) : NULL;
    if (in) in->failure = failure;
    else free(failure);
    return in != NULL;
}

void inputs_free(inputs *list) {
    for (size_t i = 0; i < list->count; i++) free_input(&list->at[i]);
    free(list->at);
    memset(list, 0, sizeof *list);
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

int inputs_identities(const inputs *list, size_t *identities, size_t *unnamed) {
    const char **names = need_array(list->count + 1, sizeof *names);
    size_t n = 0;
    *identities = *unnamed = 0;
    for (size_t i = 0; i < list->count && names; i++) {
        if (list->at[i].failure) continue;
        if (*list->at[i].identity) names[n++] = list->at[i].identity;
        else ++*unnamed;
    }
    if (n) qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) *identities += i == 0 || strcmp(names[i - 1], names[i]) != 0;
    free(names);
    return names != NULL;
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

static int walk(inputs *list, text *path, size_t root_len, const ancestor *up);

static int walk_entry(inputs *list, text *path, size_t root_len, const ancestor *here) {
    struct stat st;
    if (!need_text(path)) return 0;
    if (stat(path->s, &st) != 0)
        return !is_picture_name(path->s) || add_failure(list, path->s, path->s, strerror(errno));
    if (S_ISREG(st.st_mode) && is_picture_name(path->s)) return inputs_add(list, path->s, root_len, path->s) != NULL;
    if (!S_ISDIR(st.st_mode)) return 1;
    for (const ancestor *a = here; a; a = a->up) {
        if (a->device == st.st_dev && a->inode == st.st_ino) {
            say_info("%s: leads back to a folder above it, not followed", shown(path->s));
            return 1;
        }
    }
    ancestor next = {here, st.st_dev, st.st_ino};
    return walk(list, path, root_len, &next);
}

/* 0 when memory runs out; path is then not what it was. */
static int walk(inputs *list, text *path, size_t root_len, const ancestor *up) {
    struct dirent **entries;
    int n = scandir(path->s, &entries, is_visible, by_bytes), good = 1;
    size_t len = path->len;
    if (n < 0) return add_failure(list, path->s, path->s, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (good) {
            if (path->s[path->len - 1] != '/') text_putc(path, '/');
            text_puts(path, entries[i]->d_name);
            good = walk_entry(list, path, root_len, up);
        }
        if (good) {
            path->len = len;
            path->s[len] = 0;
        }
        free(entries[i]);
    }
    free(entries);
    return good;
}

int inputs_add_path(inputs *list, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return inputs_add(list, path, 0, path) != NULL;
    text at = TEXT_INIT;
    size_t before = list->count;
    ancestor top = {NULL, st.st_dev, st.st_ino};
    text_puts(&at, path);
    while (at.len > 1 && at.s[at.len - 1] == '/') at.s[--at.len] = 0;
    int good = need_text(&at) && walk(list, &at, at.len, &top);
    if (good && list->count == before) good = add_failure(list, path, path, "no images in this folder");
    text_free(&at);
    return good;
}

int box_in_pixels(const input *in, int width, int height, reid_box *out) {
    double left = in->box[0], top = in->box[1], right = left + in->box[2], bottom = top + in->box[3];
    const double across = in->unit == BOX_NORMALISED ? width : 1, down = in->unit == BOX_NORMALISED ? height : 1;
    left = rint(left * across), right = rint(right * across);
    top = rint(top * down), bottom = rint(bottom * down);
    if (left < -1e9 || top < -1e9 || right - left > 1e9 || bottom - top > 1e9) return 0;
    if (right - left < -1e9 || bottom - top < -1e9 || left > 1e9 || top > 1e9) return 0;
    out->x = (int)left;
    out->y = (int)top;
    out->width = (int)(right - left);
    out->height = (int)(bottom - top);
    return 1;
}
