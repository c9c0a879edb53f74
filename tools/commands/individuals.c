#include "commands/individuals.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "commands/requests.h"
#include "gallery/makers.h"
#include "identity/decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double USUAL_DOUBT = 0.1; /* below the threshold, without a calibration */
static const double DOUBTFUL = 0.1;    /* probability from which on a question is worth while */
static const size_t MOST_BYTES = (size_t)1 << 32;

/* --- what is read ------------------------------------------------------------------------------------------------- */

static void take_track(const csv *row, const int *column, void *user, text *why) {
    const individuals *g = user;
    size_t at = crops_find(&g->crops, csv_field(row, column[0]));
    long long track;
    if (!parse_int(csv_field(row, column[1]), 0, UINT32_MAX - 1, &track)) {
        text_puts(why, "the track is no number: ");
        text_visible(why, csv_field(row, column[1]));
    } else if (at == SIZE_MAX) {
        text_visible(why, csv_field(row, column[0]));
        text_puts(why, " is none of the crops");
    } else if (g->tracks[at] != UINT32_MAX) {
        text_visible(why, csv_field(row, column[0]));
        text_puts(why, " is there twice");
    } else {
        g->tracks[at] = (uint32_t)track;
    }
}

static uint32_t *nobodies(size_t count) {
    uint32_t *all = need_array(count, sizeof *all);
    if (all) memset(all, 0xff, count * sizeof *all);
    return all;
}

static int read_tracks(individuals *g) {
    static const char *const columns[] = {"id", "track"};
    const csv_table table = {columns, 2, 2, "", take_track, g};
    const char *path = g->o->tracks;
    text file = TEXT_INIT, why = TEXT_INIT;
    g->tracks = nobodies(g->crops.count);
    int good = g->tracks != NULL;
    if (good && (!file_read(path, MOST_BYTES, 1, &file, &why) || !csv_read(&table, &file, &why))) {
        say_error("%s: %s", shown(path), why.s);
        good = 0;
    }
    text_free(&file), text_free(&why);
    return good;
}

static int read_decisions(individuals *g) {
    text why = TEXT_INIT;
    int good = decisions_open(&g->decided, g->o->decisions, 0, &why) &&
               decisions_state(&g->state, &g->decided.list, &why) == 1;
    if (!good) say_error("%s: %s", shown(g->o->decisions), why.s);
    text_free(&why);
    return good;
}

static int read_known(individuals *g) {
    g->known = nobodies(g->crops.count);
    for (size_t i = 0; i < g->earlier.count && g->known; i++) {
        size_t at = crops_find(&g->crops, g->earlier.at[i].id);
        if (at != SIZE_MAX) g->known[at] = g->earlier.at[i].group;
    }
    return g->known != NULL;
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

static int choose_scores(individuals *g) {
    const options *o = g->o;
    clusters_request *r = &g->request;
    const store_meta *makers = &g->crops.makers;
    double weights[MAX_MODELS], learned = o->calibration ? g->calibration.threshold : makers->threshold;
    if (o->weight_count && o->weight_count != makers->models) {
        say_error("cluster: --weights gives %d value(s) for %d model(s)", o->weight_count, makers->models);
        return 0;
    }
    if (o->calibration) memcpy(weights, g->calibration.weights, sizeof weights);
    else decision_weights(weights, makers->models, o->weights, o->weight_count);
    r->scale = crops_weigh(&g->crops, weights);
    r->threshold = !isnan(o->threshold) ? o->threshold : learned;
    if (isnan(r->threshold)) {
        say_error("cluster: which score is enough? Give --calibration (reid calibrate) or --threshold");
        return 0;
    }
    r->doubt = o->calibration ? score_of(&g->calibration, DOUBTFUL, r->scale) : r->threshold - USUAL_DOUBT * r->scale;
    if (!isnan(o->suggest)) r->doubt = o->suggest;
    if (r->doubt > r->threshold) r->doubt = r->threshold;
    return 1;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int read_all(individuals *g, int count) {
    const options *o = g->o;
    if (!crops_open(&g->crops, o->operands, count)) return 0;
    const store_meta *makers = &g->crops.makers;
    if (o->calibration && !calibration_read(&g->calibration, o->calibration)) return 0;
    if (o->calibration && !makers_agree(&g->calibration.makers, o->calibration, makers, NULL, o->operands[0]))
        return 0;
    if (o->labels && !crops_label(&g->crops, o->labels)) return 0;
    if ((o->carry || o->add) && !earlier_read(&g->earlier, o->carry ? o->carry : o->add)) return 0;
    if (o->decisions && !read_decisions(g)) return 0;
    if (o->tracks && !read_tracks(g)) return 0;
    if (o->add && !read_known(g)) return 0;
    if (o->same_frame) g->frames = clusters_frames(&g->crops);
    return (g->frames || !o->same_frame) && choose_scores(g);
}

static int group_all(individuals *g) {
    const options *o = g->o;
    const reid_desc search = model_desc(o, &o->every, NULL);
    clusters_request *r = &g->request;
    r->crops = &g->crops, r->search = &search;
    r->frames = g->frames, r->tracks = g->tracks, r->known = g->known;
    if (o->decisions) r->decided = &g->decided.list, r->state = &g->state;
    if (!clusters_make(&g->found, r)) return 0;
    return !(o->carry || o->add) || clusters_carry_on(&g->found, &g->crops, &g->earlier);
}

int individuals_open(individuals *g, const options *o, int count) {
    memset(g, 0, sizeof *g);
    g->o = o;
    g->decided.fd = -1;
    return read_all(g, count) && group_all(g);
}

void individuals_close(individuals *g) {
    clusters_free(&g->found);
    earlier_free(&g->earlier);
    decision_state_free(&g->state);
    if (g->o->decisions) decisions_close(&g->decided);
    calibration_free(&g->calibration);
    crops_close(&g->crops);
    free(g->frames), free(g->tracks), free(g->known);
}
