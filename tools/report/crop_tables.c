#include "report/crop_tables.h"

#include "base/memory.h"
#include "base/unicode.h"
#include "base/when.h"
#include "pictures/crop_origin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char END[] = "\r\n";

/* --- cells -------------------------------------------------------------------------------------------------------- */

static void add_text(text *t, const char *s) {
    text_putc(t, ',');
    if (s) text_csv(t, s);
}

static void add_number(text *t, double value, int digits) {
    text_putc(t, ',');
    if (!isnan(value)) text_printf(t, "%.*g", digits, value);
}

/* Date and time as people write them, without fractions of seconds. */
static void add_when(text *t, long long when) {
    text both = TEXT_INIT;
    if (when == STORE_NO_TIME) {
        text_puts(t, ",,");
        return;
    }
    when_text(&both, when);
    if (text_failed(&both) || both.len < 19) text_no_memory(t);
    else text_printf(t, ",%.10s,%.8s", both.s, both.s + 11);
    text_free(&both);
}

static void add_position(text *t, double seconds) {
    const int whole = (int)seconds;
    text_printf(t, ",,%d:%02d:%04.1f", whole / 3600, whole / 60 % 60, seconds - whole / 60 * 60);
}

/* --- doubts ------------------------------------------------------------------------------------------------------- */

/* For each group the one that is most probably the same individual: that of the highest score below the threshold.
   UINT32_MAX: there is none. NULL when memory runs out. */
static uint32_t *find_doubts(const clusters *c) {
    uint32_t *other = mem_array(c->groups + 1, sizeof *other);
    double *best = mem_array(c->groups + 1, sizeof *best);
    for (size_t k = 0; k < c->groups && other && best; k++) other[k] = UINT32_MAX, best[k] = -1e9;
    for (size_t i = 0; i < c->doubts && other && best; i++) {
        const doubtful_pair *d = &c->doubtful[i];
        const uint32_t of[2] = {c->group[d->a], c->group[d->b]};
        for (int k = 0; k < 2 && of[0] != of[1]; k++)
            if (d->score > best[of[k]]) best[of[k]] = d->score, other[of[k]] = of[!k];
    }
    if (!best) free(other), other = NULL;
    free(best);
    return other;
}

/* --- crops -------------------------------------------------------------------------------------------------------- */

static void add_origin(text *t, const crop_facts *f) {
    const crop_origin o = f->source ? crop_origin_of(f->source) : (crop_origin){.seconds = (double)NAN};
    text path = TEXT_INIT;
    text_add(&path, f->source ? f->source : "", o.length);
    if (text_failed(&path)) text_no_memory(t);
    else add_text(t, path.len ? path.s : NULL);
    add_text(t, f->camera);
    if (isnan(o.seconds)) add_when(t, f->when);
    else add_position(t, o.seconds);
    for (int k = 0; k < 4; k++) add_number(t, o.boxed ? o.box[k] : (double)NAN, 6);
    text_free(&path);
}

static void add_group(text *t, const clusters *c, size_t row, const uint32_t *doubts) {
    const uint32_t group = c->group[row];
    if (group == CLUSTERS_NONE) {
        text_puts(t, ",,,,");
        return;
    }
    text_printf(t, ",%u", c->number[group]);
    add_text(t, c->names[group]);
    add_number(t, c->score[row], 6);
    text_puts(t, doubts[group] == UINT32_MAX ? ",no" : ",yes");
}

void crop_table(const crops *c, const clusters *found, text *t) {
    text_puts(t, CROP_TABLE_START "x,y,width,height,score,track,individual,name,similarity,in_doubt");
    text_puts(t, END);
    if (!c) return;
    uint32_t *doubts = find_doubts(found);
    if (!doubts) text_no_memory(t);
    for (size_t i = 0; i < c->count && doubts; i++) {
        const crop_facts *f = &c->facts[i];
        text_csv(t, c->ids[i]);
        add_origin(t, f);
        add_number(t, f->score, 6);
        add_text(t, f->track == UINT32_MAX ? NULL : c->tracks[f->track]);
        add_group(t, found, i, doubts);
        text_puts(t, END);
    }
    free(doubts);
}

/* --- individuals -------------------------------------------------------------------------------------------------- */

typedef struct member {
    uint32_t group, row;
} member;

static int by_group(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Names of cameras, each once, with semicolons between them. names: working memory. */
static void add_cameras(text *t, const crops *c, const member *of, size_t count, const char **names) {
    text list = TEXT_INIT;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (c->facts[of[i].row].camera) names[n++] = c->facts[of[i].row].camera;
    if (n) qsort(names, n, sizeof *names, order_names);
    for (size_t i = 0; i < n; i++)
        if (!i || !name_same(names[i - 1], names[i])) text_printf(&list, "%s%s", list.len ? ";" : "", names[i]);
    if (text_failed(&list)) text_no_memory(t);
    else add_text(t, list.len ? list.s : NULL);
    text_free(&list);
}

/* The number of different tracks, and of the detector's boxes in them, if it is known. seen: working memory. */
static void add_tracks(text *t, const crops *c, const member *of, size_t count, member *seen) {
    size_t n = 0, tracks = 0;
    double boxes = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t track = c->facts[of[i].row].track;
        if (track != UINT32_MAX) seen[n++] = (member){track, of[i].row};
    }
    if (n) qsort(seen, n, sizeof *seen, by_group);
    for (size_t i = 0; i < n; i++)
        if (!i || seen[i - 1].group != seen[i].group) tracks++, boxes += c->facts[seen[i].row].boxes;
    text_printf(t, ",%zu", tracks);
    add_number(t, boxes, 15);
}

/* Working memory for the crops of an individual. */
typedef struct room {
    const char **names;
    member *seen;
} room;

/* One individual, with its crops. */
static void add_individual(text *t, const crops *all, const clusters *c, const member *of, size_t count, uint32_t doubt,
                           const room *space) {
    long long first = STORE_NO_TIME, last = STORE_NO_TIME;
    double lowest = (double)NAN;
    size_t example = 0;
    for (size_t i = 0; i < count; i++) {
        const long long when = all->facts[of[i].row].when;
        const double score = c->score[of[i].row];
        if (when != STORE_NO_TIME && (first == STORE_NO_TIME || when < first)) first = when;
        if (when != STORE_NO_TIME && (last == STORE_NO_TIME || when > last)) last = when;
        if (!isnan(score) && !(score >= lowest)) lowest = score;
        if (score > c->score[of[example].row]) example = i;
    }
    text_printf(t, "%u", c->number[of->group]);
    add_text(t, c->names[of->group]);
    text_printf(t, ",%zu", count);
    add_tracks(t, all, of, count, space->seen);
    add_cameras(t, all, of, count, space->names);
    add_when(t, first), add_when(t, last);
    add_number(t, lowest, 6);
    if (doubt == UINT32_MAX) text_puts(t, ",no,");
    else text_printf(t, ",yes,%u", c->number[doubt]);
    add_text(t, all->ids[of[example].row]);
    text_puts(t, END);
}

void individual_table(const crops *c, const clusters *found, text *t) {
    text_puts(t, INDIVIDUAL_TABLE_START "cameras,first_date,first_time,last_date,last_time,similarity,in_doubt,may_be,"
                 "example");
    text_puts(t, END);
    if (!c) return;
    uint32_t *doubts = find_doubts(found);
    member *all = mem_array(found->rows + 1, sizeof *all);
    const room space = {.names = mem_array(found->rows + 1, sizeof *space.names),
                        .seen = mem_array(found->rows + 1, sizeof *space.seen)};
    int good = doubts && all && space.names && space.seen;
    size_t n = 0;
    if (!good) text_no_memory(t);
    for (size_t i = 0; i < found->rows && good; i++)
        if (found->group[i] != CLUSTERS_NONE) all[n++] = (member){found->group[i], (uint32_t)i};
    if (n) qsort(all, n, sizeof *all, by_group);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && all[end].group == all[i].group; end++) {}
        add_individual(t, c, found, all + i, end - i, doubts[all[i].group], &space);
    }
    free(doubts), free(all), free(space.names), free(space.seen);
}
