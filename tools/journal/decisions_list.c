#include "journal/decisions_list.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Checks what depends on the lines before. */
static int belongs(const decision_list *d, const decision *next, text *why) {
    if (next->seq != (long long)d->count + 1)
        return refuse(why, "\"seq\": found %lld, expected %zu", next->seq, d->count + 1);
    if (next->kind != DECISION_UNDO) return 1;
    if (next->undoes >= next->seq) return refuse(why, "\"undoes\": %lld is not an earlier line", next->undoes);
    const decision *old = &d->at[next->undoes - 1];
    if (old->kind == DECISION_UNDO) return refuse(why, "\"undoes\": line %lld is itself an undo", next->undoes);
    if (old->undone)
        return refuse(why, "\"undoes\": line %lld was already undone by line %lld", next->undoes, old->undone);
    return 1;
}

int decision_list_add(decision_list *d, decision *next, text *why) {
    if (belongs(d, next, why)) {
        if (GROW(d->at, d->count, d->cap)) {
            if (next->kind == DECISION_UNDO) d->at[next->undoes - 1].undone = next->seq;
            d->at[d->count++] = *next;
            return 1;
        }
        text_no_memory(why);
    }
    decision_free(next);
    return 0;
}

void decision_list_drop(decision_list *d) {
    decision *last = &d->at[--d->count];
    if (last->kind == DECISION_UNDO) d->at[last->undoes - 1].undone = 0;
    decision_free(last);
}

/* "line 7: what is wrong". Always returns 0. */
static int in_line(const decision_list *d, const text *reason, text *why) {
    text_clear(why);
    text_printf(why, "line %zu: ", d->count + 1);
    text_join(why, reason);
    return 0;
}

int decision_list_lines(decision_list *d, const char *bytes, size_t len, size_t *used, text *why) {
    text reason = TEXT_INIT;
    size_t at = 0;
    int good = 1;
    while (good && at < len) {
        decision next;
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t n = end ? (size_t)(end - bytes) - at : len - at;
        if (!end && n <= DECISION_LINE) break;
        line_state state = decision_read(&next, bytes + at, n, &reason);
        if (state != LINE_GOOD) decision_free(&next);
        if (state == LINE_TORN && at + n + 1 == len) break;
        good = state == LINE_GOOD && decision_list_add(d, &next, &reason);
        if (good) at += n + 1;
    }
    if (!good) in_line(d, &reason, why);
    *used = at;
    text_free(&reason);
    return good;
}

int decision_list_read(decision_list *d, const char *bytes, size_t len, text *why) {
    size_t used;
    memset(d, 0, sizeof *d);
    if (!decision_list_lines(d, bytes, len, &used, why)) return 0;
    return used == len ||
           refuse(why, "line %zu: is incomplete, or its checksum is wrong", d->count + 1);
}

void decision_list_free(decision_list *d) {
    for (size_t i = 0; i < d->count; i++) decision_free(&d->at[i]);
    free(d->at);
    memset(d, 0, sizeof *d);
}
