/* Boxes in CSV, in whole pixels, with a header that names path, x, y, width, height and perhaps id and identity, in any
   order. */
#include "pictures/boxes_csv.h"

#include "base/csv.h"
#include "base/memory.h"
#include "base/say.h"

#include <math.h>
#include <string.h>

enum { COL_PATH, COL_X, COL_ID = 5, COL_IDENTITY, COLUMNS };

static void read_row(const csv *c, const int *column, void *user, text *why) {
    box_rows *rows = user;
    const char *path = csv_field(c, column[COL_PATH]);
    const char *id = column[COL_ID] >= 0 ? csv_field(c, column[COL_ID]) : NULL;
    const char *identity = column[COL_IDENTITY] >= 0 ? csv_field(c, column[COL_IDENTITY]) : NULL;
    if (!*path || (id && !*id) || (identity && !*identity)) {
        text_printf(why, "the %s is empty", !*path ? "path" : id && !*id ? "id" : "identity");
        return;
    }
    if (identity && strchr(identity, '/')) {
        text_printf(why, "the identity \"%s\" contains a slash", shown(identity));
        return;
    }
    box_row *row = box_rows_add(rows, path);
    if (row && id) row->id = mem_copy(id, strlen(id));
    if (row && identity) row->identity = mem_copy(identity, strlen(identity));
    if (!row || (id && !row->id) || (identity && !row->identity)) {
        text_no_memory(why);
        return;
    }
    for (int k = 0; k < 4; k++) {
        const char *cell = csv_field(c, column[COL_X + k]);
        if (parse_real(cell, -1e9, 1e9, &row->box[k]) && row->box[k] == floor(row->box[k])) continue;
        text_printf(why, "\"%s\" is not a whole number; boxes in CSV are in pixels", shown(cell));
        return;
    }
}

int boxes_from_csv(box_rows *rows, const text *file, text *why) {
    static const char *const names[COLUMNS] = {"path", "x", "y", "width", "height", "id", "identity"};
    const csv_table table = {names, COLUMNS, COL_ID,
                             "; boxes are in pixels from the top left corner. Corners (x1,y1,x2,y2) must be converted",
                             read_row, rows};
    if (rows->from->min_conf >= 0 || rows->from->category) {
        text_puts(why, "--min-conf and --category are for MegaDetector JSON; this is CSV");
        return 0;
    }
    return csv_read(&table, file, why);
}
