/* reid track: turns videos and a detector's boxes into tracks, their best frames, embeddings and individuals. */
#include "base/clock.h"
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/threads.h"
#include "commands/commands.h"
#include "commands/requests.h"
#include "commands/track_films.h"
#include "commands/tracking.h"
#include "embedding/source_root.h"
#include "gallery/makers.h"
#include "groups/bursts.h"
#include "pictures/cuts.h"
#include "pictures/detections_tell.h"
#include "pictures/photo_zones.h"
#include "report/crop_tables.h"
#include "report/film_report.h"
#include "scores/decision.h"
#include "tracks/film_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- options ------------------------------------------------------------------------------------------------------ */

static int check_options(const options *o) {
    if (!o->operand_count) say_error("track: no VIDEO or FOLDER; see \"reid help track\"");
    else if (!o->track.detections) say_error("track: no boxes: give --detections FILE, from a detector");
    else if (!o->output.path) say_error("track: no output: give -o DIR, a new folder");
    else if (o->match.weight_count && o->match.calibration)
        say_error("track: --calibration already has the models' shares: remove --score-weights");
    else if (o->match.weight_count && o->match.weight_count != o->models)
        say_error("track: --score-weights gives %d share%s for %d model%s", o->match.weight_count,
                  plural((size_t)o->match.weight_count), o->models, plural((size_t)o->models));
    else return 1;
    return 0;
}

/* The name of a file without folder and extension, after which files in the output are named. */
static char *name_of(const char *path) {
    const char *name = path_name(path);
    return need_copy(name, path_stem(name));
}

/* Checks that the names in the output are unique and do not collide with its own files. */
static int check_names(const tracking *run) {
    for (size_t i = 0; i < run->count; i++) {
        const char *name = run->requests[i].name;
        if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            say_error("%s: the crops' folder cannot have this name; rename the file",
                      shown(run->requests[i].video.path));
            return 0;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(name, run->requests[k].name) != 0) continue;
            say_error("%s and %s: both would be called %s in the output; track them one after the other",
                      shown(run->requests[k].video.path), shown(run->requests[i].video.path), shown(name));
            return 0;
        }
    }
    return 1;
}

static int read_cuts(tracking *run) {
    const char *cuts = run->o->track.cuts;
    text why = TEXT_INIT;
    run->looks_for_cuts = !cuts || strcmp(cuts, "auto") == 0;
    if (run->looks_for_cuts || strcmp(cuts, "none") == 0) return 1;
    int first = run->o->track.first_frame > 0;
    return cuts_read(cuts, first, &run->cuts, &run->cut_count, &why) || tracking_say(cuts, &why);
}

/* Collects the photos of all folders in one list, so that a name is looked up in all of them. */
static int collect_photos(tracking *run, int *folders) {
    const options *o = run->o;
    text why = TEXT_INIT;
    size_t strangers = 0;
    *folders = 0;
    for (int i = 0; i < o->operand_count; i++) {
        struct stat st;
        if (stat(o->operands[i], &st) != 0 || !S_ISDIR(st.st_mode)) continue;
        if (!photos_add(&run->photos, o->operands[i], &why)) return tracking_say(o->operands[i], &why);
        ++*folders;
    }
    if (!*folders && (o->track.times || !isnan(o->track.burst))) {
        say_error("track: --times and --burst are for photos, but no FOLDER is given");
        return 0;
    }
    if (*folders == o->operand_count &&
        (o->track.first_frame >= 0 || o->track.stream || o->track.ffmpeg || run->cuts)) {
        say_error("track: --first-frame, --stream, --ffmpeg and --cuts FILE are for videos, but no VIDEO is given");
        return 0;
    }
    if (!photos_finish(&run->photos, o->track.times, &strangers, &why)) return tracking_say("track", &why);
    if (strangers) say_warning("%s: entries for photos that were not found: %zu", shown(o->track.times), strangers);
    for (size_t i = 0; i < run->photos.count; i++) {
        const camera *c = &run->photos.at[i];
        if (c->undated) say_warning("%s: %zu of %zu photo%s no time, such as %s: each becomes its own burst",
                                    shown(c->folder), c->undated, c->count, c->count == 1 ? " has" : "s have",
                                    shown(c->at[c->count - 1].path));
    }
    photo_zones_tell(&run->photos);
    return !interrupted();
}

/* Plans one film; of: its camera, NULL for a video. */
static int plan_one(tracking *run, const char *path, const camera *of) {
    enum { USUAL_BEST = 3 };
    const double usual_apart = 0.5, usual_cut = 10, usual_burst = BURST_SECONDS;
    const options *o = run->o;
    film_request *r = &run->requests[run->count++];
    r->video = (video_request){.path = path, .program = o->track.ffmpeg, .stream = o->track.stream,
                               .max_pixels = o->input.max_pixels, .timeout = o->track.frame_timeout,
                               .cut = run->looks_for_cuts ? usual_cut : 0};
    r->photos = of;
    r->burst = isnan(o->track.burst) ? usual_burst : o->track.burst;
    r->decode = decoding(o);
    if (!of) r->cuts = run->cuts, r->cut_count = run->cut_count;
    r->best = o->track.best ? o->track.best : USUAL_BEST;
    r->apart = isnan(o->track.apart) ? usual_apart : o->track.apart;
    r->name = of ? need_copy(of->name, strlen(of->name)) : name_of(path);
    return r->name != NULL;
}

static int plan(tracking *run) {
    const options *o = run->o;
    int folders = 0, good = 1;
    if (!read_cuts(run) || !collect_photos(run, &folders)) return 0;
    size_t most = (size_t)(o->operand_count - folders) + run->photos.count, videos = 0;
    run->requests = need_zeroed(most + 1, sizeof *run->requests);
    run->films = run->requests ? need_zeroed(most + 1, sizeof *run->films) : NULL;
    if (!run->films) return 0;
    for (int i = 0; i < o->operand_count && good; i++) {
        struct stat st;
        if (stat(o->operands[i], &st) == 0 && S_ISDIR(st.st_mode)) continue;
        good = plan_one(run, o->operands[i], NULL);
        videos++;
    }
    for (size_t i = 0; i < run->photos.count && good; i++)
        good = plan_one(run, run->photos.at[i].folder, &run->photos.at[i]);
    if (good && videos > 1 && run->cuts) {
        say_error("track: --cuts FILE is for one video, not %zu", videos);
        good = 0;
    }
    return good && check_names(run);
}

/* Reads the detections of one film; `all`: those of all photos, once they have been read. */
static int read_one(tracking *run, film_request *asked, detections *d, detections *all, text *why) {
    const options *o = run->o;
    const detections_request r = {.path = o->track.detections, .video = asked->video.path, .only = run->count == 1,
                                  .first = asked->photos ? -1 : o->track.first_frame, .min_conf = o->input.min_conf,
                                  .category = o->input.category, .photos = asked->photos ? &run->photos : NULL};
    if (!asked->photos) {
        if (!detections_read(d, &r, why)) return 0;
        if (asked == run->requests) detections_tell(d, &r); /* a file of several videos is read for each of them */
        return 1;
    }
    if (all->format) return detections_of(d, all, &r, why);
    if (!detections_read_all(all, &r, why)) return 0;
    detections_tell(all, &r);
    return detections_of(d, all, &r, why);
}

static int read_detections(tracking *run) {
    const options *o = run->o;
    detections all = {0};
    int good = 1;
    for (size_t i = 0; i < run->count && good; i++) {
        detections *d = &run->films[i].found;
        text why = TEXT_INIT;
        good = read_one(run, &run->requests[i], d, &all, &why) || tracking_say(o->track.detections, &why);
        if (good && d->empty)
            say_warning("%s: left out %zu box%s without area", shown(o->track.detections), d->empty,
                        d->empty == 1 ? "" : "es");
        if (good && d->samples > d->categories.count && d->count && d->count <= d->categories.count)
            say_warning("%s: only %zu box%s in %zu frame%s; if the detector kept one box per category, run it again: "
                        "tracking needs all boxes",
                        shown(o->track.detections), d->count, d->count == 1 ? "" : "es", d->samples,
                        plural(d->samples));
    }
    detections_free(&all);
    return good;
}

static int prepare_models(tracking *run) {
    const options *o = run->o;
    store_meta ours;
    if (o->match.calibration && !calibration_read(&run->calibration, o->match.calibration)) return 0;
    if (!open_models(&run->all, o)) return 0;
    makers_of_models(&run->all, &ours);
    if (o->match.calibration && !makers_agree(&run->calibration.makers, o->match.calibration, &ours, &run->all, NULL))
        return 0;
    run->threshold = !isnan(o->match.threshold) ? o->match.threshold
                     : o->match.calibration     ? run->calibration.threshold
                                                : decision_cut(run->all.count);
    run->unknown = isnan(o->match.threshold) && !o->match.calibration;
    if (o->match.calibration) memcpy(run->weights, run->calibration.weights, sizeof run->weights);
    else decision_weights(run->weights, run->all.count, o->match.weights, o->match.weight_count);
    run->rows.all = &run->all;
    return 1;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* Writes the embeddings with all that is known of them. */
static int write_rows(tracking *run) {
    const options *o = run->o;
    track_pair *apart;
    output_request how = {.flip = o->compute.flip, .raw = o->compute.raw, .max_pixels = o->input.max_pixels,
                          .min_conf = (double)NAN, .jpeg = tracking_jpeg(run)};
    if (!film_groups_apart(run->films, run->count, &run->rows, &apart, &how.apart_count)) return 0;
    how.apart = apart;
    if (!isnan(o->match.threshold)) how.threshold = &o->match.threshold;
    if (o->match.weight_count || (how.threshold && o->match.calibration)) how.weights = run->weights;
    text root = TEXT_INIT;
    source_root_find(run->folder.path, &root);
    if (root.len) how.source_root = root.s;
    int good = need_text(&root) && crop_rows_write(&run->rows, &how);
    text_free(&root);
    free(apart);
    return good;
}

/* The group of each crop, from those that have a row. */
static int take_groups(tracking *run) {
    const inputs *list = &run->rows.list;
    uint32_t *group = need_array(list->count + 1, sizeof *group);
    for (size_t i = 0, row = 0; i < list->count && group; i++)
        group[i] = list->at[i].failure || !run->grouped ? FILM_NO_GROUP : run->groups.found.group[row++];
    if (group) film_groups_take(run->films, run->count, group);
    free(group);
    return group != NULL;
}

/* Joins tracks down to this mean score and writes their rows. */
static int join(tracking *run, double threshold) {
    const film_groups_request r = {
        .films = run->films, .count = run->count, .rows = &run->rows, .weights = run->weights, .threshold = threshold};
    return film_groups_join(&r) && film_groups_tell(run->films, run->count, &run->rows) && write_rows(run);
}

/* Makes a threshold without labels from tracks that are not joined yet; if that is not possible, the guess remains.
   Joined tracks then give the final one, which is that of reid calibrate. */
static int learn_threshold(tracking *run, char *path) {
    grouping before;
    unlabelled u;
    int good = join(run, (double)INFINITY) && grouping_open(&before, run->o, &path, 1, "track");
    if (!good) return 0;
    good = grouping_learn(&before, &u);
    if (good && before.made) run->threshold = before.calibration.threshold;
    grouping_free(&before);
    return good;
}

/* Joins tracks, writes their rows, and groups these as reid cluster does, so that both find the same individuals. */
static int group(tracking *run) {
    text path = TEXT_INIT;
    text_printf(&path, "%s/embeddings.npy", run->folder.temp);
    run->grouped = run->rows.list.count > run->rows.failed;
    int good = need_text(&path) && (!run->unknown || !run->grouped || learn_threshold(run, path.s)) &&
               join(run, run->threshold);
    crop_rows_drop(&run->rows);
    if (good && run->grouped) {
        good = grouping_make(&run->groups, run->o, &path.s, 1, "track");
        run->threshold = run->groups.request.threshold;
    }
    text_free(&path);
    return good && take_groups(run);
}

/* The tables for R and Excel, and the calibration, which the next command then finds in the folder. */
static int write_tables(tracking *run, text *why) {
    const crops *all = run->grouped ? &run->groups.crops : NULL;
    const clusters *found = &run->groups.found;
    const options *o = run->o;
    text content = TEXT_INIT;
    crop_table(all, found, &content);
    int good = folder_write(&run->folder, "crops.csv", &content, why);
    text_clear(&content);
    if (good) individual_table(all, found, &content);
    good = good && folder_write(&run->folder, "individuals.csv", &content, why);
    if (good && o->match.calibration && isnan(o->match.threshold))
        good = file_read(o->match.calibration, (size_t)1 << 32, 0, &content, why) &&
               folder_write(&run->folder, "calibration.json", &content, why);
    if (good && run->groups.made) {
        text_clear(&content);
        calibration_json(&run->groups.calibration, &content);
        text_putc(&content, '\n');
        good = folder_write(&run->folder, "calibration.json", &content, why);
    }
    text_free(&content);
    return good;
}

/* Writes the file called `usual` for a single video, and named after the video, with this ending, for several. */
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
    const film_report r = {run->films, run->count, run->groups.found.groups, &run->rows, o->track.detections,
                           run->threshold};
    text content = TEXT_INIT, why = TEXT_INIT;
    films_json(&r, &content);
    int good = folder_write(&run->folder, "tracks.json", &content, &why);
    for (size_t i = 0; i < run->count && good; i++) {
        text_clear(&content), film_mot(&run->films[i], &content);
        good = write_one(run, i, "tracks.txt", ".tracks.txt", &content, &why);
        text_clear(&content), film_page(&r, &run->films[i], &content);
        good = good && write_one(run, i, "tracks.html", ".html", &content, &why);
    }
    good = good && write_tables(run, &why) && folder_finish(&run->folder, &why);
    text_free(&content);
    return good || tracking_say(o->output.path, &why);
}

static void json_summary(const tracking *run, text *out) {
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_string(&w, "output", run->o->output.path);
    json_put_array(&w, "videos");
    for (size_t i = 0; i < run->count; i++) {
        const film *f = &run->films[i];
        json_put_object(&w, NULL);
        json_put_string(&w, "path", f->r->video.path);
        json_put_count(&w, f->r->photos ? "photos" : "frames", f->frames);
        json_put_count(&w, "boxes", f->found.count);
        json_put_count(&w, f->r->photos ? "bursts" : "scenes", f->scene_count);
        json_put_count(&w, "tracks", f->wholes);
        json_put_end(&w);
    }
    json_put_end(&w);
    json_put_count(&w, "crops", run->rows.list.count);
    json_put_count(&w, "individuals", run->groups.found.groups);
    json_put_number(&w, "threshold", run->threshold, 9);
    json_put_bool(&w, "guessed", run->groups.guessed);
    json_put_bool(&w, "unlabelled", run->groups.made);
    json_put_finish(&w);
}

static void plain_summary(const tracking *run, text *out) {
    for (size_t i = 0; i < run->count; i++) {
        const film *f = &run->films[i];
        const size_t frames = f->frames, boxes = f->found.count, scenes = f->scene_count, whole = f->wholes;
        text_visible(out, f->r->video.path);
        text_printf(out, ": %zu %s%s, %zu %s, %zu %s%s, %zu track%s\n", frames, f->r->photos ? "photo" : "frame",
                    plural(frames), boxes, boxes == 1 ? "box" : "boxes", scenes, f->r->photos ? "burst" : "scene",
                    plural(scenes), whole, plural(whole));
    }
    const size_t rows = run->rows.list.count, groups = run->groups.found.groups;
    text_printf(out, "%zu crop%s of %zu individual%s at threshold %.6g%s\n", rows, plural(rows), groups, plural(groups),
                run->threshold,
                run->groups.guessed ? ", a guess"
                : run->groups.made  ? ", estimated without labels"
                                    : "");
}

static int tell_summary(const tracking *run) {
    text out = TEXT_INIT;
    (run->o->output.json ? json_summary : plain_summary)(run, &out);
    int good = need_text(&out) && results_begin(0) && results_write(&out);
    text_free(&out);
    return results_end(good) && good;
}

/* Prints --stats to stderr for a run that began at `began`. */
static void tell_stats(const tracking *run, double began, double group_seconds) {
    const reid_info *info = &run->all.at[0].info;
    film_setting in = {.seconds = clock_seconds() - began, .group = group_seconds, .cpus = threads_here(),
                       .photos = run->photos.count > 0, .threads = info->threads,
                       .on_gpu = strcmp(info->device, "cpu") != 0};
    text t = TEXT_INIT;
    if (!run->o->output.stats) return;
    for (size_t i = 0; i < run->count; i++) in.tracks += run->films[i].wholes;
    (run->o->output.json ? film_stats_json : film_stats_table)(&run->rows.work, &in, &t);
    say_text(&t);
    text_free(&t);
}

/* Finds individuals and writes the files, after all films were read in a run that began at `began`. Returns 0 after
   saying what is wrong. */
static int finish(tracking *run, double began) {
    const double read = clock_seconds();
    if (!group(run)) return 0;
    const double grouped = clock_seconds();
    if (!write_all(run)) return 0;
    run->rows.work.write += clock_seconds() - grouped;
    if ((!run->o->output.quiet || run->o->output.json) && !tell_summary(run)) return 0;
    tell_stats(run, began, grouped - read);
    return 1;
}

/* An empty result is allowed, because a camera may have seen nothing, but it is reported with its cause. */
static void warn_if_empty(const tracking *run) {
    const options *o = run->o;
    size_t boxes = 0;
    for (size_t i = 0; i < run->count; i++) boxes += run->films[i].found.count;
    if (boxes) return;
    say_warning("%s: no boxes for %s%s, so there are no tracks and no crops", shown(o->track.detections),
                run->photos.count ? "these photos" : run->count > 1 ? "these videos" : "this video",
                isnan(o->input.min_conf) && !o->input.category ? "" : " after --min-conf and --category");
}

/* Runs everything. Returns the exit status. */
static int run_all(tracking *run) {
    const double began = clock_seconds();
    size_t unread = 0, incomplete = run->rows.failed;
    if (!tracking_films(run)) return 2;
    for (size_t i = 0; i < run->count; i++)
        unread += run->films[i].frames == 0, incomplete += run->films[i].problem.len != 0;
    if (unread == run->count) {
        say_error("no video could be read; nothing was written");
        return 2;
    }
    warn_if_empty(run);
    if (!finish(run, began)) return 2;
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
    photos_free(&run.photos);
    calibration_free(&run.calibration);
    grouping_free(&run.groups);
    if (run.all.count) models_close(&run.all);
    return status;
}
