#include "server/frame.h"

#include "base/json.h"
#include "base/json_write.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ID = 1024 };

/* Every field of a header, and the kinds of frame that may have it. */
typedef enum field { ASK, ID, MODEL, BOXES, PRIORITY, TIMEOUT, TOP, BINARY, JSON_LEN, FIELDS } field;

#define KIND(k) (1u << FRAME_##k)
#define PLAIN (KIND(EMBED) | KIND(MATCH))
static const unsigned EVERY = ~0u;

static const struct {
    const char *name;
    unsigned kinds;
} KNOWN[FIELDS] = {
    {"ask", EVERY},
    {"id", EVERY},
    {"model", KIND(INFER) | KIND(EMBED) | KIND(STATS) | KIND(MODEL)},
    {"boxes", PLAIN},
    {"priority", PLAIN},
    {"timeout", PLAIN},
    {"top", KIND(MATCH)},
    {"binary", KIND(EMBED)},
    {"json", KIND(INFER)},
};
static const char *const ASKS[] = {"infer", "embed", "match", "stats", "model"};
enum { KINDS = sizeof ASKS / sizeof *ASKS };

/* The state while a header is read. */
typedef struct reading {
    json j;
    frame_header *h;
    text *why, key, scratch;
    const char *field; /* being read, for error messages */
    unsigned seen;
    size_t body_len;
} reading;

static int fail(reading *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Keeps the first error. It also stops the JSON reader, so that every loop ends. Always returns 0. */
static int fail(reading *p, const char *format, ...) {
    char message[256];
    va_list args;
    if (p->why->len || p->j.error[0]) return 0;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    refuse(p->why, "%s", message);
    return json_fail(&p->j, "refused");
}

/* Reads a whole number that a double represents exactly; the caller checks its range. */
static int read_whole(reading *p, long long *out) {
    const double exact = 9007199254740992.0; /* 2^53 */
    double value;
    if (!json_number(&p->j, &value)) return 0;
    if (!(value >= -exact && value <= exact) || (double)(long long)value != value) return 0;
    *out = (long long)value;
    return 1;
}

static void begin_parameter(reading *p, const char *name) {
    if (p->h->query.len) text_putc(&p->h->query, '&');
    text_puts(&p->h->query, name);
    text_putc(&p->h->query, '=');
}

static int read_boxes(reading *p) {
    size_t n = 0;
    for (json_array(&p->j); json_item(&p->j); n++) {
        int parts = 0;
        begin_parameter(p, "box");
        for (json_array(&p->j); json_item(&p->j); parts++) {
            long long value;
            if (parts == 4 || !read_whole(p, &value))
                return fail(p, "boxes[%zu]: expected x, y, width and height in whole pixels", n);
            text_printf(&p->h->query, "%s%lld", parts ? "," : "", value);
        }
        if (!p->j.error[0] && parts != 4)
            return fail(p, "boxes[%zu]: expected x, y, width and height in whole pixels", n);
    }
    return !p->j.error[0];
}

static int read_number(reading *p, const char *name) {
    long long value;
    if (!read_whole(p, &value)) return fail(p, "%s: expected a whole number", name);
    begin_parameter(p, name);
    text_printf(&p->h->query, "%lld", value);
    return 1;
}

/* Appends the name percent-encoded; plain_read decodes it. */
static int read_model(reading *p) {
    if (!json_string(&p->j, &p->h->model)) return 0;
    begin_parameter(p, "model");
    for (const char *s = p->h->model.s; *s; s++) text_printf(&p->h->query, "%%%02X", (unsigned)(unsigned char)*s);
    return 1;
}

static int read_json_len(reading *p) {
    long long value;
    if (!read_whole(p, &value) || value < 0 || (unsigned long long)value > p->body_len)
        return fail(p, "json: expected a number of bytes, at most the body's %zu", p->body_len);
    p->h->json_len = (size_t)value;
    return 1;
}

static int read_ask(reading *p) {
    unsigned kind = 0;
    if (!json_string(&p->j, &p->scratch)) return 0;
    while (kind < KINDS && strcmp(p->scratch.s, ASKS[kind]) != 0) kind++;
    if (kind == KINDS) return fail(p, "ask: expected infer, embed, match, stats or model, not \"%.64s\"", p->scratch.s);
    p->h->kind = (frame_kind)kind;
    return 1;
}

static int read_field(reading *p) {
    unsigned which = 0;
    while (which < FIELDS && strcmp(p->key.s, KNOWN[which].name) != 0) which++;
    if (which == FIELDS) return fail(p, "\"%.64s\" is unknown", p->key.s);
    if (p->seen & 1u << which) return fail(p, "%s: is given twice", KNOWN[which].name);
    p->seen |= 1u << which;
    p->field = KNOWN[which].name;
    switch ((field)which) {
    case ASK: return read_ask(p);
    case MODEL: return read_model(p);
    case BOXES: return read_boxes(p);
    case BINARY: return json_bool(&p->j, &p->h->binary);
    case JSON_LEN: return read_json_len(p);
    case PRIORITY:
    case TIMEOUT:
    case TOP: return read_number(p, KNOWN[which].name);
    default: return json_skip(&p->j); /* the id, which read_id has already read */
    }
}

/* Checks the fields at the end, because "ask" may come after fields that depend on it. */
static int check_fields(reading *p) {
    if (!(p->seen & 1u << ASK)) return fail(p, "ask: is missing");
    for (unsigned i = 0; i < FIELDS; i++)
        if (p->seen & 1u << i && !(KNOWN[i].kinds & 1u << p->h->kind))
            return fail(p, "%s: is not allowed for %s%s", KNOWN[i].name, ASKS[p->h->kind],
                        p->h->kind == FRAME_INFER ? ", whose JSON has parameters" : "");
    if (p->h->kind >= FRAME_STATS && p->body_len) return fail(p, "body: is not allowed for %s", ASKS[p->h->kind]);
    return 1;
}

/* Reads the id first, so that the answer has it even if there is an error elsewhere. */
static void read_id(reading *p, const char *bytes, size_t len) {
    json_begin(&p->j, bytes, len);
    for (json_object(&p->j); json_key(&p->j, &p->key);) {
        if (strcmp(p->key.s, "id") != 0) {
            if (!json_skip(&p->j)) return;
            continue;
        }
        int kind = json_peek(&p->j); /* skips white space */
        size_t from = p->j.at;
        if (!json_skip(&p->j)) return;
        if (kind != '"' && kind != '0') refuse(p->why, "id: expected a string or a number");
        else if (p->j.at - from > MAX_ID) refuse(p->why, "id: is longer than %d bytes", MAX_ID);
        else text_clear(&p->h->id), text_add(&p->h->id, bytes + from, p->j.at - from);
        return;
    }
}

int frame_read(frame_header *h, const char *bytes, size_t len, size_t body_len, text *why) {
    reading p;
    memset(&p, 0, sizeof p);
    memset(h, 0, sizeof *h);
    text_clear(why);
    p.h = h, p.why = why, p.body_len = body_len, p.field = "header";
    h->json_len = body_len;
    text_puts(&h->id, "null");
    read_id(&p, bytes, len);
    json_begin(&p.j, bytes, len);
    for (json_object(&p.j); !why->len && json_key(&p.j, &p.key);)
        if (read_field(&p)) p.field = "header";
        else break;
    if (!p.j.error[0] && !why->len && json_end(&p.j)) check_fields(&p);
    if (!why->len && p.j.error[0]) refuse(why, "%s: %s", p.field, p.j.error);
    if (text_failed(&h->id) || text_failed(&h->query) || text_failed(&h->model)) text_no_memory(why);
    text_free(&p.key);
    text_free(&p.scratch);
    return !why->len;
}

void frame_free(frame_header *h) {
    text_free(&h->id);
    text_free(&h->model);
    text_free(&h->query);
    memset(h, 0, sizeof *h);
}

void frame_answer(text *t, const char *id, int status, size_t json_len) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    text_puts(json_put_value(&w, "id"), id);
    json_put_int(&w, "status", status);
    json_put_count(&w, "json", json_len);
    json_put_end(&w);
}
