#include "commands/counting.h"

#include "base/say.h"

#include <string.h>

enum { USUAL_SAMPLE = 50, USUAL_PAIRS = 20 };

int counting_options(const options *o, const char *who) {
    const char *other = o->cluster.add ? "--add" : o->cluster.explain ? "--explain" : o->input.labels ? "--labels"
                      : o->cluster.own_labels ? "--own-labels" : o->output.path ? "-o" : NULL;
    if (!o->count.asked && (o->count.sample || o->count.per_crop || o->count.seed >= 0))
        say_error("%s: --sample, --per-crop and --seed belong to --count: give --count, too", who);
    else if (o->count.asked && other) say_error("%s: --count makes no groups: remove %s", who, other);
    else return 1;
    return 0;
}

int counting_make(counting *c, const grouping *run) {
    const options *o = run->o;
    memset(c, 0, sizeof *c);
    if (run->crops.count < 2) {
        say_error("%s: --count needs more than one crop", run->who);
        return 0;
    }
    const reid_desc search = model_desc(o, &o->every, NULL);
    clusters_request blind = run->request;
    blind.search = &search;
    blind.doubt = blind.threshold;
    blind.decided = NULL, blind.state = NULL, blind.known = NULL;
    if (!clusters_make(&c->blind, &blind)) return 0;
    census_request *r = &c->request;
    r->crops = &run->crops, r->found = &c->blind, r->scale = run->request.scale;
    r->calibration = grouping_calibration(run);
    const bursts_request once = {.crops = &run->crops, .frames = run->frames, .tracks = run->tracks,
                                 .apart = run->request.apart, .apart_count = run->request.apart_count};
    if (!bursts_find(&c->bursts, &once)) return 0;
    r->frames = run->frames, r->tracks = c->bursts.tracks;
    r->apart = c->bursts.apart, r->apart_count = c->bursts.apart_count;
    r->state = o->cluster.decisions ? &run->state : NULL;
    r->seed = o->count.seed >= 0 ? o->count.seed : 0;
    r->sample = o->count.sample ? (size_t)o->count.sample : USUAL_SAMPLE;
    r->per_crop = o->count.per_crop ? (size_t)o->count.per_crop : USUAL_PAIRS;
    return census_make(&c->sample, r);
}

void counting_free(counting *c) {
    census_free(&c->sample);
    bursts_free(&c->bursts);
    clusters_free(&c->blind);
}
