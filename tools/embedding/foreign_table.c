#include "embedding/foreign_table.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "embedding/row_names.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_TABLE = (size_t)1 << 40;

typedef struct reading {
    csv c;
    foreign_rows *f;
    int fields;               /* of every line */
    int first_value, header;  /* the first column of values; whether the first line is a header */
    int column[NAME_COLUMNS]; /* of each fact; -1: none */
    int counter, base;        /* a column that counts the rows, from base; counter -1: there is none */
    int counts;               /* 1 while the first column of values has counted the rows */
    text values;              /* doubles */
} reading;

/* --- the first line ----------------------------------------------------------------------------------------------- */

static int number_in(const csv *c, int i, double *out) {
    return csv_number(c, i, -(double)FLT_MAX, (double)FLT_MAX, out);
}

/* Takes blanks as separators, as numpy.savetxt writes them, if the first line has blanks and no other separator. */
static void find_blanks(csv *c) {
    size_t end = c->at;
    while (end < c->len && c->text[end] && !strchr("\r\n\",;\t", c->text[end])) end++;
    if ((end < c->len && !strchr("\r\n", c->text[end])) || !memchr(c->text + c->at, ' ', end - c->at)) return;
    c->separator = ' ';
    c->trims = 0;
}

/* The number at the end of a column's name, and how long the name is without it; -1: it has none. */
static long long count_in(const char *name, size_t *stem) {
    size_t len = strlen(name), digits = 0;
    long long count;
    while (digits < len && name[len - digits - 1] >= '0' && name[len - digits - 1] <= '9') digits++;
    *stem = len - digits;
    return digits && digits <= 9 && parse_int(name + *stem, 0, 999999999, &count) ? count : -1;
}

/* 1 if the names from column `first` on are numbered in order, such as e0, e1, e2 or 1, 2, 3. */
static int names_count(const csv *c, int first) {
    size_t stem, next;
    const char *name = csv_field(c, first);
    long long count = count_in(name, &stem);
    if (count != 0 && count != 1) return 0;
    for (int i = first + 1; i < c->count; i++)
        if (count_in(csv_field(c, i), &next) != ++count || next != stem || memcmp(csv_field(c, i), name, stem) != 0)
            return 0;
    return 1;
}

/* The fact that this column of the header names; -1: none. */
static int fact_of(const csv *c, int i) {
    int k = 0;
    while (k < NAME_COLUMNS && !csv_is_named(c, i, NAME_COLUMN[k])) k++;
    return k < NAME_COLUMNS ? k : -1;
}

static int has_names(const reading *r) { return r->column[NAME_ID] >= 0 || r->column[NAME_PATH] >= 0; }

/* Facts come before the values. pandas leaves the name of its index empty. */
static int take_header(reading *r, text *why) {
    const csv *c = &r->c;
    int i = 0;
    for (; i < c->count; i++) {
        int fact = fact_of(c, i);
        if (fact >= 0 && r->column[fact] >= 0)
            return refuse(why, "line %zu: the header names %s twice", c->line, NAME_COLUMN[fact]);
        if (fact >= 0) r->column[fact] = i;
        else if (i == 0 && !*csv_field(c, i)) r->counter = i;
        else break;
    }
    r->header = 1, r->first_value = i;
    if (i > 0 && !has_names(r) && r->counter < 0)
        return refuse(why, "line %zu: the header names %s, but no path or id that names the rows", c->line,
                      shown(csv_field(c, 0)));
    if (i < c->count && names_count(c, i)) return 1;
    int odd = i; /* the first column whose name has no number */
    size_t stem;
    while (odd + 1 < c->count && count_in(csv_field(c, odd), &stem) >= 0) odd++;
    return refuse(why,
                  "line %zu: the header has the column \"%.60s\"; expected path, id, identity, camera or time, then "
                  "the columns of values, with numbered names such as e0,e1,e2 or 0,1,2",
                  c->line, i < c->count ? shown(csv_field(c, odd)) : "");
}

static int counts_from_zero(const csv *c, int first) {
    double value;
    for (int i = first; i < c->count; i++)
        if (!number_in(c, i, &value) || value < i - first || value > i - first) return 0;
    return c->count - first >= 2;
}

/* Decides what the first line is. */
static int take_first(reading *r, text *why) {
    const csv *c = &r->c;
    double value;
    int texts = 0;
    for (int k = 0; k < NAME_COLUMNS; k++) r->column[k] = -1;
    r->counter = -1, r->counts = 1, r->fields = c->count;
    for (int i = 0; i < c->count; i++) texts += !number_in(c, i, &value);
    if (texts == 0 && !counts_from_zero(c, 0)) return 1; /* values alone */
    int first_is_text = texts == 1 && !number_in(c, 0, &value);
    if (first_is_text && c->count > 1 && *csv_field(c, 0) && !counts_from_zero(c, 1) && fact_of(c, 0) < 0) {
        r->column[NAME_ID] = 0, r->first_value = 1; /* a name and values */
        return 1;
    }
    if (texts == 0) return r->header = 1; /* pandas numbers columns without names */
    return take_header(r, why);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* In a column without a name, the first row decides whether it counts the rows or names them. */
static int take_counter(reading *r, text *why) {
    double value;
    const char *cell = r->counter < 0 ? "" : csv_field(&r->c, r->counter);
    int number = r->counter >= 0 && number_in(&r->c, r->counter, &value);
    if (r->counter < 0) return 1;
    if (!r->f->rows && number && (strcmp(cell, "0") == 0 || strcmp(cell, "1") == 0)) r->base = *cell - '0';
    else if (!r->f->rows) {
        if (r->column[NAME_ID] >= 0 || r->column[NAME_PATH] >= 0)
            return refuse(why, "the column without a name has \"%.60s\"; expected the number of the row, 0 or 1",
                          shown(cell));
        r->column[NAME_ID] = r->counter, r->counter = -1;
        return 1;
    }
    double wanted = (double)r->f->rows + r->base;
    return (number && value >= wanted && value <= wanted) ||
           refuse(why, "the column without a name counts the rows, but has \"%.60s\" instead of %.0f", shown(cell),
                  wanted);
}

static int take_values(reading *r, text *why) {
    const csv *c = &r->c;
    double value;
    for (int i = r->first_value; i < c->count; i++) {
        if (!*csv_field(c, i)) return refuse(why, "field %d is empty; expected a number", i + 1);
        if (!number_in(c, i, &value))
            return refuse(why, "field %d, \"%.60s\", is not a finite number", i + 1, shown(csv_field(c, i)));
        if (i == 0 && !r->f->rows) r->base = value > 0;
        if (i == 0) r->counts &= value - (double)r->f->rows >= r->base && value - (double)r->f->rows <= r->base;
        text_add(&r->values, &value, sizeof value);
    }
    return !text_failed(&r->values) || text_no_memory(why);
}

static int take_row(reading *r, text *why) {
    if (!csv_has_fields(&r->c, r->fields))
        return refuse(why, "%d field%s, but the first line has %d", r->c.count, plural((size_t)r->c.count), r->fields);
    if (!take_counter(r, why) || !take_values(r, why)) return 0;
    if (has_names(r) && !row_names_add(&r->f->names, &r->c, r->column, why)) return 0;
    r->f->rows++;
    return 1;
}

static int read_rows(reading *r, text *why) {
    text reason = TEXT_INIT;
    int good = csv_record(&r->c) ? take_first(r, why) : refuse(why, "%s", r->c.error ? r->c.error : "contains no rows");
    if (good) good = r->header || take_row(r, &reason);
    while (good && !interrupted() && csv_record(&r->c)) good = take_row(r, &reason);
    if (good && r->c.error) good = refuse(&reason, "%s", r->c.error);
    if (reason.len) refuse(why, "line %zu: %s", r->c.line, reason.s);
    text_free(&reason);
    if (interrupted()) return refuse(why, "interrupted");
    if (good && !r->header && !r->first_value && r->counts && r->f->rows >= 3)
        good = refuse(why, "its first column counts the rows; remove it, or name the columns in a header");
    return good;
}

int foreign_table_read(foreign_rows *f, const char *path, text *why) {
    text file = TEXT_INIT;
    reading r;
    memset(&r, 0, sizeof r);
    r.f = f;
    f->what = "a table", f->type = NUMBER_F64;
    if (!file_read(path, MAX_TABLE, 1, &file, why)) return text_free(&file), 0;
    text_clear(why);
    csv_begin_table(&r.c, file.s, file.len);
    r.c.most = FOREIGN_MOST_COLUMNS + NAME_COLUMNS + 1;
    if (r.c.separator == ',') find_blanks(&r.c);
    int good = read_rows(&r, why);
    f->columns = good ? (size_t)(r.fields - r.first_value) : 0;
    csv_free(&r.c);
    text_free(&file);
    if (!good) return text_free(&r.values), 0;
    source_close(&f->from);
    source_memory(&f->from, r.values.s, r.values.len);
    f->memory = r.values.s;
    return foreign_rows_shape(f, 0, r.values.len, 0, why);
}
