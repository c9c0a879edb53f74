/* Boxes as CSV: a header that names path, x, y, width, height and perhaps id, in any order; whole pixels. */
#include "boxes.h"
#include "csv.h"
#include "say.h"

#include <math.h>
#include <string.h>

enum { COL_PATH, COL_X, COL_ID = 5, COLUMNS };

static void find_columns(const csv *c, int column[COLUMNS], text *why) {
    static const char *const names[COLUMNS] = {"path", "x", "y", "width", "height", "id"};
    for (int k = 0; k < COLUMNS; k++) {
        column[k] = -1;
        for (int i = 0; i < c->count; i++) {
            if (strcmp(csv_field(c, i), names[k]) != 0) continue;
            if (column[k] >= 0) {
                text_printf(why, "the header names %s twice", names[k]);
                return;
            }
            column[k] = i;
        }
        if (column[k] < 0 && k != COL_ID) {
            text_printf(why, "the header lacks \"%s\". It must name path,x,y,width,height and may name id; boxes are "
                             "in pixels from the top left corner. Corners (x1,y1,x2,y2) must be converted", names[k]);
            return;
        }
    }
}

static void read_row(box_rows *rows, const csv *c, const int column[COLUMNS], text *why) {
    const char *path = csv_field(c, column[COL_PATH]);
    const char *id = column[COL_ID] >= 0 ? csv_field(c, column[COL_ID]) : NULL;
    if (!*path || (id && !*id)) {
        text_printf(why, "an empty %s", *path ? "id" : "path");
        return;
    }
    box_row *row = box_rows_add(rows, path);
    if (id) row->id = must_copy(id, strlen(id));
    for (int k = 0; k < 4; k++) {
        const char *cell = csv_field(c, column[COL_X + k]);
        if (parse_real(cell, -1e9, 1e9, &row->box[k]) && row->box[k] == floor(row->box[k])) continue;
        text_printf(why, "\"%s\" is not a whole number; boxes in CSV are in pixels", shown(cell));
        return;
    }
}

int boxes_from_csv(box_rows *rows, const text *file, text *why) {
    csv c;
    int column[COLUMNS], fields;
    text reason = TEXT_INIT;
    if (rows->o->min_conf >= 0 || rows->o->category) {
        text_puts(why, "--min-conf and --category are for MegaDetector JSON; this is CSV");
        return 0;
    }
    csv_begin(&c, file->s, file->len);
    if (!csv_record(&c)) text_puts(&reason, c.error ? c.error : "the file is empty");
    else find_columns(&c, column, &reason);
    fields = c.count;
    while (!reason.len && csv_record(&c)) {
        if (c.count == fields) read_row(rows, &c, column, &reason);
        else text_printf(&reason, "%d fields where the header has %d", c.count, fields);
    }
    if (c.error && !reason.len) text_puts(&reason, c.error);
    if (reason.len) text_printf(why, "line %zu: %s", c.line ? c.line : 1, reason.s);
    csv_free(&c);
    text_free(&reason);
    return why->len == 0;
}
