#include "scores/calibration_file.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "reid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KNOTS = 1 << 20 };

double calibration_probability(const calibration *c, double score) {
    return c->method ? isotonic_at(&c->score.steps, score) : logistic_at(&c->score.curve, score);
}

void calibration_free(calibration *c) {
    for (int m = 0; m < MAX_MODELS; m++) isotonic_free(&c->each[m].steps);
    isotonic_free(&c->score.steps);
    memset(c, 0, sizeof *c);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The shortest decimal that reads back as the same double: a threshold must not move over a score. */
static void add_number(text *t, const char *before, double value) {
    char number[40] = "null";
    for (int digits = 6; isfinite(value) && digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value) break;
    }
    text_puts(t, before);
    text_puts(t, number);
}

static void add_interval(text *t, const char *before, interval i) {
    text_puts(t, before);
    add_number(t, "[", i.low);
    add_number(t, ", ", i.high);
    text_putc(t, ']');
}

static void add_spread(text *t, const char *name, spread s) {
    text_printf(t, "\"%s\": ", name);
    add_number(t, "{\"mean\": ", s.mean);
    add_number(t, ", \"deviation\": ", s.deviation);
    text_puts(t, "}, ");
}

static void add_list(text *t, const char *before, const double *values, size_t count) {
    text_puts(t, before);
    for (size_t i = 0; i < count; i++) text_printf(t, i ? ", %.9g" : "%.9g", values[i]);
    text_putc(t, ']');
}

static void add_facts(text *t, const score_facts *f) {
    text_putc(t, '{');
    add_spread(t, "genuine", f->genuine);
    add_spread(t, "impostor", f->impostor);
    add_number(t, "\n    \"crossing\": ", f->points.crossing);
    add_interval(t, ", \"crossing_interval\": ", f->intervals.crossing);
    add_number(t, ", \"eer\": ", f->points.eer);
    add_interval(t, ", \"eer_interval\": ", f->intervals.eer);
    add_number(t, ", \"eer_threshold\": ", f->points.eer_threshold);
    add_number(t, ",\n    \"threshold\": ", f->points.threshold);
    add_interval(t, ", \"threshold_interval\": ", f->intervals.threshold);
    add_number(t, ", \"fmr\": ", f->points.fmr);
    add_number(t, ", \"tmr\": ", f->points.tmr);
    add_interval(t, ", \"tmr_interval\": ", f->intervals.tmr);
    add_number(t, ",\n    \"logistic\": {\"slope\": ", f->curve.slope);
    add_number(t, ", \"intercept\": ", f->curve.intercept);
    add_list(t, "},\n    \"isotonic\": {\"score\": [", f->steps.score, f->steps.count);
    add_list(t, ", \"probability\": [", f->steps.probability, f->steps.count);
    text_puts(t, "}}");
}

static void add_name(text *t, const char *before, const char *name) {
    text_puts(t, before);
    text_json(t, name);
}

void calibration_json(const calibration *c, text *t) {
    text_printf(t, "{\n  \"format\": \"reid-calibration\", \"format_version\": 1, \"reid\": \"%s\",\n",
                reid_version_string());
    text_printf(t, "  \"pairs\": {\"genuine\": %llu, \"impostor\": %llu, \"every_genuine\": %llu, \"every_impostor\": "
                   "%llu, \"identities\": %zu},\n", (unsigned long long)c->genuine, (unsigned long long)c->impostor,
                (unsigned long long)c->every_genuine, (unsigned long long)c->every_impostor, c->identities);
    add_number(t, "  \"threshold\": ", c->threshold);
    add_number(t, ", \"fmr\": ", c->fmr);
    add_number(t, ", \"prior\": ", c->prior);
    text_printf(t, ", \"method\": \"%s\",\n  \"models\": [", c->method ? "isotonic" : "logistic");
    for (int m = 0; m < c->makers.models; m++) {
        add_name(t, m ? ",\n   {\"fingerprint\": " : "\n   {\"fingerprint\": ", c->makers.model[m].fingerprint);
        add_name(t, ", \"network\": ", c->makers.model[m].network);
        add_name(t, ", \"preset\": ", c->makers.model[m].preset);
        add_name(t, ", \"precision\": ", c->makers.model[m].precision);
        add_number(t, ", \"weight\": ", c->weights[m]);
        text_puts(t, ", \"score\": ");
        add_facts(t, c->makers.models > 1 ? &c->each[m] : &c->score);
        text_putc(t, '}');
    }
    text_puts(t, "],\n  \"score\": ");
    add_facts(t, &c->score);
    text_puts(t, "\n}");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */
static void read_list(json *j, double **values, size_t *count) {
    size_t cap = 0;
    *count = 0;
    for (json_array(j); json_item(j);) {
        if (*count == MOST_KNOTS) {
            json_fail(j, "too many steps");
            return;
        }
        if (!GROW(*values, *count, cap)) {
            json_fail(j, "out of memory");
            return;
        }
        if (!json_number(j, &(*values)[*count])) return;
        ++*count;
    }
}

static void read_isotonic(json *j, isotonic *f) {
    text key = TEXT_INIT;
    size_t probabilities = 0;
    isotonic_free(f);
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "score") == 0 && !f->score) read_list(j, &f->score, &f->count);
        else if (strcmp(key.s, "probability") == 0 && !f->probability) read_list(j, &f->probability, &probabilities);
        else json_skip(j);
    }
    int good = f->count == probabilities && f->count > 0;
    for (size_t i = 1; i < f->count && good; i++)
        good = f->score[i] > f->score[i - 1] && f->probability[i] >= f->probability[i - 1];
    if (!good) json_fail(j, "isotonic: scores and probabilities do not ascend together");
    text_free(&key);
}

static void read_logistic(json *j, logistic *l) {
    text key = TEXT_INIT;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "slope") == 0) json_number(j, &l->slope);
        else if (strcmp(key.s, "intercept") == 0) json_number(j, &l->intercept);
        else json_skip(j);
    }
    text_free(&key);
}

static void read_facts(json *j, score_facts *f) {
    text key = TEXT_INIT;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "logistic") == 0) read_logistic(j, &f->curve);
        else if (strcmp(key.s, "isotonic") == 0) read_isotonic(j, &f->steps);
        else if (strcmp(key.s, "eer") == 0 && json_peek(j) == '0') json_number(j, &f->points.eer);
        else json_skip(j);
    }
    text_free(&key);
}

static void read_name(json *j, char *out, size_t size) {
    text value = TEXT_INIT;
    if (json_string(j, &value) && snprintf(out, size, "%s", value.s ? value.s : "") >= (int)size)
        json_fail(j, "a name that long");
    text_free(&value);
}

static void read_model(json *j, store_model *m, double *weight) {
    text key = TEXT_INIT;
    *weight = -1;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "fingerprint") == 0) read_name(j, m->fingerprint, sizeof m->fingerprint);
        else if (strcmp(key.s, "network") == 0) read_name(j, m->network, sizeof m->network);
        else if (strcmp(key.s, "preset") == 0) read_name(j, m->preset, sizeof m->preset);
        else if (strcmp(key.s, "precision") == 0) read_name(j, m->precision, sizeof m->precision);
        else if (strcmp(key.s, "weight") == 0) json_number(j, weight);
        else json_skip(j);
    }
    if (!m->fingerprint[0] || !m->precision[0] || !(*weight >= 0))
        json_fail(j, "a model without fingerprint, precision or weight");
    text_free(&key);
}

static void read_models(json *j, calibration *c) {
    store_meta *to = &c->makers;
    for (json_array(j); json_item(j); to->models++) {
        if (to->models < MAX_MODELS) read_model(j, &to->model[to->models], &c->weights[to->models]);
        else json_fail(j, "more models than can be used together");
    }
}

static void read_method(json *j, calibration *c) {
    text name = TEXT_INIT;
    if (json_string(j, &name)) c->method = choice_index(CALIBRATION_METHODS, name.s ? name.s : "");
    if (c->method < 0) json_fail(j, "an unknown method");
    text_free(&name);
}

int calibration_read_json(calibration *c, json *j) {
    text key = TEXT_INIT, format = TEXT_INIT;
    double version = 0;
    memset(c, 0, sizeof *c);
    c->method = -1;
    c->threshold = c->fmr = (double)NAN;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "format") == 0) json_string(j, &format);
        else if (strcmp(key.s, "format_version") == 0) json_number(j, &version);
        else if (strcmp(key.s, "threshold") == 0) json_number(j, &c->threshold);
        else if (strcmp(key.s, "fmr") == 0) json_number(j, &c->fmr);
        else if (strcmp(key.s, "prior") == 0) json_number(j, &c->prior);
        else if (strcmp(key.s, "method") == 0) read_method(j, c);
        else if (strcmp(key.s, "models") == 0 && !c->makers.models) read_models(j, c);
        else if (strcmp(key.s, "score") == 0) read_facts(j, &c->score);
        else json_skip(j);
    }
    if (!j->error[0] && (!format.len || strcmp(format.s, "reid-calibration") != 0 || version != 1))
        json_fail(j, "this is not a calibration (format reid-calibration, version 1)");
    int lacks = !c->makers.models || c->method < 0 || isnan(c->threshold) || (c->method && !c->score.steps.count);
    if (!j->error[0] && lacks)
        json_fail(j, "the calibration lacks models, method, threshold or probabilities");
    text_free(&key);
    text_free(&format);
    return !j->error[0];
}

void calibration_doubt(const calibration *c, const char *path) {
    static const double worst = 0.25; /* chance is 0.5 */
    double eer = c->score.points.eer;
    if (!(eer > worst)) return;
    say_warning("%s: these scores hardly distinguish individuals: equal error rate %.1f %%, where %.0f %% is much and "
                "50 %% is chance. Its decisions and probabilities are unreliable", path, 100 * eer, 100 * worst);
}

int calibration_read(calibration *c, const char *path) {
    static const size_t max_file = (size_t)1 << 28;
    text file = TEXT_INIT, why = TEXT_INIT;
    json j;
    memset(c, 0, sizeof *c);
    int good = file_read(path, max_file, 1, &file, &why);
    if (good) {
        json_begin(&j, file.s, file.len);
        calibration_read_json(c, &j);
        json_end(&j);
        good = !j.error[0];
    }
    if (!good) say_error("%s: %s", shown(path), why.len ? why.s : j.error);
    else calibration_doubt(c, shown(path));
    text_free(&file);
    text_free(&why);
    return good;
}
