#include "evaluate/eval_labels.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/unicode.h"
#include "pictures/inputs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const size_t MAX_LABEL_FILE = (size_t)1 << 32;

static void free_labelled(labelled *l) {
    free(l->id);
    free(l->identity);
    free(l->camera);
}

labelled *labels_add(label_set *set, const char *id, const char *identity, size_t identity_len) {
    if (!NEED(set->at, set->count, set->cap)) return NULL;
    labelled *l = &set->at[set->count];
    memset(l, 0, sizeof *l);
    l->id = need_copy(id, strlen(id));
    l->identity = l->id ? need_copy(identity, identity_len) : NULL;
    if (l->identity) {
        set->count++;
        return l;
    }
    free_labelled(l);
    return NULL;
}

void labels_free(label_set *set) {
    for (size_t i = 0; i < set->count; i++) free_labelled(&set->at[i]);
    free(set->at);
    memset(set, 0, sizeof *set);
}

int labels_order_by_role(label_set *set) {
    labelled *sorted = need_array(set->count + 1, sizeof *sorted);
    size_t n = 0;
    if (!sorted) return 0;
    for (int part = 0; part < 3; part++)
        for (size_t i = 0; i < set->count; i++)
            if ((set->at[i].query ? set->at[i].gallery : 2) == part) sorted[n++] = set->at[i];
    free(set->at);
    set->at = sorted;
    set->cap = set->count + 1;
    return 1;
}

/* ---- names with labels: 0001_c1s1_000151_00.jpg, -1_c3s2_….jpg, 0005_c2_f0046985.jpg ----------------------------- */
typedef struct name_parts {
    size_t identity_len;
    const char *camera; /* digits */
    size_t camera_len;
    int duke;           /* a frame number follows the camera */
} name_parts;

static int parse_name(const char *name, name_parts *t) {
    static const char digits[] = "0123456789";
    t->identity_len = strspn(name, "-0123456789");
    if (!t->identity_len || strncmp(name + t->identity_len, "_c", 2) != 0) return 0;
    t->camera = name + t->identity_len + 2;
    t->camera_len = strspn(t->camera, digits);
    t->duke = strncmp(t->camera + t->camera_len, "_f", 2) == 0;
    return t->camera_len > 0;
}

/* The next two functions are only for identities in names. Elsewhere 0 may be an ordinary identity, as in MSMT17. */
static int is_junk(const char *identity) { return strcmp(identity, "-1") == 0; }
static int is_nobody(const char *identity) { return *identity && identity[strspn(identity, "0")] == 0; }

/* Whether a folder of queries has the identity 0: it is then a person whom the data set counts from 0. */
static int queries_have_nobody(const label_set *set) {
    for (size_t i = 0; i < set->count; i++)
        if (set->at[i].query && !set->at[i].gallery && is_nobody(set->at[i].identity)) return 1;
    return 0;
}

static int by_digits(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = strcmp(x + strspn(x, "0"), y + strspn(y, "0"));
    return order ? order : strcmp(x, y);
}

/* Identities are compared as text. Warns about two that are the same number, written with different numbers of digits.
   Returns 0 after reporting that memory ran out. */
static int warn_of_widths(const label_set *set) {
    const char **names = need_array(set->count + 1, sizeof *names);
    if (!names) return 0;
    for (size_t i = 0; i < set->count; i++) names[i] = set->at[i].identity;
    if (set->count) qsort(names, set->count, sizeof *names, by_digits);
    for (size_t i = 1; i < set->count; i++) {
        const char *a = names[i - 1], *b = names[i];
        if (strcmp(a, b) == 0 || strcmp(a + strspn(a, "0"), b + strspn(b, "0")) != 0) continue;
        say_warning("the identities %s and %s count as two individuals; if they are one, write them with the same "
                    "number of digits", shown(a), shown(b));
        break;
    }
    free(names);
    return 1;
}

/* Removes junk and marks distractors, which are never queries. */
static void sort_out(label_set *set) {
    const int has_nobody = !queries_have_nobody(set);
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        labelled *l = &set->at[i];
        if (is_junk(l->identity)) {
            free_labelled(l);
            set->junk++;
            continue;
        }
        l->distractor = has_nobody && is_nobody(l->identity);
        if (l->distractor && l->gallery) l->query = 0;
        set->at[kept++] = *l;
    }
    set->count = kept;
}

int warn_of_strangers(const char *identity) {
    if (strcasecmp(identity, "unknown") != 0) return 0;
    say_warning("\"%s\" counts as one individual; if its images show different strangers, give --unknown %s",
                shown(identity), shown(identity));
    return 1;
}

int labels_strangers(label_set *set, const char *unknown) {
    size_t strangers = 0, warned = 0;
    for (size_t i = 0; i < set->count; i++) {
        labelled *l = &set->at[i];
        if (!unknown && !warned) warned = (size_t)warn_of_strangers(l->identity);
        if (!unknown || !name_same(l->identity, unknown)) continue;
        l->distractor = 1;
        if (l->gallery) l->query = 0;
        strangers++;
    }
    if (unknown && !strangers) say_error("--unknown %s: no image has this identity", shown(unknown));
    else if (unknown && strangers == set->count) say_error("--unknown %s: every image has this identity, so there is "
                                                           "nothing to evaluate", shown(unknown));
    else return 1;
    return 0;
}

/* ---- images known only by their paths ---------------------------------------------------------------------------- */

/* The identity is the first folder below root_len, else the name without its extension, which is examined later. */
static int is_stem(const labelled *l) {
    const char *name = path_name(l->id);
    size_t n = strlen(l->identity);
    return strncmp(name, l->identity, n) == 0 && (name[n] == 0 || name[n] == '.');
}

/* Replaces *field by a copy of `len` bytes of s; 0 after reporting that memory ran out. */
static int replace(char **field, const char *s, size_t len) {
    char *copy = need_copy(s, len);
    if (!copy) return 0;
    free(*field);
    *field = copy;
    return 1;
}

/* Applies the labels in a name. */
static int take_name(labelled *l) {
    name_parts t = {0, NULL, 0, 0};
    const char *name = path_name(l->id);
    parse_name(name, &t);
    return replace(&l->camera, t.camera, t.camera_len) && (!is_stem(l) || replace(&l->identity, name, t.identity_len));
}

/* Takes identities and cameras from the names, if all of them contain labels. */
static int read_names(label_set *set, int two_folders) {
    name_parts t = {0, NULL, 0, 0};
    size_t telling = 0, stems = 0, duke = 0;
    const labelled *silent = NULL;
    for (size_t i = 0; i < set->count; i++) {
        int one = parse_name(path_name(set->at[i].id), &t), stem = is_stem(&set->at[i]);
        telling += one != 0;
        stems += stem != 0;
        duke += one && t.duke;
        if (!one && stem) silent = &set->at[i];
    }
    int by_name = telling == set->count && set->count;
    if (two_folders && silent) {
        say_error("%s: its name has no identity; expected a name like 0001_c1s1_000151_00.jpg (Market-1501) or "
                  "0001_c2_f0046182.jpg (DukeMTMC-reID), or a folder per identity", shown(silent->id));
        return 0;
    }
    for (size_t i = 0; i < set->count && by_name; i++)
        if (!take_name(&set->at[i])) return 0;
    int names_only = by_name && stems == set->count;
    set->layout = two_folders ? !names_only ? "query and gallery folders, a folder per identity"
                                : duke ? "DukeMTMC-reID" : "Market-1501"
                              : names_only ? "one folder, identity and camera by name" : "a folder per identity";
    if (!by_name) return 1;
    sort_out(set);
    return warn_of_widths(set);
}

static int add_role(label_set *set, const char *id, const char *identity, int query, int gallery) {
    labelled *l = labels_add(set, id, identity, strlen(identity));
    if (!l) return 0;
    l->query = query;
    l->gallery = gallery;
    return 1;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */
static int is_folder(const text *path) {
    struct stat st;
    return stat(path->s, &st) == 0 && S_ISDIR(st.st_mode);
}

static int exists(const text *path) {
    struct stat st;
    return stat(path->s, &st) == 0;
}

void labels_join(text *to, const char *folder, const char *name) {
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    text_clear(to);
    text_printf(to, "%.*s%s%s", (int)n, folder, folder[n - 1] == '/' ? "" : "/", name);
}

static int add_pictures(label_set *set, const char *folder, int query, int gallery) {
    inputs list = {0};
    int good = inputs_add_path(&list, folder);
    for (size_t i = 0; i < list.count && good; i++) {
        if (list.at[i].unread) continue; /* the list has already reported it */
        if (list.at[i].failure) {
            say_error("%s: %s", shown(list.at[i].path), list.at[i].failure);
            good = 0;
        } else {
            good = add_role(set, list.at[i].path, list.at[i].identity, query, gallery);
        }
    }
    inputs_free(&list);
    return good;
}

/* If a known data set is one level further down, names it in the message but does not enter it, so that data sets are
   never mixed by accident. */
static int is_above_a_data_set(const char *folder) {
    static const char *const known[] = {"Market-1501-v15.09.15", "DukeMTMC-reID", "MSMT17_V1", "MSMT17_V2"};
    text at = TEXT_INIT;
    int found = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known && !found; i++) {
        labels_join(&at, folder, known[i]);
        found = is_folder(&at);
    }
    if (found) say_error("%s: contains a data set; give its own folder: %s", shown(folder), shown(at.s));
    text_free(&at);
    return found;
}

/* One line of MSMT17's lists: "0000/0000_000_01_0303morning_0015_0.jpg 0". The third part between _ is the camera. */
static int msmt_line(label_set *set, const char *root, char *line, int query, int *no_memory) {
    text path = TEXT_INIT;
    char *space = strrchr(line, ' ');
    const char *camera = path_name(line);
    int good = space && space > line && space[1] && space[1 + strspn(space + 1, "0123456789")] == 0;
    for (int i = 0; i < 2 && good; i++) {
        camera = strchr(camera, '_');
        good = camera != NULL;
        if (good) camera++;
    }
    size_t digits = good ? strspn(camera, "0123456789") : 0;
    good = good && digits && camera[digits] == '_';
    if (good) {
        *space = 0;
        labels_join(&path, root, line);
        labelled *l = need_text(&path) ? labels_add(set, path.s, space + 1, strlen(space + 1)) : NULL;
        *no_memory = !l || !replace(&l->camera, camera, digits);
        if (!*no_memory) l->query = query, l->gallery = !query;
    }
    text_free(&path);
    return good;
}

static int msmt_list(label_set *set, const char *list, const char *root, int query) {
    text file = TEXT_INIT, why = TEXT_INIT;
    size_t line = 0;
    int no_memory = 0, good = file_read(list, MAX_LABEL_FILE, 1, &file, &why);
    for (size_t at = 0; good && !no_memory && at < file.len;) {
        size_t n = strcspn(file.s + at, "\n"), next = at + n + 1;
        line++;
        if (n && file.s[at + n - 1] == '\r') n--;
        file.s[at + n] = 0;
        if (n && !msmt_line(set, root, file.s + at, query, &no_memory)) {
            text_printf(&why, "line %zu: expected a path and an identity as in MSMT17 "
                              "(0000/0000_000_01_0303morning_0015_0.jpg 0)", line);
            good = 0;
        }
        at = next;
    }
    if (!good) say_error("%s: %s", shown(list), why.s);
    text_free(&file);
    text_free(&why);
    return good && !no_memory;
}

static int read_msmt(label_set *set, const char *folder) {
    static const char *const places[] = {"test", "mask_test_v2"};
    text root = TEXT_INIT, list = TEXT_INIT;
    int found = 0, good = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++) {
        labels_join(&root, folder, places[i]);
        found = is_folder(&root);
    }
    if (!found) say_error("%s: has MSMT17's lists, but no folder test or mask_test_v2", shown(folder));
    if (found) {
        labels_join(&list, folder, "list_query.txt");
        good = need_text(&list) && msmt_list(set, list.s, root.s, 1);
        labels_join(&list, folder, "list_gallery.txt");
        good = good && need_text(&list) && msmt_list(set, list.s, root.s, 0);
    }
    set->layout = "MSMT17";
    text_free(&root);
    text_free(&list);
    return good;
}

static int read_two_folders(label_set *set, const char *query, const char *gallery) {
    return add_pictures(set, query, 1, 0) && add_pictures(set, gallery, 0, 1) && read_names(set, 1);
}

int labels_any_left(const label_set *set, const char *where) {
    if (!set->count) say_error("%s: no images to evaluate", shown(where));
    return set->count > 0;
}

int labels_of_folder(label_set *set, const char *folder) {
    text query = TEXT_INIT, boxes = TEXT_INIT, gallery = TEXT_INIT, list = TEXT_INIT;
    int good = 0;
    memset(set, 0, sizeof *set);
    labels_join(&query, folder, "query");
    labels_join(&boxes, folder, "bounding_box_test");
    labels_join(&gallery, folder, "gallery");
    labels_join(&list, folder, "list_query.txt");
    int whole = need_text(&query) && need_text(&boxes) && need_text(&gallery) && need_text(&list);
    int has_query = is_folder(&query), has_boxes = is_folder(&boxes), has_gallery = is_folder(&gallery);
    if (!whole) good = 0;
    else if (has_boxes && has_gallery)
        say_error("%s: has both bounding_box_test and gallery; remove or rename one of them", shown(folder));
    else if (has_query && (has_boxes || has_gallery))
        good = read_two_folders(set, query.s, has_boxes ? boxes.s : gallery.s);
    else if (has_boxes)
        say_error("%s: has bounding_box_test, but no folder query", shown(folder));
    else if (exists(&list))
        good = read_msmt(set, folder);
    else if (!is_above_a_data_set(folder))
        good = add_pictures(set, folder, 1, 1) && read_names(set, 0);
    text_free(&query);
    text_free(&boxes);
    text_free(&gallery);
    text_free(&list);
    return good && labels_any_left(set, folder);
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

/* The path below the last folder of this name, or NULL. */
static const char *below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    const char *found = NULL;
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (strncmp(at, folder, n) == 0 && at[n] == '/') found = at + n + 1;
    return found;
}

/* The first folder of a path, else the name without its extension. */
static size_t identity_len(const char *path) {
    const char *slash = strchr(path, '/'), *dot = strrchr(path, '.');
    return slash ? (size_t)(slash - path) : dot && dot > path ? (size_t)(dot - path) : strlen(path);
}

static int add_role_of(label_set *set, const char *id, const char *rest, int query) {
    labelled *l = labels_add(set, id, rest, identity_len(rest));
    if (!l) return 0;
    l->query = query;
    l->gallery = !query;
    return 1;
}

static int add_known(label_set *set, const known_row *row, int query, int gallery) {
    labelled *l = labels_add(set, row->id, row->identity, strlen(row->identity));
    if (!l || (*row->camera && !replace(&l->camera, row->camera, strlen(row->camera)))) return 0;
    l->query = query;
    l->gallery = gallery;
    return 1;
}

int labels_of_ids(label_set *set, const known_row *rows, size_t count) {
    size_t queries = 0, galleries = 0;
    memset(set, 0, sizeof *set);
    for (size_t i = 0; i < count; i++) {
        int query = below(rows[i].id, "query") != NULL;
        queries += query != 0;
        galleries += !query && (below(rows[i].id, "bounding_box_test") || below(rows[i].id, "gallery"));
    }
    int two_folders = queries && galleries, good = 1;
    for (size_t i = 0; i < count && good; i++) {
        const char *query = below(rows[i].id, "query"), *rest = query;
        if (!rest) rest = below(rows[i].id, "bounding_box_test");
        if (!rest) rest = below(rows[i].id, "gallery");
        if (!two_folders) good = add_known(set, &rows[i], 1, 1);
        else if (!rest) set->elsewhere++;
        else good = add_role_of(set, rows[i].id, rest, query != NULL);
    }
    return good && read_names(set, two_folders) && labels_any_left(set, "eval");
}

int labels_of_two(label_set *set, const known_row *rows, size_t queries, size_t count) {
    memset(set, 0, sizeof *set);
    for (size_t i = 0; i < count; i++)
        if (!add_known(set, &rows[i], i < queries, i >= queries)) return 0;
    return read_names(set, 0) && labels_any_left(set, "eval");
}
