#include "pictures/detections.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"
#include "pictures/paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what the formats call ---------------------------------------------------------------------------------------- */

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
        return refuse(why, "%g is no frame's number", number);
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
    if (!(score >= 0 && score <= 1)) return refuse(why, "a score of %g is not from 0 to 1", score);
    for (int k = 0; k < 4; k++)
        if (!(fabs(box[k]) <= most)) return refuse(why, "%g is no place in a frame", box[k]);
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
        return refuse(why, "%.200s: neither does it say which frame it is (frame_number), nor does its name end in the "
                           "number of one", shown(file));
    *number = strtod(digits, NULL); /* stops at the end of the name */
    d->pictures = 1;
    *owner = detections_name(&d->owners, file, name > file ? (size_t)(name - file) - 1 : 0);
    return *owner != UINT32_MAX || text_no_memory(why);
}

const char *detections_category(const detections *d, uint32_t category) {
    return d->labels && d->labels[category] ? d->labels[category] : d->categories.at[category];
}

/* --- whose they are ----------------------------------------------------------------------------------------------- */

int detections_fits(const char *name, const char *video) {
    const char *mine = path_last_part(video), *theirs = path_last_part(name), *dot = strrchr(mine, '.');
    size_t stem = dot && dot > mine ? (size_t)(dot - mine) : strlen(mine);
    if (path_same_ends(name, video)) return 3;
    if (strcmp(theirs, mine) == 0) return 2;
    return strncmp(theirs, mine, stem) == 0 && !theirs[stem];
}

/* The owner that the video is; UINT32_MAX with the reason in why when there is none, or more than one. */
static uint32_t find_owner(const detections *d, const detections_request *r, text *why) {
    uint32_t best = UINT32_MAX;
    int fit = 0, equals = 0;
    for (uint32_t i = 0; i < d->owners.count; i++) {
        const char *name = d->owners.at[i];
        int now = *name ? detections_fits(name, r->video) : 0;
        equals = now == fit ? equals + 1 : now > fit ? 1 : equals;
        if (now > fit) fit = now, best = i;
    }
    if (fit && equals == 1) return best;
    if (fit) refuse(why, "it has several videos called %.200s", shown(path_last_part(r->video)));
    else if (d->owners.count == 1 && *d->owners.at[0])
        refuse(why, "it is about %.200s, not about %.200s", shown(d->owners.at[0]), shown(path_last_part(r->video)));
    else if (d->owners.count == 1)
        refuse(why, "it does not say which video it is about, and several are asked for");
    else
        refuse(why, "it is about %zu videos, none of which is called %.200s", d->owners.count,
               shown(path_last_part(r->video)));
    return UINT32_MAX;
}

/* The owner that the camera is; UINT32_MAX, without a reason: nothing was found on its photos. */
static uint32_t find_camera(const detections *d, const detections_request *r, text *why) {
    int some = 0;
    for (uint32_t i = 0; i < d->owners.count; i++) {
        if (strcmp(d->owners.at[i], r->video) == 0) return i;
        some = some || *d->owners.at[i];
    }
    if (!some && d->owners.count)
        refuse(why, "it is about none of the photos of %.300s", shown(r->video));
    return UINT32_MAX;
}

/* --- what is wanted ----------------------------------------------------------------------------------------------- */

static int is_wanted(const detections *d, const detections_request *r, uint32_t owner, const detection *at) {
    if (at->owner != owner || (r->min_conf >= 0 && at->score < r->min_conf)) return 0;
    return !r->category || strcmp(d->categories.at[at->category], r->category) == 0 ||
           strcmp(detections_category(d, at->category), r->category) == 0;
}

/* What is wanted of `from`, which may be d itself. The rest of a file about thousands of videos is not kept. */
static int keep_wanted(detections *d, const detections *from, const detections_request *r, uint32_t owner) {
    size_t wanted = 0;
    for (size_t i = 0; i < from->count; i++) wanted += is_wanted(from, r, owner, &from->at[i]) != 0;
    detection *kept = mem_array(wanted + 1, sizeof *kept);
    if (!kept) return 0;
    wanted = 0;
    for (size_t i = 0; i < from->count; i++) {
        const detection *at = &from->at[i];
        if (!is_wanted(from, r, owner, at)) continue;
        if (at->box[2] > 0 && at->box[3] > 0) kept[wanted++] = *at;
        else d->empty++;
    }
    free(d->at);
    d->at = kept;
    d->count = d->cap = wanted;
    return 1;
}

/* By frames, without changing the order within one. */
static int sort_by_frame(detections *d) {
    detection *from = d->at, *to = mem_array(d->count + 1, sizeof *to), *other = to;
    if (!to) return 0;
    for (size_t width = 1; width < d->count; width *= 2) {
        for (size_t i = 0; i < d->count; i += 2 * width) {
            size_t a = i, a_end = i + width < d->count ? i + width : d->count, b = a_end;
            size_t b_end = a_end + width < d->count ? a_end + width : d->count;
            for (size_t k = i; k < b_end; k++)
                to[k] = a < a_end && (b == b_end || from[a].frame <= from[b].frame) ? from[a++] : from[b++];
        }
        detection *swap = from;
        from = to, to = swap;
    }
    if (from == other) memcpy(d->at, from, d->count * sizeof *from);
    free(other);
    return 1;
}

static int parse(detections *d, const detections_request *r, const text *file, text *why) {
    const char *start = file->s ? file->s + utf8_mark(file->s, file->len) : "";
    start += strspn(start, " \t\r\n");
    if (!*start && r->path && text_ends_with(r->path, ".txt") && !r->photos) {
        d->format = "MOT"; /* of a film in which the detector has found nothing */
        return detections_name(&d->owners, "", 0) != UINT32_MAX || text_no_memory(why);
    }
    if (!*start) return refuse(why, "the file is empty");
    if (*start == '{' || *start == '[') {
        int is_coco = strstr(start, "\"annotations\"") || strstr(start, "\"image_id\"");
        d->format = is_coco ? "COCO" : *start == '[' ? "Microsoft's MegaDetector" : "MegaDetector";
        return (is_coco ? detections_from_coco : detections_from_megadetector)(d, r, file, why);
    }
    if (r->photos && *start >= '0' && *start <= '9')
        return refuse(why, "MOT text is about the frames of a video; of photos, MegaDetector's JSON, COCO or CSV with "
                           "path,x,y,width,height is read");
    if (r->photos) {
        d->format = "CSV";
        return detections_of_photos_from_csv(d, r, file, why);
    }
    int is_mot = (*start >= '0' && *start <= '9') || *start == '-';
    d->format = is_mot ? "MOT" : "CSV";
    return (is_mot ? detections_from_mot : detections_from_csv)(d, r, file, why);
}

static int parse_all(detections *d, const detections_request *r, const text *file, text *why) {
    memset(d, 0, sizeof *d);
    d->unit = BOX_PIXELS;
    d->photos = r->photos;
    text_clear(why);
    return parse(d, r, file, why);
}

static int keep_sorted(detections *d, const detections *from, const detections_request *r, uint32_t owner, text *why) {
    return (keep_wanted(d, from, r, owner) && sort_by_frame(d)) || text_no_memory(why);
}

int detections_parse(detections *d, const detections_request *r, const text *file, text *why) {
    if (!parse_all(d, r, file, why)) return 0;
    if (d->photos) {
        uint32_t mine = find_camera(d, r, why);
        return !why->len && keep_sorted(d, d, r, mine, why);
    }
    uint32_t owner = 0;
    int named = d->owners.count > 1 || (d->owners.count == 1 && *d->owners.at[0]);
    int alone = d->owners.count == 1 && d->pictures; /* pictures of one video, whatever their folder is called */
    if (d->owners.count && !(r->only && (!named || alone))) owner = find_owner(d, r, why);
    if (owner == UINT32_MAX) return 0;
    if (d->failure) return refuse(why, "the detector failed on %.200s: %.200s", shown(path_last_part(r->video)),
                                  shown(d->failure));
    return keep_sorted(d, d, r, owner, why);
}

static int read_file(detections *d, const detections_request *r, text *why,
                     int (*how)(detections *, const detections_request *, const text *, text *)) {
    static const size_t most = (size_t)1 << 32;
    text file = TEXT_INIT;
    memset(d, 0, sizeof *d);
    int good = file_read(r->path, most, 0, &file, why) && how(d, r, &file, why);
    text_free(&file);
    return good;
}

int detections_read(detections *d, const detections_request *r, text *why) {
    return read_file(d, r, why, detections_parse);
}

int detections_read_all(detections *all, const detections_request *r, text *why) {
    return read_file(all, r, why, parse_all);
}

/* The categories that a file has, also for a camera that has only some of them. */
static int copy_categories(detections *d, const detections *all) {
    const detection_names *from = &all->categories;
    d->labels = all->labels ? mem_zeroed(from->count + 1, sizeof *d->labels) : NULL;
    int good = !all->labels == !d->labels;
    for (size_t i = 0; i < from->count && good; i++) {
        const char *label = d->labels ? all->labels[i] : NULL;
        good = detections_name(&d->categories, from->at[i], strlen(from->at[i])) == i;
        if (good && label) good = (d->labels[i] = mem_copy(label, strlen(label))) != NULL;
    }
    return good;
}

int detections_of(detections *d, const detections *all, const detections_request *r, text *why) {
    text_clear(why);
    memset(d, 0, sizeof *d);
    d->unit = all->unit, d->photos = all->photos, d->format = all->format;
    d->width = all->width, d->height = all->height, d->pictures = all->pictures;
    d->strangers = all->strangers, d->unlooked = all->unlooked;
    uint32_t mine = find_camera(all, r, why);
    if (why->len) return 0;
    if (!copy_categories(d, all)) return text_no_memory(why);
    return keep_sorted(d, all, r, mine, why);
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
