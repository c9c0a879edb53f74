#include "report/cluster_report.h"

#include "base/json_write.h"
#include "base/memory.h"
#include "base/union_find.h"

#include <math.h>
#include <stdlib.h>

/* --- CSV ---------------------------------------------------------------------------------------------------------- */

static const char *status_of(const clusters *c, const uint32_t *known, size_t row, const unsigned char *of_known) {
    uint32_t group = c->group[row];
    if (group == CLUSTERS_NONE) return "not a crop";
    if (!known) return "";
    if (known[row] != UINT32_MAX) return "known";
    if (of_known[group]) return "joined";
    return c->suggested[group] != UINT32_MAX ? "suggested" : "new";
}

void clusters_csv(const clusters *c, const uint32_t *known, text *t) {
    unsigned char *of_known = mem_zeroed(c->groups + 1, 1);
    if (!of_known) {
        text_no_memory(t);
        return;
    }
    for (size_t i = 0; known && i < c->rows; i++)
        if (known[i] != UINT32_MAX && c->group[i] != CLUSTERS_NONE) of_known[c->group[i]] = 1;
    text_puts(t, "id,group,name,score,status,suggested\n");
    for (size_t i = 0; i < c->rows; i++) {
        uint32_t group = c->group[i];
        int none = group == CLUSTERS_NONE;
        text_csv(t, c->ids[i]);
        text_putc(t, ',');
        if (!none) text_printf(t, "%u", c->number[group]);
        text_putc(t, ',');
        if (!none && c->names[group]) text_csv(t, c->names[group]);
        text_putc(t, ',');
        if (!none && !isnan(c->score[i])) text_printf(t, "%.9g", c->score[i]);
        text_printf(t, ",%s,", status_of(c, known, i, of_known));
        if (!none && c->suggested && c->suggested[group] != UINT32_MAX) text_printf(t, "%u", c->suggested[group]);
        text_putc(t, '\n');
    }
    free(of_known);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void group_json(const clusters *c, uint32_t group, const uint32_t *next, uint32_t first, json_writer *w) {
    json_put_line(w, 4);
    json_put_object(w, NULL);
    json_put_count(w, "group", c->number[group]);
    json_put_string(w, "name", c->names[group]);
    if (c->suggested && c->suggested[group] != UINT32_MAX) json_put_count(w, "suggested", c->suggested[group]);
    else json_put_null(w, "suggested");
    json_put_array(w, "crops");
    for (uint32_t i = first; i != UINT32_MAX; i = next[i]) {
        json_put_object(w, NULL);
        json_put_string(w, "id", c->ids[i]);
        json_put_number(w, "score", c->score[i], 9);
        json_put_end(w);
    }
    json_put_end(w);
    json_put_end(w);
}

static void groups_json(const clusters *c, json_writer *w) {
    uint32_t *next = mem_array(c->rows + 1, sizeof *next), *first = mem_array(c->groups + 1, sizeof *first);
    if (!next || !first) text_no_memory(w->out);
    for (size_t k = 0; k < c->groups && next && first; k++) first[k] = UINT32_MAX;
    for (size_t i = c->rows; i-- > 0 && next && first;) {
        if (c->group[i] == CLUSTERS_NONE) continue;
        next[i] = first[c->group[i]];
        first[c->group[i]] = (uint32_t)i;
    }
    json_put_line(w, 2);
    json_put_array(w, "groups");
    for (uint32_t k = 0; k < c->groups && next && first; k++) group_json(c, k, next, first[k], w);
    json_put_line(w, 2);
    json_put_end(w);
    free(next), free(first);
}

static void joins_json(const clusters *c, json_writer *w) {
    json_put_line(w, 2);
    json_put_array(w, "joins");
    for (size_t i = 0; i < c->merged; i++) {
        const reid_merge *m = &c->merges[i];
        if (!m->must_link && m->score < c->threshold) break;
        json_put_line(w, 4);
        json_put_object(w, NULL);
        json_put_string(w, "a", c->ids[m->a]);
        json_put_string(w, "b", c->ids[m->b]);
        json_put_number(w, "score", m->score, 12);
        json_put_string(w, "reason", m->must_link ? "link" : "score");
        json_put_end(w);
    }
    json_put_line(w, 2);
    json_put_end(w);
}

void clusters_json(const clusters *c, const store_meta *makers, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_line(&w, 2);
    json_put_string(&w, "format", "reid-groups");
    json_put_int(&w, "format_version", 1);
    json_put_string(&w, "reid", reid_version_string());
    json_put_line(&w, 2);
    json_put_number(&w, "threshold", c->threshold, 12);
    json_put_array(&w, "models");
    for (int i = 0; i < makers->models; i++) json_put_string(&w, NULL, makers->model[i].fingerprint);
    json_put_end(&w);
    groups_json(c, &w);
    json_put_line(&w, 2);
    json_put_array(&w, "not_crops");
    for (size_t i = 0; i < c->rows; i++)
        if (c->group[i] == CLUSTERS_NONE) json_put_string(&w, NULL, c->ids[i]);
    json_put_end(&w);
    joins_json(c, &w);
    json_put_line(&w, 0);
    json_put_finish(&w);
}

/* --- explanations ------------------------------------------------------------------------------------------------- */

static void tell_join(const clusters *c, const reid_merge *m, const uint32_t *size, const calibration *by, text *t) {
    if (m->must_link) text_puts(t, "linked   ");
    else text_printf(t, "%-7.4f  ", m->score);
    if (by && !m->must_link) text_printf(t, "%6.2f %%  ", 100 * calibration_probability(by, m->score));
    text_visible(t, c->ids[m->a]);
    text_printf(t, " (%u crop%s) and ", size[m->a], plural(size[m->a]));
    text_visible(t, c->ids[m->b]);
    text_printf(t, " (%u crop%s)\n", size[m->b], plural(size[m->b]));
}

/* Lists the joins that involve the group of either crop, in order, until both are in one group. Returns 1 if they
   are. */
static int tell_joins(const clusters *c, uint32_t a, uint32_t b, const calibration *by, uint32_t *home, uint32_t *size,
                      text *t) {
    for (uint32_t i = 0; i < c->rows; i++) home[i] = i, size[i] = 1;
    for (size_t i = 0; i < c->merged && union_find_root32(home, a) != union_find_root32(home, b); i++) {
        const reid_merge *m = &c->merges[i];
        uint32_t x = union_find_root32(home, m->a), y = union_find_root32(home, m->b);
        uint32_t of_a = union_find_root32(home, a), of_b = union_find_root32(home, b);
        if (!m->must_link && m->score < c->threshold) break;
        if (x == of_a || y == of_a || x == of_b || y == of_b) tell_join(c, m, size, by, t);
        home[x > y ? x : y] = x > y ? y : x;
        size[m->a] += size[m->b];
    }
    return union_find_root32(home, a) == union_find_root32(home, b);
}

int clusters_explain(const clusters *c, uint32_t a, uint32_t b, const calibration *by, text *t) {
    uint32_t *home = need_array(c->rows, sizeof *home), *size = home ? need_array(c->rows, sizeof *size) : NULL;
    text joins = TEXT_INIT;
    if (size) {
        int together = tell_joins(c, a, b, by, home, size, &joins);
        text_visible(t, c->ids[a]);
        text_puts(t, " and ");
        text_visible(t, c->ids[b]);
        if (together) text_printf(t, " are in group %u:\n", c->number[c->group[a]]);
        else if (c->group[a] == CLUSTERS_NONE || c->group[b] == CLUSTERS_NONE) text_puts(t, ": not a crop\n");
        else text_printf(t, " are in groups %u and %u, which were joined with others down to %.9g:\n",
                         c->number[c->group[a]], c->number[c->group[b]], c->threshold);
        text_join(t, &joins);
    }
    text_free(&joins);
    free(home), free(size);
    return size != NULL;
}
