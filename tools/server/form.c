#include "server/form.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_BOUNDARY = 70, MAX_LINE = 4096, MAX_LINES = 16, MAX_NAME = 64 };

/* --- header fields ------------------------------------------------------------------------------------------------ */

/* A text that need not end with 0. */
typedef struct words {
    const char *at, *end;
} words;

static int is_blank(int c) { return c == ' ' || c == '\t'; }

static void skip_blanks(words *w) {
    while (w->at < w->end && is_blank(*w->at)) w->at++;
}

static int takes(words *w, char c) {
    if (w->at == w->end || *w->at != c) return 0;
    w->at++;
    return 1;
}

/* A character of a token (RFC 9110, 5.6.2). */
static int is_token(char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int take_token(words *w, text *out) {
    const char *from = w->at;
    while (w->at < w->end && is_token(*w->at)) w->at++;
    text_add(out, from, (size_t)(w->at - from));
    return w->at > from;
}

static int take_quoted(words *w, text *out) {
    if (!takes(w, '"')) return 0;
    while (w->at < w->end && *w->at != '"') {
        if (*w->at == '\\' && w->end - w->at > 1) w->at++;
        text_putc(out, (unsigned char)*w->at++);
    }
    return takes(w, '"');
}

/* Reads "; NAME=VALUE". Returns 1, 0 at the end, -1 if it is malformed. */
static int take_parameter(words *w, text *name, text *value) {
    text_clear(name), text_clear(value);
    text_puts(name, ""), text_puts(value, "");
    skip_blanks(w);
    if (w->at == w->end) return 0;
    if (!takes(w, ';')) return -1;
    skip_blanks(w);
    if (w->at == w->end) return 0; /* some programs end the line with a semicolon */
    if (!take_token(w, name) || !takes(w, '=')) return -1;
    int quoted = w->at < w->end && *w->at == '"';
    return (quoted ? take_quoted(w, value) : take_token(w, value)) ? 1 : -1;
}

/* Finds the only parameter of that name, ignoring others. Returns 0 if a parameter is malformed or given twice. *found:
   0 if there is none. Without memory `out` has failed, whatever is returned: a name that could not be stored may have
   been the wanted one. */
static int find_parameter(words w, const char *wanted, text *out, int *found) {
    text name = TEXT_INIT, value = TEXT_INIT;
    int got, good = 1;
    *found = 0;
    while (good && (got = take_parameter(&w, &name, &value)) != 0) {
        if (text_failed(&name) || text_failed(&value)) text_no_memory(out), good = 0;
        else if (got < 0) good = 0;
        else if (strcasecmp(name.s, wanted) != 0) continue;
        else if (*found) good = 0;
        else *found = 1, text_join(out, &value);
    }
    text_free(&name), text_free(&value);
    return good;
}

static const char FORM[] = "multipart/form-data";

int form_is_type(const char *content_type) {
    const size_t n = sizeof FORM - 1;
    return content_type && strncasecmp(content_type, FORM, n) == 0 && strchr("; \t", content_type[n]) != NULL;
}

/* The characters of RFC 2046, 5.1.1; a boundary does not end with a space. */
static int is_boundary(const text *b) {
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'()+_,-./:=? ";
    return b->len > 0 && b->len <= MAX_BOUNDARY && strspn(b->s, allowed) == b->len && b->s[b->len - 1] != ' ';
}

int form_boundary(text *boundary, const char *content_type, text *why) {
    const char *at = content_type + sizeof FORM - 1;
    int found;
    text_puts(boundary, "");
    int good = find_parameter((words){at, at + strlen(at)}, "boundary", boundary, &found);
    if (text_failed(boundary)) return text_no_memory(why);
    if (!good) return refuse(why, "Content-Type: expected multipart/form-data; boundary=...");
    if (!found) return refuse(why, "Content-Type: the form has no boundary");
    return is_boundary(boundary) || refuse(why, "Content-Type: invalid boundary; expected 1 to %d letters, digits and "
                                                "punctuation marks", MAX_BOUNDARY);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

typedef struct reading {
    form *f;
    const unsigned char *body;
    size_t len, at, most;
    text delimiter; /* "\r\n--" and the boundary */
    text *why;
} reading;

static int fail(reading *p, const char *what) { return refuse(p->why, "form: part %zu: %s", p->f->count, what); }

static int follows(const reading *p, size_t at, const char *s) {
    const size_t n = strlen(s);
    return p->len - at >= n && memcmp(p->body + at, s, n) == 0;
}

/* The end of the line that begins at p->at; NULL if it is too long, or ends early. */
static const unsigned char *line_end(const reading *p) {
    size_t left = p->len - p->at;
    return left ? memmem(p->body + p->at, left < MAX_LINE ? left : MAX_LINE, "\r\n", 2) : NULL;
}

static int is_field(const words *line, const char *name) {
    const size_t n = strlen(name);
    return (size_t)(line->end - line->at) > n && strncasecmp(line->at, name, n) == 0 && line->at[n] == ':';
}

static words value_of(words line) {
    words value = {(const char *)memchr(line.at, ':', (size_t)(line.end - line.at)) + 1, line.end};
    skip_blanks(&value);
    return value;
}

static int is_word(words value, const char *word) {
    const size_t n = strlen(word);
    return (size_t)(value.end - value.at) == n && strncasecmp(value.at, word, n) == 0;
}

static int read_disposition(reading *p, words value, text *name) {
    static const char kind[] = "form-data";
    const size_t n = sizeof kind - 1;
    int found;
    if (name->s) return fail(p, "Content-Disposition is given twice");
    if ((size_t)(value.end - value.at) < n || strncasecmp(value.at, kind, n) != 0)
        return fail(p, "Content-Disposition: expected form-data");
    value.at += n;
    text_puts(name, "");
    int good = find_parameter(value, "name", name, &found);
    if (text_failed(name)) return text_no_memory(p->why);
    if (!good) return fail(p, "Content-Disposition: malformed parameters");
    if (!found || !name->len) return fail(p, "Content-Disposition: the part has no name");
    return (name->len <= MAX_NAME && strlen(name->s) == name->len) || fail(p, "Content-Disposition: invalid name");
}

/* Of the other fields, only those matter that would change what the content means. */
static int read_field(reading *p, words line, text *name) {
    for (const char *c = line.at; c < line.end; c++)
        if ((unsigned char)*c < ' ' && *c != '\t') return fail(p, "a header field contains a control character");
    if (!memchr(line.at, ':', (size_t)(line.end - line.at))) return fail(p, "expected a header field, NAME: VALUE");
    const words value = value_of(line);
    if (is_field(&line, "Content-Disposition")) return read_disposition(p, value, name);
    if (is_field(&line, "Content-Transfer-Encoding") && !is_word(value, "binary") && !is_word(value, "8bit") &&
        !is_word(value, "7bit"))
        return fail(p, "Content-Transfer-Encoding: only binary is supported");
    if (is_field(&line, "Content-Type") && value.end - value.at >= 9 && strncasecmp(value.at, "multipart", 9) == 0)
        return fail(p, "Content-Type: a form within a form is not supported");
    return 1;
}

/* Reads the header fields of a part up to the empty line. */
static int read_fields(reading *p, text *name) {
    for (int i = 0; i <= MAX_LINES; i++) {
        const unsigned char *end = line_end(p);
        const words line = {(const char *)p->body + p->at, (const char *)end};
        if (!end) return fail(p, "a header field is too long, or the form ends early");
        p->at = (size_t)(end - p->body) + 2;
        if (line.at == line.end) return name->s || fail(p, "Content-Disposition is missing");
        if (!read_field(p, line, name)) return 0;
    }
    return fail(p, "more than 16 header fields");
}

/* The place of the next delimiter line, SIZE_MAX if there is none. Content may contain what only looks like one. */
static size_t find_delimiter(const reading *p, size_t from) {
    for (;;) {
        const unsigned char *found = memmem(p->body + from, p->len - from, p->delimiter.s, p->delimiter.len);
        if (!found) return SIZE_MAX;
        const size_t at = (size_t)(found - p->body), end = at + p->delimiter.len;
        if (follows(p, end, "\r\n") || follows(p, end, "--")) return at;
        from = end;
    }
}

static int add_part(reading *p, text *name) {
    form *f = p->f;
    if (f->count == p->most) {
        f->status = STATUS_TOO_LARGE;
        return refuse(p->why, "form: more than %zu parts", p->most);
    }
    const size_t end = find_delimiter(p, p->at);
    if (end == SIZE_MAX) return fail(p, "the form ends within it");
    if (!GROW(f->parts, f->count, f->cap)) return text_no_memory(p->why);
    f->parts[f->count++] = (form_part){*name, {p->body + p->at, end - p->at}};
    *name = (text)TEXT_INIT;
    p->at = end + p->delimiter.len;
    return 1;
}

/* p->at is after a delimiter: either another part follows, or the form ends. */
static int read_parts(reading *p) {
    while (!follows(p, p->at, "--")) {
        text name = TEXT_INIT;
        if (!follows(p, p->at, "\r\n")) return fail(p, "expected a line end after the boundary");
        p->at += 2;
        int good = read_fields(p, &name) && add_part(p, &name);
        text_free(&name);
        if (!good) return 0;
    }
    p->at += 2;
    if (follows(p, p->at, "\r\n")) p->at += 2;
    return p->at == p->len || refuse(p->why, "form: bytes after its end");
}

int form_read(form *f, const unsigned char *body, size_t len, const text *boundary, size_t most, text *why) {
    reading p = {f, body, len, 0, most, TEXT_INIT, why};
    memset(f, 0, sizeof *f);
    f->status = STATUS_BAD;
    text_printf(&p.delimiter, "\r\n--%s", boundary->s);
    int good = 0;
    if (text_failed(&p.delimiter)) text_no_memory(why);
    else if (!follows(&p, 0, p.delimiter.s + 2)) refuse(why, "form: does not begin with its boundary");
    else p.at = p.delimiter.len - 2, good = read_parts(&p);
    if (text_failed(why)) f->status = STATUS_BUSY;
    text_free(&p.delimiter);
    return good;
}

void form_free(form *f) {
    for (size_t i = 0; i < f->count; i++) text_free(&f->parts[i].name);
    free(f->parts);
    memset(f, 0, sizeof *f);
}
