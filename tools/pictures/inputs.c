#include "pictures/inputs.h"

#include "base/file_kind.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/unicode.h"
#include "pictures/tiff.h"
#include "pictures/webp.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* The folders above the current one, to recognise a symbolic link to one of them. */
typedef struct ancestor {
    const struct ancestor *up;
    dev_t device;
    ino_t inode;
} ancestor;

/* Returns the first folder below the root, or else the file name without its extension. */
static char *identity_of(const char *path, size_t root_len) {
    const char *name = path + root_len, *slash;
    name += strspn(name, "/");
    slash = strchr(name, '/');
    if (root_len && slash) return need_copy(name, (size_t)(slash - name));
    name = path_name(name);
    return need_copy(name, path_stem(name));
}

static void free_input(input *in) {
    if (in->id != in->path) free(in->id);
    free(in->path);
    free(in->identity);
    free(in->camera);
    free(in->source);
    free(in->track);
    free(in->category);
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

int input_set_category(input *in, const char *category) { return replace(&in->category, category); }

input *inputs_add(inputs *list, const char *path, size_t root_len, const char *id) {
    if (!NEED(list->at, list->count, list->cap)) return NULL;
    input *in = &list->at[list->count];
    memset(in, 0, sizeof *in);
    in->score = (double)NAN;
    in->path = path_spelled(path);
    if (!in->path) say_no_memory();
    if (in->path) in->id = strcmp(id, in->path) == 0 ? in->path : need_copy(id, strlen(id));
    if (in->id) in->identity = identity_of(path, root_len);
    if (in->identity) {
        list->count++;
        return in;
    }
    free_input(in);
    return NULL;
}

typedef struct folder_entries {
    struct dirent **at;
    int count;
} folder_entries;

/* Adds a row that failed. */
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

int inputs_identities(const inputs *list, size_t *identities, size_t *unnamed) {
    const char **names = need_array(list->count + 1, sizeof *names);
    size_t n = 0;
    *identities = *unnamed = 0;
    for (size_t i = 0; i < list->count && names; i++) {
        if (list->at[i].failure) continue;
        if (*list->at[i].identity) names[n++] = list->at[i].identity;
        else ++*unnamed;
    }
    if (n) qsort(names, n, sizeof *names, order_names);
    for (size_t i = 0; i < n; i++) *identities += i == 0 || !name_same(names[i - 1], names[i]);
    for (size_t i = 1; i < n && !name_warn_of_forms(names[i - 1], names[i]); i++) {}
    free(names);
    return names != NULL;
}

/* Whether the name ends in a dot and one of these words, in any case. */
static int has_ending(const char *name, const char *const *endings) {
    const char *dot = strrchr(name, '.');
    for (; dot && *endings; endings++)
        if (strcasecmp(dot + 1, *endings) == 0) return 1;
    return 0;
}

static int is_picture_name(const char *name) {
    static const char *const known[] = {"jpg", "jpeg", "jfif", "jpe", "jif", "png", "bmp", "tga", "ppm", "pgm", "pnm",
                                        NULL};
    static const char *const webp[] = {"webp", NULL}, *const tiff[] = {"tif", "tiff", NULL};
    return has_ending(name, known) || (webp_is_readable() && has_ending(name, webp)) ||
           (tiff_is_readable() && has_ending(name, tiff));
}

/* Whether the name is that of an image in a format that only other programs read. */
static int is_other_picture_name(const char *name) {
    static const char *const known[] = {
        "webp", "tif", "tiff", "heic", "heif", "hif", "avif", "gif", "jp2", "j2k", "jpf", "jpx", "jpm", "jxl", "jxr",
        "psd", "pbm", "pam", "apng", "mpo", "dng", "raw", "cr2", "cr3", "crw", "nef", "nrw", "arw", "srf", "sr2", "orf",
        "rw2", "raf", "pef", "srw", "x3f", "3fr", "iiq", "rwl", "erf", "kdc", "dcr", "mrw", "gpr", NULL};
    return has_ending(name, known);
}

static int has_no_ending(const char *path) {
    return strchr(path_name(path), '.') == NULL;
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int by_bytes(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* What the file is by its first bytes; NULL: unknown. */
static const file_kind *kind_of_file(const char *path) {
    unsigned char start[FILE_KIND_START];
    source file;
    text why = TEXT_INIT;
    size_t size = 0;
    if (source_open(&file, path, &why)) {
        size = file.size < sizeof start ? (size_t)file.size : sizeof start;
        if (!source_read(&file, 0, start, size, &why)) size = 0;
    }
    source_close(&file);
    text_free(&why);
    return size ? file_kind_of(start, size) : NULL;
}

/* Whether the folder's sorted entries include a readable image with the same name but another extension. */
static int is_beside_a_read_one(const folder_entries *in, int at) {
    const char *name = in->at[at]->d_name, *dot = strrchr(name, '.');
    size_t stem = dot ? (size_t)(dot - name) + 1 : 0;
    for (int step = -1; step <= 1 && stem; step += 2)
        for (int i = at + step; i >= 0 && i < in->count && strncmp(in->at[i]->d_name, name, stem) == 0; i += step)
            if (!strchr(in->at[i]->d_name + stem, '.') && is_picture_name(in->at[i]->d_name)) return 1;
    return 0;
}

/* Adds a file whose name is not that of a readable image, depending on its contents. A JPEG, PNG or WebP may have the
   extension of another image format or none; images in other formats become rows that fail. */
static int add_other(inputs *list, const char *path, size_t root_len, const folder_entries *in, int at) {
    int is_named = is_other_picture_name(path);
    if (!is_named && !has_no_ending(path)) return 1;
    const file_kind *kind = kind_of_file(path);
    int is_webp = kind && strcmp(kind->bytes, "WEBP") == 0;
    int is_read = kind && (memcmp(kind->bytes, "\xFF\xD8\xFF", 3) == 0 || memcmp(kind->bytes, "\x89PNG", 4) == 0 ||
                           (is_webp && webp_is_readable()));
    if (is_read || (is_named && !kind)) return inputs_add(list, path, root_len, path) != NULL; /* opening it may fail */
    if (!kind || kind->is != FILE_PICTURE) return !is_named || inputs_add(list, path, root_len, path) != NULL;
    int is_certain = kind->len >= 4 && strcmp(kind->bytes, "ftyp") != 0 && strcmp(kind->bytes, "%PDF") != 0;
    if (!is_named && !is_certain) return 1;
    if (is_beside_a_read_one(in, at)) return list->beside++, 1;
    text why = TEXT_INIT;
    if (is_webp) text_puts(&why, WEBP_NEEDS_LIBRARY);
    else text_printf(&why, "%s, which is not supported; convert it to PNG or JPEG", kind->what);
    int good = need_text(&why) && add_failure(list, path, path, why.s);
    if (good) list->at[list->count - 1].unread = kind->what;
    text_free(&why);
    return good;
}

static int walk(inputs *list, text *path, size_t root_len, const ancestor *up);

static int walk_entry(inputs *list, text *path, size_t root_len, const ancestor *here, const folder_entries *in,
                      int at) {
    struct stat st;
    if (!need_text(path)) return 0;
    if (stat(path->s, &st) != 0)
        return !is_picture_name(path->s) || add_failure(list, path->s, path->s, strerror(errno));
    if (S_ISREG(st.st_mode) && is_picture_name(path->s)) return inputs_add(list, path->s, root_len, path->s) != NULL;
    if (S_ISREG(st.st_mode)) return add_other(list, path->s, root_len, in, at);
    if (!S_ISDIR(st.st_mode)) return 1;
    for (const ancestor *a = here; a; a = a->up) {
        if (a->device == st.st_dev && a->inode == st.st_ino) {
            say_info("%s: not followed, because it leads back to a folder above it", shown(path->s));
            return 1;
        }
    }
    ancestor next = {here, st.st_dev, st.st_ino};
    return walk(list, path, root_len, &next);
}

/* Returns 0 if memory runs out; path has changed then. */
static int walk(inputs *list, text *path, size_t root_len, const ancestor *up) {
    folder_entries in;
    int n = scandir(path->s, &in.at, is_visible, by_bytes), good = 1;
    size_t len = path->len;
    if (n < 0) return add_failure(list, path->s, path->s, strerror(errno));
    in.count = n;
    for (int i = 0; i < n; i++) {
        if (good) {
            if (path->s[path->len - 1] != '/') text_putc(path, '/');
            text_puts(path, in.at[i]->d_name);
            good = walk_entry(list, path, root_len, up, &in, i);
        }
        if (good) {
            path->len = len;
            path->s[len] = 0;
        }
    }
    for (int i = 0; i < n; i++) free(in.at[i]);
    free(in.at);
    return good;
}

/* Counts the unread images from row `from` on, and lists their kinds: "WebP image (3), TIFF or raw image (1)". */
static size_t count_unread(const inputs *list, size_t from, text *kinds) {
    enum { MOST_KINDS = 64 }; /* more than file_kind_of has */
    struct { const char *kind; size_t rows; } seen[MOST_KINDS];
    size_t unread = 0, n = 0;
    for (size_t i = from; i < list->count; i++) {
        const char *kind = list->at[i].unread;
        size_t k = 0;
        if (!kind) continue;
        while (k < n && seen[k].kind != kind) k++;
        REID_ASSERT(k < MOST_KINDS);
        if (k == n) seen[n].kind = kind, seen[n++].rows = 0;
        seen[k].rows++;
        unread++;
    }
    for (size_t k = 0; k < n; k++)
        text_printf(kinds, "%s%s (%zu)", k ? ", " : "", strchr(seen[k].kind, ' ') + 1, seen[k].rows);
    return unread;
}

/* Reports in one line which images of a folder are not read. */
static void say_unread(const inputs *list, size_t from, size_t beside, const char *folder) {
    text kinds = TEXT_INIT;
    size_t unread = count_unread(list, from, &kinds), first = from;
    while (first < list->count && !list->at[first].unread) first++;
    if (unread)
        say_error("%s: %zu image%s in formats that reid does not read: %s; the first is %s. Convert them, for example "
                  "with ImageMagick: magick mogrify -format png FILE...", shown(folder), unread, plural(unread),
                  text_failed(&kinds) ? "" : kinds.s, shown(list->at[first].path));
    if (beside)
        say_warning("%s: left out %zu image%s in formats that reid does not read: %s the same name as a readable image",
                    shown(folder), beside, plural(beside), beside == 1 ? "it has" : "they have");
    text_free(&kinds);
}

void inputs_say_failure(const input *in, const char *why) {
    if (!in->unread) say_error("%s: %s", shown(in->id), why);
}

int inputs_add_path(inputs *list, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return inputs_add(list, path, 0, path) != NULL;
    text at = TEXT_INIT;
    size_t before = list->count, beside = list->beside;
    ancestor top = {NULL, st.st_dev, st.st_ino};
    text_puts(&at, path);
    while (at.len > 1 && at.s[at.len - 1] == '/') at.s[--at.len] = 0;
    int good = need_text(&at) && walk(list, &at, at.len, &top);
    if (good && list->count == before) good = add_failure(list, path, path, "no images in this folder");
    if (good) say_unread(list, before, list->beside - beside, path);
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
