#include "journal/decisions_line.h"

#include "base/crc32.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/text.h"
#include "base/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char CHECKSUM[] = ", \"crc\": \""; /* then eight digits, "} */
enum { DIGITS = 8, CHECKSUM_BYTES = sizeof CHECKSUM - 1 + DIGITS + 2 };

static const char *const WHAT[] = {"", "same", "different", "not a crop", "name", "undo"};

decision_kind decision_kind_of(const char *what) {
    for (int i = DECISION_SAME; i <= DECISION_UNDO; i++)
        if (strcmp(what, WHAT[i]) == 0) return (decision_kind)i;
    return (decision_kind)0;
}

void decision_free(decision *d) {
    for (size_t i = 0; i < d->count; i++) free(d->crops[i]);
    free(d->crops);
    free(d->name);
    free(d->by);
    memset(d, 0, sizeof *d);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void put_crops(json_writer *w, const decision *d) {
    json_put_array(w, "crops");
    for (size_t i = 0; i < d->count; i++) json_put_string(w, NULL, d->crops[i]);
    json_put_end(w);
}

void decision_write(const decision *d, text *out) {
    size_t start = out->len;
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_int(&w, "seq", d->seq);
    json_put_string(&w, "what", WHAT[d->kind]);
    if (d->kind == DECISION_UNDO) json_put_int(&w, "undoes", d->undoes);
    else put_crops(&w, d);
    if (d->kind == DECISION_NAME) json_put_string(&w, "name", d->name);
    json_put_string(&w, "by", d->by);
    text_putc(json_put_value(&w, "when"), '"');
    when_text(out, d->when);
    text_putc(out, '"');
    json_put_array(&w, "models");
    for (int i = 0; i < d->model_count; i++) json_put_string(&w, NULL, d->models[i]);
    json_put_end(&w);
    if (text_failed(out)) return;
    json_put_format(&w, "crc", "%08x", (unsigned)crc32_more(0, out->s + start, out->len - start));
    json_put_finish(&w);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef enum field { SEQ, WHAT_IT_IS, CROPS, NAME, UNDOES, BY, WHEN, MODELS, CRC, FIELDS } field;

static const char *const NAMES[FIELDS] = {"seq", "what", "crops", "name", "undoes", "by", "when", "models", "crc"};

/* The state while a line is read. at: the field that is being read, for messages; FIELDS: none. */
typedef struct reader {
    json j;
    decision *d;
    text word;
    field at;
    unsigned seen;
} reader;

/* Reads a line number. */
static void read_seq(reader *r, long long *to) {
    const double most = 9007199254740992.0;
    double n = 0;
    if (!json_number(&r->j, &n)) return;
    if (!(n >= 1 && n <= most) || (double)(long long)n != n) json_fail(&r->j, "expected a whole number from 1");
    else *to = (long long)n;
}

static void read_what(reader *r) {
    if (!json_string(&r->j, &r->word)) return;
    r->d->kind = decision_kind_of(r->word.s);
    if (!r->d->kind) json_fail(&r->j, "must be same, different, not a crop, name or undo");
}

const char *decision_words_fault(const char *words) {
    if (strlen(words) > DECISION_WORDS) return "is longer than 256 bytes";
    for (const char *c = words; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F) return "has a control character";
    return NULL;
}

static char *read_words(reader *r, int may_be_empty) {
    char *copy = NULL;
    if (!json_string(&r->j, &r->word)) return NULL;
    const char *fault = !r->word.len && !may_be_empty ? "is empty" : decision_words_fault(r->word.s);
    if (fault) json_fail(&r->j, fault);
    else if (!(copy = mem_copy(r->word.s, r->word.len))) json_fail(&r->j, "out of memory");
    return copy;
}

static void read_crop(reader *r) {
    decision *d = r->d;
    char *copy = NULL;
    if (!json_string(&r->j, &r->word)) return;
    if (!r->word.len) json_fail(&r->j, "an id is empty");
    else if (r->word.len > DECISION_ID) json_fail(&r->j, "an id is longer than 8192 bytes");
    else if (d->count == DECISION_CROPS) json_fail(&r->j, "more than 1000 crops");
    else if (!GROW(d->crops, d->count, d->cap) || !(copy = mem_copy(r->word.s, r->word.len)))
        json_fail(&r->j, "out of memory");
    else d->crops[d->count++] = copy;
}

static void read_crops(reader *r) {
    decision *d = r->d;
    for (json_array(&r->j); json_item(&r->j);) read_crop(r);
    char **sorted = mem_array(d->count, sizeof *sorted);
    if (!sorted) {
        json_fail(&r->j, "out of memory");
        return;
    }
    if (d->count) memcpy(sorted, d->crops, d->count * sizeof *sorted);
    qsort(sorted, d->count, sizeof *sorted, order_texts);
    for (size_t i = 1; i < d->count; i++)
        if (strcmp(sorted[i], sorted[i - 1]) == 0) json_fail(&r->j, "an id is given twice");
    free(sorted);
}

static void read_when(reader *r) {
    if (!json_string(&r->j, &r->word)) return;
    if (!strchr(r->word.s, 'T') || !when_parse(r->word.s, &r->d->when))
        json_fail(&r->j, "is not a valid time; expected one like 2026-05-31T06:30:00Z");
}

static void read_models(reader *r) {
    decision *d = r->d;
    for (json_array(&r->j); json_item(&r->j);) {
        if (!json_string(&r->j, &r->word)) return;
        if (r->word.len != 32 || strspn(r->word.s, "0123456789abcdef") != 32)
            json_fail(&r->j, "expected a fingerprint of 32 hexadecimal digits");
        else if (d->model_count == MAX_MODELS) json_fail(&r->j, "more than two models");
        else memcpy(d->models[d->model_count++], r->word.s, 33);
    }
    if (!d->model_count) json_fail(&r->j, "expected at least one fingerprint");
}

static void read_field(reader *r) {
    switch (r->at) {
    case SEQ: read_seq(r, &r->d->seq); break;
    case WHAT_IT_IS: read_what(r); break;
    case CROPS: read_crops(r); break;
    case NAME: r->d->name = read_words(r, 1); break;
    case UNDOES: read_seq(r, &r->d->undoes); break;
    case BY: r->d->by = read_words(r, 0); break;
    case WHEN: read_when(r); break;
    case MODELS: read_models(r); break;
    default: json_string(&r->j, &r->word); break; /* the checksum has been compared */
    }
}

/* Reads all fields. Returns 0 with the reason in why. */
static int read_fields(reader *r, text *why) {
    text key = TEXT_INIT;
    const char *prefix = "line 1: ";
    for (json_object(&r->j); json_key(&r->j, &key);) {
        int i = 0;
        while (i < FIELDS && strcmp(key.s, NAMES[i]) != 0) i++;
        if (i == FIELDS || (r->seen >> i & 1)) {
            text_clear(why);
            text_puts(why, i == FIELDS ? "unknown field " : "duplicate field ");
            text_json(why, key.s);
            text_free(&key);
            return 0;
        }
        r->at = (field)i;
        r->seen |= 1u << i;
        read_field(r);
        if (r->j.error[0]) break;
        r->at = FIELDS;
    }
    text_free(&key);
    json_end(&r->j);
    if (!r->j.error[0]) return 1;
    const char *error = r->j.error;
    if (strncmp(error, prefix, strlen(prefix)) == 0) error += strlen(prefix); /* the caller adds the real line number */
    if (strcmp(error, "out of memory") == 0) return text_no_memory(why);
    if (r->at < FIELDS) return refuse(why, "\"%s\": %s", NAMES[r->at], error);
    return refuse(why, "%s", error);
}

/* Checks that all fields of this kind are given, and no others. */
static int is_complete(const reader *r, text *why) {
    const decision *d = r->d;
    unsigned wanted = 1u << SEQ | 1u << WHAT_IT_IS | 1u << BY | 1u << WHEN | 1u << MODELS | 1u << CRC;
    size_t least = d->kind == DECISION_SAME || d->kind == DECISION_DIFFERENT ? 2 : d->kind == DECISION_UNDO ? 0 : 1;
    if (r->seen >> WHAT_IT_IS & 1) wanted |= 1u << (d->kind == DECISION_UNDO ? UNDOES : CROPS);
    if (d->kind == DECISION_NAME) wanted |= 1u << NAME;
    for (int i = 0; i < FIELDS; i++) {
        if ((wanted & ~r->seen) >> i & 1) return refuse(why, "\"%s\" is missing", NAMES[i]);
        if ((r->seen & ~wanted) >> i & 1)
            return refuse(why, "\"%s\" is not allowed for \"%s\"", NAMES[i], WHAT[d->kind]);
    }
    if (d->count < least)
        return refuse(why, "\"crops\": \"%s\" needs at least %zu, but there %s %zu", WHAT[d->kind], least,
                      d->count == 1 ? "is" : "are", d->count);
    return 1;
}

static int checksum_fits(const char *line, size_t len) {
    char digits[DIGITS + 1];
    if (len <= CHECKSUM_BYTES) return 0;
    size_t body = len - CHECKSUM_BYTES;
    snprintf(digits, sizeof digits, "%08x", (unsigned)crc32_more(0, line, body));
    return memcmp(line + body, CHECKSUM, sizeof CHECKSUM - 1) == 0 &&
           memcmp(line + body + sizeof CHECKSUM - 1, digits, DIGITS) == 0 && memcmp(line + len - 2, "\"}", 2) == 0;
}

/* Returns 1 if every byte is part of a character. */
static int is_text(const char *line, size_t len) {
    for (size_t at = 0; at < len;) {
        int n = utf8_length(line + at);
        if (!n) return 0;
        at += (size_t)n;
    }
    return 1;
}

line_state decision_read(decision *d, const char *line, size_t len, text *why) {
    reader r;
    memset(d, 0, sizeof *d);
    if (len && *line != '{') return (line_state)refuse(why, "does not begin with {");
    if (len >= DECISION_LINE) return (line_state)refuse(why, "is longer than %d bytes", DECISION_LINE);
    if (!checksum_fits(line, len)) {
        refuse(why, "\"crc\": the checksum at its end is wrong: the line is damaged");
        return LINE_TORN;
    }
    if (!is_text(line, len)) return (line_state)refuse(why, "is not UTF-8");
    memset(&r, 0, sizeof r);
    r.d = d;
    r.at = FIELDS;
    json_begin(&r.j, line, len);
    int good = read_fields(&r, why) && is_complete(&r, why);
    text_free(&r.word);
    return good ? LINE_GOOD : LINE_BAD;
}
