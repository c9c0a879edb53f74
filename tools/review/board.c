#include "review/board.h"

#include "base/json.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "base/unicode.h"
#include "journal/decisions_state.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct board {
    board_request r;
    const char **sorted;  /* the ids, sorted for searching */
    decisions journal;
    pthread_mutex_t lock; /* of the journal */
    regroup *groups;
};

const clusters *board_groups(const board *b) { return b->r.groups; }

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static int sort_ids(board *b) {
    const clusters *c = b->r.groups;
    b->sorted = need_array(c->rows, sizeof *b->sorted);
    if (!b->sorted) return 0;
    for (size_t i = 0; i < c->rows; i++) b->sorted[i] = c->ids[i];
    qsort(b->sorted, c->rows, sizeof *b->sorted, order_names);
    return 1;
}

static int is_known(const board *b, const char *id) {
    return name_find(id, b->sorted, b->r.groups->rows, sizeof *b->sorted) != NULL;
}

/* Returns 0 after reporting an error. */
static int open_journal(board *b) {
    text why = TEXT_INIT;
    decision_state state;
    int good = decisions_open(&b->journal, b->r.decisions, b->r.writes, &why);
    if (good) {
        good = decisions_state(&state, &b->journal.list, &why) == 1;
        decision_state_free(&state);
    }
    if (good) decisions_warn_torn(&b->journal, b->r.decisions);
    if (!good) say_error("%s: %s", shown(b->r.decisions), why.s);
    text_free(&why);
    return good;
}

board *board_open(const board_request *r) {
    board *b = need_zeroed(1, sizeof *b);
    if (!b) return NULL;
    b->r = *r;
    b->journal.fd = -1;
    pthread_mutex_init(&b->lock, NULL);
    const regroup_request groups = {.first = r->groups, .seq = r->heeded, .how = r->how, .carry = r->carry};
    if (sort_ids(b) && open_journal(b) && (b->groups = regroup_start(&groups))) return b;
    board_close(b);
    return NULL;
}

void board_close(board *b) {
    if (!b) return;
    regroup_stop(b->groups); /* its names may point into the journal */
    decisions_close(&b->journal);
    pthread_mutex_destroy(&b->lock);
    free(b->sorted);
    free(b);
}

/* --- JSON for the page -------------------------------------------------------------------------------------------- */

static void add_version(const regroup_info *now, json_writer *w) {
    json_put_int(w, "version", now->version);
    json_put_bool(w, "grouping", now->busy);
}

/* Appends a decision as its line in the journal. */
static void add_decision(const decision *d, json_writer *w) {
    text *out = json_put_value(w, NULL);
    decision_write(d, out);
    if (!text_failed(out)) out->s[--out->len] = 0; /* the newline */
}

/* Writes "seq" to "grouping", the last members of an answer. */
static void add_lines(const board *b, long long seen, json_writer *w) {
    const decision_list *d = &b->journal.list;
    json_put_count(w, "seq", d->count);
    json_put_array(w, "decisions");
    w->tight = 1;
    for (size_t i = seen > 0 ? (size_t)seen : 0; i < d->count && !text_failed(w->out); i++) add_decision(&d->at[i], w);
    w->tight = 0;
    json_put_end(w);
    regroup_info now = regroup_hold(b->groups);
    add_version(&now, w);
    regroup_release(b->groups);
    json_put_finish(w);
}

/* Begins an array of many short members, which are written on one line. */
static void begin_list(json_writer *w, const char *key) {
    json_put_array(w, key);
    w->tight = 1;
}

static void end_list(json_writer *w) {
    w->tight = 0;
    json_put_end(w);
}

static void add_layer(const regroup_info *now, json_writer *w) {
    const clusters *c = now->groups;
    json_put_object(w, "layer");
    json_put_int(w, "version", now->version);
    json_put_int(w, "heeds", now->seq);
    json_put_fixed(w, "seconds", c->seconds, 3);
    begin_list(w, "group");
    for (size_t i = 0; i < c->rows; i++)
        json_put_int(w, NULL, c->group[i] == CLUSTERS_NONE ? -1 : (long long)c->group[i]);
    end_list(w);
    begin_list(w, "score");
    for (size_t i = 0; i < c->rows; i++) json_put_fixed(w, NULL, isnan(c->score[i]) ? 0.0 : c->score[i], 4);
    end_list(w);
    begin_list(w, "names");
    for (size_t i = 0; i < c->groups; i++)
        json_put_string(w, NULL, c->names && c->names[i] && *c->names[i] ? c->names[i] : NULL);
    end_list(w);
    begin_list(w, "doubts");
    for (size_t i = 0; i < c->doubts; i++) {
        json_put_array(w, NULL);
        json_put_count(w, NULL, c->doubtful[i].a);
        json_put_count(w, NULL, c->doubtful[i].b);
        json_put_fixed(w, NULL, c->doubtful[i].score, 4);
        json_put_end(w);
    }
    end_list(w);
    json_put_end(w);
}

void board_layer(board *b, long long seen, text *out) {
    json_writer w = json_write(out);
    regroup_info now = regroup_hold(b->groups);
    json_put_object(&w, NULL);
    add_version(&now, &w);
    json_put_string(&w, "error", now.error);
    if (seen != now.version) add_layer(&now, &w);
    regroup_release(b->groups);
    json_put_finish(&w);
}

void board_data(board *b, text *out) {
    const clusters *c = b->r.groups;
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    begin_list(&w, "ids");
    for (size_t i = 0; i < c->rows; i++) json_put_string(&w, NULL, c->ids[i]);
    end_list(&w);
    if (b->r.captions) captions_put(b->r.captions, &w);
    regroup_info now = regroup_hold(b->groups);
    add_layer(&now, &w);
    regroup_release(b->groups);
    json_put_bool(&w, "regroups", now.can);
    json_put_string(&w, "by", b->r.by);
    json_put_bool(&w, "asks", b->r.asks);
    json_put_array(&w, "models");
    for (int i = 0; i < b->r.model_count; i++) json_put_string(&w, NULL, b->r.models[i]);
    json_put_end(&w);
    pthread_mutex_lock(&b->lock);
    add_lines(b, 0, &w);
    pthread_mutex_unlock(&b->lock);
}

/* Begins an answer. error: its text; NULL: none. */
static json_writer begin_answer(text *out, const text *why) {
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    if (why) json_put_string(&w, "error", why->s);
    return w;
}

int board_since(board *b, long long seen, text *out) {
    text why = TEXT_INIT;
    pthread_mutex_lock(&b->lock);
    int good = decisions_refresh(&b->journal, &why);
    json_writer w = begin_answer(out, good ? NULL : &why);
    add_lines(b, seen, &w);
    pthread_mutex_unlock(&b->lock);
    text_free(&why);
    return good;
}

int board_regroup(board *b, text *out) {
    text why = TEXT_INIT;
    pthread_mutex_lock(&b->lock);
    int good = decisions_refresh(&b->journal, &why);
    if (good && !regroup_begin(b->groups, &b->journal.list)) good = text_no_memory(&why);
    pthread_mutex_unlock(&b->lock);
    json_writer w = begin_answer(out, good ? NULL : &why);
    regroup_info now = regroup_hold(b->groups);
    add_version(&now, &w);
    regroup_release(b->groups);
    json_put_finish(&w);
    text_free(&why);
    return good;
}

/* --- one decision ------------------------------------------------------------------------------------------------- */

typedef struct asked {
    json j;
    decision d;
    text word;
    long long seen;
    int fields; /* a bit for each field that was given */
} asked;

static char *take_word(asked *a, size_t most) {
    char *copy = NULL;
    if (!json_string(&a->j, &a->word)) return NULL;
    if (a->word.len > most) json_fail(&a->j, "is too long");
    else if (!(copy = mem_copy(a->word.s, a->word.len))) json_fail(&a->j, "out of memory");
    return copy;
}

static void take_crops(asked *a) {
    decision *d = &a->d;
    for (json_array(&a->j); json_item(&a->j);) {
        if (d->count == DECISION_CROPS) json_fail(&a->j, "more than 1000 crops");
        char *copy = take_word(a, DECISION_ID);
        if (copy && GROW(d->crops, d->count, d->cap)) {
            d->crops[d->count++] = copy;
        } else {
            if (copy) json_fail(&a->j, "out of memory"); /* otherwise take_word has set the error */
            free(copy);
        }
    }
}

static long long take_number(asked *a, long long least) {
    double n = 0;
    if (json_number(&a->j, &n) && !(n >= (double)least && n <= 9e15 && (double)(long long)n == n))
        json_fail(&a->j, "expected a line number");
    return a->j.error[0] ? 0 : (long long)n;
}

static void take_field(asked *a, int field) {
    if (a->fields >> field & 1) json_fail(&a->j, "a field is given twice");
    a->fields |= 1 << field;
    if (a->j.error[0]) return;
    switch (field) {
    case 0:
        if (json_string(&a->j, &a->word)) a->d.kind = decision_kind_of(a->word.s);
        if (!a->d.kind) json_fail(&a->j, "\"what\": expected same, different, not a crop, name or undo");
        break;
    case 1: take_crops(a); break;
    case 2: a->d.name = take_word(a, DECISION_WORDS); break;
    case 3: a->d.undoes = take_number(a, 1); break;
    case 4: a->d.by = take_word(a, DECISION_WORDS); break;
    default: a->seen = take_number(a, 0); break;
    }
}

/* Reads the body. Wrong fields for the kind, and too few crops, are refused later, when the line is read back. Returns
   0 with the reason in why. */
static int take_body(asked *a, const char *body, size_t len, text *why) {
    static const char *const names[] = {"what", "crops", "name", "undoes", "by", "seen"};
    const int count = sizeof names / sizeof *names;
    text key = TEXT_INIT;
    json_begin(&a->j, body, len);
    for (json_object(&a->j); json_key(&a->j, &key);) {
        int field = 0;
        while (field < count && strcmp(key.s, names[field]) != 0) field++;
        if (field == count) json_fail(&a->j, "unknown field");
        else take_field(a, field);
    }
    json_end(&a->j);
    text_free(&key);
    if (strstr(a->j.error, "out of memory")) return text_no_memory(why);
    if (a->j.error[0]) return refuse(why, "the body: %s", a->j.error);
    if (!a->d.kind) return refuse(why, "the body: \"what\" is missing");
    if (a->d.kind == DECISION_NAME && !a->d.name) return refuse(why, "the body: \"name\" is missing");
    if (a->d.kind != DECISION_NAME && a->d.name) return refuse(why, "the body: \"name\" is only allowed for \"name\"");
    if ((a->d.kind == DECISION_UNDO) != (a->d.undoes > 0) || (a->d.kind == DECISION_UNDO && a->d.count))
        return refuse(why, "the body: give \"undoes\" for \"undo\", and \"crops\" for all other decisions");
    return 1;
}

static const char *unknown_crop(const board *b, const decision *d) {
    for (size_t i = 0; i < d->count; i++)
        if (!is_known(b, d->crops[i])) return d->crops[i];
    return NULL;
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The caller holds the lock. */
static board_result append(board *b, decision *d, text *why) {
    d->when = now();
    if (!d->by) d->by = mem_copy(b->r.by, strlen(b->r.by));
    d->model_count = b->r.model_count;
    memcpy(d->models, b->r.models, (size_t)d->model_count * sizeof *d->models);
    if (!d->by) {
        text_no_memory(why);
        return BOARD_FAILED;
    }
    int done = decisions_append(&b->journal, d, why);
    if (done == 0) say_error("%s: %s", shown(b->r.decisions), why->s);
    return done > 0 ? BOARD_DONE : done < 0 ? BOARD_REFUSED : BOARD_FAILED;
}

board_result board_decide(board *b, const char *body, size_t len, text *out) {
    asked a;
    text why = TEXT_INIT;
    board_result result = BOARD_MALFORMED;
    memset(&a, 0, sizeof a);
    int good = take_body(&a, body, len, &why);
    if (text_failed(&why)) result = BOARD_FAILED;
    const char *unknown = good ? unknown_crop(b, &a.d) : NULL;
    if (unknown) {
        result = BOARD_UNKNOWN;
        text_puts(&why, "\"crops\": there is no crop with the id ");
        text_json(&why, unknown);
    }
    pthread_mutex_lock(&b->lock);
    if (good && !unknown) result = append(b, &a.d, &why);
    json_writer w = begin_answer(out, result == BOARD_DONE ? NULL : &why);
    add_lines(b, a.seen, &w);
    pthread_mutex_unlock(&b->lock);
    decision_free(&a.d);
    text_free(&a.word);
    text_free(&why);
    return result;
}
