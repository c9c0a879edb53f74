#include "pictures/detection_list.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "base/unicode.h"
#include "pictures/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

detection *detections_add(detections *d) {
    if (!GROW(d->at, d->count, d->cap)) return NULL;
    detection *at = &d->at[d->count++];
    memset(at, 0, sizeof *at);
    at->score = 1;
    at->id = at->identity = DETECTION_NO_NAME;
    return at;
}

uint32_t detections_name(detection_names *names, const char *name, size_t len) {
    for (size_t i = names->count; i-- > 0;) /* the latest first, because a video's detections are usually together */
        if (strncmp(names->at[i], name, len) == 0 && !names->at[i][len]) return (uint32_t)i;
    if (names->count >= UINT32_MAX || !GROW(names->at, names->count, names->cap)) return UINT32_MAX;
    names->at[names->count] = mem_copy(name, len);
    return names->at[names->count] ? (uint32_t)names->count++ : UINT32_MAX;
}

uint32_t detections_name_latest(detection_names *names, const char *name, size_t len) {
    const char *last = names->count ? names->at[names->count - 1] : NULL;
    int again = last && strncmp(last, name, len) == 0 && !last[len];
    return again ? (uint32_t)names->count - 1 : detections_add_name(names, name, len);
}

uint32_t detections_add_name(detection_names *names, const char *name, size_t len) {
    if (names->count >= UINT32_MAX || !GROW(names->at, names->count, names->cap)) return UINT32_MAX;
    names->at[names->count] = mem_copy(name, len);
    return names->at[names->count] ? (uint32_t)names->count++ : UINT32_MAX;
}

int detections_frame(detection *at, const detections_request *r, double number, int first, text *why) {
    const double most = 2147483647;
    if (r->first >= 0) first = r->first;
    if (!(number >= 0 && number <= most) || number != floor(number))
        return refuse(why, "%g is not a frame number", number);
    if (number < first)
        return refuse(why, "frame %.0f is below the first frame, %d%s", number, first,
                      r->first < 0 && first ? "; if frames are counted from 0, give --first-frame 0" : "");
    at->frame = (uint32_t)(number - first);
    return 1;
}

static int no_fractions(text *why) {
    return refuse(why, "a box must be [x, y, width, height] as fractions of the frame, but this one exceeds it; it may "
                       "be in pixels, or corners");
}

int detections_box(detections *d, detection *at, const double box[4], double score, text *why) {
    const double slack = 0.01; /* detectors round */
    const double most = 1e9;
    d->scored += isnan(score) ? 0 : 1;
    if (isnan(score)) score = 1;
    if (!(score >= 0 && score <= 1)) {
        if (!d->any_scale || !isfinite(score)) return refuse(why, "the score %g is not between 0 and 1", score);
        d->other_scale = 1;
        score = 1;
    }
    for (int k = 0; k < 4; k++)
        if (!(fabs(box[k]) <= most)) return refuse(why, "%g is not a coordinate", box[k]);
    if (box[2] < 0 || box[3] < 0)
        return refuse(why, "a box of %g x %g has a negative width or height", box[2], box[3]);
    if (d->unit == BOX_NORMALISED) {
        for (int k = 0; k < 4; k++)
            if (box[k] < -slack || box[k] > 1 + slack) return no_fractions(why);
        if (box[0] + box[2] > 1 + slack || box[1] + box[3] > 1 + slack) return no_fractions(why);
    }
    memcpy(at->box, box, sizeof at->box);
    at->score = score;
    return 1;
}

/* place: NULL with a reason, or without one for a photo that is not in the list. */
static int take_photo(detections *d, const photo_place *place, text *reason, uint32_t *owner, double *number,
                      text *why) {
    int failed = reason->len != 0;
    if (failed) text_clear(why), text_join(why, reason);
    text_free(reason);
    if (failed) return 0;
    const char *folder = place ? d->photos->at[place->camera].folder : "";
    *number = place ? (double)place->photo : 0;
    d->strangers += !place;
    *owner = detections_name(&d->owners, folder, strlen(folder));
    return *owner != UINT32_MAX || text_no_memory(why);
}

int detections_numbered(detections *d, const detections_request *r, uint32_t *owner, double *number, text *why) {
    text reason = TEXT_INIT;
    if (d->photos) return take_photo(d, photos_numbered(d->photos, *number, &reason), &reason, owner, number, why);
    *owner = r->listed ? detections_name_latest(&d->owners, "", 0) : detections_name(&d->owners, "", 0);
    return *owner != UINT32_MAX || text_no_memory(why);
}

int detections_picture(detections *d, const detections_request *r, const char *file, uint32_t *owner, double *number,
                       text *why) {
    enum { MOST_DIGITS = 15 };
    text reason = TEXT_INIT;
    if (d->photos) return take_photo(d, photos_find(d->photos, file, &reason), &reason, owner, number, why);
    if (r->listed) {
        *number = 0;
        *owner = detections_name_latest(&d->owners, file, strlen(file));
        return *owner != UINT32_MAX || text_no_memory(why);
    }
    const char *name = path_last_part(file), *dot = strrchr(name, '.');
    const char *end = dot && dot > name ? dot : name + strlen(name);
    const char *digits = end;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    if (digits == end || end - digits > MOST_DIGITS)
        return refuse(why, "%.200s: has no frame_number, and its name does not end in one", shown(file));
    *number = strtod(digits, NULL); /* stops at the extension */
    d->pictures = 1;
    *owner = detections_name(&d->owners, file, name > file ? (size_t)(name - file) - 1 : 0);
    return *owner != UINT32_MAX || text_no_memory(why);
}

const char *detections_category(const detections *d, uint32_t category) {
    return d->labels && d->labels[category] ? d->labels[category] : d->categories.at[category];
}

/* detections_fits for names with the same form. */
static int fit_in_one_form(const char *name, const char *video) {
    const char *mine = path_last_part(video), *theirs = path_last_part(name), *dot = strrchr(mine, '.');
    size_t stem = dot && dot > mine ? (size_t)(dot - mine) : strlen(mine);
    if (path_same_ends(name, video)) return 3;
    if (strcmp(theirs, mine) == 0) return 2;
    return strncmp(theirs, mine, stem) == 0 && !theirs[stem];
}

int detections_fits(const char *name, const char *video) {
    if (!name_has_forms(name) && !name_has_forms(video)) return fit_in_one_form(name, video);
    char *one = name_decomposed(name), *other = name_decomposed(video);
    int fit = one && other ? fit_in_one_form(one, other) : 0;
    free(one), free(other);
    return fit;
}

static void free_names(char **names, size_t count) {
    for (size_t i = 0; i < count && names; i++) free(names[i]);
    free(names);
}

void detections_free(detections *d) {
    free_names(d->labels, d->categories.count);
    free_names(d->categories.at, d->categories.count);
    const detection_names *const all[] = {&d->owners, &d->ids, &d->identities, &d->failed, &d->reasons};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free_names(all[i]->at, all[i]->count);
    free(d->failure);
    free(d->at);
    memset(d, 0, sizeof *d);
}
