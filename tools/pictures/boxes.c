#include "pictures/boxes.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "pictures/boxes_csv.h"
#include "pictures/boxes_json.h"

#include <stdlib.h>
#include <string.h>

static int by_path_then_place(const void *a, const void *b) {
    const box_row *const *x = a, *const *y = b;
    int order = strcmp((*x)->path, (*y)->path);
    return order ? order : (*x > *y) - (*x < *y);
}

/* A picture's boxes need not stand together in the file; their numbers still count from 0 in its order. */
static int number_boxes(box_rows *rows) {
    box_row **sorted = need_array(rows->count, sizeof *sorted);
    if (!sorted) return 0;
    for (size_t i = 0; i < rows->count; i++) sorted[i] = &rows->at[i];
    qsort(sorted, rows->count, sizeof *sorted, by_path_then_place);
    for (size_t i = 1; i < rows->count; i++)
        if (strcmp(sorted[i]->path, sorted[i - 1]->path) == 0) sorted[i]->n = sorted[i - 1]->n + 1;
    free(sorted);
    return 1;
}

static int by_id(const void *a, const void *b) {
    const box_row *const *x = a, *const *y = b;
    int order = strcmp((*x)->id, (*y)->id);
    return order || !(*x)->identity ? order : strcmp((*x)->identity, (*y)->identity);
}

/* An id is one box's: what was meant as a name of an individual would be found out much later. */
static int ids_differ(const box_rows *rows) {
    size_t n = 0;
    box_row **sorted = need_array(rows->count, sizeof *sorted);
    if (!sorted) return 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->at[i].id && rows->at[i].wanted) sorted[n++] = &rows->at[i];
    qsort(sorted, n, sizeof *sorted, by_id);
    size_t at = 1;
    while (at < n && by_id(&sorted[at - 1], &sorted[at]) != 0) at++;
    if (at < n)
        say_error("%s: the id \"%s\" is given twice; ids of boxes must differ. Name the individual in a column "
                  "\"identity\"", shown(rows->from->path), shown(sorted[at]->id));
    free(sorted);
    return at >= n;
}

/* "root/path", and how much of it is the root. */
static size_t join(text *out, const char *root, const char *path) {
    size_t root_len = 0;
    text_clear(out);
    if (root && path[0] != '/') {
        text_puts(out, root);
        while (out->len > 1 && out->s[out->len - 1] == '/') out->s[--out->len] = 0;
        root_len = out->len;
        if (out->s[out->len - 1] != '/') text_putc(out, '/');
    }
    text_puts(out, path);
    return root_len;
}

static int append(inputs *list, const box_row *row, const char *root, box_unit unit) {
    text full = TEXT_INIT, id = TEXT_INIT;
    size_t root_len = join(&full, root, row->path);
    if (row->identity) text_printf(&id, "%s/", row->identity);
    if (row->id) text_puts(&id, row->id);
    else if (row->failure) text_puts(&id, row->path);
    else text_printf(&id, "%s#%ld", row->path, row->n);
    int good = need_text(&full) && need_text(&id);
    char *failure = good && row->failure ? need_copy(row->failure, strlen(row->failure)) : NULL;
    input *in = good && !row->failure == !failure ? inputs_add(list, full.s, root_len, id.s) : NULL;
    if (in && failure) in->failure = failure;
    else free(failure);
    if (in && row->identity) {
        free(in->identity);
        in->identity = need_copy(row->identity, strlen(row->identity));
        if (!in->identity) in = NULL; /* the list frees it */
    }
    if (in && !failure) in->unit = unit, memcpy(in->box, row->box, sizeof in->box);
    text_free(&full);
    text_free(&id);
    return in != NULL;
}

int boxes_read(inputs *list, const box_file *from, const char *root) {
    static const size_t max_file = (size_t)1 << 32;
    box_rows rows = {NULL, 0, 0, from};
    text file = TEXT_INIT, why = TEXT_INIT;
    int is_json = 0, good = file_read(from->path, max_file, 0, &file, &why);
    if (good && !text_from_utf16(&file, &why)) good = 0;
    if (good) {
        size_t skip = utf8_mark(file.s, file.len);
        const char *start = file.s + skip + strspn(file.s + skip, " \t\r\n");
        is_json = *start == '{' || *start == '[';
        good = is_json ? boxes_from_megadetector(&rows, &file, &why) : boxes_from_csv(&rows, &file, &why);
    }
    if (!good) say_error("%s: %s", shown(from->path), why.s);
    good = good && number_boxes(&rows) && ids_differ(&rows);
    for (size_t i = 0; i < rows.count; i++) {
        box_row *row = &rows.at[i];
        if (good && row->wanted) good = append(list, row, root, is_json ? BOX_NORMALISED : BOX_PIXELS);
        free(row->path);
        free(row->id);
        free(row->identity);
        free(row->failure);
    }
    free(rows.at);
    text_free(&file);
    text_free(&why);
    return good;
}
