#include "pictures/detection_list.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"
#include "pictures/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

detection *detections_add(detections *d) {
    if (!GROW(d->at, d->count, d->cap)) return NULL;
    detection *at = &d->at[d->count++];
    memset(at, 0, sizeof *at);
    at->score = 1;
    return at;
}

uint32_t detections_name(detection_names *names, const char *name, size_t len) {
    for (size_t i = names->count; i-- > 0;) /* the latest first: a video's detections stand together */
        if (strncmp(names->at[i], name, len) == 0 && !names->at[i][len]) return (uint32_t)i;
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
        return refuse(why, "frame %.0f, but the first one is %d%s", number, first,
                      r->first < 0 && first ? "; if it is 0 here, say so with --first-frame 0" : "");
    at->frame = (uint32_t)(number - first);
    return 1;
}

static int no_fractions(text *why) {
    return refuse(why, "a box must be [x, y, width, height] as fractions of the frame, but this one is beyond it; are "
                       "these pixels, or corners?");
}

int detections_box(detections *d, detection *at, const double box[4], double score, text *why) {
    const double slack = 0.01; /* detectors round */
    const double most = 1e9;
    if (isnan(score)) score = 1;
    if (!(score >= 0 && score <= 1)) {
        if (!d->any_scale || !isfinite(score))
            return refuse(why, "a score of %g is not from 0 to 1", score);
        d->other_scale = 1;
        score = 1;
    }
    for (int k = 0; k < 4; k++)
        if (!(fabs(box[k]) <= most)) return refuse(why, "%g is not a coordinate", box[k]);
    if (box[2] < 0 || box[3] < 0)
        return refuse(why, "a box of %g by %g: width or height is below 0", box[2], box[3]);
    if (d->unit == BOX_NORMALISED) {
        for (int k = 0; k < 4; k++)
            if (box[k] < -slack || box[k] > 1 + slack) return no_fractions(why);
        if (box[0] + box[2] > 1 + slack || box[1] + box[3] > 1 + slack) return no_fractions(why);
    }
    memcpy(at->box, box, sizeof at->box);
    at->score = score;
    return 1;
}

static int find_photo(detections *d, const char *file, uint32_t *owner, double *number, text *why) {
    text reason = TEXT_INIT;
    const photo_place *place = photos_find(d->photos, file, &reason);
    int failed = reason.len != 0;
    if (failed) text_clear(why), text_join(why, &reason);
    text_free(&reason);
    if (failed) return 0;
    const char *folder = place ? d->photos->at[place->camera].folder : "";
    *number = place ? (double)place->photo : 0;
    d->strangers += !place;
    *owner = detections_name(&d->owners, folder, strlen(folder));
    return *owner != UINT32_MAX || text_no_memory(why);
}

int detections_picture(detections *d, const char *file, uint32_t *owner, double *number, text *why) {
    enum { MOST_DIGITS = 15 };
    if (d->photos) return find_photo(d, file, owner, number, why);
    const char *name = path_last_part(file), *dot = strrchr(name, '.');
    const char *end = dot && dot > name ? dot : name + strlen(name);
    const char *digits = end;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    if (digits == end || end - digits > MOST_DIGITS)
        return refuse(why, "%.200s: has no frame_number, and its name does not end in one", shown(file));
    *number = strtod(digits, NULL); /* stops at the end of the name */
    d->pictures = 1;
    *owner = detections_name(&d->owners, file, name > file ? (size_t)(name - file) - 1 : 0);
    return *owner != UINT32_MAX || text_no_memory(why);
}

const char *detections_category(const detections *d, uint32_t category) {
    return d->labels && d->labels[category] ? d->labels[category] : d->categories.at[category];
}

int detections_fits(const char *name, const char *video) {
    const char *mine = path_last_part(video), *theirs = path_last_part(name), *dot = strrchr(mine, '.');
    size_t stem = dot && dot > mine ? (size_t)(dot - mine) : strlen(mine);
    if (path_same_ends(name, video)) return 3;
    if (strcmp(theirs, mine) == 0) return 2;
    return strncmp(theirs, mine, stem) == 0 && !theirs[stem];
}

static void free_names(char **names, size_t count) {
    for (size_t i = 0; i < count && names; i++) free(names[i]);
    free(names);
}

void detections_free(detections *d) {
    free_names(d->labels, d->categories.count);
    free_names(d->categories.at, d->categories.count);
    free_names(d->owners.at, d->owners.count);
    free(d->failure);
    free(d->at);
    memset(d, 0, sizeof *d);
}
