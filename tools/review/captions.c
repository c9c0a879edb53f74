#include "review/captions.h"

#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/when.h"
#include "pictures/crop_origin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const WORDS[CATEGORIES] = {NULL, "animal", "person", "vehicle"};

static category category_of(const char *word) {
    for (int i = CATEGORY_UNKNOWN + 1; i < CATEGORIES; i++)
        if (strcasecmp(word, WORDS[i]) == 0) return (category)i;
    return CATEGORY_UNKNOWN;
}

/* --- the categories of tracks.json ------------------------------------------------------------------------------- */

typedef struct tracks_file {
    json j;
    text key, word;
    captions *to;
} tracks_file;

/* Calls `each` for every element of the array that is this object's member `key`. */
static void each_in(tracks_file *f, const char *key, void (*each)(tracks_file *f)) {
    for (json_object(&f->j); json_key(&f->j, &f->key);) {
        if (strcmp(f->key.s, key) != 0) json_skip(&f->j);
        else for (json_array(&f->j); json_item(&f->j);) each(f);
    }
}

/* Gives a crop the category of its track. */
static void read_shot(tracks_file *f, category is) {
    for (json_object(&f->j); json_key(&f->j, &f->key);) {
        if (strcmp(f->key.s, "path") != 0) {
            json_skip(&f->j);
            continue;
        }
        size_t row = json_string(&f->j, &f->word) ? crops_find(f->to->crops, f->word.s) : SIZE_MAX;
        if (row != SIZE_MAX && !f->to->categories[row]) f->to->categories[row] = (unsigned char)is;
    }
}

/* Reads the shots last, because they may precede the category. */
static void read_track(tracks_file *f) {
    json shots = {0};
    category is = CATEGORY_UNKNOWN;
    for (json_object(&f->j); json_key(&f->j, &f->key);) {
        const int names = strcmp(f->key.s, "category") == 0;
        if (strcmp(f->key.s, "frames") == 0) shots = f->j;
        if (!names) json_skip(&f->j);
        else if (json_string(&f->j, &f->word)) is = category_of(f->word.s);
    }
    if (f->j.error[0] || !shots.text) return;
    const json behind = f->j;
    f->j = shots;
    for (json_array(&f->j); json_item(&f->j);) read_shot(f, is);
    if (!f->j.error[0]) f->j = behind;
}

static void read_scene(tracks_file *f) { each_in(f, "tracks", read_track); }
static void read_video(tracks_file *f) { each_in(f, "scenes", read_scene); }

/* Without the file, categories stay unknown, which changes only words on the page. */
static void read_tracks(captions *to, const char *folder) {
    static const size_t most = (size_t)1 << 32;
    tracks_file f = {.to = to};
    text path = TEXT_INIT, bytes = TEXT_INIT, why = TEXT_INIT;
    int found = file_in_folder(&path, folder, "tracks.json");
    if (found && !text_failed(&path) && file_read(path.s, most, 1, &bytes, &why)) {
        json_begin(&f.j, bytes.len ? bytes.s : "", bytes.len);
        each_in(&f, "videos", read_video);
        json_end(&f.j);
        if (f.j.error[0]) text_puts(&why, f.j.error);
    }
    if (why.len) say_warning("%s: %s; the detector's categories are not shown", shown(path.s), why.s);
    text_free(&f.key), text_free(&f.word);
    text_free(&path), text_free(&bytes), text_free(&why);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

int captions_open(captions *to, const crops *c, const input *const *box, const char *folder) {
    *to = (captions){.crops = c, .box = box, .categories = need_zeroed(c->count + 1, 1)};
    if (!to->categories) return 0;
    for (size_t i = 0; i < c->count && box; i++)
        if (box[i] && box[i]->category) to->categories[i] = (unsigned char)category_of(box[i]->category);
    if (folder) read_tracks(to, folder);
    return 1;
}

void captions_free(captions *to) {
    free(to->categories);
    to->categories = NULL;
}

/* --- one crop ----------------------------------------------------------------------------------------------------- */

static crop_origin origin_of(const caption_facts *f) {
    return f->source ? crop_origin_of(f->source) : (crop_origin){.seconds = (double)NAN};
}

/* These functions append nothing if the fact is unknown. */
static void add_photo_of(text *t, const caption_facts *f) {
    text path = TEXT_INIT;
    if (f->photo) text_puts(&path, f->photo);
    else if (f->source) text_add(&path, f->source, origin_of(f).length), text_puts(&path, "");
    if (text_failed(&path)) text_no_memory(t);
    else if (path.len) text_puts(t, path_name(path.s));
    text_free(&path);
}

static void add_time_of(text *t, const caption_facts *f) {
    const double seconds = origin_of(f).seconds;
    if (seconds >= 0) seconds_for_people(t, seconds);
    else if (f->when != STORE_NO_TIME) when_for_people(t, f->when);
}

void caption_add(text *t, const caption_facts *f) {
    text time = TEXT_INIT;
    size_t before = t->len;
    add_photo_of(t, f);
    if (f->camera && *f->camera) text_printf(t, "%s%s", t->len > before ? ", " : "", f->camera);
    add_time_of(&time, f);
    if (time.len) text_puts(t, t->len > before ? ", " : ""), text_join(t, &time);
    text_free(&time);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static caption_facts facts_at(const captions *of, size_t row) {
    const crop_facts *f = &of->crops->facts[row];
    const input *box = of->box ? of->box[row] : NULL;
    return (caption_facts){box ? box->path : NULL, f->source, f->camera, f->when};
}

static void add_photo(const captions *of, size_t row, text *t) {
    const caption_facts f = facts_at(of, row);
    add_photo_of(t, &f);
}

static void add_camera(const captions *of, size_t row, text *t) {
    const char *camera = of->crops->facts[row].camera;
    if (camera) text_puts(t, camera);
}

static void add_time(const captions *of, size_t row, text *t) {
    const caption_facts f = facts_at(of, row);
    add_time_of(t, &f);
}

static void add_category(const captions *of, size_t row, text *t) {
    const char *word = WORDS[of->categories[row]];
    if (word) text_puts(t, word);
}

/* Writes an array of what `add` appends for each crop. */
static void put_array(const captions *of, json_writer *w, const char *key,
                      void (*add)(const captions *of, size_t row, text *t)) {
    text value = TEXT_INIT;
    for (size_t i = 0; i < of->crops->count && !value.len && !text_failed(&value); i++) add(of, i, &value);
    if (value.len) {
        json_put_array(w, key);
        w->tight = 1;
        for (size_t i = 0; i < of->crops->count && !text_failed(&value); i++) {
            text_clear(&value);
            add(of, i, &value);
            json_put_string(w, NULL, value.len ? value.s : NULL);
        }
        w->tight = 0;
        json_put_end(w);
    }
    if (text_failed(&value)) text_no_memory(w->out);
    text_free(&value);
}

void captions_put(const captions *of, json_writer *w) {
    put_array(of, w, "photos", add_photo);
    put_array(of, w, "cameras", add_camera);
    put_array(of, w, "times", add_time);
    put_array(of, w, "categories", add_category);
}
