/* reid eval: how well embeddings tell individuals apart, and whether a faster precision preserves that. */
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "cli/option_setters.h"
#include "commands/commands.h"
#include "commands/requests.h"
#include "report/eval_report.h"
#include "scores/decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMPARED = 8 };

/* One source of embeddings: the options, or one element of --compare. */
typedef struct compared_run {
    char *name;
    char *operands[2]; /* used by the options when the element is a file */
    options o;
    evaluation_rules rules;
    eval_set set;
    evaluation e;
    double weights[MAX_MODELS];
} compared_run;

/* An image in one of its roles. */
typedef struct placed {
    const eval_image *is;
    size_t at;
} placed;

static int by_picture(const void *a, const void *b) {
    const labelled *x = ((const placed *)a)->is->label, *y = ((const placed *)b)->is->label;
    int order = strcmp(x->id, y->id);
    return order ? order : x->query - y->query;
}

static void sort_pictures(const eval_set *set, placed *out) {
    for (size_t i = 0; i < set->count; i++) out[i] = (placed){&set->at[i], i};
    qsort(out, set->count, sizeof *out, by_picture);
}

static int same_pictures(const placed *a, const placed *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const labelled *x = a[i].is->label, *y = b[i].is->label;
        if (by_picture(&a[i], &b[i]) != 0 || x->gallery != y->gallery || a[i].is->identity != b[i].is->identity)
            return 0;
    }
    return 1;
}

/* Puts the images into the order of `first`, because a file keeps the order in which they were embedded. Returns 0
   after saying that the images differ. */
static int put_in_order(compared_run *w, const compared_run *first) {
    eval_set *set = &w->set;
    size_t n = set->count, row = set->dim * sizeof *set->rows;
    placed *ours = need_array(n + 1, 2 * sizeof *ours), *theirs;
    if (!ours) return 0;
    theirs = ours + n;
    int same = n == first->set.count;
    if (same) sort_pictures(set, ours), sort_pictures(&first->set, theirs);
    same = same && same_pictures(ours, theirs, n);
    if (!same) say_error("%s and %s do not have the same images", shown(first->name), shown(w->name));
    float *rows = same ? need_array(n, row) : NULL;
    eval_image *at = rows ? need_array(n, sizeof *at) : NULL;
    for (size_t i = 0; i < n && at; i++) {
        memcpy(rows + theirs[i].at * set->dim, set->rows + ours[i].at * set->dim, row);
        at[theirs[i].at] = set->at[ours[i].at];
    }
    free(ours);
    if (!at) return free(rows), 0;
    free(set->rows), free(set->at);
    set->rows = rows, set->at = at;
    return 1;
}

/* first: gives the order of the images; NULL: leaves the order unchanged. */
static int open_run(compared_run *w, const compared_run *first, int *status) {
    const options *o = &w->o;
    labelled_request request;
    labelled_of(&request, o);
    w->rules = rules_of(o);
    if (!eval_set_open(&w->set, &request.r, NULL, status)) return 0;
    if (first && !put_in_order(w, first)) return 0;
    if (o->match.weight_count && o->match.weight_count != w->set.makers.models) {
        say_error("eval: --score-weights gives %d share%s for %d model%s", o->match.weight_count,
                  plural((size_t)o->match.weight_count), w->set.makers.models, plural((size_t)w->set.makers.models));
        return 0;
    }
    decision_weights(w->weights, w->set.makers.models, o->match.weights, o->match.weight_count);
    return evaluate(&w->e, &w->set, &w->rules, w->weights);
}

static void close_run(compared_run *w) {
    evaluation_free(&w->e);
    eval_set_free(&w->set);
    free(w->name);
}

static void warn_about(const eval_set *set) {
    if (set->labels.elsewhere) say_info("left out %zu row%s from outside the query and gallery folders",
                                        set->labels.elsewhere, plural(set->labels.elsewhere));
    if (set->unlabelled) say_warning("left out %zu embedding%s without a label", set->unlabelled,
                                     plural(set->unlabelled));
    if (set->failed) say_warning("%zu labelled image%s failed; the others were evaluated",
                                 set->failed, plural(set->failed));
}

static int evaluate_one(const options *o) {
    compared_run w;
    text out = TEXT_INIT;
    int status = 2;
    memset(&w, 0, sizeof w);
    w.o = *o;
    if (open_run(&w, NULL, &status)) {
        warn_about(&w.set);
        if (o->output.json) {
            json_writer json = json_write(&out);
            report_json(&w.e, &w.set, &w.rules, w.weights, &json, NULL);
            json_put_finish(&json);
        } else {
            report_table(&w.e, &w.set, &w.rules, &out);
        }
        status = !results_print(&out) ? 2 : w.set.failed ? 1 : 0;
    }
    close_run(&w);
    return status;
}

/* ---- --compare --------------------------------------------------------------------------------------------------- */

/* Sets up a run from a file of embeddings, PRECISION, DEVICE or DEVICE/PRECISION. */
static int set_run(compared_run *w, const options *o, const char *name, size_t len) {
    w->name = need_copy(name, len);
    w->o = *o;
    if (!w->name) return 0;
    if (gallery_file_is_one(w->name)) {
        if (o->operand_count > 1) {
            say_error("--compare: with files of embeddings, give at most one folder");
            return 0;
        }
        if (!o->models) {
            w->operands[0] = w->name;
            w->operands[1] = o->operand_count ? o->operands[0] : NULL;
            w->o.operands = w->operands;
            w->o.operand_count = 1 + (w->operands[1] != NULL);
            return 1;
        }
        say_error("--compare: %s already contains embeddings; remove -m", shown(w->name));
        return 0;
    }
    const char *slash = strchr(w->name, '/'), *precision = slash ? slash + 1 : w->name;
    char *device = need_copy(w->name, slash ? (size_t)(slash - w->name) : len);
    if (!device) return 0;
    int index = choice_index(PRECISIONS, precision);
    int good = index >= 0 ? !slash || option_device(&w->o, device) : !slash && option_device(&w->o, device);
    if (index >= 0) w->o.compute.precision = REID_FP32 + index;
    free(device);
    if (!good)
        say_error("--compare: \"%s\" is not a precision (%s), a device, DEVICE/PRECISION or a file of embeddings",
                  shown(w->name), PRECISIONS);
    else if (!o->models) say_error("--compare %s: no model: give its weights with -m FILE", shown(w->name));
    return good && o->models;
}

static int parse_runs(compared_run *runs, const options *o) {
    int count = 0;
    for (const char *at = o->eval.compare; at;) {
        size_t n = strcspn(at, ",");
        if (count == MAX_COMPARED) {
            say_error("--compare: too many entries; give at most %d", MAX_COMPARED);
            return 0;
        }
        if (!set_run(&runs[count++], o, at, n)) return 0;
        at = at[n] ? at + n + 1 : NULL;
    }
    if (count < 2) say_error("--compare: name at least two; the others are compared with the first");
    return count < 2 ? 0 : count;
}

static double lowest_cosine(const eval_set *a, const eval_set *b) {
    double lowest = 1;
    if (a->dim != b->dim) return (double)NAN;
    for (size_t i = 0; i < a->count; i++) {
        double ab = 0, aa = 0, bb = 0;
        for (size_t k = 0; k < a->dim; k++) {
            double x = (double)a->rows[i * a->dim + k], y = (double)b->rows[i * a->dim + k];
            ab += x * y;
            aa += x * x;
            bb += y * y;
        }
        double cosine = ab / sqrt(aa * bb);
        if (cosine < lowest) lowest = cosine;
    }
    return lowest;
}

/* The default allows any cosine for files, which may come from different networks with unrelated embeddings. */
static double least_cosine(const options *o) {
    if (!isnan(o->eval.least_cosine)) return o->eval.least_cosine;
    return o->models ? 0.98 : -1;
}

static void compared_json(const compared_run *runs, const change *changes, int count, const options *o, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_number(&w, "limit", o->eval.limit / 100, 9);
    json_put_number(&w, "least_cosine", least_cosine(o), 9);
    json_put_array(&w, "compared");
    for (int i = 0; i < count; i++) {
        json_put_line(&w, 0);
        json_put_object(&w, NULL);
        json_put_string(&w, "name", runs[i].name);
        if (i) change_json(&changes[i], &w, "change");
        else json_put_null(&w, "change");
        report_json(&runs[i].e, &runs[i].set, &runs[i].rules, runs[i].weights, &w, "evaluation");
        json_put_end(&w);
    }
    json_put_line(&w, 0);
    json_put_finish(&w);
}

static void compared_table(const compared_run *runs, const change *changes, int count, const options *o, text *t) {
    int width = 10;
    for (int i = 0; i < count; i++)
        if ((int)strlen(runs[i].name) > width) width = (int)strlen(runs[i].name);
    report_table(&runs[0].e, &runs[0].set, &runs[0].rules, t);
    text_printf(t, "\nAgainst %s: change of rank-1 and mAP in percentage points (95 %% interval), lowest cosine, "
                   "limit %g", shown(runs[0].name), o->eval.limit);
    if (least_cosine(o) > -1) text_printf(t, ", least cosine %g", least_cosine(o));
    text_putc(t, '\n');
    for (int i = 1; i < count; i++) change_table(&changes[i], runs[i].name, width, t);
}

static int compare(compared_run *runs, int count, const options *o) {
    change changes[MAX_COMPARED];
    text out = TEXT_INIT;
    int status = 2, worst = 0;
    for (int i = 0; i < count; i++) {
        if (!open_run(&runs[i], i ? &runs[0] : NULL, &status)) return status;
        warn_about(&runs[i].set);
        if (i && !change_of(&changes[i], &runs[i].e, &runs[0].e, o->eval.limit / 100, runs[i].rules.draws)) return 2;
        if (i) changes[i].lowest_cosine = lowest_cosine(&runs[i].set, &runs[0].set);
        if (i && changes[i].lowest_cosine < least_cosine(o)) changes[i].fails = 1;
        worst |= runs[i].set.failed || (i && changes[i].fails);
        if (i) free(runs[i].set.rows);
        if (i) runs[i].set.rows = NULL;
    }
    if (o->output.json) compared_json(runs, changes, count, o, &out);
    else compared_table(runs, changes, count, o, &out);
    return !results_print(&out) ? 2 : worst ? 1 : 0;
}

static int evaluate_several(const options *o) {
    compared_run *runs = need_zeroed(MAX_COMPARED + 1, sizeof *runs);
    if (!runs) return 2;
    int count = parse_runs(runs, o), status = 2;
    if (count > 0) status = compare(runs, count, o);
    for (int i = 0; i < MAX_COMPARED; i++) close_run(&runs[i]);
    free(runs);
    return status;
}

int eval_main(options *o) { return o->eval.compare ? evaluate_several(o) : evaluate_one(o); }
