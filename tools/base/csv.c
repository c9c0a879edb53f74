#include "base/csv.h"

#include <string.h>

void csv_begin(csv *c, const char *bytes, size_t len) {
    memset(c, 0, sizeof *c);
    c->text = bytes;
    c->len = len;
    c->next_line = 1;
    c->at = utf8_mark(bytes, len);
}

const char *csv_field(const csv *c, int index) { return c->cells.s + c->start[index]; }

void csv_free(csv *c) { text_free(&c->cells); }

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

static int field(csv *c) {
    if (c->count == CSV_MAX_FIELDS) return fail(c, "too many fields");
    c->start[c->count++] = c->cells.len;
    if (c->at < c->len && c->text[c->at] == '"') {
        c->at++;
        if (!quoted(c)) return 0;
        if (c->at < c->len && !strchr(",\r\n", c->text[c->at])) return fail(c, "text after a closing quote");
    } else {
        size_t from = c->at;
        while (c->at < c->len && c->text[c->at] && !strchr(",\r\n\"", c->text[c->at])) c->at++;
        if (c->at < c->len && c->text[c->at] == '"') return fail(c, "a quote inside an unquoted field");
        text_add(&c->cells, c->text + from, c->at - from);
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
        c->at++; /* the comma */
    }
    return 0;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static void say_names(text *out, const csv_table *t, int from, int to) {
    for (int k = from; k < to; k++) text_printf(out, "%s%s", k > from ? "," : "", t->names[k]);
}

static void find_columns(const csv_table *t, const csv *c, int *column, text *why) {
    for (int k = 0; k < t->columns && !why->len; k++) {
        column[k] = -1;
        for (int i = 0; i < c->count && !why->len; i++) {
            if (strcmp(csv_field(c, i), t->names[k]) != 0) continue;
            if (column[k] >= 0) text_printf(why, "the header names %s twice", t->names[k]);
            column[k] = i;
        }
        if (column[k] >= 0 || k >= t->needed) continue;
        text_printf(why, "the header lacks \"%s\"; it must name ", t->names[k]);
        say_names(why, t, 0, t->needed);
        if (t->needed < t->columns) text_puts(why, " and may name ");
        say_names(why, t, t->needed, t->columns);
        text_puts(why, t->hint);
    }
}

int csv_read(const csv_table *t, const text *file, text *why) {
    csv c;
    int column[CSV_MAX_COLUMNS], fields;
    text reason = TEXT_INIT;
    csv_begin(&c, file->s, file->len);
    if (!csv_record(&c)) text_puts(&reason, c.error ? c.error : "the file is empty");
    else find_columns(t, &c, column, &reason);
    fields = c.count;
    while (!reason.len && csv_record(&c)) {
        if (c.count == fields) t->row(&c, column, t->user, &reason);
        else text_printf(&reason, "%d field%s, but the header has %d", c.count, plural((size_t)c.count), fields);
    }
    if (c.error && !reason.len) text_puts(&reason, c.error);
    if (reason.len) text_printf(why, "line %zu: %s", c.line ? c.line : 1, reason.s);
    csv_free(&c);
    text_free(&reason);
    return why->len == 0;
}
