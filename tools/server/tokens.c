#include "server/tokens.h"

#include "base/files.h"
#include "base/memory.h"
#include "server/door.h"
#include "server/secret_file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MIN_TOKEN = 16, MAX_TOKEN = 1024, MAX_FILE = 1 << 20, MOST_TOKENS = 1000 };

/* --- the file ----------------------------------------------------------------------------------------------------- */

static int is_name(const char *s, size_t len) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return len > 0 && len <= TOKEN_NAME && strspn(s, letters) >= len;
}

static int is_secret(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (s[i] <= ' ' || s[i] >= 127) return 0;
    return len >= MIN_TOKEN && len <= MAX_TOKEN;
}

/* A line's words; len is 0 for one that is not there. */
typedef struct words {
    const char *name, *secret;
    size_t name_len, secret_len;
} words;

/* Returns 0 if there are more words than two. One word is a secret without a name. */
static int split(words *w, const char *line, size_t len) {
    const char *part[2] = {line, line};
    size_t lens[2] = {0, 0}, count = 0;
    for (size_t i = 0; i < len;) {
        size_t from = i;
        while (i < len && line[i] != ' ' && line[i] != '\t') i++;
        if (i > from && count == 2) return 0;
        if (i > from) part[count] = line + from, lens[count++] = i - from;
        while (i < len && (line[i] == ' ' || line[i] == '\t')) i++;
    }
    *w = count == 1 ? (words){line, part[0], 0, lens[0]} : (words){part[0], part[1], lens[0], lens[1]};
    return 1;
}

static int add(tokens *t, const words *w, text *why) {
    if (!GROW(t->list, t->count, t->cap)) return text_no_memory(why);
    token *to = &t->list[t->count++];
    *to = (token){TEXT_INIT, TEXT_INIT};
    text_puts(&to->name, "");
    text_add(&to->name, w->name, w->name_len);
    text_add(&to->secret, w->secret, w->secret_len);
    return !text_failed(&to->name) && !text_failed(&to->secret) ? 1 : text_no_memory(why);
}

/* Names tell tokens apart, so they must differ; so must tokens, or removing one would not withdraw it. */
static int check_new(const tokens *t, const words *w, text *why) {
    for (const token *other = t->list; other < t->list + t->count; other++) {
        if (!w->name_len || !other->name.len)
            return refuse(why, "several tokens need names: expected lines NAME TOKEN");
        if (other->name.len == w->name_len && memcmp(other->name.s, w->name, w->name_len) == 0)
            return refuse(why, "the name \"%s\" is given twice; names must differ", other->name.s);
        if (door_same(&other->secret, w->secret, w->secret_len))
            return refuse(why, "the token is the same as that of \"%s\"; tokens must differ", other->name.s);
    }
    return t->count < MOST_TOKENS || refuse(why, "more than %d tokens", MOST_TOKENS);
}

static int read_line(tokens *t, const char *line, size_t len, text *why) {
    words w;
    while (len && strchr("\r \t", line[len - 1])) len--;
    while (len && (*line == ' ' || *line == '\t')) line++, len--;
    if (!len || *line == '#') return 1;
    if (!split(&w, line, len)) return refuse(why, "expected NAME TOKEN, found more than two words");
    if (w.name_len && !is_name(w.name, w.name_len))
        return refuse(why, "expected a name of at most %d letters, digits, dots, dashes and underscores", TOKEN_NAME);
    if (!is_secret(w.secret, w.secret_len))
        return refuse(why, "expected a token: %d to %d ASCII characters, without spaces", MIN_TOKEN, MAX_TOKEN);
    return check_new(t, &w, why) && add(t, &w, why);
}

static int read_lines(tokens *t, const text *file, text *why) {
    text reason = TEXT_INIT;
    size_t at = 0;
    int good = 1;
    for (int line = 1; at < file->len && good; line++) {
        const char *end = memchr(file->s + at, '\n', file->len - at);
        size_t len = end ? (size_t)(end - file->s) - at : file->len - at;
        good = read_line(t, file->s + at, len, &reason);
        if (!good && text_failed(&reason)) text_no_memory(why);
        else if (!good) refuse(why, "line %d: %s", line, reason.s);
        at += len + 1;
    }
    text_free(&reason);
    return good && (t->count || refuse(why, "contains no token; expected one line of at least %d ASCII characters, "
                                            "or lines NAME TOKEN", MIN_TOKEN));
}

int tokens_read(tokens *t, const char *path, text *why) {
    text file = TEXT_INIT;
    memset(t, 0, sizeof *t);
    int good = secret_file_check(path, why) && file_read(path, MAX_FILE, 1, &file, why) && read_lines(t, &file, why);
    text_free(&file);
    return good;
}

void tokens_free(tokens *t) {
    for (size_t i = 0; i < t->count; i++) text_free(&t->list[i].name), text_free(&t->list[i].secret);
    free(t->list);
    memset(t, 0, sizeof *t);
}

/* --- clients ------------------------------------------------------------------------------------------------------ */

const token *tokens_admit(const tokens *t, const char *authorization) {
    static const char scheme[] = "Bearer ";
    const size_t skip = sizeof scheme - 1;
    const token *found = NULL;
    if (!authorization || strncasecmp(authorization, scheme, skip) != 0) return NULL;
    const char *given = authorization + skip;
    for (const token *k = t->list; k < t->list + t->count; k++)
        if (door_same(&k->secret, given, strlen(given))) found = k;
    return found;
}
