/* The films of reid track, one after another. Finished films are recorded in DIR.part, so that --resume continues after
   them: film-N.note has the results of a film, key.note the inputs and options of the run, in lines
   "WHAT<tab>VALUE". */
#include "base/clock.h"
#include "base/crc32.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "base/when.h"
#include "commands/track_films.h"
#include "pictures/turbojpeg.h"
#include "tracks/film_record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tracking_say(const char *what, text *why) {
    say_error("%s: %s", shown(what), why->s);
    text_free(why);
    return 0;
}

/* --- the key of a run --------------------------------------------------------------------------------------------- */

static void key_text(text *key, const char *what, const char *value) {
    text_visible(key, what);
    text_putc(key, '\t');
    text_visible(key, value ? value : "not given");
    text_putc(key, '\n');
}

static void key_number(text *key, const char *what, double value) { text_printf(key, "%s\t%.17g\n", what, value); }

const char *tracking_jpeg(const tracking *run) {
    return run->photos.count ? jpeg_decoder_name((jpeg_decoder)run->o->input.jpeg) : NULL;
}

/* Identifies a file by its contents, or notes that it cannot be read. */
static int key_file(text *key, const char *what, const char *path) {
    static const size_t most = (size_t)1 << 36;
    text bytes = TEXT_INIT, why = TEXT_INIT, value = TEXT_INIT;
    int good = file_read(path, most, 0, &bytes, &why);
    if (good) text_printf(&value, "%s, %zu bytes with the checksum %08x", path, bytes.len,
                          (unsigned)crc32_more(0, bytes.s, bytes.len));
    else say_error("%s: %s", shown(path), why.s);
    key_text(key, what, value.s);
    text_free(&bytes), text_free(&why), text_free(&value);
    return good;
}

/* Identifies a video or photo by size and time: comparing hours of film would take as long as tracking them. */
static void add_file(text *value, const char *path) {
    struct stat st;
    if (stat(path, &st) == 0) {
        text_printf(value, "%lld bytes of ", (long long)st.st_size);
        when_text(value, (long long)st.st_mtim.tv_sec * 1000);
        text_printf(value, " and %09ld ns", (long)st.st_mtim.tv_nsec);
    } else text_puts(value, "a file that cannot be read");
}

static void key_video(text *key, const film_request *r) {
    text value = TEXT_INIT, all = TEXT_INIT;
    for (size_t i = 0; r->photos && i < r->photos->count; i++) {
        text_printf(&all, "%s %lld ", r->photos->at[i].path, r->photos->at[i].when);
        add_file(&all, r->photos->at[i].path);
    }
    if (!r->photos) add_file(&value, r->video.path);
    else text_printf(&value, "%zu photos with the checksum %08x", r->photos->count,
                     (unsigned)crc32_more(0, all.s ? all.s : "", all.len));
    if (text_failed(&all)) text_no_memory(key);
    key_text(key, r->video.path, value.s);
    text_free(&value), text_free(&all);
}

static void key_models(const tracking *run, text *key) {
    for (int i = 0; i < run->all.count; i++) {
        const reid_info *info = &run->all.at[i].info;
        text value = TEXT_INIT;
        text_printf(&value, "%s, %s on %s, %s", info->fingerprint, info->precision, info->device, info->isa);
        key_text(key, i ? "the second model" : "the model", value.s);
        text_free(&value);
    }
    if (run->all.count == 1) key_text(key, "the second model", "none");
}

/* Writes everything that determines the result, one line each. */
static int make_key(const tracking *run, text *key) {
    const options *o = run->o;
    const film_request *first = &run->requests[0];
    key_text(key, "version", reid_version_string());
    key_models(run, key);
    int good = key_file(key, "--detections", o->track.detections);
    key_number(key, "--first-frame", o->track.first_frame);
    key_number(key, "--min-conf", o->input.min_conf >= 0 ? o->input.min_conf : -1);
    key_text(key, "--category", o->input.category);
    if (!run->looks_for_cuts && run->cuts) good = good && key_file(key, "--cuts", o->track.cuts);
    else key_text(key, "--cuts", run->looks_for_cuts ? "auto" : "none");
    key_number(key, "--best", first->best);
    key_number(key, "--apart", first->apart);
    key_number(key, "--burst", first->burst);
    key_number(key, "--stream", o->track.stream);
    key_text(key, "--ffmpeg", o->track.ffmpeg);
    key_number(key, "--max-pixels", (double)o->input.max_pixels);
    key_text(key, "the JPEG decoder", tracking_jpeg(run));
    key_number(key, "--threshold", run->threshold);
    key_number(key, "the first of --score-weights", run->weights[0]);
    key_number(key, "the second of --score-weights", run->all.count > 1 ? run->weights[1] : 0);
    key_number(key, "the number of videos", (double)run->count);
    for (size_t i = 0; i < run->count; i++) key_video(key, &run->requests[i]);
    return good && need_text(key);
}

/* Takes one line of a key, without its end, and moves *at to the next one. */
static size_t next_line(const char **at, const char **line) {
    size_t n = strcspn(*at, "\n");
    *line = *at;
    *at += n + ((*at)[n] != 0);
    return n;
}

/* Returns 1 when the keys are equal, 0 after naming the first difference. */
static int same_key(const tracking *run, const text *theirs, const text *ours) {
    const char *a = theirs->s ? theirs->s : "", *b = ours->s, *x, *y;
    while (*a || *b) {
        size_t n = next_line(&a, &x), m = next_line(&b, &y), what = strcspn(y, "\t\n"), of = strcspn(x, "\t\n");
        if (n == m && memcmp(x, y, n) == 0) continue;
        const char *begun = what == of && memcmp(x, y, what) == 0 && n > of ? x + of + 1 : "something else";
        int length = begun == x + of + 1 ? (int)(n - of - 1) : (int)strlen(begun);
        say_error("%s: --resume cannot continue a run with other inputs, models or options: %.*s was %.*s and is %.*s "
                  "now; remove the folder to start over", shown(run->folder.work), (int)what, y,
                  length, begun, m > what ? (int)(m - what - 1) : 0, m > what ? y + what + 1 : "");
        return 0;
    }
    return 1;
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

/* 1 if this is a folder. A file of that name is removed: the interrupted run wrote it at its end, and this run writes
   it again. */
static int is_there(tracking *run, const char *name) {
    struct stat st;
    text path = TEXT_INIT;
    text_printf(&path, "%s/%s", run->folder.temp, name);
    int there = !text_failed(&path) && lstat(path.s, &st) == 0;
    int is_folder = there && S_ISDIR(st.st_mode);
    if (there && !is_folder) unlink(path.s);
    text_free(&path);
    return is_folder;
}

static int add_crops(tracking *run) {
    text why = TEXT_INIT;
    is_there(run, "embeddings.npy.part"), is_there(run, "embeddings.npy.part.log");
    return is_there(run, "crops") || folder_add(&run->folder, "crops", &why) || tracking_say(run->o->output.path, &why);
}

/* Checks that the interrupted run had the same key; one without a key was interrupted before it did anything. */
static int continue_folder(tracking *run, const text *key) {
    text before = TEXT_INIT, why = TEXT_INIT;
    int noted = folder_noted(&run->folder, "key", &before, &why);
    if (noted < 0) tracking_say(run->folder.work, &why);
    run->folder.keep = noted != 0; /* even if this run is refused */
    int good = noted >= 0 && (!noted || same_key(run, &before, key));
    text_free(&before);
    return good;
}

int tracking_folder(tracking *run) {
    const options *o = run->o;
    text why = TEXT_INIT, key = TEXT_INIT;
    int found = 0;
    run->first_row = need_zeroed(run->count + 1, sizeof *run->first_row);
    if (!run->first_row || !make_key(run, &key)) return text_free(&key), 0;
    int good = folder_resume(&run->folder, o->output.path, o->output.resume, &found, &why);
    if (!good) tracking_say(o->output.path, &why);
    if (good && found && !o->output.resume)
        say_warning("%s of an interrupted run was replaced; --resume would have continued the run",
                    shown(run->folder.work));
    if (good && found && o->output.resume) good = continue_folder(run, &key);
    if (good && !folder_note(&run->folder, "key", &key, &why)) good = tracking_say(o->output.path, &why);
    text_free(&key);
    run->rows.folder = run->folder.temp;
    run->saved = clock_seconds();
    return good && add_crops(run);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static int record_name(size_t i, text *name) {
    text_printf(name, "film-%zu", i + 1);
    return need_text(name);
}

/* Restores film i from its record. Returns 0 if there is none, -1 after saying what is wrong. */
static int recall(tracking *run, size_t i) {
    text name = TEXT_INIT, bytes = TEXT_INIT, why = TEXT_INIT;
    int noted = record_name(i, &name) ? folder_noted(&run->folder, name.s, &bytes, &why) : -1;
    if (noted < 0 && why.len) tracking_say(run->folder.work, &why);
    if (noted > 0) {
        text path = TEXT_INIT;
        text_printf(&path, "%s/%s.note", run->folder.work, name.s);
        int good = need_text(&path) && crop_rows_flush(&run->rows) &&
                   film_recall(&run->films[i], &run->requests[i], &run->rows, &bytes, path.s);
        if (good) say_info("%s: already finished by the interrupted run", shown(run->requests[i].video.path));
        if (!good) noted = -1;
        text_free(&path);
    }
    text_free(&name), text_free(&bytes);
    return noted;
}

static int record(tracking *run, size_t i) {
    text name = TEXT_INIT, bytes = TEXT_INIT, why = TEXT_INIT;
    int good = record_name(i, &name);
    film_record(&run->films[i], &run->rows, run->first_row[i], &bytes);
    if (good && !folder_note(&run->folder, name.s, &bytes, &why)) good = tracking_say(run->folder.work, &why);
    if (good) run->folder.keep = run->o->output.resume;
    text_free(&name), text_free(&bytes);
    return good;
}

/* Records films before `end`, after embedding their pending crops. So that batches fill up across films, it does this
   at most once in `every` seconds, unless `now` is set; a crash loses no more work than that. Films that may succeed
   next time are not recorded. */
static int save(tracking *run, size_t end, int now) {
    const double every = 1; /* seconds */
    text why = TEXT_INIT;
    if (!now && clock_seconds() - run->saved < every) return 1;
    if (!crop_rows_flush(&run->rows)) return 0;
    const double began = clock_seconds();
    if (!folder_sync(&run->folder, &why)) return tracking_say(run->folder.work, &why);
    for (; run->recorded < end; run->recorded++) {
        const film *f = &run->films[run->recorded];
        if (!f->passing && !f->recalled && !record(run, run->recorded)) return 0;
    }
    run->rows.work.write += clock_seconds() - began;
    run->saved = clock_seconds();
    return 1;
}

/* --- films -------------------------------------------------------------------------------------------------------- */

static void tell_problems(const tracking *run, const film *f) {
    const char *path = shown(f->r->video.path);
    if (f->streams > 1)
        say_warning("%s: the file has %d video streams; number %d was read (--stream)",
                    path, f->streams, run->o->track.stream);
    if (f->problem.len && f->frames && !f->r->photos)
        say_error("%s: %s; %zu frame%s read%s", path, f->problem.s, f->frames, plural(f->frames),
                  f->beyond ? ", and there are boxes for later frames" : "");
    else if (f->problem.len) say_error("%s: %s", path, f->problem.s);
}

/* Makes a film. Its crops folder is replaced, because the interrupted run may have left crops of an unfinished film. */
static int make_film(tracking *run, size_t i) {
    text name = TEXT_INIT, why = TEXT_INIT;
    text_printf(&name, "crops/%s", run->requests[i].name);
    int good = need_text(&name);
    if (good && !folder_renew(&run->folder, name.s, &why)) good = tracking_say(run->o->output.path, &why);
    text_free(&name);
    return good && film_make(&run->films[i], &run->requests[i], &run->rows);
}

int tracking_films(tracking *run) {
    for (size_t i = 0; i < run->count; i++) {
        int there = recall(run, i);
        if (there < 0 || (!there && !make_film(run, i))) {
            if (interrupted() && run->o->output.resume) save(run, i, 1);
            return 0;
        }
        run->first_row[i + 1] = run->rows.list.count;
        tell_problems(run, &run->films[i]);
        if (!save(run, i + 1, 0)) return 0;
    }
    return save(run, run->count, 1);
}
