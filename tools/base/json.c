#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_NUMBER = 64 };

void json_begin(json *j, const char *bytes, size_t len) {
    memset(j, 0, sizeof *j);
    j->text = bytes;
    j->len = len;
    j->at = utf8_mark(bytes, len);
}

int json_fail(json *j, const char *what) {
    size_t line = 1;
    if (j->error[0]) return 0;
    for (size_t i = 0; i < j->at && i < j->len; i++) line += j->text[i] == '\n';
    snprintf(j->error, sizeof j->error, "line %zu: %s", line, what);
    return 0;
}

/* Returns the next byte that is not white space; 0 at the end or after an error. */
static int next_byte(json *j) {
    if (j->error[0]) return 0;
    while (j->at < j->len && j->text[j->at] && strchr(" \t\r\n", j->text[j->at])) j->at++;
    return j->at < j->len ? (unsigned char)j->text[j->at] : 0;
}

int json_peek(json *j) {
    int c = next_byte(j);
    if (c == '-' || (c >= '0' && c <= '9')) return '0';
    if (c == 'f') return 't';
    return c && strchr("{[\"tn", c) ? c : 0;
}

static int open_container(json *j, int bracket, const char *what) {
    if (next_byte(j) != bracket) return json_fail(j, what);
    j->at++;
    j->fresh = 1;
    return 1;
}

int json_object(json *j) { return open_container(j, '{', "expected an object { … }"); }
int json_array(json *j) { return open_container(j, '[', "expected an array [ … ]"); }

/* Returns 1 if an element follows; 0 if the container was closed or after an error. */
static int next_element(json *j, int closing) {
    int c = next_byte(j);
    if (c == closing) {
        j->at++;
        j->fresh = 0;
        return 0;
    }
    if (!j->fresh) {
        if (c != ',') return json_fail(j, c ? "expected a comma" : "the text ends early");
        j->at++;
        c = next_byte(j);
    }
    j->fresh = 0;
    if (!c || c == closing) return json_fail(j, c ? "a comma before the closing bracket" : "the text ends early");
    return !j->error[0];
}

int json_item(json *j) { return next_element(j, ']'); }

int json_key(json *j, text *key) {
    if (!next_element(j, '}') || !json_string(j, key)) return 0;
    if (next_byte(j) != ':') return json_fail(j, "expected a colon");
    j->at++;
    return 1;
}

static int hex4(json *j, unsigned *out) {
    unsigned value = 0;
    if (j->len - j->at < 4) return json_fail(j, "the text ends early");
    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)j->text[j->at++];
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return json_fail(j, "expected four hexadecimal digits after \\u");
        value = value * 16 + (unsigned)digit;
    }
    *out = value;
    return 1;
}

/* Reads an escape after its backslash. A lone surrogate is an error, except U+DC80 … U+DCFF: see text_json. */
static int escape(json *j, text *out) {
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    unsigned code, low;
    int c = j->at < j->len ? j->text[j->at++] : 0;
    const char *known = c ? strchr(names, c) : NULL;
    if (known) {
        text_putc(out, bytes[known - names]);
        return 1;
    }
    if (c != 'u') return json_fail(j, "unknown escape in a string");
    if (!hex4(j, &code)) return 0;
    if (code == 0) return json_fail(j, "a zero byte in a string");
    if (code >= 0xD800 && code < 0xDC00) {
        if (j->len - j->at < 6 || memcmp(j->text + j->at, "\\u", 2) != 0) return json_fail(j, "a lone surrogate");
        j->at += 2;
        if (!hex4(j, &low)) return 0;
        if (low < 0xDC00 || low > 0xDFFF) return json_fail(j, "a lone surrogate");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF && !(code >= 0xDC80 && code <= 0xDCFF)) {
        return json_fail(j, "a lone surrogate");
    }
    text_utf8(out, code);
    return 1;
}

int json_string(json *j, text *out) {
    text_clear(out);
    text_puts(out, "");
    if (next_byte(j) != '"') return json_fail(j, "expected a string");
    j->at++;
    while (j->at < j->len) {
        size_t from = j->at;
        while (j->at < j->len && (unsigned char)j->text[j->at] >= 0x20 && !strchr("\"\\", j->text[j->at])) j->at++;
        text_add(out, j->text + from, j->at - from);
        if (j->at == j->len) break;
        int c = (unsigned char)j->text[j->at++];
        if (c == '"') return text_failed(out) ? json_fail(j, "out of memory") : 1;
        if (c < 0x20) return json_fail(j, "a control character in a string");
        if (!escape(j, out)) return 0;
    }
    return json_fail(j, "the text ends inside a string");
}

static size_t digits(const json *j, size_t at) {
    while (at < j->len && j->text[at] >= '0' && j->text[at] <= '9') at++;
    return at;
}

/* Fails because of what comes next; Python writes NaN and Infinity, which are no JSON. */
static int not_expected(json *j, const char *what) {
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    char message[64];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (j->len - j->at < n || memcmp(j->text + j->at, words[i], n) != 0) continue;
        snprintf(message, sizeof message, "%s, which JSON does not have; write null", words[i]);
        return json_fail(j, message);
    }
    return json_fail(j, what);
}

int json_number(json *j, double *out) {
    char number[MAX_NUMBER];
    const int is_number = json_peek(j) == '0';
    if (!is_number || (j->len - j->at > 1 && j->text[j->at + 1] == 'I')) return not_expected(j, "expected a number");
    size_t at = j->at + (j->text[j->at] == '-'), whole = at, end = digits(j, at);
    int good = end > whole && (j->text[whole] != '0' || end == whole + 1);
    if (good && end < j->len && j->text[end] == '.') {
        at = end + 1;
        end = digits(j, at);
        good = end > at;
    }
    if (good && end < j->len && (j->text[end] | 32) == 'e') {
        at = end + 1;
        if (at < j->len && (j->text[at] == '+' || j->text[at] == '-')) at++;
        end = digits(j, at);
        good = end > at;
    }
    if (!good || end - j->at >= sizeof number) return json_fail(j, "a malformed number");
    memcpy(number, j->text + j->at, end - j->at);
    number[end - j->at] = 0;
    *out = strtod(number, NULL);
    j->at = end;
    return 1;
}

static int word(json *j, const char *expected) {
    size_t n = strlen(expected);
    if (j->len - j->at < n || memcmp(j->text + j->at, expected, n) != 0) return json_fail(j, "an unknown word");
    j->at += n;
    return 1;
}

int json_bool(json *j, int *out) {
    if (json_peek(j) != 't') return json_fail(j, "expected true or false");
    *out = j->text[j->at] == 't';
    return word(j, *out ? "true" : "false");
}

static int skip(json *j, text *scratch, int depth) {
    double number;
    int flag;
    if (depth > MAX_DEPTH) return json_fail(j, "nested too deeply");
    switch (json_peek(j)) {
    case '{':
        for (json_object(j); json_key(j, scratch);) skip(j, scratch, depth + 1);
        break;
    case '[':
        for (json_array(j); json_item(j);) skip(j, scratch, depth + 1);
        break;
    case '"': return json_string(j, scratch);
    case '0': return json_number(j, &number);
    case 't': return json_bool(j, &flag);
    case 'n': return word(j, "null");
    default: return not_expected(j, "expected a value");
    }
    return !j->error[0];
}

int json_skip(json *j) {
    text scratch = TEXT_INIT;
    int good = skip(j, &scratch, 0);
    text_free(&scratch);
    return good;
}

int json_end(json *j) {
    if (!j->error[0] && (next_byte(j), j->at < j->len)) json_fail(j, "text after the end of the value");
    return !j->error[0];
}
