#include "journal/decisions_import.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Compares the contents of two decisions. undoes: the number, in the journal of b, of the line that a undoes. */
static int is_same(const decision *a, const decision *b, long long undoes) {
    if (a->when != b->when || a->kind != b->kind || a->count != b->count || undoes != b->undoes) return 0;
    if (strcmp(a->by, b->by) != 0 || (a->name && strcmp(a->name, b->name) != 0)) return 0;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->crops[i], b->crops[i]) != 0) return 0;
    return 1;
}

/* The seq of the line with the same content; 0: there is none. */
static long long find(const decision_list *in, const decision *d, long long undoes) {
    for (size_t i = 0; i < in->count; i++)
        if (is_same(d, &in->at[i], undoes)) return in->at[i].seq;
    return 0;
}

int decisions_import(decisions *to, const decision_list *from, import_result *result, text *why) {
    long long *became = mem_array(from->count, sizeof *became);
    int done = 1;
    memset(result, 0, sizeof *result);
    if (!became) return text_no_memory(why);
    for (size_t i = 0; i < from->count && done > 0; i++) {
        decision line = from->at[i];
        line.undoes = line.undoes ? became[line.undoes - 1] : 0;
        became[i] = find(&to->list, &line, line.undoes);
        if (became[i]) {
            result->known++;
            continue;
        }
        text reason = TEXT_INIT;
        done = decisions_append(to, &line, &reason);
        became[i] = (long long)to->list.count;
        if (done > 0) {
            result->added++;
        } else {
            text_clear(why);
            text_printf(why, "line %zu: ", i + 1);
            text_join(why, &reason);
        }
        text_free(&reason);
    }
    free(became);
    return done;
}
