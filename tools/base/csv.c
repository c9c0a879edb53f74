#include "base/csv.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void csv_begin(csv *c, const char *bytes, size_t len) {
    memset(c, 0, sizeof *c);
    c->text = bytes;
    c->len = len;
    c->next_line = 1;
    c->separator = ',';
    c->most = CSV_MAX_FIELDS;
    c->at = utf8_mark(bytes, len);
}

/* --- the form of a table ------------------------------------------------------------------------------------------ */

/* Returns the end of the line at `at`. */
static size_t end_of_line(const csv *c, size_t at) {
    while (at < c->len && c->text[at] && !strchr("\r\n", c->text[at])) at++;
    return at;
}

/* Skips the rest of the line and its end, which may be CRLF. */
static void skip_line(csv *c) {
    c->at = end_of_line(c, c->at);
    if (c->at < c->len && c->text[c->at] == '\r') c->at++;
    if (c->at < c->len && c->text[c->at] == '\n') c->at++;
    c->next_line++;
}

/* Returns the separator of a line: the first of comma, semicolon and tab that occurs in it outside quotes. */
static int separator_of(const csv *c) {
    static const char all[] = ",;\t";
    size_t end = end_of_line(c, c->at);
    for (const char *separator = all; *separator; separator++) {
        int within = 0;
        for (size_t i = c->at; i < end; i++) {
            if (c->text[i] == '"') within = !within;
            else if (c->text[i] == *separator && !within) return *separator;
        }
    }
    return ',';
}

static int has_blank_names(const csv *c) {
    size_t end = end_of_line(c, c->at);
    for (size_t i = c->at; i + 1 < end; i++)
        if (c->text[i] == c->separator && c->text[i + 1] == ' ') return 1;
    return 0;
}

void csv_begin_table(csv *c, const char *bytes, size_t len) {
    static const char said[] = "sep=";
    int given = 0;
    csv_begin(c, bytes, len);
    if (text_is_utf16(bytes, len)) {
        if (!text_add_utf16(&c->converted, bytes, len)) c->error = "UTF-16 text that is damaged";
        c->text = c->converted.s ? c->converted.s : "";
        c->len = text_failed(&c->converted) ? 0 : c->converted.len;
        c->at = 0;
    }
    while (c->at < c->len && c->text[c->at] == '#') skip_line(c);
    if (c->len - c->at > sizeof said && strncasecmp(c->text + c->at, said, sizeof said - 1) == 0 &&
        end_of_line(c, c->at) == c->at + sizeof said) {
        given = c->text[c->at + sizeof said - 1];
        skip_line(c);
    }
    c->separator = given ? given : separator_of(c);
    c->trims = has_blank_names(c);
}

const char *csv_field(const csv *c, int index) { return c->cells.s + c->start[index]; }

void csv_free(csv *c) {
    text_free(&c->cells), text_free(&c->converted);
    free(c->start);
    c->start = NULL;
}

static int fail(csv *c, const char *what) {
    c->error = what;
    return 0;
}

/* Reads a quoted field after its opening quote, up to and including the closing one. */
static int quoted(csv *c) {
    while (c->at < c->len) {
        char byte = c->text[c->at++];
        if (byte == '"') {
            if (c->at == c->len || c->text[c->at] != '"') return 1;
            c->at++;
        }
        c->next_line += byte == '\n';
        text_putc(&c->cells, byte);
    }
    return fail(c, "a quoted field is not closed");
}

/* Whether the field ends here. */
static int is_over(const csv *c) {
    return c->at == c->len || c->text[c->at] == c->separator || c->text[c->at] == '\r' || c->text[c->at] == '\n';
}

static void skip_blanks(csv *c) {
    while (c->trims && c->at < c->len && c->text[c->at] == ' ') c->at++;
}

static int field(csv *c) {
    if (c->count >= c->most) return fail(c, "too many fields");
    if (!GROW(c->start, (size_t)c->count, c->start_cap)) return fail(c, "out of memory");
    c->start[c->count++] = c->cells.len;
    skip_blanks(c);
    if (c->at < c->len && c->text[c->at] == '"') {
        c->at++;
        if (!quoted(c)) return 0;
        skip_blanks(c);
        if (!is_over(c)) return fail(c, "text after a closing quote");
    } else {
        size_t from = c->at;
        while (!is_over(c) && c->text[c->at] && c->text[c->at] != '"') c->at++;
        if (c->at < c->len && c->text[c->at] == '"') return fail(c, "a quote inside an unquoted field");
        size_t to = c->at;
        while (c->trims && to > from && c->text[to - 1] == ' ') to--;
        text_add(&c->cells, c->text + from, to - from);
    }
    if (c->at < c->len && !c->text[c->at]) return fail(c, "a zero byte");
    text_putc(&c->cells, 0);
    if (text_failed(&c->cells)) return fail(c, "out of memory");
    const char *cell = csv_field(c, c->count - 1);
    /* text_csv puts an apostrophe before text that a spreadsheet would take for a formula. */
    if (!c->verbatim && *cell == '\'' && text_is_formula(cell)) c->start[c->count - 1]++;
    return 1;
}

/* Skips LF, CRLF or CR; returns 0 if there is none. */
static int line_end(csv *c) {
    size_t from = c->at;
    if (c->at < c->len && c->text[c->at] == '\r') c->at++;
    if (c->at < c->len && c->text[c->at] == '\n') c->at++;
    c->next_line += c->at > from;
    return c->at > from;
}

int csv_record(csv *c) {
    if (c->error) return 0;
    while (line_end(c)) continue;
    if (c->at >= c->len) return 0;
    c->line = c->next_line;
    c->count = 0;
    text_clear(&c->cells);
    while (field(c)) {
        if (c->at >= c->len || line_end(c)) return 1;
        c->at++; /* the separator */
    }
    return 0;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* The field without blanks around it. */
static const char *trimmed(const csv *c, int index, size_t *len) {
    const char *cell = csv_field(c, index);
    cell += strspn(cell, " \t");
    *len = strlen(cell);
    while (*len && strchr(" \t", cell[*len - 1])) --*len;
    return cell;
}

int csv_is_named(const csv *c, int index, const char *name) {
    size_t len;
    const char *cell = trimmed(c, index, &len);
    return len == strlen(name) && strncasecmp(cell, name, len) == 0;
}

int csv_number(const csv *c, int index, double lo, double hi, double *out) {
    char number[64];
    size_t len;
    const char *cell = trimmed(c, index, &len);
    if (len >= sizeof number) return 0;
    memcpy(number, cell, len);
    number[len] = 0;
    char *comma = c->separator == ',' ? NULL : strchr(number, ',');
    if (comma && !strchr(number, '.') && !strchr(comma + 1, ',')) *comma = '.';
    return parse_real(number, lo, hi, out);
}

int csv_has_fields(csv *c, int count) {
    while (c->count > count && !*csv_field(c, c->count - 1)) c->count--;
    return c->count == count;
}

static void say_names(text *out, const csv_table *t, int from, int to) {
    for (int k = from; k < to; k++) text_printf(out, "%s%s", k > from ? "," : "", t->names[k]);
}

/* The names in the header, as far as they help. */
static void say_header(text *out, const csv *c) {
    char name[64];
    for (int i = 0; i < c->count && i < 12; i++) {
        visible(name, sizeof name, csv_field(c, i));
        text_printf(out, "%s%s", i ? "," : "", name);
    }
    if (c->count > 12) text_puts(out, ",...");
}

static void find_columns(const csv_table *t, const csv *c, int *column, text *why) {
    for (int k = 0; k < t->columns && !why->len; k++) {
        column[k] = -1;
        for (int i = 0; i < c->count && !why->len; i++) {
            if (!csv_is_named(c, i, t->names[k])) continue;
            if (column[k] >= 0) text_printf(why, "the header names %s twice", t->names[k]);
            column[k] = i;
        }
        if (column[k] >= 0 || k >= t->needed) continue;
        text_printf(why, "the header lacks \"%s\"; it must name ", t->names[k]);
        say_names(why, t, 0, t->needed);
        if (t->needed < t->columns) text_puts(why, " and may name ");
        say_names(why, t, t->needed, t->columns);
        text_puts(why, t->hint);
        text_puts(why, ". It is: ");
        say_header(why, c);
    }
}

/* Reads a row; adds the reason to why, which is empty before, if the row is wrong. */
static void table_row(const csv_table *t, csv *c, const int *column, int fields, text *why) {
    if (csv_has_fields(c, fields)) t->row(c, column, t->user, why);
    else text_printf(why, "%d field%s, but the header has %d", c->count, plural((size_t)c->count), fields);
}

/* Reads the rest after a row that is wrong, to count the others. */
static size_t count_wrong(const csv_table *t, csv *c, const int *column, int fields) {
    size_t wrong = 0;
    text why = TEXT_INIT;
    while (!text_failed(&why) && csv_record(c)) {
        text_clear(&why);
        table_row(t, c, column, fields, &why);
        wrong += why.len != 0;
    }
    text_free(&why);
    return wrong;
}

int csv_read(const csv_table *t, const text *file, text *why) {
    csv c;
    int column[CSV_MAX_COLUMNS], fields = 0, in_rows = 0;
    text reason = TEXT_INIT;
    csv_begin_table(&c, file->s, file->len);
    if (!csv_record(&c)) text_puts(&reason, c.error ? c.error : "the file is empty");
    else find_columns(t, &c, column, &reason);
    fields = c.count;
    while (!reason.len && csv_record(&c)) table_row(t, &c, column, fields, &reason), in_rows = 1;
    if (c.error && !reason.len) text_puts(&reason, c.error), in_rows = 0;
    if (reason.len) {
        text_printf(why, "line %zu: %s", c.line ? c.line : 1, reason.s);
        size_t more = in_rows && !text_failed(&reason) ? count_wrong(t, &c, column, fields) : 0;
        if (more) text_printf(why, " (%zu more row%s cannot be read either)", more, plural(more));
    }
    csv_free(&c);
    text_free(&reason);
    return why->len == 0;
}
