#include "groups/clusters.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "embedding/models.h"
#include "groups/single.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DOUBTS = 10000, /* questions */
    MOST_LOOKED_AT = 32  /* crops of a group that are searched for the two most similar ones */
};
static const size_t MOST_LINKS = (size_t)1 << 27; /* pairs of crops that are decided, or known to differ */

/* Two rows that must, or must not, be in one group. reason: an index into the list of decisions, or a code for the
   track, the image or the known individual that they share. */
typedef struct pair_link {
    uint32_t a, b;
    size_t reason;
} pair_link;

#define OF_A_TRACK (SIZE_MAX - 1)
#define OF_A_PICTURE (SIZE_MAX - 2)
#define KNOWN (SIZE_MAX - 3)

typedef struct links {
    pair_link *at;
    size_t count, cap;
} links;

/* The arguments of reid_group. Rows that were decided to be "not a crop" are left out: its row i is crop[i]. */
typedef struct grouping {
    const clusters_request *r;
    clusters *c;
    const float *rows;
    float *owned;             /* a copy of the rows, when some were left out */
    uint32_t *crop, *row, count; /* crop: [count]; row: [crops], CLUSTERS_NONE if left out */
    links must, cannot;
    uint32_t *pairs;          /* those of must, then those of cannot, two numbers each */
    uint32_t *apart, *frames; /* [count]: known individuals; images that crops share; each or NULL */
    uint32_t *group;          /* [count]: the result of reid_group */
} grouping;

/* --- links -------------------------------------------------------------------------------------------------------- */

static int add_link(links *l, uint32_t a, uint32_t b, size_t reason) {
    if (l->count >= MOST_LINKS) {
        say_error("more than %zu pairs of crops are decided", MOST_LINKS);
        return 0;
    }
    if (!NEED(l->at, l->count, l->cap)) return 0;
    const pair_link one = {a, b, reason};
    l->at[l->count++] = one;
    return 1;
}

/* Ids that are not among the crops are skipped: the journal may hold decisions about other files, too. */
static int add_decided(links *l, const grouping *g, const decided_pair *pairs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t a = crops_find(g->r->crops, pairs[i].a), b = crops_find(g->r->crops, pairs[i].b);
        if (a == SIZE_MAX || b == SIZE_MAX || g->row[a] == CLUSTERS_NONE || g->row[b] == CLUSTERS_NONE) continue;
        if (!add_link(l, g->row[a], g->row[b], pairs[i].from)) return 0;
    }
    return 1;
}

typedef struct numbered {
    uint32_t number, row;
} numbered;

static int by_number(const void *a, const void *b) {
    const numbered *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Links each row with the one before it that has the same number. */
static int add_numbered(links *l, const grouping *g, const uint32_t *numbers, size_t reason) {
    numbered *sorted = numbers ? need_array(g->count + 1, sizeof *sorted) : NULL;
    int good = !numbers || sorted != NULL;
    for (uint32_t i = 0; i < g->count && sorted; i++) sorted[i].number = numbers[g->crop[i]], sorted[i].row = i;
    if (sorted) qsort(sorted, g->count, sizeof *sorted, by_number);
    for (size_t i = 1; i < g->count && sorted && good && sorted[i].number != UINT32_MAX; i++)
        if (sorted[i].number == sorted[i - 1].number) good = add_link(l, sorted[i - 1].row, sorted[i].row, reason);
    free(sorted);
    return good;
}

/* Separates tracks that show different individuals, by one row of each; the rows of a track are linked anyway. */
static int add_apart(links *l, const grouping *g) {
    const clusters_request *r = g->r;
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->count && r->apart_count; i++) {
        uint32_t track = r->tracks[g->crop[i]];
        if (track != UINT32_MAX && track >= most) most = track + 1;
    }
    uint32_t *row = need_array((size_t)most + 1, sizeof *row);
    int good = row != NULL;
    for (uint32_t k = 0; k < most && row; k++) row[k] = CLUSTERS_NONE;
    for (uint32_t i = g->count; i-- > 0 && most && row;)
        if (r->tracks[g->crop[i]] != UINT32_MAX) row[r->tracks[g->crop[i]]] = i;
    for (size_t i = 0; i < r->apart_count && good; i++) {
        uint32_t a = r->apart[2 * i], b = r->apart[2 * i + 1];
        if (a >= most || b >= most || row[a] == CLUSTERS_NONE || row[b] == CLUSTERS_NONE) continue;
        good = add_link(l, row[a], row[b], OF_A_PICTURE);
    }
    free(row);
    return good;
}

/* --- arguments of reid_group -------------------------------------------------------------------------------------- */

static int leave_out(grouping *g) {
    const crops *c = g->r->crops;
    size_t dim = (size_t)c->dim;
    g->crop = need_array(c->count, sizeof *g->crop);
    g->row = g->crop ? need_array(c->count, sizeof *g->row) : NULL;
    if (!g->row) return 0;
    memset(g->row, 0, c->count * sizeof *g->row);
    for (size_t i = 0; g->r->state && i < g->r->state->no_crop_count; i++) {
        size_t at = crops_find(c, g->r->state->no_crops[i].id);
        if (at != SIZE_MAX) g->row[at] = CLUSTERS_NONE;
    }
    for (uint32_t i = 0; i < c->count; i++)
        if (g->row[i] != CLUSTERS_NONE) g->crop[g->count] = i, g->row[i] = g->count++;
    g->rows = c->rows;
    if (g->count == c->count) return 1;
    g->rows = g->owned = need_array(g->count + 1, dim * sizeof *g->owned);
    for (uint32_t i = 0; i < g->count && g->owned; i++)
        memcpy(g->owned + i * dim, c->rows + g->crop[i] * dim, dim * sizeof *g->owned);
    return g->owned != NULL;
}

static int find_links(grouping *g) {
    const clusters_request *r = g->r;
    if (!add_numbered(&g->must, g, r->known, KNOWN) || !add_numbered(&g->must, g, r->tracks, OF_A_TRACK) ||
        !add_apart(&g->cannot, g))
        return 0;
    if (r->state && (!add_decided(&g->must, g, r->state->same, r->state->sames) ||
                     !add_decided(&g->cannot, g, r->state->different, r->state->differents)))
        return 0;
    g->pairs = need_array(g->must.count + g->cannot.count + 1, 2 * sizeof *g->pairs);
    for (size_t i = 0; i < g->must.count + g->cannot.count && g->pairs; i++) {
        const pair_link *l = i < g->must.count ? &g->must.at[i] : &g->cannot.at[i - g->must.count];
        g->pairs[2 * i] = l->a, g->pairs[2 * i + 1] = l->b;
    }
    g->apart = g->pairs && r->known ? need_array(g->count + 1, sizeof *g->apart) : NULL;
    g->frames = g->pairs && r->frames ? need_array(g->count + 1, sizeof *g->frames) : NULL;
    for (uint32_t i = 0; i < g->count && g->apart; i++) g->apart[i] = r->known[g->crop[i]];
    for (uint32_t i = 0; i < g->count && g->frames; i++) g->frames[i] = r->frames[g->crop[i]];
    return g->pairs && (g->apart || !r->known) && (g->frames || !r->frames);
}

/* --- contradictions ----------------------------------------------------------------------------------------------- */

static void tell_reason(const grouping *g, const links *l, uint32_t a, uint32_t b, text *t) {
    size_t i = 0;
    while (i < l->count && !(l->at[i].a == a && l->at[i].b == b) && !(l->at[i].a == b && l->at[i].b == a)) i++;
    if (i == l->count || l->at[i].reason == KNOWN) text_puts(t, "earlier groups");
    else if (l->at[i].reason == OF_A_TRACK) text_puts(t, "one track");
    else if (l->at[i].reason == OF_A_PICTURE) text_puts(t, "one image");
    else text_printf(t, "decision %lld", g->r->decided->at[l->at[i].reason].seq);
}

static void say_chain(const grouping *g) {
    const reid_merge *chain = g->c->merges;
    uint32_t from = chain[0].a, to = chain[g->c->merged - 1].b;
    text t = TEXT_INIT;
    text_visible(&t, g->c->ids[g->crop[from]]);
    for (size_t i = 0; i < g->c->merged; i++) {
        text_puts(&t, " - ");
        tell_reason(g, &g->must, chain[i].a, chain[i].b, &t);
        text_puts(&t, " - ");
        text_visible(&t, g->c->ids[g->crop[chain[i].b]]);
    }
    text_puts(&t, ", but they are separated by ");
    if (g->frames && g->frames[from] == g->frames[to] && g->frames[from] != UINT32_MAX) text_puts(&t, "one image");
    else tell_reason(g, &g->cannot, from, to, &t);
    say_error("the decisions contradict each other: %s", t.s);
    text_free(&t);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static int stopped(void *user) {
    const int *stop = user;
    return interrupted() || (stop && __atomic_load_n(stop, __ATOMIC_RELAXED));
}

static int ask(grouping *g) {
    const clusters_request *r = g->r;
    reid_error error;
    reid_desc desc = *r->search;
    const reid_rows rows = {g->rows, NULL, g->count, r->crops->dim, NULL};
    reid_group_desc d = REID_INIT;
    void *stop = (void *)(uintptr_t)r->stop; /* casts const away; it is only read */
    d.threshold = (r->doubt < r->threshold ? r->doubt : r->threshold) / r->scale;
    if (d.threshold < -2) d.threshold = -2;
    if (d.threshold > 2) d.threshold = 2;
    d.must_link = g->pairs, d.must_links = g->must.count;
    d.cannot_link = g->pairs + 2 * g->must.count, d.cannot_links = g->cannot.count;
    d.separate_ids = g->apart, d.frame_ids = g->frames;
    d.stop_fn = stopped, d.stop_user = stop;
    desc.error = &error;
    g->group = need_array(g->count + 1, sizeof *g->group);
    g->c->merges = g->group ? need_array(g->count + 1, sizeof *g->c->merges) : NULL;
    if (!g->c->merges) return 0;
    reid_result result;
    if (r->single)
        result = single_linkage(&desc, &rows, d.threshold, stopped, stop, g->c->merges, &g->c->merged);
    else result = reid_group(&desc, &rows, &d, g->group, g->c->merges, &g->c->merged);
    if (result == REID_ERR_CONTRADICTION) say_chain(g);
    else if (result != REID_OK && result != REID_ERR_CANCELLED) say_error("grouping: %s", reason_of(&error, result));
    if (result == REID_ERR_CONTRADICTION) g->c->merged = 0;
    for (size_t i = 0; i < g->c->merged; i++) {
        reid_merge *m = &g->c->merges[i];
        m->a = g->crop[m->a], m->b = g->crop[m->b], m->score *= r->scale;
    }
    return result == REID_OK;
}

/* Makes groups from the joins at or above the threshold. */
static int number_groups(grouping *g) {
    clusters *c = g->c;
    uint32_t *home = need_array(c->rows, sizeof *home);
    if (!home) return 0;
    for (uint32_t i = 0; i < c->rows; i++) home[i] = i;
    for (size_t i = 0; i < c->merged; i++) {
        const reid_merge *m = &c->merges[i];
        uint32_t a = m->a, b = m->b;
        if (!m->must_link && m->score < c->threshold) continue;
        while (home[a] != a) a = home[a] = home[home[a]];
        while (home[b] != b) b = home[b] = home[home[b]];
        home[a > b ? a : b] = a > b ? b : a;
    }
    for (uint32_t i = 0; i < c->rows; i++) {
        if (g->row[i] == CLUSTERS_NONE) c->group[i] = CLUSTERS_NONE;
        else c->group[i] = home[i] == i ? (uint32_t)c->groups++ : c->group[home[i]]; /* homes are lower */
    }
    free(home);
    return 1;
}

/* Fills order with the crops, group by group, and starts[k] with the index at which group k begins. */
static void order_by_group(const clusters *c, uint32_t *order, size_t *starts) {
    memset(starts, 0, (c->groups + 2) * sizeof *starts);
    for (size_t i = 0; i < c->rows; i++)
        if (c->group[i] != CLUSTERS_NONE) starts[c->group[i] + 2]++;
    for (size_t k = 2; k < c->groups + 2; k++) starts[k] += starts[k - 1];
    for (size_t i = 0; i < c->rows; i++)
        if (c->group[i] != CLUSTERS_NONE) order[starts[c->group[i] + 1]++] = (uint32_t)i;
}

static double length_of(const float *row, int dim) {
    double square = 0;
    for (int k = 0; k < dim; k++) square += (double)row[k] * (double)row[k];
    return sqrt(square);
}

/* The mean score of a crop with the rest of its group is (u·S - 1) / (m - 1), where u is its row, of length 1, S is the
   sum of the group's rows and m their number. */
static int score_rows(grouping *g) {
    clusters *c = g->c;
    const crops *from = g->r->crops;
    int dim = from->dim;
    uint32_t *order = need_array(c->rows, sizeof *order);
    size_t *starts = order ? need_array(c->groups + 2, sizeof *starts) : NULL;
    double *sum = starts ? need_array((size_t)dim, sizeof *sum) : NULL;
    if (sum) order_by_group(c, order, starts);
    for (size_t i = 0; i < c->rows && sum; i++) c->score[i] = (double)NAN;
    for (size_t k = 0; k < c->groups && sum; k++) {
        size_t members = starts[k + 1] - starts[k];
        memset(sum, 0, (size_t)dim * sizeof *sum);
        for (size_t i = starts[k]; i < starts[k + 1] && members > 1; i++) {
            const float *row = from->rows + (size_t)order[i] * (size_t)dim;
            double scale = 1 / length_of(row, dim);
            for (int j = 0; j < dim; j++) sum[j] += scale * (double)row[j];
        }
        for (size_t i = starts[k]; i < starts[k + 1] && members > 1; i++) {
            const float *row = from->rows + (size_t)order[i] * (size_t)dim;
            double product = 0;
            for (int j = 0; j < dim; j++) product += sum[j] * (double)row[j];
            c->score[order[i]] = (product / length_of(row, dim) - 1) / (double)(members - 1) * g->r->scale;
        }
    }
    free(order), free(starts), free(sum);
    return sum != NULL;
}

/* A new group that a lower threshold would join with a known individual may be that individual: union-find over groups,
   where each root stores the known individual in its set. */
static int suggest(grouping *g) {
    clusters *c = g->c;
    size_t n = c->groups + 1;
    if (!g->r->known) return 1;
    uint32_t *home = need_array(n, sizeof *home), *met = home ? need_array(n, sizeof *met) : NULL;
    c->suggested = met ? need_array(n, sizeof *c->suggested) : NULL;
    for (uint32_t k = 0; k < c->groups && c->suggested; k++) home[k] = k, met[k] = c->suggested[k] = UINT32_MAX;
    for (size_t i = 0; i < c->rows && c->suggested; i++)
        if (c->group[i] != CLUSTERS_NONE && g->r->known[i] != UINT32_MAX) met[c->group[i]] = g->r->known[i];
    for (size_t i = 0; i < c->merged && c->suggested; i++) {
        const reid_merge *m = &c->merges[i];
        uint32_t a = c->group[m->a], b = c->group[m->b];
        while (home[a] != a) a = home[a];
        while (home[b] != b) b = home[b];
        home[b] = a;
        if (met[a] == UINT32_MAX) met[a] = met[b];
    }
    for (uint32_t k = 0, top; k < c->groups && c->suggested; k++) {
        for (top = k; home[top] != top;) top = home[top];
        c->suggested[k] = met[top];
    }
    for (size_t i = 0; i < c->rows && c->suggested; i++) /* known already: needs no suggestion */
        if (c->group[i] != CLUSTERS_NONE && g->r->known[i] != UINT32_MAX) c->suggested[c->group[i]] = UINT32_MAX;
    free(home), free(met);
    return c->suggested != NULL;
}

/* --- doubts ------------------------------------------------------------------------------------------------------- */

static double cosine_of(const crops *c, uint32_t a, uint32_t b) {
    return reid_cosine(c->rows + (size_t)a * (size_t)c->dim, c->rows + (size_t)b * (size_t)c->dim, c->dim);
}

/* The two most similar crops of two groups, which are the easiest for people to compare. */
static doubtful_pair most_alike(const grouping *g, const uint32_t *next, const reid_merge *m) {
    doubtful_pair best = {m->a, m->b, m->score};
    double most = -2;
    uint32_t a = m->a;
    for (int i = 0; i < MOST_LOOKED_AT && (i == 0 || a != m->a); i++, a = next[a]) {
        uint32_t b = m->b;
        for (int k = 0; k < MOST_LOOKED_AT && (k == 0 || b != m->b); k++, b = next[b]) {
            double cosine = cosine_of(g->r->crops, a, b);
            if (cosine > most) most = cosine, best.a = a < b ? a : b, best.b = a < b ? b : a;
        }
    }
    return best;
}

/* A join that becomes a question; rank: how many joins are nearer to the threshold. */
typedef struct doubt {
    const reid_merge *join;
    size_t rank;
} doubt;

static int by_join(const void *a, const void *b) {
    const doubt *x = a, *y = b;
    return (x->join > y->join) - (x->join < y->join);
}

/* The MOST_DOUBTS joins that are nearest to the threshold. */
static size_t choose_doubts(const clusters *c, double least, doubt *chosen) {
    const reid_merge *joins = c->merges;
    double width = c->threshold - least;
    size_t low = 0, high, n = 0;
    while (low < c->merged && (joins[low].must_link || joins[low].score >= c->threshold)) low++;
    for (high = low; n < MOST_DOUBTS; n++) {
        int up = low > 0 && !joins[low - 1].must_link && joins[low - 1].score - c->threshold <= width;
        int down = high < c->merged;
        if (up && down) up = joins[low - 1].score - c->threshold <= c->threshold - joins[high].score;
        if (!up && !down) break;
        chosen[n].join = up ? &joins[--low] : &joins[high++];
        chosen[n].rank = n;
    }
    return n;
}

/* Repeats all joins in order, so that at each doubtful join the members of its two groups are known. next: links the
   crops of a group into a ring. */
static void replay_joins(grouping *g, uint32_t *next, const doubt *chosen) {
    clusters *c = g->c;
    for (uint32_t i = 0; i < c->rows; i++) next[i] = i;
    for (size_t i = 0, k = 0; i < c->merged; i++) {
        const reid_merge *m = &c->merges[i];
        uint32_t after = next[m->a];
        if (k < c->doubts && chosen[k].join == m) c->doubtful[chosen[k++].rank] = most_alike(g, next, m);
        next[m->a] = next[m->b], next[m->b] = after;
    }
}

static int find_doubts(grouping *g) {
    clusters *c = g->c;
    doubt *chosen = need_array(MOST_DOUBTS, sizeof *chosen);
    uint32_t *next = chosen ? need_array(c->rows, sizeof *next) : NULL;
    c->doubtful = next ? need_array(MOST_DOUBTS, sizeof *c->doubtful) : NULL;
    if (c->doubtful) {
        c->doubts = choose_doubts(c, g->r->doubt, chosen);
        qsort(chosen, c->doubts, sizeof *chosen, by_join);
        replay_joins(g, next, chosen);
    }
    free(chosen), free(next);
    return c->doubtful != NULL;
}

/* --- all together ------------------------------------------------------------------------------------------------- */

/* The name that people gave to a crop becomes its group's name. If scores alone have joined crops with two names, the
   crop whose id sorts first decides. */
static void take_names(clusters *c, const clusters_request *r) {
    for (size_t i = 0; r->state && i < r->state->name_count; i++) {
        size_t at = crops_find(r->crops, r->state->names[i].id);
        if (at == SIZE_MAX || c->group[at] == CLUSTERS_NONE) continue;
        const char **name = &c->names[c->group[at]];
        if (!*name) *name = r->state->names[i].name;
    }
}

static int room_for_groups(clusters *c) {
    c->number = need_array(c->groups + 1, sizeof *c->number);
    c->names = c->number ? need_zeroed(c->groups + 1, sizeof *c->names) : NULL;
    for (size_t i = 0; i < c->groups && c->names; i++) c->number[i] = (uint32_t)i;
    return c->names != NULL;
}

int clusters_make(clusters *c, const clusters_request *r) {
    grouping g;
    double start = clock_seconds();
    memset(c, 0, sizeof *c);
    memset(&g, 0, sizeof g);
    g.r = r, g.c = c;
    c->rows = r->crops->count, c->ids = (const char *const *)r->crops->ids, c->threshold = r->threshold;
    c->group = need_array(c->rows, sizeof *c->group);
    c->score = c->group ? need_array(c->rows, sizeof *c->score) : NULL;
    int good = c->score && leave_out(&g) && find_links(&g) && ask(&g) && number_groups(&g) && room_for_groups(c) &&
               score_rows(&g) && suggest(&g) && find_doubts(&g);
    if (good) take_names(c, r);
    c->seconds = clock_seconds() - start;
    free(g.owned), free(g.crop), free(g.row), free(g.must.at), free(g.cannot.at);
    free(g.pairs), free(g.apart), free(g.frames), free(g.group);
    return good;
}

void clusters_free(clusters *c) {
    free(c->group), free(c->score), free(c->number), free(c->names), free(c->suggested);
    free(c->doubtful), free(c->merges);
    memset(c, 0, sizeof *c);
}

typedef struct pictured {
    const char *id;
    size_t length; /* of the part that names the image */
    uint32_t row;
} pictured;

static int by_picture(const void *a, const void *b) {
    const pictured *x = a, *y = b;
    int order = memcmp(x->id, y->id, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

uint32_t *clusters_frames(const crops *c, const input *const *boxes) {
    pictured *sorted = need_array(c->count, sizeof *sorted);
    uint32_t *frames = sorted ? need_array(c->count, sizeof *frames) : NULL, number = 0;
    for (uint32_t i = 0; i < c->count && frames; i++) {
        const input *in = boxes ? boxes[i] : NULL;
        sorted[i].id = in ? in->path : c->ids[i];
        sorted[i].length = in ? strlen(in->path) : crop_picture_length(c->ids[i]);
        sorted[i].row = i;
    }
    if (frames) qsort(sorted, c->count, sizeof *sorted, by_picture);
    for (size_t i = 0; i < c->count && frames; i++) {
        number += i > 0 && by_picture(&sorted[i - 1], &sorted[i]) != 0;
        frames[sorted[i].row] = number;
    }
    free(sorted);
    return frames;
}
