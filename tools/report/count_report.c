#include "report/count_report.h"

#include <math.h>

/* --- words -------------------------------------------------------------------------------------------------------- */

static void tell_needs(const count_report *r, text *t) {
    const census_result *c = r->result;
    size_t wanted = r->sample->count < CENSUS_LEAST ? r->sample->count : CENSUS_LEAST;
    if (c->state == CENSUS_TOO_FEW)
        text_printf(t, "too few answers: %zu crops need all of theirs, at least %zu more; reid review --count asks "
                       "for them\n", wanted, c->needed);
    if (c->state == CENSUS_NO_MATCH)
        text_printf(t, "too few matches: no pair was the same individual. Either every crop shows another one, or the "
                       "scores do not find the pairs: try more than --per-crop %zu\n", r->request->per_crop);
    if (c->state == CENSUS_POOR)
        text_printf(t, "too few: the questions reached about %.0f %% of the crops of the same individual; the scores "
                       "are too poor for so few questions; give --per-crop %zu\n", 100 * c->e.reached,
                    2 * r->request->per_crop);
}

void count_lines(const count_report *r, text *t) {
    const census_result *c = r->result;
    text_printf(t, "%zu of %zu crops were drawn, and %zu pairs with them: %zu crops have all their answers, %zu "
                   "answers are missing\n",
                r->sample->count, r->sample->rows, r->sample->pair_count, c->e.crops, c->open);
    if (c->state != CENSUS_GOOD) {
        tell_needs(r, t);
        return;
    }
    text_printf(t, "%.1f individuals, with 95 %% probability between %.1f and %.1f; scores alone say %zu\n", c->e.count,
                c->e.low, c->e.high, r->request->found->groups);
    if (!isnan(c->e.reached))
        text_printf(t, "the questions reached about %.0f %% of the crops of the same individual\n", 100 * c->e.reached);
    if (c->crops_for_tenth) text_printf(t, "for +-10 %%, give --sample %zu\n", c->crops_for_tenth);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void number_or_null(const char *name, double value, int there, text *t) {
    if (there) text_printf(t, ", \"%s\": %.9g", name, value);
    else text_printf(t, ", \"%s\": null", name);
}

void count_json(const count_report *r, text *t) {
    static const char *const states[] = {"good", "too few answers", "no match", "poor scores"};
    const census_result *c = r->result;
    int good = c->state == CENSUS_GOOD;
    text_printf(t, "{\"format\": \"reid-count\", \"format_version\": 1, \"reid\": \"%s\", \"models\": [",
                reid_version_string());
    for (int i = 0; i < r->makers->models; i++)
        text_printf(t, "%s\"%s\"", i ? ", " : "", r->makers->model[i].fingerprint);
    text_printf(t, "], \"seed\": %lld, \"crops\": %zu, \"groups\": %zu, \"sample\": %zu, \"per_crop\": %zu",
                r->request->seed, r->sample->rows, r->request->found->groups, r->sample->count, r->request->per_crop);
    text_printf(t, ", \"pairs\": %zu, \"open\": %zu, \"needed\": %zu, \"state\": \"%s\", \"counted_crops\": %zu",
                r->sample->pair_count, c->open, c->needed, states[c->state], c->e.crops);
    number_or_null("individuals", c->e.count, good, t);
    number_or_null("low", c->e.low, good, t);
    number_or_null("high", c->e.high, good, t);
    text_printf(t, ", \"matches\": %zu", c->e.found);
    number_or_null("reached", c->e.reached, c->e.found > 0, t);
    number_or_null("sample_for_tenth", (double)c->crops_for_tenth, c->crops_for_tenth > 0, t);
    text_puts(t, "}\n");
}
