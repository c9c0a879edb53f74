/* Labels as CSV: a header that names path, identity and perhaps camera and role, in any order. */
#include "csv.h"
#include "eval_labels.h"
#include "files.h"
#include "say.h"

#include <stdlib.h>
#include <string.h>

char *label_path(const char *path, const char *root) {
    text full = TEXT_INIT;
    if (root && *path != '/') labels_join(&full, root, path);
    else text_puts(&full, path);
    return full.s;
}

enum { COL_PATH, COL_IDENTITY, COL_CAMERA, COL_ROLE, COLUMNS };

static void find_columns(const csv *c, int column[COLUMNS], text *why) {
    static const char *const names[COLUMNS] = {"path", "identity", "camera", "role"};
    for (int k = 0; k < COLUMNS; k++) {
        column[k] = -1;
        for (int i = 0; i < c->count; i++) {
            if (strcmp(csv_field(c, i), names[k]) != 0) continue;
            if (column[k] >= 0) text_printf(why, "the header names %s twice", names[k]);
            column[k] = i;
        }
        if (column[k] < 0 && k <= COL_IDENTITY)
            text_printf(why, "the header lacks \"%s\"; it must name path,identity and may name camera,role", names[k]);
        if (why->len) return;
    }
}

static const char *cell(const csv *c, const int column[COLUMNS], int which) {
    return column[which] >= 0 ? csv_field(c, column[which]) : "";
}

static void read_row(label_set *set, const csv *c, const int column[COLUMNS], const char *root, text *why) {
    const char *path = cell(c, column, COL_PATH), *identity = cell(c, column, COL_IDENTITY);
    const char *camera = cell(c, column, COL_CAMERA), *role = cell(c, column, COL_ROLE);
    if (!*path || !*identity) {
        text_printf(why, "an empty %s", *path ? "identity" : "path");
        return;
    }
    char *id = label_path(path, root);
    labelled *l = labels_add(set, id, identity, strlen(identity));
    free(id);
    if (*camera) l->camera = must_copy(camera, strlen(camera));
    int both = !*role || strcmp(role, "both") == 0;
    l->query = both || strcmp(role, "query") == 0;
    l->gallery = both || strcmp(role, "gallery") == 0;
    if (!l->query && !l->gallery) text_printf(why, "role \"%s\" is not query, gallery or both", shown(role));
}

static int read_table(label_set *set, const text *file, const char *root, text *why) {
    csv c;
    int column[COLUMNS], fields;
    text reason = TEXT_INIT;
    csv_begin(&c, file->s, file->len);
    if (!csv_record(&c)) text_puts(&reason, c.error ? c.error : "the file is empty");
    else find_columns(&c, column, &reason);
    fields = c.count;
    while (!reason.len && csv_record(&c)) {
        if (c.count == fields) read_row(set, &c, column, root, &reason);
        else text_printf(&reason, "%d fields where the header has %d", c.count, fields);
    }
    if (c.error && !reason.len) text_puts(&reason, c.error);
    if (reason.len) text_printf(why, "line %zu: %s", c.line ? c.line : 1, reason.s);
    csv_free(&c);
    text_free(&reason);
    return why->len == 0;
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
