#include "pictures/photos.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"
#include "base/unicode.h"
#include "base/when.h"
#include "pictures/exif.h"
#include "pictures/inputs.h"
#include "pictures/paths.h"

#include <stdlib.h>
#include <string.h>

/* --- folders ------------------------------------------------------------------------------------------------------ */

/* Returns a folder's camera: one of those from `first` on, or a new one. NULL with the reason in why. */
static camera *camera_of(photos *p, size_t first, const char *folder, size_t len, size_t root_len, text *why) {
    for (size_t i = p->count; i-- > 0;) {
        if (strncmp(p->at[i].folder, folder, len) != 0 || p->at[i].folder[len]) continue;
        if (i >= first) return &p->at[i];
        refuse(why, "the photos in %.300s are given twice", shown(p->at[i].folder));
        return NULL;
    }
    text_no_memory(why);
    if (!GROW(p->at, p->count, p->cap)) return NULL;
    camera *c = &p->at[p->count];
    memset(c, 0, sizeof *c);
    c->root_len = root_len;
    c->folder = mem_copy(folder, len);
    c->name = c->folder ? path_camera(folder, len, root_len) : NULL;
    if (c->name) return p->count++, c;
    free(c->folder);
    return NULL;
}

int photos_add(photos *p, const char *folder, text *why) {
    inputs list = {0};
    size_t root_len = strlen(folder), first = p->count;
    while (root_len > 1 && folder[root_len - 1] == '/') root_len--;
    int good = inputs_add_path(&list, folder) || text_no_memory(why);
    for (size_t i = 0; i < list.count && good; i++) {
        const input *in = &list.at[i];
        if (in->unread) continue; /* the list has already reported it */
        if (in->failure) {
            good = refuse(why, "%.300s: %.200s", shown(in->path), in->failure);
            break;
        }
        const char *slash = strrchr(in->path, '/');
        camera *c = camera_of(p, first, in->path, slash ? (size_t)(slash - in->path) : 0, root_len, why);
        good = c && (GROW(c->at, c->count, c->cap) || text_no_memory(why));
        if (!good) break;
        c->at[c->count] = (photo){.path = mem_copy(in->path, strlen(in->path))};
        good = c->at[c->count].path != NULL || text_no_memory(why);
        c->count += good != 0;
    }
    inputs_free(&list);
    return good;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Compares paths from their ends, with backslashes as slashes. All photos that a name may refer to are then adjacent,
   so the search stays fast if thousands of cameras have photos with the same file name. */
static int by_ends(const char *a, size_t n, const char *b, size_t m) {
    while (n && m) {
        int x = (unsigned char)a[--n], y = (unsigned char)b[--m];
        if (x == '\\') x = '/';
        if (y == '\\') y = '/';
        if (x != y) return x < y ? -1 : 1;
    }
    return (n > 0) - (m > 0);
}

/* A name as a file spells it, and with all characters decomposed. */
typedef struct looked_for {
    const char *spelled, *key;
} looked_for;

static int by_path(const void *a, const void *b) {
    const photo_place *x = a, *y = b;
    int order = by_ends(x->key, strlen(x->key), y->key, strlen(y->key));
    return order ? order : strcmp(x->path, y->path);
}

/* Returns the index of the first place whose key does not sort before this end. */
static size_t first_from(const photos *p, const char *end, size_t len) {
    size_t from = 0, to = p->place_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const char *key = p->places[middle].key;
        if (by_ends(key, strlen(key), end, len) < 0) from = middle + 1;
        else to = middle;
    }
    return from;
}

/* How well a name fits that fits the end of a path: 2: it is spelled like the whole path below the requested folder,
   1: it is another spelling of that, 0: the folders that one of the two names are unknown to the other. */
static int fit_of(const photos *p, const photo_place *at, const looked_for *name) {
    const char *below = at->path + p->at[at->camera].root_len;
    below += strspn(below, "/");
    if (path_same_ends(name->spelled, below) && strlen(name->spelled) == strlen(below)) return 2;
    char *key = name_decomposed(below);
    int whole = key && path_same_ends(name->key, key) && strlen(name->key) == strlen(key);
    free(key);
    return whole;
}

/* Takes what fits a name into *found. Returns 0 with the reason in why when something else fits as well. */
static int take_place(const photos *p, const photo_place *at, const looked_for *name, const photo_place **found,
                      text *why) {
    if (!path_same_ends(name->key, at->key)) return 1;
    const photo_place *other = *found;
    int fit = fit_of(p, at, name), other_fit = other ? fit_of(p, other, name) : -1;
    if (other_fit > fit) return 1;
    *found = at;
    if (fit > other_fit) return 1;
    if (strcmp(other->path, at->path) > 0) at = other, other = *found;
    return refuse(why, "%.200s matches both %.300s and %.300s; give more of its path", shown(name->spelled),
                  shown(other->path), shown(at->path));
}

/* Finds photos whose paths end in "/name". */
static int take_longer(const photos *p, const looked_for *name, const text *end, const photo_place **found,
                       text *why) {
    for (size_t i = first_from(p, end->s, end->len); i < p->place_count; i++) {
        const char *key = p->places[i].key;
        size_t n = strlen(key);
        if (n < end->len || by_ends(key + (n - end->len), end->len, end->s, end->len) != 0) break;
        if (!take_place(p, &p->places[i], name, found, why)) return 0;
    }
    return 1;
}

/* Finds photos whose paths are the name or its last parts. */
static int take_shorter(const photos *p, const looked_for *name, const photo_place **found, text *why) {
    for (const char *part = name->key; *part; part++) {
        if (part > name->key && part[-1] != '/' && part[-1] != '\\') continue;
        size_t len = strlen(part);
        for (size_t i = first_from(p, part, len); i < p->place_count; i++) {
            const char *key = p->places[i].key;
            if (by_ends(key, strlen(key), part, len) != 0) break;
            if (!take_place(p, &p->places[i], name, found, why)) return 0;
        }
    }
    return 1;
}

const photo_place *photos_find(const photos *p, const char *name, text *why) {
    const photo_place *found = NULL;
    text end = TEXT_INIT;
    text_clear(why);
    while (name[0] == '.' && name[1] == '/') name += 2;
    text_putc(&end, '/');
    text_nfd(&end, name);
    const looked_for wanted = {name, end.s + 1};
    int good = text_failed(&end) ? text_no_memory(why)
                                 : take_longer(p, &wanted, &end, &found, why) &&
                                       take_shorter(p, &wanted, &found, why);
    text_free(&end);
    return good ? found : NULL;
}

/* The number in which a file's name ends, without its extension; -1: it ends in none. */
static double number_of(const char *path) {
    enum { MOST_DIGITS = 15 };
    const char *name = path_last_part(path), *dot = strrchr(name, '.'), *end = dot && dot > name ? dot : NULL;
    if (!end) end = name + strlen(name);
    const char *digits = end;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    return digits == end || end - digits > MOST_DIGITS ? -1 : strtod(digits, NULL);
}

static int by_number(const void *a, const void *b) {
    const photo_place *x = a, *y = b;
    if (x->number < y->number || x->number > y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->path, y->path);
}

const photo_place *photos_numbered(const photos *p, double number, text *why) {
    size_t from = 0, to = p->place_count;
    text_clear(why);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (p->numbers[middle].number < number) from = middle + 1;
        else to = middle;
    }
    if (number < 0 || from == p->place_count || p->numbers[from].number > number) return NULL;
    if (from + 1 < p->place_count && !(p->numbers[from + 1].number > number)) {
        refuse(why, "frame %.0f matches both %.300s and %.300s; frame numbers are for one folder of frames", number,
               shown(p->numbers[from].path), shown(p->numbers[from + 1].path));
        return NULL;
    }
    return &p->numbers[from];
}

static int list_places(photos *p) {
    size_t n = 0;
    for (size_t c = 0; c < p->count; c++) n += p->at[c].count;
    free(p->places), free(p->numbers);
    p->places = mem_array(n + 1, sizeof *p->places);
    p->numbers = mem_array(n + 1, sizeof *p->numbers);
    p->place_count = 0;
    if (!p->places || !p->numbers) return 0;
    for (size_t c = 0; c < p->count; c++)
        for (size_t i = 0; i < p->at[c].count; i++) {
            photo *is = &p->at[c].at[i];
            if (!is->key && name_has_forms(is->path) && !(is->key = name_decomposed(is->path))) return 0;
            const char *key = is->key ? is->key : is->path;
            p->places[p->place_count++] = (photo_place){is->path, key, c, i, number_of(is->path)};
        }
    if (n) memcpy(p->numbers, p->places, n * sizeof *p->places);
    if (n) qsort(p->places, n, sizeof *p->places, by_path), qsort(p->numbers, n, sizeof *p->numbers, by_number);
    return 1;
}

int photos_index(photos *p, text *why) { return list_places(p) || text_no_memory(why); }

/* --- times -------------------------------------------------------------------------------------------------------- */

typedef struct timing {
    photos *p;
    size_t strangers;
} timing;

static void take_time(const csv *c, const int *column, void *user, text *why) {
    timing *to = user;
    const char *path = csv_field(c, column[0]), *time = csv_field(c, column[1]);
    long long when;
    int zone;
    text reason = TEXT_INIT;
    const photo_place *place = photos_find(to->p, path, &reason);
    if (reason.len) text_join(why, &reason);
    else if (!when_parse_clock(time, &when, &zone))
        text_printf(why, "\"%.100s\" is not a valid time; expected YYYY-MM-DDTHH:MM:SS", shown(time));
    else if (!place) to->strangers++;
    else {
        photo *is = &to->p->at[place->camera].at[place->photo];
        is->when = when, is->zone = zone, is->dated = 1;
    }
    text_free(&reason);
}

static int read_table(timing *to, const char *table, text *why) {
    static const char *const names[] = {"path", "time"};
    static const size_t most = (size_t)1 << 32;
    const csv_table t = {names, 2, 2, "", take_time, to};
    text file = TEXT_INIT;
    int good = file_read(table, most, 0, &file, why);
    if (good) text_clear(why), good = csv_read(&t, &file, why);
    if (!good && !text_failed(why)) {
        text reason = TEXT_INIT;
        text_printf(&reason, "%s: %s", table, why->s);
        text_clear(why), text_join(why, &reason);
        text_free(&reason);
    }
    text_free(&file);
    return good;
}

/* Reads the photo's first bytes, which are enough because EXIF comes first in a JPEG. */
int photo_time(const char *path, long long *when, int *zone) {
    enum { HEAD = 1 << 17 };
    source file = {0};
    text why = TEXT_INIT;
    unsigned char *head = mem_alloc(HEAD);
    int found = 0;
    if (head && source_open(&file, path, &why)) {
        size_t n = file.size < HEAD ? (size_t)file.size : HEAD;
        if (source_read(&file, 0, head, n, &why)) found = exif_time(head, n, when, zone);
    }
    source_close(&file);
    text_free(&why);
    free(head);
    return found;
}

static int by_time(const void *a, const void *b) {
    const photo *x = a, *y = b;
    if (x->dated != y->dated) return x->dated ? -1 : 1;
    if (x->dated && x->when != y->when) return x->when < y->when ? -1 : 1;
    return strcmp(x->path, y->path);
}

int photos_finish(photos *p, const char *table, size_t *strangers, text *why) {
    timing to = {.p = p};
    *strangers = 0;
    if (!list_places(p)) return text_no_memory(why);
    if (table && !read_table(&to, table, why)) return 0;
    *strangers = to.strangers;
    for (size_t c = 0; c < p->count; c++) {
        camera *is = &p->at[c];
        for (size_t i = 0; i < is->count && !interrupted(); i++) {
            photo *at = &is->at[i];
            if (!at->dated) at->dated = photo_time(at->path, &at->when, &at->zone);
            is->undated += !is->at[i].dated;
        }
        if (is->count) qsort(is->at, is->count, sizeof *is->at, by_time);
    }
    return list_places(p) || text_no_memory(why);
}

void photos_free(photos *p) {
    for (size_t c = 0; c < p->count; c++) {
        for (size_t i = 0; i < p->at[c].count; i++) free(p->at[c].at[i].path), free(p->at[c].at[i].key);
        free(p->at[c].at), free(p->at[c].folder), free(p->at[c].name);
    }
    free(p->at), free(p->places), free(p->numbers);
    memset(p, 0, sizeof *p);
}
