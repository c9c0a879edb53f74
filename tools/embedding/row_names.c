#include "embedding/row_names.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/when.h"

#include <stdlib.h>
#include <string.h>

static const size_t MAX_NAMES = (size_t)1 << 36;

const char *const NAME_COLUMN[NAME_COLUMNS] = {"path", "id", "identity", "camera", "time"};

/* --- tables ------------------------------------------------------------------------------------------------------- */

static const char *cell(const csv *c, const int column[NAME_COLUMNS], name_column which) {
    return column[which] < 0 ? "" : csv_field(c, column[which]);
}

int row_names_add(inputs *list, const csv *c, const int column[NAME_COLUMNS], text *why) {
    const char *id = cell(c, column, NAME_ID), *path = cell(c, column, NAME_PATH), *time = cell(c, column, NAME_TIME);
    const char *camera = cell(c, column, NAME_CAMERA);
    long long when = 0;
    if (!*id && !*path) return refuse(why, "the row has no name");
    if (*time && !when_parse(time, &when))
        return refuse(why, "\"%.60s\" is not a valid time; expected YYYY-MM-DDTHH:MM:SS", shown(time));
    input *in = inputs_add(list, *path ? path : id, 0, *id ? id : path);
    if (!in || !input_set_identity(in, cell(c, column, NAME_IDENTITY)) || (*camera && !input_set_camera(in, camera)))
        return text_no_memory(why);
    in->dated = *time != 0, in->when = when;
    return 1;
}

static void take_record(const csv *c, const int *column, void *user, text *why) { row_names_add(user, c, column, why); }

static int is_table(const text *file) {
    csv c;
    int named = 0;
    csv_begin_table(&c, file->s, file->len);
    for (int i = csv_record(&c) ? c.count : 0; i-- > 0;) named |= csv_is_named(&c, i, NAME_COLUMN[NAME_PATH]);
    csv_free(&c);
    return named;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static int add_line(inputs *list, char *line, size_t len, size_t number, text *why) {
    if (len && line[len - 1] == '\r') len--;
    line[len] = 0;
    if (!len) return refuse(why, "line %zu is empty; expected the name of a row", number);
    if (strlen(line) != len) return refuse(why, "line %zu contains a zero byte", number);
    input *in = inputs_add(list, line, 0, line);
    if (!in || !input_set_identity(in, "")) return text_no_memory(why);
    return 1;
}

static int read_list(inputs *list, text *file, text *why) {
    size_t number = 0;
    for (size_t at = utf8_mark(file->s, file->len); at < file->len;) {
        char *line = file->s + at, *end = memchr(line, '\n', file->len - at);
        size_t len = end ? (size_t)(end - line) : file->len - at;
        if (!add_line(list, line, len, ++number, why)) return 0;
        at += len + 1;
    }
    return 1;
}

int row_names_read(inputs *list, const char *path, text *why) {
    const csv_table table = {NAME_COLUMN, NAME_COLUMNS, 1, "", take_record, list};
    text file = TEXT_INIT;
    int good = file_read(path, MAX_NAMES, 1, &file, why);
    text_clear(why);
    if (good) good = text_from_utf16(&file, why);
    if (good) good = is_table(&file) ? csv_read(&table, &file, why) : read_list(list, &file, why);
    if (good && !list->count) good = refuse(why, "contains no names");
    text_free(&file);
    return good;
}

/* --- names that differ -------------------------------------------------------------------------------------------- */

typedef struct place {
    const char *id;
    size_t row;
} place;

static int by_id(const void *a, const void *b) {
    const place *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

int row_names_differ(const inputs *list, text *why) {
    place *sorted = mem_array(list->count + 1, sizeof *sorted);
    int good = sorted != NULL || text_no_memory(why);
    for (size_t i = 0; i < list->count && good; i++) sorted[i] = (place){list->at[i].id, i};
    if (good) qsort(sorted, list->count, sizeof *sorted, by_id);
    for (size_t i = 1; i < list->count && good; i++)
        if (strcmp(sorted[i - 1].id, sorted[i].id) == 0)
            good = refuse(why, "the id \"%s\" is given to rows %zu and %zu; ids must differ", shown(sorted[i].id),
                          sorted[i - 1].row, sorted[i].row);
    free(sorted);
    return good;
}
