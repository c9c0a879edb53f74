#include "tracks/film_stats.h"

#include "embedding/stages.h"

#include <stdio.h>

enum { READ, CHOOSE, CROP, COMPUTE, GROUP, WRITE, STAGES };

static const char *advice(int bottleneck, const film_setting *in) {
    switch (bottleneck) {
    case READ:
        return in->photos ? "more --decoders; faster storage"
                          : "smaller videos, or several runs side by side: each video is decoded by one ffmpeg";
    case CHOOSE: return "fewer boxes: a higher threshold in the detector";
    case CROP: return "smaller videos; a smaller --best";
    case COMPUTE:
        if (in->on_gpu) return "a larger --batch; a smaller --best";
        return in->threads < in->cpus ? "more --threads" : "a GPU; a smaller --best";
    case GROUP: return "more --threads; a smaller --best";
    default: return "faster storage; a smaller --best";
    }
}

/* One thread does all the work, so the busiest stage is the bottleneck. */
static stages stages_of(const crop_work *w, const film_setting *in, stage at[STAGES]) {
    const double rows = (double)w->rows, seconds[STAGES] = {w->read, w->choose, w->crop, w->compute, in->group,
                                                            w->write};
    at[READ] = (stage){.name = "read", .unit = "frames", .items = (double)w->frames};
    at[CHOOSE] = (stage){.name = "choose", .unit = "boxes", .items = (double)w->boxes};
    at[CROP] = (stage){.name = "crop", .unit = "crops", .items = (double)w->crops};
    at[COMPUTE] = (stage){.name = "compute", .unit = "rows", .items = rows};
    at[GROUP] = (stage){.name = "group", .unit = "tracks", .items = (double)in->tracks};
    at[WRITE] = (stage){.name = "write", .unit = "rows", .items = rows};
    stages all = {.at = at, .count = STAGES, .seconds = in->seconds};
    for (int i = 0; i < STAGES; i++) {
        at[i].busy = stages_ratio(seconds[i], in->seconds);
        at[i].queue = -1;
        if (seconds[i] > seconds[all.bottleneck]) all.bottleneck = i;
    }
    all.advice = advice(all.bottleneck, in);
    return all;
}

void film_stats_table(const crop_work *w, const film_setting *in, text *out) {
    stage at[STAGES];
    const stages all = stages_of(w, in, at);
    char below[160];
    snprintf(below, sizeof below, "%.2f s, threads: %d to compute; %.1f rows per batch\n", in->seconds, in->threads,
             stages_ratio((double)w->rows, (double)w->batches));
    stages_table(&all, below, out);
}

void film_stats_json(const crop_work *w, const film_setting *in, text *out) {
    stage at[STAGES];
    const stages all = stages_of(w, in, at);
    json_writer json = json_write(out);
    json_put_object(&json, NULL);
    json_put_fixed(&json, "seconds", in->seconds, 6);
    json_put_int(&json, "threads", in->threads);
    json_put_fixed(&json, "rows_in_a_batch", stages_ratio((double)w->rows, (double)w->batches), 3);
    stages_json(&all, &json);
    json_put_finish(&json);
}
