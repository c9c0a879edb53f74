/* Boxes as CSV: a header that names path, x, y, width, height and perhaps id, identity, in any order; pixels, whose
   fractions are rounded. */
#include "pictures/boxes_csv.h"

#include "base/csv.h"
#include "base/memory.h"
#include "base/say.h"

#include <string.h>

enum { COL_PATH, COL_X, COL_ID = 5, COL_IDENTITY, COLUMNS };

static void read_row(const csv *c, const int *column, void *user, text *why) {
    box_rows *rows = user;
    const char *path = csv_field(c, column[COL_PATH]);
    const char *id = column[COL_ID] >= 0 ? csv_field(c, column[COL_ID]) : NULL;
    const char *identity = column[COL_IDENTITY] >= 0 ? csv_field(c, column[COL_IDENTITY]) : NULL;
    if (!*path || (id && !*id) || (identity && !*identity)) {
        text_printf(why, "an empty %s", !*path ? "path" : id && !*id ? "id" : "identity");
        return;
    }
    if (identity && strchr(identity, '/')) {
        text_printf(why, "the identity \"%s\" has a slash", shown(identity));
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
        if (csv_number(c, column[COL_X + k], -1e9, 1e9, &row->box[k])) continue;
        text_printf(why, "\"%s\" is not a number; boxes in CSV are in pixels", shown(csv_field(c, column[COL_X + k])));
        return;
    }
    if (row->box[2] > 0 && row->box[3] > 0 && row->box[2] <= 1 && row->box[3] <= 1 &&
        (row->box[2] < 1 || row->box[3] < 1))
        text_printf(why, "a box of %g by %g; are these fractions of the image? Boxes in CSV are in pixels", row->box[2],
                    row->box[3]);
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
