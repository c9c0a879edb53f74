#include "journal/decisions_table.h"

#include "base/memory.h"
#include "base/text.h"
#include "gallery/database.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 10 };

struct decisions_table {
    database *d;
    text last; /* the last line that was read or added, without its newline; empty: there is none */
};

/* Returns no reason if the process was interrupted while it waited for the server. */
static int failed(text *why) {
    if (!why->len && !text_failed(why)) text_puts(why, "interrupted");
    return 0;
}

/* Runs a query, on a new connection if the old one was lost, which *lost reports. NULL with the reason in why. */
static pq_result *ask(decisions_table *t, const char *sql, const pq_argument *arguments, int count, const char *shape,
                      int *lost, text *why) {
    pq *c = database_connection(t->d);
    for (int i = 0; i < TRIES; i++) {
        pq_result *r = pq_ask(c, sql, arguments, count, shape, why);
        if (r) return r;
        if (pq_lost(c)) {
            text reason = TEXT_INIT;
            *lost = 1;
            int back = database_reconnect(t->d, &reason);
            text_free(&reason);
            if (!back) break; /* keep the reason why the connection was lost, which is more useful */
        } else if (!pq_try_again(c)) {
            break;
        }
    }
    failed(why);
    return NULL;
}

/* Checks the privilege at the start, because the first decision may come much later. */
static int may_write(decisions_table *t, text *why) {
    int lost = 0;
    pq_result *r = ask(t, "SELECT has_table_privilege('reid.decision', 'INSERT')", NULL, 0, "1b", &lost, why);
    if (!r) return 0;
    int may = pq_true_at(r, 0, 0);
    pq_free(r);
    return may || refuse(why, "you may read this gallery's decisions but not add any; its owner can grant you "
                              "reid_writer");
}

decisions_table *decisions_table_open(const char *url, int writes, text *why) {
    decisions_table *t = mem_zeroed(1, sizeof *t);
    if (!t) {
        text_no_memory(why);
        return NULL;
    }
    text_clear(why);
    t->d = database_try(url, why);
    if (!t->d) failed(why);
    if (t->d && writes) pq_steady(database_connection(t->d), 1); /* a signal must not stop the storing of a decision */
    if (t->d && (!writes || may_write(t, why))) return t;
    decisions_table_close(t);
    return NULL;
}

void decisions_table_close(decisions_table *t) {
    if (!t) return;
    database_close(t->d);
    text_free(&t->last);
    free(t);
}

static int remember(decisions_table *t, const char *line, size_t len, text *why) {
    text_clear(&t->last);
    text_add(&t->last, line, len);
    return !text_failed(&t->last) || text_no_memory(why);
}

static int is_last(const decisions_table *t, const char *line, size_t len) {
    return len == t->last.len && memcmp(line, t->last.s, len) == 0;
}

/* Reads one row. A table has no torn ends: if a line is damaged, another program has changed it. */
static int take_row(decisions_table *t, decision_list *list, const pq_result *r, size_t row, text *why) {
    size_t len, used = 0;
    const char *bytes = pq_bytes_at(r, row, 1, &len);
    text line = TEXT_INIT;
    text_add(&line, bytes, len);
    text_putc(&line, '\n');
    int good = text_failed(&line) ? text_no_memory(why) : decision_list_lines(list, line.s, line.len, &used, why);
    if (good && used != line.len)
        good = refuse(why, "line %zu: \"crc\": the checksum at its end is wrong: the line is damaged",
                      list->count + 1);
    if (good && pq_number_at(r, row, 0) != (int64_t)list->count) {
        good = refuse(why, "line %zu: the table has it as number %lld", list->count,
                      (long long)pq_number_at(r, row, 0));
        decision_list_drop(list);
    }
    text_free(&line);
    if (!good || remember(t, bytes, len, why)) return good;
    decision_list_drop(list);
    return 0;
}

/* Also reads the last known line again, to detect a table that was emptied or replaced. */
int decisions_table_read(decisions_table *t, decision_list *list, text *why) {
    const pq_number from = pq_number_of((int64_t)list->count);
    const pq_argument argument = pq_text(from.s);
    int lost = 0, good = 1;
    pq_result *r = ask(t, "SELECT seq, line::text FROM reid.decision WHERE seq >= $1::bigint ORDER BY seq", &argument,
                       1, "*ns", &lost, why);
    if (!r) return 0;
    size_t row = 0, rows = pq_rows(r), len;
    if (list->count) {
        const char *known = rows ? pq_bytes_at(r, 0, 1, &len) : NULL;
        if (!known) good = refuse(why, "became shorter while it was in use");
        else if (!is_last(t, known, len)) good = refuse(why, "was replaced or removed while it was in use");
        row = 1;
    }
    for (; row < rows && good; row++) good = take_row(t, list, r, row, why);
    pq_free(r);
    return good;
}

/* Checks whether the line with this number is ours. Returns 1, 0, or -1 with the reason in why. */
static int is_ours(decisions_table *t, const pq_argument *number, text *why) {
    int lost = 0;
    size_t len;
    pq_result *r = ask(t, "SELECT line::text FROM reid.decision WHERE seq = $1::bigint", number, 1, "?s", &lost,
                       why);
    if (!r) return -1;
    int ours = pq_rows(r) == 1;
    if (ours) {
        const char *line = pq_bytes_at(r, 0, 0, &len);
        ours = is_last(t, line, len);
    }
    pq_free(r);
    return ours;
}

/* After a lost connection the insertion is repeated. If the number is taken then, our own line may have taken it. */
static int add(decisions_table *t, long long seq, text *why) {
    const pq_number number = pq_number_of(seq);
    const pq_argument arguments[] = {pq_text(number.s), pq_text(t->last.s)};
    int lost = 0, done = 0;
    text_clear(why);
    pq_result *r = ask(t, "INSERT INTO reid.decision (seq, line) VALUES ($1::bigint, $2::json) ON CONFLICT DO NOTHING",
                       arguments, 2, "*", &lost, why);
    if (r) done = pq_changed(r) == 1 ? 1 : -1;
    pq_free(r);
    if (done < 0 && lost) {
        static const int results[] = {0, -1, 1}; /* unknown, another's, ours */
        done = results[is_ours(t, arguments, why) + 1];
    }
    if (!done && lost) text_puts(why, "; whether the decision was stored is unknown");
    return done;
}

int decisions_table_add(decisions_table *t, long long seq, const text *line, text *why) {
    text before = t->last;
    t->last = (text)TEXT_INIT;
    int done = remember(t, line->s, line->len - 1, why) ? add(t, seq, why) : 0;
    if (done > 0) {
        text_free(&before);
        return done;
    }
    text_free(&t->last);
    t->last = before;
    return done;
}
