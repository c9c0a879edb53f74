#include "pictures/box_rows.h"

#include "base/memory.h"

#include <string.h>

box_row *box_rows_add(box_rows *rows, const char *path) {
    if (!GROW(rows->at, rows->count, rows->cap)) return NULL;
    box_row *row = &rows->at[rows->count];
    memset(row, 0, sizeof *row);
    row->path = mem_copy(path, strlen(path));
    row->wanted = 1;
    rows->count += row->path != NULL;
    return row->path ? row : NULL;
}
