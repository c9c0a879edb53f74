/* reid track: videos with a detector's boxes to tracks, their best frames, embeddings and individuals. */
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/requests.h"
#include "commands/tracking.h"
#include "gallery/makers.h"
#include "identity/decision.h"
#include "pictures/cuts.h"
#include "report/film_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what is asked for -------------------------------------------------------------------------------------------- */

static int check_options(const options *o) {
    if (!o->operand_count) say_error("track: no VIDEO; see \"reid help track\"");
    else if (!o->detections) say_error("track: no boxes: give --detections FILE, from a detector");
    else if (!o->output) say_error("track: give -o DIR, a folder that is made");
    else if (isnan(o->threshold) && !o->calibration)
        say_error("track: which score is enough? Give --calibration (reid calibrate) or --threshold");
    else if (o->weight_count && o->calibration)
        say_error("track: --weights would change the scores that --calibration is about");
    else if (o->weight_count && o->weight_count != o->models)
        say_error("track: --weights gives %d value(s) for %d model(s)", o->weight_count, o->models);
    else return 1;
    return 0;
}

/* The name of a file without folder and ending, which files in the output are called by. */
static char *name_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return need_copy(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

/* What the output is called by must tell the videos apart, and leave its own files alone. */
static int check_names(const tracking *run) {
    for (size_t i = 0; i < run->count; i++) {
        const char *name = run->requests[i].name;
        if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            say_error("%s: is no name for a folder of crops", shown(run->o->operands[i]));
            return 0;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(name, run->requests[k].name) != 0) continue;
            say_error("%s and %s: both would be called %s in the output; track them one after the other",
                      shown(run->o->operands[k]), shown(run->o->operands[i]), shown(name));
            return 0;
        }
    }
    return 1;
}

static int read_cuts(tracking *run) {
    const char *cuts = run->o->cuts;
    text why = TEXT_INIT;
    run->looks_for_cuts = !cuts || strcmp(cuts, "auto") == 0;
    if (run->looks_for_cuts || strcmp(cuts, "none") == 0) return 1;
    if (run->count > 1) {
        say_error("track: --cuts FILE is about one video, not %zu", run->count);
        return 0;
    }
    int first = run->o->first_frame > 0;
    return cuts_read(cuts, first, &run->cuts, &run->cut_count, &why) || tracking_say(cuts, &why);
}

static int plan(tracking *run) {
    enum { USUAL_BEST = 3 };
    const double usual_apart = 0.5, usual_cut = 10;
    const options *o = run->o;
    run->count = (size_t)o->operand_count;
    run->requests = need_zeroed(run->count, sizeof *run->requests);
    run->films = run->requests ? need_zeroed(run->count, sizeof *run->films) : NULL;
    if (!run->films || !read_cuts(run)) return 0;
    for (size_t i = 0; i < run->count; i++) {
        film_request *r = &run->requests[i];
        r->video = (video_request){.path = o->operands[i], .program = o->ffmpeg, .stream = o->stream,
                                   .max_pixels = o->max_pixels, .timeout = o->timeout,
                                   .cut = run->looks_for_cuts ? usual_cut : 0};
        r->cuts = run->cuts, r->cut_count = run->cut_count;
        r->best = o->best ? o->best : USUAL_BEST;
        r->apart = isnan(o->apart) ? usual_apart : o->apart;
        r->name = name_of(o->operands[i]);
        if (!r->name) return 0;
    }
    return check_names(run);
}

static int read_detections(tracking *run) {
    const options *o = run->o;
    for (size_t i = 0; i < run->count; i++) {
        const detections_request r = {.path = o->detections, .video = o->operands[i], .only = run->count == 1,
                                      .first = o->first_frame, .min_conf = o->min_conf, .category = o->category};
        detections *d = &run->films[i].found;
        text why = TEXT_INIT;
        if (!detections_read(d, &r, &why)) return tracking_say(o->detections, &why);
        if (d->empty) say_warning("%s: %zu boxes without area are left out", shown(o->detections), d->empty);
        if (d->samples > d->categories.count && d->count && d->count <= d->categories.count)
            say_warning("%s: %zu boxes in %zu frames: one for each category? Tracks need all of them",
                        shown(o->detections), d->count, d->samples);
    }
    return 1;
}

static int prepare_models(tracking *run) {
    const options *o = run->o;
    store_meta ours;
    if (o->calibration && !calibration_read(&run->calibration, o->calibration)) return 0;
    if (!open_models(&run->all, o)) return 0;
    makers_of_models(&run->all, &ours);
    if (o->calibration && !makers_agree(&run->calibration.makers, o->calibration, &ours, &run->all, NULL)) return 0;
    run->threshold = !isnan(o->threshold) ? o->threshold : run->calibration.threshold;
    if (o->calibration) memcpy(run->weights, run->calibration.weights, sizeof run->weights);
    else decision_weights(run->weights, run->all.count, o->weights, o->weight_count);
    run->rows.all = &run->all;
    return 1;
}

/* --- the work ----------------------------------------------------------------------------------------------------- */

static int group(tracking *run) {
    const options *o = run->o;
    reid_desc search = model_desc(o, &o->every, NULL);
    const film_groups_request r = {.films = run->films, .count = run->count, .rows = &run->rows,
                                   .weights = run->weights, .threshold = run->threshold, .search = &search};
    return film_groups_make(&r, &run->groups) && film_groups_name(run->films, run->count, &run->rows);
}

/* The file that is called `usual` for one video, and like the video, with this ending, for several. */
static int write_one(tracking *run, size_t i, const char *usual, const char *ending, const text *content, text *why) {
    text name = TEXT_INIT;
    if (run->count == 1) text_puts(&name, usual);
    else text_printf(&name, "%s%s", run->requests[i].name, ending);
    int good = text_failed(&name) ? text_no_memory(why) : folder_write(&run->folder, name.s, content, why);
    text_free(&name);
    return good;
}

static int write_all(tracking *run) {
    const options *o = run->o;
    const film_report r = {run->films, run->count, run->groups, &run->rows, o->detections, run->threshold};
    text content = TEXT_INIT, why = TEXT_INIT;
    if (!crop_rows_write(&run->rows, o->flip, o->raw, o->max_pixels)) return 0;
    films_json(&r, &content);
    int good = folder_write(&run->folder, "tracks.json", &content, &why);
    for (size_t i = 0; i < run->count && good; i++) {
        text_clear(&content), film_mot(&run->films[i], &content);
        good = write_one(run, i, "tracks.txt", ".tracks.txt", &content, &why);
        text_clear(&content), film_page(&r, &run->films[i], &content);
        good = good && write_one(run, i, "tracks.html", ".html", &content, &why);
    }
    good = good && folder_finish(&run->folder, &why);
    text_free(&content);
    return good || tracking_say(o->output, &why);
}

static int tell_summary(const tracking *run) {
    text out = TEXT_INIT;
    for (size_t i = 0; i < run->count; i++) {
        const film *f = &run->films[i];
        text_visible(&out, run->o->operands[i]);
        text_printf(&out, ": %zu frames, %zu boxes, %zu scenes, %zu tracks\n", f->frames, f->found.count,
                    f->scene_count, f->wholes);
    }
    text_printf(&out, "%zu crops of %zu individuals at %.6g\n", run->rows.list.count, run->groups, run->threshold);
    int good = need_text(&out) && results_begin(0) && results_write(&out);
    text_free(&out);
    return results_end(good) && good;
}

/* The exit status. */
static int run_all(tracking *run) {
    size_t unread = 0, incomplete = run->rows.failed;
    if (!tracking_films(run)) return 2;
    for (size_t i = 0; i < run->count; i++)
        unread += run->films[i].frames == 0, incomplete += run->films[i].problem.len != 0;
    if (unread == run->count) {
        say_error("no video could be read; nothing was written");
        return 2;
    }
    if (!group(run) || !write_all(run)) return 2;
    if (!run->o->quiet && !tell_summary(run)) return 2;
    return incomplete || run->rows.failed ? 1 : 0;
}

int track_main(options *o) {
    tracking run = {.o = o};
    int status = 2;
    if (!check_options(o)) return 2;
    if (plan(&run) && read_detections(&run) && prepare_models(&run) && tracking_folder(&run)) status = run_all(&run);
    folder_end(&run.folder);
    crop_rows_free(&run.rows);
    for (size_t i = 0; i < run.count && run.films; i++) {
        film_free(&run.films[i]);
        free((char *)(size_t)run.requests[i].name);
    }
    free(run.films), free(run.requests), free(run.cuts), free(run.first_row);
    calibration_free(&run.calibration);
    if (run.all.count) models_close(&run.all);
    return status;
}
