#include "base/json_write.h"

#include "base/decimal.h"
#include "base/invariant.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

json_writer json_write(text *out) { return (json_writer){.out = out, .line = -1}; }

json_writer json_write_inside(text *out, char bracket, int some) {
    return (json_writer){.out = out, .depth = 1, .arrays = bracket == '[', .some = some, .line = -1};
}

static int in_array(const json_writer *w) { return w->depth && w->arrays >> (w->depth - 1) & 1; }

static void break_line(json_writer *w) {
    text_putc(w->out, '\n');
    for (int i = 0; i < w->line; i++) text_putc(w->out, ' ');
    w->line = -1;
}

/* Writes what precedes a value: the comma, the space or newline after it, and the key. */
static void begin_value(json_writer *w, const char *key) {
    REID_ASSERT((key != NULL) == (w->depth && !in_array(w)));
    if (w->depth && w->some) text_putc(w->out, ',');
    if (w->line >= 0) break_line(w);
    else if (w->depth && w->some && !w->tight) text_putc(w->out, ' ');
    if (key) text_json(w->out, key), text_puts(w->out, w->tight ? ":" : ": ");
    w->some = 1;
}

static void open_one(json_writer *w, const char *key, uint32_t is_array) {
    begin_value(w, key);
    REID_ASSERT(w->depth < JSON_WRITE_DEPTH);
    text_putc(w->out, is_array ? '[' : '{');
    w->arrays = (w->arrays & ~((uint32_t)1 << w->depth)) | is_array << w->depth;
    w->depth++;
    w->some = 0;
}

void json_put_object(json_writer *w, const char *key) { open_one(w, key, 0); }

void json_put_array(json_writer *w, const char *key) { open_one(w, key, 1); }

void json_put_end(json_writer *w) {
    REID_ASSERT(w->depth > 0);
    if (w->line >= 0) break_line(w);
    text_putc(w->out, in_array(w) ? ']' : '}');
    w->depth--;
    w->some = 1;
}

void json_put_finish(json_writer *w) {
    while (w->depth) json_put_end(w);
    text_putc(w->out, '\n');
}

void json_put_inside(json_writer *w, const text *members) {
    REID_ASSERT(w->depth && !w->some && w->line < 0);
    text_join(w->out, members);
    w->some = members->len > 0;
}

void json_put_line(json_writer *w, int spaces) { w->line = spaces; }

text *json_put_value(json_writer *w, const char *key) {
    begin_value(w, key);
    return w->out;
}

void json_put_string(json_writer *w, const char *key, const char *value) {
    begin_value(w, key);
    if (value) text_json(w->out, value);
    else text_puts(w->out, "null");
}

void json_put_format(json_writer *w, const char *key, const char *format, ...) {
    text value = TEXT_INIT;
    va_list list;
    va_start(list, format);
    text_vprintf(&value, format, list);
    va_end(list);
    if (text_failed(&value)) text_no_memory(w->out);
    json_put_string(w, key, value.s ? value.s : "");
    text_free(&value);
}

void json_put_int(json_writer *w, const char *key, long long value) {
    text_printf(json_put_value(w, key), "%lld", value);
}

void json_put_count(json_writer *w, const char *key, unsigned long long value) {
    text_printf(json_put_value(w, key), "%llu", value);
}

static void put_real(json_writer *w, const char *key, const char *format, int digits, double value) {
    begin_value(w, key);
    if (isfinite(value)) text_printf(w->out, format, digits, value);
    else text_puts(w->out, "null");
}

void json_put_number(json_writer *w, const char *key, double value, int digits) {
    put_real(w, key, "%.*g", digits, value);
}

void json_put_fixed(json_writer *w, const char *key, double value, int digits) {
    put_real(w, key, "%.*f", digits, value);
}

void json_put_exact(json_writer *w, const char *key, double value) {
    char number[40] = "null";
    for (int digits = 6; isfinite(value) && digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value) break;
    }
    text_puts(json_put_value(w, key), number);
}

void json_put_bool(json_writer *w, const char *key, int value) {
    text_puts(json_put_value(w, key), value ? "true" : "false");
}

void json_put_null(json_writer *w, const char *key) { json_put_string(w, key, NULL); }

void json_put_floats(json_writer *w, const char *key, const float *values, size_t count) {
    json_put_array(w, key);
    decimal_floats(w->out, values, count);
    json_put_end(w);
}

void json_put_numbers(json_writer *w, const char *key, const double *values, size_t count, int digits) {
    json_put_array(w, key);
    for (size_t i = 0; i < count; i++) json_put_number(w, NULL, values[i], digits);
    json_put_end(w);
}
