/* reid calibrate: the meaning of scores, and the threshold above which two images count as the same individual. */
#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/calibrate_int8.h"
#include "commands/calibrate_unlabelled.h"
#include "commands/commands.h"
#include "commands/requests.h"
#include "evaluate/labelled_pairs.h"
#include "gallery/gallery_host.h"
#include "gallery/templates.h"
#include "scores/calibration_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The default threshold of ensembles, to show what it would do here. */
static const double FOREIGN = 0.40;

typedef struct calibrating {
    const options *o;
    eval_set set;
    labelled_pairs pairs;
    calibration c;
    double foreign_fmr, foreign_tmr; /* at FOREIGN */
    text unlabelled;                 /* the table of a calibration without labels; empty: there are labels */
} calibrating;

/* ---- computing --------------------------------------------------------------------------------------------------- */

/* With more pairs, draws become slower but intervals hardly better. */
static int draws_for(const calibrating *k) {
    double fit = 4e8 / ((double)k->pairs.count + 1);
    return k->o->eval.draws ? k->o->eval.draws : fit > 1000 ? 1000 : fit < 200 ? 200 : (int)fit;
}

/* Returns 0 after reporting that memory ran out, or without a message when interrupted(). */
static int learn(calibrating *k, score_facts *f, const double *weights) {
    labelled_pairs *p = &k->pairs;
    scored_pair *sorted = need_array(p->count + 1, sizeof *sorted);
    if (!sorted) return 0;
    pairs_weigh(p, k->set.makers.models, weights);
    if (p->count) memcpy(sorted, p->at, p->count * sizeof *sorted);
    pairs_sort(sorted, p->count);
    spreads_of(sorted, p->count, &f->genuine, &f->impostor);
    f->points = points_of(sorted, p->count, NULL, false_match_rate(k->o));
    int good = point_intervals_of(sorted, p->count, p->identities, false_match_rate(k->o), draws_for(k), &f->intervals);
    f->curve = logistic_fit(sorted, p->count, k->o->calibrate.prior);
    good = good && isotonic_fit(&f->steps, sorted, p->count, k->o->calibrate.prior);
    if (f == &k->c.score) rates_at(sorted, p->count, FOREIGN, &k->foreign_fmr, &k->foreign_tmr);
    free(sorted);
    return good;
}

/* Chooses the models' shares in the score: as given, else in proportion to what each adds to the odds. */
static int choose_weights(calibrating *k) {
    double slope[2], intercept, *w = k->c.weights;
    const options *o = k->o;
    if (o->match.weight_count && o->match.weight_count != k->set.makers.models) {
        say_error("calibrate: --score-weights gives %d share%s for %d model%s", o->match.weight_count,
                  plural((size_t)o->match.weight_count), k->set.makers.models, plural((size_t)k->set.makers.models));
        return 0;
    }
    for (int m = 0; m < k->set.makers.models; m++) w[m] = o->match.weight_count ? o->match.weights[m] : 1;
    if (o->match.weight_count || k->set.makers.models == 1) return 1;
    if (o->match.gallery) {
        say_error("calibrate: a gallery stores a threshold but no weights: give the --score-weights that reid match "
                  "will use (0.6,0.4 by default)");
        return 0;
    }
    const labelled_pairs *p = &k->pairs;
    logistic_fit_two(p->score[0], p->score[1], p->at, p->count, o->calibrate.prior, slope, &intercept);
    for (int m = 0; m < 2; m++) w[m] = slope[m] > 0 ? slope[m] : 0;
    double sum = w[0] + w[1];
    if (!(sum > 0)) {
        say_error("neither model scores pairs of one identity above pairs of two, so shares cannot be fitted; "
                  "--score-weights sets them");
        return 0;
    }
    for (int m = 0; m < 2; m++) {
        w[m] /= sum;
        if (w[m] <= 0) say_warning("model %d adds nothing to the other one and gets weight 0", m + 1);
    }
    return 1;
}

static int enough_pairs(const calibrating *k) {
    const labelled_pairs *p = &k->pairs;
    double expected = (double)p->impostor * false_match_rate(k->o);
    if (!p->genuine)
        say_error("no pairs of one identity%s: give at least two images of each",
                  p->by_camera ? " from two cameras" : "");
    else if (!p->impostor) say_error("no pairs of two identities: give images of at least two");
    else if (expected < 1)
        say_error("%llu pair%s of two identities cannot show a false-match rate of %g: at least %.0f are needed",
                  (unsigned long long)p->impostor, plural(p->impostor), false_match_rate(k->o),
                  ceil(1 / false_match_rate(k->o)));
    else {
        if (expected < 30)
            say_warning("the threshold depends on only %.0f of %llu pair%s of two identities; 30 would make it stable: "
                        "use more images or a larger --fmr", expected, (unsigned long long)p->impostor,
                        plural(p->impostor));
        if (p->genuine < 30)
            say_warning("only %llu pair%s of one identity: use more images, for at least 30",
                        (unsigned long long)p->genuine, plural(p->genuine));
        return 1;
    }
    return 0;
}

static void describe(calibrating *k) {
    calibration *c = &k->c;
    c->makers = k->set.makers;
    c->method = k->o->calibrate.method;
    c->fmr = false_match_rate(k->o);
    c->prior = k->o->calibrate.prior;
    c->genuine = k->pairs.genuine;
    c->impostor = k->pairs.impostor;
    c->every_genuine = k->pairs.every_genuine;
    c->every_impostor = k->pairs.every_impostor;
    c->identities = k->pairs.identities;
}

static int compute(calibrating *k) {
    if (!enough_pairs(k) || !choose_weights(k)) return 0;
    for (int m = 0; m < k->set.makers.models && k->set.makers.models > 1; m++) {
        double alone[MAX_MODELS] = {0, 0};
        alone[m] = 1;
        if (!learn(k, &k->c.each[m], alone)) return 0;
    }
    if (!learn(k, &k->c.score, k->c.weights)) return 0;
    k->c.threshold = k->c.score.points.threshold;
    if (k->c.score.curve.slope <= 0) {
        say_error("pairs of one identity do not score higher than pairs of two: these scores cannot decide anything");
        return 0;
    }
    describe(k);
    return 1;
}

/* ---- reporting --------------------------------------------------------------------------------------------------- */
static void add_interval(text *t, interval i, double scale) {
    if (!isnan(i.low)) text_printf(t, "  (95 %% interval %.4f to %.4f)", scale * i.low, scale * i.high);
    text_putc(t, '\n');
}

static void add_facts(text *t, const score_facts *f, double fmr) {
    text_printf(t, "  one identity       %8.4f  (standard deviation %.4f)\n", f->genuine.mean, f->genuine.deviation);
    text_printf(t, "  two identities     %8.4f  (standard deviation %.4f)\n", f->impostor.mean, f->impostor.deviation);
    text_printf(t, "  histograms cross   %8.4f", f->points.crossing);
    add_interval(t, f->intervals.crossing, 1);
    text_printf(t, "  equal error rate   %8.2f %% at %.4f", 100 * f->points.eer, f->points.eer_threshold);
    add_interval(t, f->intervals.eer, 100);
    text_printf(t, "  threshold          %8.6f for a false-match rate of %g", f->points.threshold, fmr);
    add_interval(t, f->intervals.threshold, 1);
    text_printf(t, "  accepted there     %8.2f %% of pairs of one identity", 100 * f->points.tmr);
    add_interval(t, f->intervals.tmr, 100);
    text_printf(t, "  probability        1 / (1 + exp(-(%.6g score %+.6g))), or %zu isotonic knots\n\n", f->curve.slope,
                f->curve.intercept, f->steps.count);
}

/* Explains, with the figures of this model, why the threshold of another model means nothing here. */
static void add_reason(text *t, const calibrating *k) {
    const score_facts *f = &k->c.score;
    const double ten = 1 - pow(1 - f->points.fmr, 10), thousand = 1 - pow(1 - f->points.fmr, 1000);
    text_puts(t, "A threshold does not carry over from another model, because each scores strangers differently.\n");
    text_printf(t, "Here two individuals score %.3f on average, and %.2f would accept %.2f %% of such pairs and\n",
                f->impostor.mean, FOREIGN, 100 * k->foreign_fmr);
    text_printf(t, "%.2f %% of the pairs of one individual, where %.4f accepts %.3g %% and %.2f %%. These rates are\n",
                100 * k->foreign_tmr, f->points.threshold, 100 * f->points.fmr, 100 * f->points.tmr);
    text_printf(t, "per pair: a stranger who is compared with 10 images is accepted in about %.3g %% of cases, "
                   "with\n1000 in about %.3g %%.\n", 100 * ten, 100 * thousand);
}

static void add_table(text *t, const calibrating *k) {
    const calibration *c = &k->c;
    text_printf(t, "%llu pair%s of one identity, %llu of two, %zu %s: %s\n", (unsigned long long)c->genuine,
                plural(c->genuine), (unsigned long long)c->impostor, c->identities,
                c->identities == 1 ? "identity" : "identities", k->set.labels.layout);
    if (c->genuine < c->every_genuine || c->impostor < c->every_impostor)
        text_printf(t, "drawn from %llu and %llu\n", (unsigned long long)c->every_genuine,
                    (unsigned long long)c->every_impostor);
    if (k->pairs.by_camera) text_puts(t, "pairs of one identity from one camera are left out\n");
    text_putc(t, '\n');
    for (int m = 0; m < c->makers.models; m++) {
        text_printf(t, "%s, %s, %s", c->makers.model[m].fingerprint,
                    c->makers.model[m].network, c->makers.model[m].precision);
        text_printf(t, c->makers.models > 1 ? ", weight %.4f\n" : "\n", c->weights[m]);
        add_facts(t, c->makers.models > 1 ? &c->each[m] : &c->score, c->fmr);
    }
    if (c->makers.models > 1) text_puts(t, "both together\n");
    if (c->makers.models > 1) add_facts(t, &c->score, c->fmr);
    add_reason(t, k);
}

static const output_kind CALIBRATION_FILE = {.what = "a calibration", .start = "{",
                                            .holds = "\"format\": \"reid-calibration\""};

static void add_file(text *t, const calibrating *k) {
    calibration_json(&k->c, t);
    text_putc(t, '\n');
}

/* Writes -o, if it is given. */
static int save(const calibrating *k) {
    text file = TEXT_INIT, why = TEXT_INIT;
    add_file(&file, k);
    int good = !k->o->output.path || file_write(k->o->output.path, &CALIBRATION_FILE, &file, &why);
    if (!good) say_error("%s: %s", shown(k->o->output.path), why.s);
    text_free(&file);
    text_free(&why);
    return good;
}

static int tell(const calibrating *k) {
    text out = TEXT_INIT;
    if (k->unlabelled.len && !k->o->output.json) text_puts(&out, k->unlabelled.s);
    else (k->o->output.json ? add_file : add_table)(&out, k);
    return results_print(&out);
}

/* Writes -o, then stores the threshold in the gallery, where reid match uses it without --calibration. If the gallery
   has another model, no file is written; if the file cannot be written, the gallery keeps its threshold. */
static int save_both(const calibrating *k) {
    char why[STORE_WHY] = "";
    const char *path = k->o->match.gallery;
    templates *t = templates_change(path);
    if (!t) return 0;
    int good = makers_agree(templates_info(t), path, &k->c.makers, NULL, "the calibration") && save(k);
    if (good && (templates_set_threshold(t, k->c.threshold, why) != TEMPLATES_DONE ||
                 templates_commit(t, &(commit_rules){.all_or_nothing = 1}, why) != TEMPLATES_DONE)) {
        say_gallery_error(path, why);
        good = 0;
    }
    templates_close(t);
    return good;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */
static int collect(calibrating *k, int *status) {
    const options *o = k->o;
    const pair_rules rules = {o->eval.leave_out == LEAVE_OUT_PICTURE, o->compute.threads, (reid_isa)o->compute.isa};
    label_set given;
    pair_table table;
    labelled_request request;
    labelled_of(&request, o);
    request.r.ways = "--labels FILE.csv or --pairs FILE.csv";
    if (!o->calibrate.pairs)
        return eval_set_open(&k->set, &request.r, NULL, status) && pairs_of_set(&k->pairs, &k->set, &rules);
    int good = pair_table_read(&table, &given, o->calibrate.pairs, eval_set_folder(&request.r)) &&
               eval_set_open(&k->set, &request.r, &given, status) && pairs_of_table(&k->pairs, &k->set, &table);
    labels_free(&given);
    pair_table_free(&table);
    return good;
}

/* Writes and prints what was made. Returns the exit status. */
static int finish(const calibrating *k) {
    if (!(k->o->match.gallery ? save_both : save)(k) || !tell(k)) return 2;
    calibration_doubt(&k->c, "calibrate");
    return k->set.failed ? 1 : 0;
}

static int run_labelled(calibrating *k) {
    int status = 2;
    if (!collect(k, &status)) return status;
    if (k->set.failed)
        say_warning("%zu labelled image%s failed; the others were used", k->set.failed, plural(k->set.failed));
    return compute(k) ? finish(k) : 2;
}

/* Checks, before the work, that the file may be written. */
static int may_write(const options *o) {
    text why = TEXT_INIT;
    int good = !o->output.path || file_target(o->output.path, &CALIBRATION_FILE, &why);
    if (!good) say_error("%s: %s", shown(o->output.path), why.s);
    text_free(&why);
    return good;
}

/* For groups, a threshold from labels at a false-match rate of 0.001 splits individuals: over 39 sets, BCubed F is 0.15
   below the best, and 0.06 at 0.01 (tools/results/calibrate). */
static const double GROUPS_FMR = 0.01;

int calibrate_main(options *o) {
    calibrating k;
    text in_folder = TEXT_INIT;
    int status = 2, unlabelled;
    const int of_track = !o->calibrate.int8 && o->operand_count && gallery_file_is_folder(o->operands[0]);
    if (of_track && isnan(o->calibrate.fmr)) o->calibrate.fmr = GROUPS_FMR;
    if (of_track && !o->output.path) {
        text_printf(&in_folder, "%s/calibration.json", o->operands[0]); /* where reid cluster and review find it */
        if (!need_text(&in_folder)) return 2;
        o->output.path = in_folder.s;
    }
    if (o->calibrate.int8) return calibrate_int8(o);
    memset(&k, 0, sizeof k);
    k.o = o;
    if (o->calibrate.pairs && o->input.labels) say_error("calibrate: --pairs and --labels exclude each other");
    else if (may_write(o) && (unlabelled = calibrate_is_unlabelled(o)) >= 0) {
        if (!unlabelled) status = run_labelled(&k);
        else if (calibrate_unlabelled(o, &k.c, &k.unlabelled)) status = finish(&k);
    }
    text_free(&in_folder), text_free(&k.unlabelled);
    pairs_free(&k.pairs);
    calibration_free(&k.c);
    eval_set_free(&k.set);
    return status;
}
