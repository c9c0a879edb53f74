#include "commands/grouping.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "gallery/gallery_file.h"
#include "gallery/makers.h"
#include "groups/cluster_labels.h"
#include "pictures/box_text.h"
#include "pictures/boxes.h"
#include "scores/decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static uint32_t *unset_tracks(size_t count) {
    uint32_t *all = need_array(count, sizeof *all);
    if (all) memset(all, 0xff, count * sizeof *all);
    return all;
}

static int read_tracks(grouping *run) {
    static const char *const columns[] = {"id", "track"};
    const csv_table table = {columns, 2, 2, "", take_track, run};
    const char *path = run->o->cluster.tracks;
    text file = TEXT_INIT, why = TEXT_INIT;
    run->tracks = unset_tracks(run->crops.count);
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
    run->known = unset_tracks(run->crops.count);
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

/* Takes the boxes of crops from the files of embeddings. run->box stays NULL if they have none. */
static int recall_boxes(grouping *run) {
    const crops *c = &run->crops;
    size_t known = 0;
    run->box = need_zeroed(c->count + 1, sizeof *run->box);
    if (!run->box) return 0;
    for (size_t i = 0; i < c->count; i++) {
        const char *source = c->facts[i].source;
        box_unit unit;
        double box[4];
        size_t length = source ? box_text_split(source, &unit, box) : 0;
        if (!length || unit == BOX_NONE) continue;
        char *path = need_copy(source, length);
        input *in = path ? inputs_add(&run->boxes, path, 0, c->ids[i]) : NULL;
        free(path);
        if (!in) return 0;
        in->unit = unit, memcpy(in->box, box, sizeof box);
    }
    for (size_t i = 0; i < c->count; i++)
        if (known < run->boxes.count && strcmp(run->boxes.at[known].id, c->ids[i]) == 0)
            run->box[i] = &run->boxes.at[known++];
    if (!known) free(run->box), run->box = NULL;
    return 1;
}

/* Takes the tracks of crops, and which tracks share a frame, from the files of embeddings. */
static int recall_tracks(grouping *run) {
    const crops *c = &run->crops;
    if (!c->track_count) return 1;
    run->tracks = need_array(c->count + 1, sizeof *run->tracks);
    for (size_t i = 0; i < c->count && run->tracks; i++) run->tracks[i] = c->facts[i].track;
    run->request.apart = c->apart_count ? c->apart[0] : NULL, run->request.apart_count = c->apart_count;
    return run->tracks != NULL;
}

/* --- a folder of reid track --------------------------------------------------------------------------------------- */

int folder_complete(options *o, folder_names *names, int writes) {
    const char *folder = o->operand_count ? o->operands[0] : NULL;
    memset(names, 0, sizeof *names);
    if (!folder || !gallery_file_is_folder(folder)) return 1;
    if (!o->match.calibration && isnan(o->match.threshold) &&
        file_in_folder(&names->calibration, folder, "calibration.json"))
        o->match.calibration = names->calibration.s;
    if (!o->cluster.decisions && (file_in_folder(&names->decisions, folder, "decisions.jsonl") || writes))
        o->cluster.decisions = names->decisions.s;
    return need_text(&names->calibration) && need_text(&names->decisions);
}

void folder_names_free(folder_names *names) { text_free(&names->calibration), text_free(&names->decisions); }

const char *grouping_folder(const options *o) {
    int ours = !o->cluster.pictures && o->operand_count && gallery_file_is_folder(o->operands[0]);
    return ours ? o->operands[0] : o->cluster.pictures;
}

int grouping_pictures(const grouping *run, inputs *list) {
    const char *folder = grouping_folder(run->o);
    text path = TEXT_INIT;
    int good = 1;
    for (size_t i = 0; i < run->crops.count && run->box && good; i++) {
        struct stat st;
        const input *from = run->box[i];
        text_clear(&path);
        text_printf(&path, "%s/%s", folder ? folder : ".", run->crops.ids[i]);
        good = need_text(&path);
        if (!from || (good && !run->o->input.boxes && stat(path.s, &st) == 0)) continue;
        input *to = good ? inputs_add(list, from->path, 0, from->id) : NULL;
        if (to) to->unit = from->unit, memcpy(to->box, from->box, sizeof to->box);
        good = to != NULL;
    }
    text_free(&path);
    return good;
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

static int choose_weights(grouping *run) {
    const options *o = run->o;
    const store_meta *makers = &run->crops.makers;
    if (o->match.weight_count && o->match.weight_count != makers->models) {
        say_error("%s: --score-weights gives %d share%s for %d model%s", run->who, o->match.weight_count,
                  plural((size_t)o->match.weight_count), makers->models, plural((size_t)makers->models));
        return 0;
    }
    if (o->match.calibration) memcpy(run->weights, run->calibration.weights, sizeof run->weights);
    else if (!o->match.weight_count && run->crops.weight_count)
        memcpy(run->weights, run->crops.weights, sizeof run->weights);
    else decision_weights(run->weights, makers->models, o->match.weights, o->match.weight_count);
    run->request.scale = crops_weigh(&run->crops, run->weights);
    return 1;
}

int grouping_learn(grouping *run, unlabelled *u) {
    enum { USUAL_DRAWS = 200 };
    const double usual = 0.01;
    const options *o = run->o;
    uint32_t *frames = run->frames;
    if (!frames && run->box && !(frames = clusters_frames(&run->crops, run->box))) return 0;
    const unlabelled_request r = {.crops = &run->crops,
                                  .scale = run->request.scale,
                                  .tracks = run->tracks,
                                  .frames = frames,
                                  .apart = run->request.apart,
                                  .apart_count = run->request.apart_count,
                                  .state = o->cluster.decisions ? &run->state : NULL,
                                  .same_time = o->calibrate.same_time,
                                  .fmr = isnan(o->calibrate.fmr) ? usual : o->calibrate.fmr,
                                  .prior = o->calibrate.prior,
                                  .method = o->calibrate.method,
                                  .draws = o->eval.draws ? o->eval.draws : USUAL_DRAWS};
    int good = unlabelled_make(u, &r);
    if (good && u->verdict == UNLABELLED_GOOD)
        good = run->made = unlabelled_calibration(u, &r, run->weights, &run->calibration);
    if (frames != run->frames) free(frames);
    return good;
}

const calibration *grouping_calibration(const grouping *run) {
    return run->o->match.calibration || run->made ? &run->calibration : NULL;
}

/* Finds a threshold where none is known: without labels, or by a guess. A guess below the score that hardly any pair of
   all reaches would join individuals that have nothing in common but the network. */
static int find_threshold(grouping *run) {
    clusters_request *r = &run->request;
    text why = TEXT_INIT;
    unlabelled u;
    if (!grouping_learn(run, &u)) return 0;
    r->threshold = decision_cut(run->crops.makers.models) * r->scale;
    if (run->made) {
        r->threshold = run->calibration.threshold;
        say_warning(
            "no threshold is known for these models, so one was estimated without labels from %zu sightings: %.6g, 95 "
            "%% interval %.4g to %.4g. To improve it, answer the questions of reid review, then run reid calibrate",
            u.sightings, r->threshold, u.fit.interval.low, u.fit.interval.high);
        return 1;
    }
    if (u.fit.parts && u.fit.threshold > r->threshold) r->threshold = u.fit.threshold;
    run->guessed = 1;
    unlabelled_reason(&u, &why);
    if (need_text(&why))
        say_warning(
            "no threshold is known for these models, and none can be estimated without labels: %s. So groups are cut "
            "at a score of %.6g, which is a guess: too low a cut joins individuals, too high a cut splits them. Answer "
            "the questions of reid review, or give --threshold or --calibration (from reid calibrate)",
            why.s, r->threshold);
    int good = !text_failed(&why);
    text_free(&why);
    return good;
}

static int choose_scores(grouping *run) {
    const options *o = run->o;
    clusters_request *r = &run->request;
    r->single = o->cluster.linkage != 0;
    r->threshold = !isnan(o->match.threshold) ? o->match.threshold
                   : o->match.calibration     ? run->calibration.threshold
                                              : run->crops.makers.threshold;
    if (isnan(r->threshold) && !find_threshold(run)) return 0;
    const calibration *c = grouping_calibration(run);
    r->doubt = c ? score_of(c, DOUBTFUL, r->scale) : r->threshold - USUAL_DOUBT * r->scale;
    if (!isnan(o->cluster.suggest)) r->doubt = o->cluster.suggest;
    if (r->doubt > r->threshold) r->doubt = r->threshold;
    return 1;
}

/* Checks for --own-labels that at least one crop has an identity. Returns 0 after reporting that none has. */
static int has_identities(const grouping *run, int files) {
    for (size_t i = 0; i < run->crops.count; i++)
        if (run->crops.identities[i]) return 1;
    say_error("%s: %s no identities to compare groups with%s; give --labels FILE.csv", run->who,
              files > 1 ? "these files have" : "this file has", makers_nameless(&run->crops.makers));
    return 0;
}

/* --- the whole run ------------------------------------------------------------------------------------------------ */

static int read_all(grouping *run, char *const *paths, int files) {
    const options *o = run->o;
    if ((o->input.category || o->input.min_conf >= 0) && !o->input.boxes && !o->track.detections) {
        say_error("%s: --min-conf and --category need --boxes", run->who);
        return 0;
    }
    if (o->match.weight_count && o->match.calibration) {
        say_error("%s: --calibration already has the models' shares: remove --score-weights", run->who);
        return 0;
    }
    if (!crops_open(&run->crops, paths, files)) return 0;
    const store_meta *makers = &run->crops.makers;
    if (o->match.calibration && !calibration_read(&run->calibration, o->match.calibration)) return 0;
    if (o->match.calibration &&
        !makers_agree(&run->calibration.makers, o->match.calibration, makers, NULL, paths[0]))
        return 0;
    if (o->cluster.own_labels && !has_identities(run, files)) return 0;
    if (o->input.labels && !crops_label(&run->crops, o->input.labels)) return 0;
    if ((o->cluster.carry || o->cluster.add) &&
        !earlier_read(&run->earlier, o->cluster.carry ? o->cluster.carry : o->cluster.add))
        return 0;
    if (o->cluster.decisions && !read_decisions(run)) return 0;
    if (!o->cluster.linkage && !(o->cluster.tracks ? read_tracks : recall_tracks)(run)) return 0;
    if (o->cluster.add && !read_known(run)) return 0;
    if (!(o->input.boxes ? read_boxes : recall_boxes)(run)) return 0;
    int same_frame = o->cluster.same_frame || (run->box && !o->cluster.linkage && gallery_file_is_folder(paths[0]));
    if (same_frame) run->frames = clusters_frames(&run->crops, run->box);
    return (run->frames || !same_frame) && choose_weights(run);
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

int grouping_open(grouping *run, const options *o, char *const *paths, int files, const char *who) {
    memset(run, 0, sizeof *run);
    run->o = o;
    run->who = who;
    run->decided.fd = -1;
    return read_all(run, paths, files);
}

int grouping_make(grouping *run, const options *o, char *const *paths, int files, const char *who) {
    return grouping_open(run, o, paths, files, who) && choose_scores(run) && group_all(run);
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
