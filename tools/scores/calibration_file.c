#include "scores/calibration_file.h"

#include "base/files.h"
#include "base/json_write.h"
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

static void add_interval(json_writer *w, const char *key, interval i) {
    json_put_array(w, key);
    json_put_exact(w, NULL, i.low);
    json_put_exact(w, NULL, i.high);
    json_put_end(w);
}

static void add_spread(json_writer *w, const char *key, spread s) {
    json_put_object(w, key);
    json_put_exact(w, "mean", s.mean);
    json_put_exact(w, "deviation", s.deviation);
    json_put_end(w);
}

static void add_facts(json_writer *w, const score_facts *f) {
    json_put_object(w, "score");
    add_spread(w, "genuine", f->genuine);
    add_spread(w, "impostor", f->impostor);
    json_put_line(w, 4);
    json_put_exact(w, "crossing", f->points.crossing);
    add_interval(w, "crossing_interval", f->intervals.crossing);
    json_put_exact(w, "eer", f->points.eer);
    add_interval(w, "eer_interval", f->intervals.eer);
    json_put_exact(w, "eer_threshold", f->points.eer_threshold);
    json_put_line(w, 4);
    json_put_exact(w, "threshold", f->points.threshold);
    add_interval(w, "threshold_interval", f->intervals.threshold);
    json_put_exact(w, "fmr", f->points.fmr);
    json_put_exact(w, "tmr", f->points.tmr);
    add_interval(w, "tmr_interval", f->intervals.tmr);
    json_put_line(w, 4);
    json_put_object(w, "logistic");
    json_put_exact(w, "slope", f->curve.slope);
    json_put_exact(w, "intercept", f->curve.intercept);
    json_put_end(w);
    json_put_line(w, 4);
    json_put_object(w, "isotonic");
    json_put_numbers(w, "score", f->steps.score, f->steps.count, 9);
    json_put_numbers(w, "probability", f->steps.probability, f->steps.count, 9);
    json_put_end(w);
    json_put_end(w);
}

static void add_pairs(json_writer *w, const calibration *c) {
    json_put_line(w, 2);
    json_put_object(w, "pairs");
    json_put_count(w, "genuine", c->genuine);
    json_put_count(w, "impostor", c->impostor);
    json_put_count(w, "every_genuine", c->every_genuine);
    json_put_count(w, "every_impostor", c->every_impostor);
    json_put_count(w, "identities", c->identities);
    if (c->sightings) json_put_count(w, "sightings", c->sightings);
    if (c->sightings) json_put_count(w, "compared", c->compared);
    json_put_end(w);
}

void calibration_json(const calibration *c, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_line(&w, 2);
    json_put_string(&w, "format", "reid-calibration");
    json_put_int(&w, "format_version", 1);
    json_put_string(&w, "reid", reid_version_string());
    add_pairs(&w, c);
    json_put_line(&w, 2);
    json_put_exact(&w, "threshold", c->threshold);
    json_put_exact(&w, "fmr", c->fmr);
    json_put_exact(&w, "prior", c->prior);
    json_put_string(&w, "method", c->method ? "isotonic" : "logistic");
    if (c->sightings) json_put_bool(&w, "labels", 0);
    json_put_line(&w, 2);
    json_put_array(&w, "models");
    for (int m = 0; m < c->makers.models; m++) {
        json_put_line(&w, 3);
        json_put_object(&w, NULL);
        json_put_string(&w, "fingerprint", c->makers.model[m].fingerprint);
        json_put_string(&w, "network", c->makers.model[m].network);
        json_put_string(&w, "preset", c->makers.model[m].preset);
        json_put_string(&w, "precision", c->makers.model[m].precision);
        json_put_exact(&w, "weight", c->weights[m]);
        add_facts(&w, c->makers.models > 1 ? &c->each[m] : &c->score);
        json_put_end(&w);
    }
    json_put_end(&w);
    json_put_line(&w, 2);
    add_facts(&w, &c->score);
    json_put_line(&w, 0);
    json_put_end(&w);
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
        json_fail(j, "the name is too long");
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
        json_fail(j, "a model has no fingerprint, precision or weight");
    text_free(&key);
}

static void read_models(json *j, calibration *c) {
    store_meta *to = &c->makers;
    for (json_array(j); json_item(j); to->models++) {
        if (to->models < MAX_MODELS) read_model(j, &to->model[to->models], &c->weights[to->models]);
        else json_fail(j, "more models than can be used together");
    }
}

/* Skips the numbers of pairs, which are only for people. The number of identities is kept: it shows how reliable the
   calibration is. */
static void read_pairs(json *j, calibration *c) {
    text key = TEXT_INIT;
    double identities = 0;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "identities") == 0) json_number(j, &identities);
        else json_skip(j);
    }
    if (identities > 0 && identities < 1e9) c->identities = (size_t)identities;
    text_free(&key);
}

static void read_method(json *j, calibration *c) {
    text name = TEXT_INIT;
    if (json_string(j, &name)) c->method = choice_index(CALIBRATION_METHODS, name.s ? name.s : "");
    if (c->method < 0) json_fail(j, "unknown method");
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
        else if (strcmp(key.s, "pairs") == 0) read_pairs(j, c);
        else if (strcmp(key.s, "models") == 0 && !c->makers.models) read_models(j, c);
        else if (strcmp(key.s, "score") == 0) read_facts(j, &c->score);
        else json_skip(j);
    }
    if (!j->error[0] && (!format.len || strcmp(format.s, "reid-calibration") != 0 || version != 1))
        json_fail(j, "not a calibration file (expected format reid-calibration, version 1)");
    int lacks = !c->makers.models || c->method < 0 || isnan(c->threshold) || (c->method && !c->score.steps.count);
    if (!j->error[0] && lacks)
        json_fail(j, "the calibration has no models, method, threshold or probabilities");
    text_free(&key);
    text_free(&format);
    return !j->error[0];
}

void calibration_doubt(const calibration *c, const char *path) {
    static const double worst = 0.25; /* chance is 0.5 */
    double eer = c->score.points.eer;
    if (!(eer > worst)) return;
    say_warning("%s: these scores hardly distinguish individuals: the equal error rate is %.1f %%, above %.0f %%; "
                "chance is 50 %%. Decisions and probabilities are unreliable", path, 100 * eer, 100 * worst);
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
