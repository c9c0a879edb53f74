#include "base/yaml.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- what was read ------------------------------------------------------------------------------------------------ */

const char *yaml_path(const yaml *y, const yaml_entry *e) { return y->texts.s + e->path; }

const char *yaml_item(const yaml *y, const yaml_entry *e, size_t index) {
    const char *s = y->texts.s + e->items;
    while (index-- > 0) s += strlen(s) + 1;
    return s;
}

const yaml_entry *yaml_find(const yaml *y, const char *path) {
    for (size_t i = 0; i < y->count; i++)
        if (strcmp(yaml_path(y, &y->at[i]), path) == 0) return &y->at[i];
    return NULL;
}

void yaml_free(yaml *y) {
    free(y->at);
    text_free(&y->texts);
    *y = (yaml){.count = 0};
}

/* --- the reader --------------------------------------------------------------------------------------------------- */

typedef struct reader {
    yaml *to;
    const char *at; /* in a 0-terminated text, in which no other byte is 0 */
    int line;
    int indent;     /* of the line at `at`, whose first character that is; -1 at the end of the text */
    text path;      /* of the value that is being read */
    text *why;
} reader;

/* Refuses what stands on the current line. */
#define FAIL(r, ...) refuse_line(r, (r)->line, __VA_ARGS__)

static int refuse_line(reader *r, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int refuse_line(reader *r, int line, const char *format, ...) {
    va_list list;
    refuse(r->why, "line %d: ", line);
    va_start(list, format);
    text_vprintf(r->why, format, list);
    va_end(list);
    return 0;
}

static int is_blank(char c) { return c == ' ' || c == '\t'; }
static int is_end(char c) { return c == '\n' || !c; }

static void skip_blanks(reader *r) {
    while (is_blank(*r->at)) r->at++;
}

/* Moves to the first character of the next line that has more than a comment. */
static int next_line(reader *r) {
    for (;;) {
        r->indent = 0;
        for (; *r->at == ' '; r->at++) r->indent++;
        const char *start = r->at;
        skip_blanks(r);
        if (*r->at == '#') r->at += strcspn(r->at, "\n");
        if (!*r->at) return r->indent = -1, 1;
        if (*r->at != '\n') return start == r->at || FAIL(r, "the line begins with a tab; indent it with spaces");
        r->at++, r->line++;
    }
}

/* After a value: only a comment may follow on its line. */
static int end_line(reader *r) {
    skip_blanks(r);
    if (!is_end(*r->at) && (*r->at != '#' || !is_blank(r->at[-1])))
        return FAIL(r, "expected the end of the line after the value");
    r->at += strcspn(r->at, "\n");
    return next_line(r);
}

/* Adds an entry at the current path, with the items that follow in `texts`. */
static int add_entry(reader *r, int line, yaml_kind kind) {
    yaml *y = r->to;
    if (text_failed(&r->path)) return text_no_memory(r->why);
    const yaml_entry *first = yaml_find(y, r->path.s);
    if (first) return refuse_line(r, line, "%s is given twice; the first one is in line %d", r->path.s, first->line);
    if (y->count == YAML_ENTRIES) return refuse_line(r, line, "there are more than %d keys", YAML_ENTRIES);
    if (!GROW(y->at, y->count, y->cap)) return text_no_memory(r->why);
    yaml_entry *e = &y->at[y->count++];
    *e = (yaml_entry){.path = y->texts.len, .line = line, .kind = kind, .count = kind == YAML_SCALAR};
    text_add(&y->texts, r->path.s, r->path.len + 1);
    e->items = y->texts.len;
    return text_failed(&y->texts) ? text_no_memory(r->why) : 1;
}

static int end_item(reader *r) {
    text_putc(&r->to->texts, 0);
    return text_failed(&r->to->texts) ? text_no_memory(r->why) : 1;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static int is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Reads "KEY:" and adds the key to the path. *len: the path's length before, for leave_key. */
static int enter_key(reader *r, size_t *len) {
    size_t n = 0;
    while (is_word(r->at[n])) n++;
    if (!n || (n == 1 && *r->at == '-') || r->at[n] != ':')
        return FAIL(r, "expected KEY: value, with a key of letters, digits, _ and -");
    *len = r->path.len;
    if (r->path.len) text_putc(&r->path, '.');
    text_add(&r->path, r->at, n);
    r->at += n + 1;
    if (!is_blank(*r->at) && !is_end(*r->at)) return FAIL(r, "expected a space after the colon");
    return 1;
}

static void leave_key(reader *r, size_t len) {
    if (text_failed(&r->path)) return;
    r->path.len = len;
    r->path.s[len] = 0;
}

/* --- scalars ------------------------------------------------------------------------------------------------------ */

/* In a quoted scalar, a single line break is a space; of several, the first is dropped. `kept`: where characters begin
   that are not white space to be trimmed. */
static void fold(reader *r, size_t kept) {
    text *out = &r->to->texts;
    int breaks = 0;
    while (out->len > kept && is_blank(out->s[out->len - 1])) out->len--;
    for (; is_blank(*r->at) || *r->at == '\n'; r->at++)
        if (*r->at == '\n') breaks++, r->line++;
    if (breaks == 1) text_putc(out, ' ');
    while (breaks-- > 1) text_putc(out, '\n');
}

/* Reads the digits after \x, \u or \U. */
static int read_code(reader *r, int digits) {
    static const char hex[] = "0123456789abcdef0123456789ABCDEF";
    unsigned long code = 0;
    for (int i = 0; i < digits; i++, r->at++) {
        const char *digit = *r->at ? strchr(hex, *r->at) : NULL;
        if (!digit) return FAIL(r, "expected %d hexadecimal digits after the backslash and its letter", digits);
        code = code << 4 | (unsigned long)(digit - hex) % 16;
    }
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return FAIL(r, "the escaped character %lx does not exist in text", code);
    text_utf8(&r->to->texts, (unsigned)code);
    return 1;
}

/* Reads what follows a backslash between double quotes. */
static int read_escape(reader *r) {
    static const char from[] = "\\\"/ ntr", to[] = "\\\"/ \n\t\r";
    const char c = *r->at;
    const char *found = c ? strchr(from, c) : NULL;
    if (c == '\n') { /* the line goes on without a space */
        r->at++, r->line++;
        skip_blanks(r);
        return 1;
    }
    if (!found && (!c || !strchr("xuU", c)))
        return FAIL(r, "unknown escape after a backslash; the known ones are \\\\ \\\" \\/ \\n \\t \\r \\x \\u \\U");
    r->at++;
    if (found) return text_putc(&r->to->texts, to[found - from]), 1;
    return read_code(r, c == 'x' ? 2 : c == 'u' ? 4 : 8);
}

static int read_quoted(reader *r) {
    const char quote = *r->at++;
    const int first = r->line;
    text *out = &r->to->texts;
    size_t kept = out->len;
    while (*r->at) {
        if (*r->at == quote && (quote == '"' || r->at[1] != quote)) return r->at++, end_item(r);
        if (*r->at == '\n') fold(r, kept);
        else if (*r->at == '\\' && quote == '"') {
            r->at++;
            if (!read_escape(r)) return 0;
            kept = out->len;
        } else {
            r->at += *r->at == quote; /* '' is one quote */
            text_putc(out, *r->at++);
        }
    }
    return refuse_line(r, first, "the quoted text has no end");
}

/* Reads a plain scalar up to the end of its line or, in a flow collection, up to one of `stops`. */
static int read_plain(reader *r, const char *stops) {
    const char *start = r->at, *end = r->at;
    for (; !is_end(*r->at) && !strchr(stops, *r->at); r->at++) {
        if (*r->at == '#' && r->at > start && is_blank(r->at[-1])) break;
        if (*r->at == ':' && (is_blank(r->at[1]) || is_end(r->at[1]) || strchr(stops, r->at[1])))
            return FAIL(r, "a value that contains a colon and a space must be quoted");
        if (!is_blank(*r->at)) end = r->at + 1;
    }
    text_add(&r->to->texts, start, (size_t)(end - start));
    return 1;
}

/* Refuses a plain scalar that begins with a character that means something else in YAML. */
static int check_start(reader *r) {
    const char c = *r->at;
    const char *what = c == '&' ? "an anchor" : c == '*' ? "an alias" : c == '!' ? "a tag"
                     : c == '|' || c == '>' ? "a block of text" : NULL;
    if (what) return FAIL(r, "%s (%c) is not supported; write out the value", what, c);
    const int dashes = (c == '-' || c == '?' || c == ':') && (is_blank(r->at[1]) || is_end(r->at[1]));
    if (dashes || strchr(",[]{}#%@`", c)) return FAIL(r, "expected a value; one that begins with %c must be quoted", c);
    return 1;
}

static int is_quote(char c) { return c == '"' || c == '\''; }

/* Reads a scalar of a block collection, to the end of its last line. A plain one continues on lines that are indented
   more than `indent`. */
static int read_scalar(reader *r, int indent) {
    if (is_quote(*r->at)) return read_quoted(r) && end_line(r);
    if (!check_start(r) || !read_plain(r, "")) return 0;
    while (*r->at == '\n') { /* not after a comment, which ends the scalar */
        const char *line = r->at + 1, *first = line + strspn(line, " ");
        if (first - line <= indent || is_end(*first) || strchr("\t#", *first)) break;
        text_putc(&r->to->texts, ' ');
        r->at = first, r->line++;
        if (!check_start(r) || !read_plain(r, "")) return 0;
    }
    return end_item(r) && end_line(r);
}

/* --- [a, b] and {KEY: value} -------------------------------------------------------------------------------------- */

/* Skips white space, line breaks and comments. */
static void skip_flow(reader *r) {
    for (;; r->at++) {
        if (*r->at == '#' && (is_blank(r->at[-1]) || r->at[-1] == '\n')) r->at += strcspn(r->at, "\n");
        if (*r->at == '\n') r->line++;
        else if (!is_blank(*r->at)) return;
    }
}

/* After an element: returns 1 if another may follow; 0 at the closing bracket, which it skips, or after a failure, with
   *good 0. */
static int next_element(reader *r, char closing, int *good) {
    skip_flow(r);
    if (*r->at == closing) return r->at++, 0;
    if (*r->at != ',') return *good = FAIL(r, "expected a comma or %c", closing);
    r->at++;
    skip_flow(r);
    if (*r->at == closing) return r->at++, 0;
    return 1;
}

static int read_flow_scalar(reader *r) {
    static const char stops[] = ",[]{}";
    if (is_quote(*r->at)) return read_quoted(r);
    if (*r->at == '[' || *r->at == '{') return FAIL(r, "a list's items must be scalars");
    if (!*r->at) return FAIL(r, "the text ends within brackets");
    return check_start(r) && read_plain(r, stops) && end_item(r);
}

static int read_flow_list(reader *r, int line) {
    const size_t index = r->to->count;
    int good = add_entry(r, line, YAML_LIST), more = 1;
    if (!good) return 0;
    r->at++;
    skip_flow(r);
    if (*r->at == ']') return r->at++, 1;
    while (good && more) {
        good = read_flow_scalar(r);
        r->to->at[index].count++;
        more = good && next_element(r, ']', &good);
    }
    return good;
}

static int read_flow_map(reader *r, int line, int depth);

static int read_flow_value(reader *r, int line, int depth) {
    if (*r->at == '[') return read_flow_list(r, line);
    if (*r->at == '{') return read_flow_map(r, line, depth + 1);
    return add_entry(r, line, YAML_SCALAR) && read_flow_scalar(r);
}

static int read_flow_map(reader *r, int line, int depth) {
    int good = add_entry(r, line, YAML_MAP), more = 1;
    if (!good) return 0;
    if (depth > YAML_DEPTH) return FAIL(r, "maps are nested more than %d deep", YAML_DEPTH);
    r->at++;
    skip_flow(r);
    if (*r->at == '}') return r->at++, 1;
    while (good && more) {
        size_t len = r->path.len;
        const int key_line = r->line;
        good = enter_key(r, &len);
        if (good) skip_flow(r);
        good = good && read_flow_value(r, key_line, depth);
        leave_key(r, len);
        more = good && next_element(r, '}', &good);
    }
    return good;
}

/* --- collections by indentation ----------------------------------------------------------------------------------- */

static int starts_item(const reader *r) { return *r->at == '-' && (is_blank(r->at[1]) || is_end(r->at[1])); }

/* Reads the lines of a list. */
static int read_list(reader *r, int line) {
    const int indent = r->indent;
    const size_t index = r->to->count;
    if (!add_entry(r, line, YAML_LIST)) return 0;
    while (r->indent == indent && starts_item(r)) {
        r->at++;
        skip_blanks(r);
        if (*r->at == '[' || *r->at == '{' || starts_item(r)) return FAIL(r, "a list's items must be scalars");
        if (is_end(*r->at) || *r->at == '#') return FAIL(r, "expected a value after -");
        if (!read_scalar(r, indent)) return 0;
        r->to->at[index].count++;
    }
    return 1;
}

static int read_map(reader *r, int line, int depth);

/* Reads what follows "KEY:" in a map with this indentation. */
static int read_value(reader *r, int line, int indent, int depth) {
    skip_blanks(r);
    if (*r->at == '[' || *r->at == '{') return read_flow_value(r, line, depth) && end_line(r);
    if (!is_end(*r->at) && *r->at != '#')
        return add_entry(r, line, YAML_SCALAR) && read_scalar(r, indent);
    if (!end_line(r)) return 0;
    if (r->indent >= indent && starts_item(r)) return read_list(r, line);
    if (r->indent > indent) return read_map(r, line, depth + 1);
    return add_entry(r, line, YAML_SCALAR) && end_item(r);
}

/* Reads the lines of a map; the outermost one has no entry. */
static int read_map(reader *r, int line, int depth) {
    const int indent = r->indent;
    if (depth > YAML_DEPTH) return FAIL(r, "maps are nested more than %d deep", YAML_DEPTH);
    if (depth > 0 && !add_entry(r, line, YAML_MAP)) return 0;
    while (r->indent == indent) {
        size_t len;
        const int key_line = r->line;
        if (!enter_key(r, &len) || !read_value(r, key_line, indent, depth)) return 0;
        leave_key(r, len);
        if (r->indent > indent) return FAIL(r, "the line is indented by %d spaces; expected %d", r->indent, indent);
    }
    return 1;
}

static int read_document(reader *r) {
    if (!next_line(r)) return 0;
    if (r->indent == 0 && strncmp(r->at, "---", 3) == 0 && strchr(" \t\n", r->at[3])) {
        r->at += 3;
        if (!end_line(r)) return 0;
    }
    if (r->indent > 0) return FAIL(r, "the first key is indented by %d spaces; expected none", r->indent);
    return r->indent < 0 || read_map(r, 1, 0);
}

/* Copies the text without its mark and with plain line ends. Refuses bytes that no text has. */
static int clean(reader *r, text *copy, const char *bytes, size_t len) {
    for (size_t i = utf8_mark(bytes, len); i < len; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (c == '\r' && i + 1 < len && bytes[i + 1] == '\n') continue;
        if (c < ' ' && c != '\n' && c != '\t') return FAIL(r, "there is a byte %02x, which text does not have", c);
        r->line += c == '\n';
        text_putc(copy, c);
    }
    text_putc(copy, 0);
    if (text_failed(copy)) return text_no_memory(r->why);
    return utf8_valid(copy->s) || refuse(r->why, "it is not UTF-8");
}

int yaml_read(yaml *y, const char *bytes, size_t len, text *why) {
    text copy = TEXT_INIT;
    reader r = {.to = y, .line = 1, .why = why};
    *y = (yaml){.count = 0};
    if (len > YAML_BYTES) return refuse(why, "it is larger than %d KiB", YAML_BYTES >> 10);
    int good = clean(&r, &copy, bytes, len);
    r.at = copy.s, r.line = 1;
    good = good && read_document(&r);
    text_free(&copy), text_free(&r.path);
    return good;
}
