/* reid cluster: which crops show the same individual, when nobody has said who they are? */
#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/requests.h"
#include "gallery/makers.h"
#include "identity/cluster_labels.h"
#include "identity/decision.h"
#include "identity/decisions.h"
#include "identity/earlier.h"
#include "report/cluster_report.h"
#include "report/eval_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double USUAL_DOUBT = 0.1; /* below the threshold, without a calibration */
static const double DOUBTFUL = 0.1;    /* probability from which on a question is worth while */
static const size_t MOST_BYTES = (size_t)1 << 32;

typedef struct clustering_run {
    const options *o;
    crops crops;
    calibration calibration;
    decisions decided;
    decision_state state;
    earlier earlier;
    uint32_t *frames, *tracks, *known;
    clusters_request request;
    clusters found;
} clustering_run;

static int has_ending(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

static int check_options(const options *o) {
    if (o->operand_count < (o->explain ? 3 : 1))
        say_error("cluster: no %s; see \"reid help cluster\"", o->explain ? "INPUT and two ids" : "INPUT");
    else if (o->weight_count && o->calibration)
        say_error("cluster: --weights would change the scores that --calibration is about");
    else if (o->carry && o->add)
        say_error("cluster: --carry groups everything anew, --add moves nothing: give one of them");
    else if (o->explain && o->output) say_error("cluster: --explain writes no file: -o does not go with it");
    else if (o->labels && o->own_labels) say_error("cluster: --labels and --own-labels: give one of them");
    else if ((o->labels || o->own_labels) && !o->output)
        say_error("cluster: how well groups agree with labels is told when the groups go to a file: give -o");
    else if (o->output && !has_ending(o->output, ".csv") && !has_ending(o->output, ".json"))
        say_error("%s: groups are written as .csv or .json", shown(o->output));
    else return 1;
    return 0;
}

/* --- what is read ------------------------------------------------------------------------------------------------- */

static void take_track(const csv *row, const int *column, void *user, text *why) {
    const clustering_run *run = user;
    size_t at = crops_find(&run->crops, csv_field(row, column[0]));
    long long track;
    if (!parse_int(csv_field(row, column[1]), 0, UINT32_MAX - 1, &track)) {
        text_puts(why, "the track is no number: ");
        text_visible(why, csv_field(row, column[1]));
    } else if (at == SIZE_MAX) {
        text_visible(why, csv_field(row, column[0]));
        text_puts(why, " is none of the crops");
    } else if (run->tracks[at] != UINT32_MAX) {
        text_visible(why, csv_field(row, column[0]));
        text_puts(why, " is there twice");
    } else {
        run->tracks[at] = (uint32_t)track;
    }
}

static uint32_t *nobodies(size_t count) {
    uint32_t *all = need_array(count, sizeof *all);
    if (all) memset(all, 0xff, count * sizeof *all);
    return all;
}

static int read_tracks(clustering_run *run) {
    static const char *const columns[] = {"id", "track"};
    const csv_table table = {columns, 2, 2, "", take_track, run};
    const char *path = run->o->tracks;
    text file = TEXT_INIT, why = TEXT_INIT;
    run->tracks = nobodies(run->crops.count);
    int good = run->tracks != NULL;
    if (good && (!file_read(path, MOST_BYTES, 1, &file, &why) || !csv_read(&table, &file, &why))) {
        say_error("%s: %s", shown(path), why.s);
        good = 0;
    }
    text_free(&file), text_free(&why);
    return good;
}

static int read_decisions(clustering_run *run) {
    text why = TEXT_INIT;
    int good = decisions_open(&run->decided, run->o->decisions, 0, &why) &&
               decisions_state(&run->state, &run->decided.list, &why) == 1;
    if (!good) say_error("%s: %s", shown(run->o->decisions), why.s);
    text_free(&why);
    return good;
}

static int read_known(clustering_run *run) {
    run->known = nobodies(run->crops.count);
    for (size_t i = 0; i < run->earlier.count && run->known; i++) {
        size_t at = crops_find(&run->crops, run->earlier.at[i].id);
        if (at != SIZE_MAX) run->known[at] = run->earlier.at[i].group;
    }
    return run->known != NULL;
}

/* --- scores ------------------------------------------------------------------------------------------------------- */

/* The lowest score that is as probable as that; probabilities rise with scores. */
static double score_of(const calibration *c, double probability, double scale) {
    double low = -scale, high = scale;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (calibration_probability(c, middle) >= probability) high = middle;
        else low = middle;
    }
    return high;
}

static int choose_scores(clustering_run *run) {
    const options *o = run->o;
    clusters_request *r = &run->request;
    const store_meta *makers = &run->crops.makers;
    double weights[MAX_MODELS], learned = o->calibration ? run->calibration.threshold : makers->threshold;
    if (o->weight_count && o->weight_count != makers->models) {
        say_error("cluster: --weights gives %d value(s) for %d model(s)", o->weight_count, makers->models);
        return 0;
    }
    if (o->calibration) memcpy(weights, run->calibration.weights, sizeof weights);
    else decision_weights(weights, makers->models, o->weights, o->weight_count);
    r->scale = crops_weigh(&run->crops, weights);
    r->threshold = !isnan(o->threshold) ? o->threshold : learned;
    if (isnan(r->threshold)) {
        say_error("cluster: which score is enough? Give --calibration (reid calibrate) or --threshold");
        return 0;
    }
    r->doubt = o->calibration ? score_of(&run->calibration, DOUBTFUL, r->scale) : r->threshold - USUAL_DOUBT * r->scale;
    if (!isnan(o->suggest)) r->doubt = o->suggest;
    if (r->doubt > r->threshold) r->doubt = r->threshold;
    return 1;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static int agreement_lines(const clustering_run *run, text *t) {
    agreement a;
    if (!clusters_agree(&run->found, &run->crops, &a)) return 0;
    text_printf(t, "%zu crops of %zu identities that are known, in %zu groups\n", a.rows, a.identities, a.groups);
    text_printf(t, "BCubed  precision %.4f  recall %.4f  F %.4f\n", a.bcubed_precision, a.bcubed_recall, a.bcubed_f);
    text_printf(t, "pairs   precision %.4f  recall %.4f  F %.4f\n", a.pair_precision, a.pair_recall, a.pair_f);
    text_printf(t, "ARI %.4f  AMI %.4f\n", a.ari, a.ami);
    return 1;
}

static void group_lines(const clustering_run *run, text *t) {
    const clusters *c = &run->found;
    size_t alone = 0, none = 0;
    for (size_t i = 0; i < c->rows; i++) {
        none += c->group[i] == CLUSTERS_NONE;
        alone += c->group[i] != CLUSTERS_NONE && isnan(c->score[i]);
    }
    text_printf(t, "%zu crops in %zu groups at %.6g, %zu of them alone; %zu joins from %.6g on are worth a question\n",
                c->rows - none, c->groups, c->threshold, alone, c->doubts, run->request.doubt);
    if (none) text_printf(t, "%zu were decided to be no crops\n", none);
}

static int write_out(const text *t) {
    int good = need_text(t) && results_begin(0) && results_write(t);
    return results_end(good) && good;
}

/* On stdout, where the groups themselves are not. */
static int tell_summary(const clustering_run *run) {
    const options *o = run->o;
    text out = TEXT_INIT;
    int good = 1;
    if (!o->quiet) group_lines(run, &out);
    if (o->labels || o->own_labels) good = agreement_lines(run, &out);
    if (good && out.len) good = write_out(&out);
    text_free(&out);
    return good;
}

static int write_groups(const clustering_run *run) {
    const options *o = run->o;
    text out = TEXT_INIT, why = TEXT_INIT;
    int good, as_json = o->output ? has_ending(o->output, ".json") : o->json;
    if (as_json) clusters_json(&run->found, &run->crops.makers, &out);
    else clusters_csv(&run->found, run->known, &out);
    if (!o->output) {
        good = write_out(&out);
    } else {
        good = need_text(&out);
        if (good && !file_write(o->output, &out, &why)) {
            say_error("%s: %s", shown(o->output), why.s);
            good = 0;
        }
        good = good && tell_summary(run);
    }
    text_free(&out), text_free(&why);
    return good;
}

static int explain(const clustering_run *run) {
    const options *o = run->o;
    size_t at[2];
    text out = TEXT_INIT;
    for (int i = 0; i < 2; i++) {
        const char *id = o->operands[o->operand_count - 2 + i];
        at[i] = crops_find(&run->crops, id);
        if (at[i] != SIZE_MAX) continue;
        say_error("%s is none of the crops", shown(id));
        return 0;
    }
    int good = clusters_explain(&run->found, (uint32_t)at[0], (uint32_t)at[1],
                                o->calibration ? &run->calibration : NULL, &out) && write_out(&out);
    text_free(&out);
    return good;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int read_all(clustering_run *run) {
    const options *o = run->o;
    if (!crops_open(&run->crops, o->operands, o->operand_count - (o->explain ? 2 : 0))) return 0;
    const store_meta *makers = &run->crops.makers;
    if (o->calibration && !calibration_read(&run->calibration, o->calibration)) return 0;
    if (o->calibration && !makers_agree(&run->calibration.makers, o->calibration, makers, NULL, o->operands[0]))
        return 0;
    if (o->labels && !crops_label(&run->crops, o->labels)) return 0;
    if ((o->carry || o->add) && !earlier_read(&run->earlier, o->carry ? o->carry : o->add)) return 0;
    if (o->decisions && !read_decisions(run)) return 0;
    if (o->tracks && !read_tracks(run)) return 0;
    if (o->add && !read_known(run)) return 0;
    if (o->same_frame) run->frames = clusters_frames(&run->crops);
    return (run->frames || !o->same_frame) && choose_scores(run);
}

static int group_all(clustering_run *run) {
    const options *o = run->o;
    const reid_desc search = model_desc(o, &o->every, NULL);
    clusters_request *r = &run->request;
    r->crops = &run->crops, r->search = &search;
    r->frames = run->frames, r->tracks = run->tracks, r->known = run->known;
    if (o->decisions) r->decided = &run->decided.list, r->state = &run->state;
    if (!clusters_make(&run->found, r)) return 0;
    return !(o->carry || o->add) || clusters_carry_on(&run->found, &run->crops, &run->earlier);
}

int cluster_main(options *o) {
    clustering_run run;
    int status = 2;
    if (!check_options(o)) return 2;
    memset(&run, 0, sizeof run);
    run.o = o;
    run.decided.fd = -1;
    if (read_all(&run) && group_all(&run) && (o->explain ? explain(&run) : write_groups(&run))) status = 0;
    clusters_free(&run.found);
    earlier_free(&run.earlier);
    decision_state_free(&run.state);
    if (o->decisions) decisions_close(&run.decided);
    calibration_free(&run.calibration);
    crops_close(&run.crops);
    free(run.frames), free(run.tracks), free(run.known);
    return status;
}
