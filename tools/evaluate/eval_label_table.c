/* Labels as CSV: a header that names path, identity and perhaps camera and role, in any order. */
#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "evaluate/eval_label_table.h"

#include <stdlib.h>
#include <string.h>

char *label_path(const char *path, const char *root) {
    text full = TEXT_INIT;
    if (root && !path_is_absolute(path)) labels_join(&full, root, path);
    else text_puts(&full, path);
    if (text_failed(&full)) text_free(&full);
    else path_given(full.s);
    return full.s;
}

enum { COL_PATH, COL_IDENTITY, COL_CAMERA, COL_ROLE, COLUMNS };

typedef struct reading {
    label_set *set;
    const char *root;
} reading;

static const char *cell(const csv *c, const int *column, int which) {
    return column[which] >= 0 ? csv_field(c, column[which]) : "";
}

static void read_row(const csv *c, const int *column, void *user, text *why) {
    const reading *r = user;
    const char *path = cell(c, column, COL_PATH), *identity = cell(c, column, COL_IDENTITY);
    const char *camera = cell(c, column, COL_CAMERA), *role = cell(c, column, COL_ROLE);
    if (!*path || !*identity) {
        text_printf(why, "the %s is empty", *path ? "identity" : "path");
        return;
    }
    char *id = label_path(path, r->root);
    labelled *l = id ? labels_add(r->set, id, identity, strlen(identity)) : NULL;
    free(id);
    if (l && *camera) l->camera = mem_copy(camera, strlen(camera));
    if (!l || (*camera && !l->camera)) {
        text_no_memory(why);
        return;
    }
    int both = !*role || strcmp(role, "both") == 0;
    l->query = both || strcmp(role, "query") == 0;
    l->gallery = both || strcmp(role, "gallery") == 0;
    if (!l->query && !l->gallery) text_printf(why, "role \"%s\" is not query, gallery or both", shown(role));
}

static int read_table(label_set *set, const text *file, const char *root, text *why) {
    static const char *const names[COLUMNS] = {"path", "identity", "camera", "role"};
    reading r = {set, root};
    const csv_table table = {names, COLUMNS, COL_CAMERA, "", read_row, &r};
    return csv_read(&table, file, why);
}

int labels_of_table(label_set *set, const char *path, const char *root) {
    static const size_t max_file = (size_t)1 << 32;
    text file = TEXT_INIT, why = TEXT_INIT;
    memset(set, 0, sizeof *set);
    int good = file_read(path, max_file, 1, &file, &why);
    if (good) {
        text_clear(&why);
        good = read_table(set, &file, root, &why);
    }
    if (!good) say_error("%s: %s", shown(path), why.s);
    set->layout = "a table of labels";
    text_free(&file);
    text_free(&why);
    return good && labels_any_left(set, path);
}
