/* reid eval: how well do these embeddings tell individuals apart, and does a faster precision keep that? */
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/requests.h"
#include "identity/decision.h"
#include "report/eval_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMPARED = 8 };

/* One way to get the embeddings: as the options say, or one element of --compare. */
typedef struct way {
    char *name;
    char *operands[2]; /* in the options when the element is a file */
    options o;
    evaluation_rules rules;
    eval_set set;
    evaluation e;
    double weights[MAX_MODELS];
} way;

static int open_way(way *w, int *status) {
    const options *o = &w->o;
    labelled_request request;
    labelled_of(&request, o);
    w->rules = rules_of(o);
    if (!eval_set_open(&w->set, &request.r, NULL, status)) return 0;
    if (o->weight_count && o->weight_count != w->set.makers.models) {
        say_error("eval: --weights gives %d value(s) for %d model(s)", o->weight_count, w->set.makers.models);
        return 0;
    }
    decision_weights(w->weights, w->set.makers.models, o->weights, o->weight_count);
    return evaluate(&w->e, &w->set, &w->rules, w->weights);
}

static void close_way(way *w) {
    evaluation_free(&w->e);
    eval_set_free(&w->set);
    free(w->name);
}

static void warn_about(const eval_set *set) {
    if (set->labels.elsewhere) say_info("%zu rows are neither in query nor in gallery folders", set->labels.elsewhere);
    if (set->unlabelled) say_warning("%zu embeddings have no label and were left out", set->unlabelled);
    if (set->failed) say_warning("%zu labelled pictures failed; the others were evaluated", set->failed);
}

static int evaluate_one(const options *o) {
    way w;
    text out = TEXT_INIT;
    int status = 2;
    memset(&w, 0, sizeof w);
    w.o = *o;
    if (open_way(&w, &status)) {
        warn_about(&w.set);
        if (o->json) {
            report_json(&w.e, &w.set, &w.rules, w.weights, &out);
            text_putc(&out, '\n');
        } else {
            report_table(&w.e, &w.set, &w.rules, &out);
        }
        status = !results_print(&out) ? 2 : w.set.failed ? 1 : 0;
    }
    close_way(&w);
    return status;
}

/* ---- --compare --------------------------------------------------------------------------------------------------- */

/* A file of embeddings, PRECISION, DEVICE or DEVICE/PRECISION. */
static int set_way(way *w, const options *o, const char *name, size_t len) {
    w->name = need_copy(name, len);
    w->o = *o;
    if (!w->name) return 0;
    if (gallery_file_is_one(w->name)) {
        if (o->operand_count > 1) {
            say_error("--compare: beside files there can be one folder");
            return 0;
        }
        if (!o->models) {
            w->operands[0] = w->name;
            w->operands[1] = o->operand_count ? o->operands[0] : NULL;
            w->o.operands = w->operands;
            w->o.operand_count = 1 + (w->operands[1] != NULL);
            return 1;
        }
        say_error("--compare: %s brings its own embeddings, so -m has nothing to do", shown(w->name));
        return 0;
    }
    const char *slash = strchr(w->name, '/'), *precision = slash ? slash + 1 : w->name;
    char *device = need_copy(w->name, slash ? (size_t)(slash - w->name) : len);
    if (!device) return 0;
    int index = choice_index(PRECISIONS, precision);
    int good = index >= 0 ? !slash || options_device(&w->o, device) : !slash && options_device(&w->o, device);
    if (index >= 0) w->o.precision = REID_FP32 + index;
    free(device);
    if (!good)
        say_error("--compare: \"%s\" is not a precision (%s), a device, DEVICE/PRECISION or a file of embeddings",
                  shown(w->name), PRECISIONS);
    else if (!o->models) say_error("--compare %s: no model: give its weights with -m FILE", shown(w->name));
    return good && o->models;
}

static int parse_ways(way *ways, const options *o) {
    int count = 0;
    for (const char *at = o->compare; at;) {
        size_t n = strcspn(at, ",");
        if (count == MAX_COMPARED) {
            say_error("--compare: more than %d", MAX_COMPARED);
            return 0;
        }
        if (!set_way(&ways[count++], o, at, n)) return 0;
        at = at[n] ? at + n + 1 : NULL;
    }
    if (count < 2) say_error("--compare: name at least two, the first is what the others are compared with");
    return count < 2 ? 0 : count;
}

static int same_pictures(const way *a, const way *b) {
    int good = a->set.count == b->set.count && a->set.queries == b->set.queries && a->set.gallery == b->set.gallery;
    for (size_t i = 0; i < a->set.count && good; i++)
        good = strcmp(a->set.at[i].label->id, b->set.at[i].label->id) == 0 &&
               a->set.at[i].identity == b->set.at[i].identity;
    if (!good) say_error("%s and %s do not hold the same pictures", shown(a->name), shown(b->name));
    return good;
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

/* Files may come from different networks, whose embeddings have nothing to do with each other. */
static double least_cosine(const options *o) {
    if (!isnan(o->least_cosine)) return o->least_cosine;
    return o->models ? 0.98 : -1;
}

static void compared_json(const way *ways, const change *changes, int count, const options *o, text *t) {
    text_puts(t, "{\"limit\": ");
    text_number(t, o->limit / 100);
    text_puts(t, ", \"least_cosine\": ");
    text_number(t, least_cosine(o));
    text_puts(t, ", \"compared\": [\n");
    for (int i = 0; i < count; i++) {
        text_puts(t, i ? ",\n{\"name\": " : "{\"name\": ");
        text_json(t, ways[i].name);
        text_puts(t, ", \"change\": ");
        if (i) change_json(&changes[i], t);
        else text_puts(t, "null");
        text_puts(t, ", \"evaluation\": ");
        report_json(&ways[i].e, &ways[i].set, &ways[i].rules, ways[i].weights, t);
        text_putc(t, '}');
    }
    text_puts(t, "\n]}\n");
}

static void compared_table(const way *ways, const change *changes, int count, const options *o, text *t) {
    int width = 10;
    for (int i = 0; i < count; i++)
        if ((int)strlen(ways[i].name) > width) width = (int)strlen(ways[i].name);
    report_table(&ways[0].e, &ways[0].set, &ways[0].rules, t);
    text_printf(t, "\nAgainst %s: change of rank-1 and mAP in percentage points (95 %% interval), lowest cosine, "
                   "limit %g", shown(ways[0].name), o->limit);
    if (least_cosine(o) > -1) text_printf(t, ", least cosine %g", least_cosine(o));
    text_putc(t, '\n');
    for (int i = 1; i < count; i++) change_table(&changes[i], ways[i].name, width, t);
}

static int compare(way *ways, int count, const options *o) {
    change changes[MAX_COMPARED];
    text out = TEXT_INIT;
    int status = 2, worst = 0;
    for (int i = 0; i < count; i++) {
        if (!open_way(&ways[i], &status)) return status;
        warn_about(&ways[i].set);
        if (i && !same_pictures(&ways[0], &ways[i])) return 2;
        if (i && !change_of(&changes[i], &ways[i].e, &ways[0].e, o->limit / 100, ways[i].rules.draws)) return 2;
        if (i) changes[i].lowest_cosine = lowest_cosine(&ways[i].set, &ways[0].set);
        if (i && changes[i].lowest_cosine < least_cosine(o)) changes[i].fails = 1;
        worst |= ways[i].set.failed || (i && changes[i].fails);
        if (i) free(ways[i].set.rows);
        if (i) ways[i].set.rows = NULL;
    }
    if (o->json) compared_json(ways, changes, count, o, &out);
    else compared_table(ways, changes, count, o, &out);
    return !results_print(&out) ? 2 : worst ? 1 : 0;
}

static int evaluate_several(const options *o) {
    way *ways = need_zeroed(MAX_COMPARED + 1, sizeof *ways);
    if (!ways) return 2;
    int count = parse_ways(ways, o), status = 2;
    if (count > 0) status = compare(ways, count, o);
    for (int i = 0; i < MAX_COMPARED; i++) close_way(&ways[i]);
    free(ways);
    return status;
}

int eval_main(options *o) { return o->compare ? evaluate_several(o) : evaluate_one(o); }
