#include "commands/grouping.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "gallery/makers.h"
#include "groups/cluster_labels.h"
#include "pictures/boxes.h"
#include "scores/decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double USUAL_DOUBT = 0.1; /* below the threshold, without a calibration */
static const double DOUBTFUL = 0.1;    /* least probability that makes a question worthwhile */
static const size_t MOST_BYTES = (size_t)1 << 32;

/* --- input -------------------------------------------------------------------------------------------------------- */

static void take_track(const csv *row, const int *column, void *user, text *why) {
    const grouping *run = user;
    size_t at = crops_find(&run->crops, csv_field(row, column[0]));
    long long track;
    if (!parse_int(csv_field(row, column[1]), 0, UINT32_MAX - 1, &track)) {
        text_puts(why, "the track is not a number: ");
        text_visible(why, csv_field(row, column[1]));
    } else if (at == SIZE_MAX) {
        text_visible(why, csv_field(row, column[0]));
        text_puts(why, " is not one of the crops");
    } else if (run->tracks[at] != UINT32_MAX) {
        text_visible(why, csv_field(row, column[0]));
        text_puts(why, " is listed twice");
    } else {
        run->tracks[at] = (uint32_t)track;
    }
}

static uint32_t *nobodies(size_t count) {
    uint32_t *all = need_array(count, sizeof *all);
    if (all) memset(all, 0xff, count * sizeof *all);
    return all;
}

static int read_tracks(grouping *run) {
    static const char *const columns[] = {"id", "track"};
    const csv_table table = {columns, 2, 2, "", take_track, run};
    const char *path = run->o->cluster.tracks;
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

static int read_decisions(grouping *run) {
    text why = TEXT_INIT;
    int good = decisions_open(&run->decided, run->o->cluster.decisions, 0, &why) &&
               decisions_state(&run->state, &run->decided.list, &why) == 1;
    if (!good) say_error("%s: %s", shown(run->o->cluster.decisions), why.s);
    text_free(&why);
    return good;
}

static int read_known(grouping *run) {
    run->known = nobodies(run->crops.count);
    for (size_t i = 0; i < run->earlier.count && run->known; i++) {
        size_t at = crops_find(&run->crops, run->earlier.at[i].id);
        if (at != SIZE_MAX) run->known[at] = run->earlier.at[i].group;
    }
    return run->known != NULL;
}

/* Reads --boxes and finds the box of each crop, which has the same id. */
static int read_boxes(grouping *run) {
    const options *o = run->o;
    const box_file from = {o->input.boxes, o->input.category, o->input.min_conf};
    size_t found = 0;
    if (!boxes_read(&run->boxes, &from, o->cluster.pictures)) return 0;
    run->box = need_zeroed(run->crops.count, sizeof *run->box);
    for (size_t i = 0; i < run->boxes.count && run->box; i++) {
        size_t at = crops_find(&run->crops, run->boxes.at[i].id);
        if (at == SIZE_MAX || run->boxes.at[i].failure) continue;
        run->box[at] = &run->boxes.at[i];
        found++;
    }
    if (run->box && !found) say_error("%s: none of its boxes has the id of a crop", shown(o->input.boxes));
    return found > 0;
}

/* --- scores ------------------------------------------------------------------------------------------------------- */

/* The lowest score with at least this probability; probabilities rise with scores. */
static double score_of(const calibration *c, double probability, double scale) {
    double low = -scale, high = scale;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (calibration_probability(c, middle) >= probability) high = middle;
        else low = middle;
    }
    return high;
}

static int choose_scores(grouping *run) {
    const options *o = run->o;
    clusters_request *r = &run->request;
    const store_meta *makers = &run->crops.makers;
    double weights[MAX_MODELS], learned = o->match.calibration ? run->calibration.threshold : makers->threshold;
    if (o->match.weight_count && o->match.weight_count != makers->models) {
        say_error("%s: --score-weights gives %d share%s for %d model%s", run->who, o->match.weight_count,
                  plural((size_t)o->match.weight_count), makers->models, plural((size_t)makers->models));
        return 0;
    }
    if (o->match.calibration) memcpy(weights, run->calibration.weights, sizeof weights);
    else decision_weights(weights, makers->models, o->match.weights, o->match.weight_count);
    r->scale = crops_weigh(&run->crops, weights);
    r->threshold = !isnan(o->match.threshold) ? o->match.threshold : learned;
    r->single = o->cluster.linkage != 0;
    if (isnan(r->threshold)) {
        say_error("%s: no threshold: give --threshold or --calibration (from reid calibrate)", run->who);
        return 0;
    }
    r->doubt =
        o->match.calibration ? score_of(&run->calibration, DOUBTFUL, r->scale) : r->threshold - USUAL_DOUBT * r->scale;
    if (!isnan(o->cluster.suggest)) r->doubt = o->cluster.suggest;
    if (r->doubt > r->threshold) r->doubt = r->threshold;
    return 1;
}

/* --- the whole run ------------------------------------------------------------------------------------------------ */

static int read_all(grouping *run, int files) {
    const options *o = run->o;
    if ((o->input.category || o->input.min_conf >= 0) && !o->input.boxes) {
        say_error("%s: --min-conf and --category need --boxes", run->who);
        return 0;
    }
    if (o->match.weight_count && o->match.calibration) {
        say_error("%s: --calibration already has the models' shares: remove --score-weights", run->who);
        return 0;
    }
    if (!crops_open(&run->crops, o->operands, files)) return 0;
    const store_meta *makers = &run->crops.makers;
    if (o->match.calibration && !calibration_read(&run->calibration, o->match.calibration)) return 0;
    if (o->match.calibration &&
        !makers_agree(&run->calibration.makers, o->match.calibration, makers, NULL, o->operands[0]))
        return 0;
    if (o->input.labels && !crops_label(&run->crops, o->input.labels)) return 0;
    if ((o->cluster.carry || o->cluster.add) &&
        !earlier_read(&run->earlier, o->cluster.carry ? o->cluster.carry : o->cluster.add))
        return 0;
    if (o->cluster.decisions && !read_decisions(run)) return 0;
    if (o->cluster.tracks && !read_tracks(run)) return 0;
    if (o->cluster.add && !read_known(run)) return 0;
    if (o->input.boxes && !read_boxes(run)) return 0;
    if (o->cluster.same_frame) run->frames = clusters_frames(&run->crops, run->box);
    return (run->frames || !o->cluster.same_frame) && choose_scores(run);
}

static int group_all(grouping *run) {
    const options *o = run->o;
    const reid_desc search = model_desc(o, &o->every, NULL);
    clusters_request *r = &run->request;
    r->crops = &run->crops, r->search = &search;
    r->frames = run->frames, r->tracks = run->tracks, r->known = run->known;
    if (o->cluster.decisions) r->decided = &run->decided.list, r->state = &run->state;
    if (!clusters_make(&run->found, r)) return 0;
    return !(o->cluster.carry || o->cluster.add) ||
           clusters_carry_on(&run->found, &run->crops, &run->earlier, r->decided);
}

int grouping_make(grouping *run, const options *o, int files, const char *who) {
    memset(run, 0, sizeof *run);
    run->o = o;
    run->who = who;
    run->decided.fd = -1;
    return read_all(run, files) && group_all(run);
}

void grouping_free(grouping *run) {
    clusters_free(&run->found);
    earlier_free(&run->earlier);
    decision_state_free(&run->state);
    if (run->decided.path) decisions_close(&run->decided);
    calibration_free(&run->calibration);
    crops_close(&run->crops);
    inputs_free(&run->boxes);
    free(run->box), free(run->frames), free(run->tracks), free(run->known);
}
