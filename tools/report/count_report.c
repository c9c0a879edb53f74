#include "report/count_report.h"

#include "base/json_write.h"

#include <math.h>

/* --- words -------------------------------------------------------------------------------------------------------- */

static void tell_needs(const count_report *r, text *t) {
    const census_result *c = r->result;
    size_t wanted = r->sample->count < CENSUS_LEAST ? r->sample->count : CENSUS_LEAST;
    if (c->state == CENSUS_TOO_FEW)
        text_printf(t, "too few answers: %zu crop%s must have all answers; give at least %zu more with reid review "
                       "--count\n", wanted, plural(wanted), c->needed);
    if (c->state == CENSUS_NO_MATCH)
        text_printf(t, "too few matches: no pair showed the same individual. Either every crop shows a different one, "
                       "or the scores do not find the pairs; try more than --per-crop %zu\n", r->request->per_crop);
    if (c->state == CENSUS_POOR)
        text_printf(t, "too few questions for such poor scores: they reached about %.0f %% of the crops of the same "
                       "individual; give --per-crop %zu\n", 100 * c->e.reached,
                    2 * r->request->per_crop);
}

void count_lines(const count_report *r, text *t) {
    const census_result *c = r->result;
    text_printf(t, "%zu of %zu crop%s drawn, with %zu pair%s; %zu crop%s all their answers, %zu answer%s missing\n",
                r->sample->count, r->sample->rows, r->sample->rows == 1 ? " was" : "s were",
                r->sample->pair_count, plural(r->sample->pair_count), c->e.crops,
                c->e.crops == 1 ? " has" : "s have", c->open, c->open == 1 ? " is" : "s are");
    if (c->state != CENSUS_GOOD) {
        tell_needs(r, t);
        return;
    }
    text_printf(t, "%.1f individuals, 95 %% interval %.1f to %.1f; scores alone give %zu\n", c->e.count,
                c->e.low, c->e.high, r->request->found->groups);
    if (!isnan(c->e.reached))
        text_printf(t, "the questions reached about %.0f %% of the crops of the same individual\n", 100 * c->e.reached);
    if (c->crops_for_tenth) text_printf(t, "for +-10 %%, use --sample %zu\n", c->crops_for_tenth);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void number_or_null(json_writer *w, const char *name, double value, int there) {
    json_put_number(w, name, there ? value : (double)NAN, 9);
}

void count_json(const count_report *r, text *t) {
    static const char *const states[] = {"good", "too few answers", "no match", "poor scores"};
    const census_result *c = r->result;
    int good = c->state == CENSUS_GOOD;
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "format", "reid-count");
    json_put_int(&w, "format_version", 1);
    json_put_string(&w, "reid", reid_version_string());
    json_put_array(&w, "models");
    for (int i = 0; i < r->makers->models; i++) json_put_string(&w, NULL, r->makers->model[i].fingerprint);
    json_put_end(&w);
    json_put_int(&w, "seed", r->request->seed);
    json_put_count(&w, "crops", r->sample->rows);
    json_put_count(&w, "groups", r->request->found->groups);
    json_put_count(&w, "sample", r->sample->count);
    json_put_count(&w, "per_crop", r->request->per_crop);
    json_put_count(&w, "pairs", r->sample->pair_count);
    json_put_count(&w, "open", c->open);
    json_put_count(&w, "needed", c->needed);
    json_put_string(&w, "state", states[c->state]);
    json_put_count(&w, "counted_crops", c->e.crops);
    number_or_null(&w, "individuals", c->e.count, good);
    number_or_null(&w, "low", c->e.low, good);
    number_or_null(&w, "high", c->e.high, good);
    json_put_count(&w, "matches", c->e.found);
    number_or_null(&w, "reached", c->e.reached, c->e.found > 0);
    number_or_null(&w, "sample_for_tenth", (double)c->crops_for_tenth, c->crops_for_tenth > 0);
    json_put_finish(&w);
}
