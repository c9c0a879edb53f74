#include "pictures/detections.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "pictures/detections_coco.h"
#include "pictures/detections_json.h"
#include "pictures/detections_text.h"
#include "pictures/paths.h"

#include <stdlib.h>
#include <string.h>

/* --- owners ------------------------------------------------------------------------------------------------------- */

/* Finds the owner that is the requested video; UINT32_MAX with the reason in why if none or several match. */
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
    if (fit) refuse(why, "it has several videos named %.200s", shown(path_last_part(r->video)));
    else if (d->owners.count == 1 && *d->owners.at[0])
        refuse(why, "it is about %.200s, not about %.200s", shown(d->owners.at[0]), shown(path_last_part(r->video)));
    else if (d->owners.count == 1)
        refuse(why, "it does not name its video, and several videos are given");
    else
        refuse(why, "it is about %zu videos, none of which is named %.200s", d->owners.count,
               shown(path_last_part(r->video)));
    return UINT32_MAX;
}

/* Finds the owner that is the requested camera; UINT32_MAX without a reason if its photos have no detections. */
static uint32_t find_camera(const detections *d, const detections_request *r, text *why) {
    int some = 0;
    for (uint32_t i = 0; i < d->owners.count; i++) {
        if (strcmp(d->owners.at[i], r->video) == 0) return i;
        some = some || *d->owners.at[i];
    }
    if (!some && d->owners.count)
        refuse(why, "it mentions none of the photos of %.300s", shown(r->video));
    return UINT32_MAX;
}

/* --- selection ---------------------------------------------------------------------------------------------------- */

static int is_of_category(const detections *d, const detections_request *r, const detection *at) {
    return !r->category || strcmp(d->categories.at[at->category], r->category) == 0 ||
           strcmp(detections_category(d, at->category), r->category) == 0;
}

int detections_wants(const detections *d, const detections_request *r, const detection *at) {
    return !(r->min_conf >= 0 && at->score < r->min_conf) && is_of_category(d, r, at);
}

static int is_wanted(const detections *d, const detections_request *r, uint32_t owner, const detection *at) {
    return at->owner == owner && detections_wants(d, r, at);
}

/* An option that would leave out nothing, or everything, is a mistake. */
static int can_be_chosen(const detections *d, const detections_request *r, text *why) {
    if (r->min_conf >= 0 && d->count && !d->scored)
        return refuse(why, "no box has a score, so --min-conf cannot be used: remove it");
    if (r->category && d->count && !d->categorised)
        return refuse(why, "no box has a category, so --category cannot be used: remove it");
    return 1;
}

/* A threshold that keeps most of the animals of MegaDetector, and few of its mistakes. */
static const double USUAL_CONF = 0.2;

static void measure(detections *d, const detections_request *r) {
    d->lowest = 1;
    for (size_t i = 0; i < d->count; i++) {
        if (!is_of_category(d, r, &d->at[i])) continue;
        d->all++;
        d->sure += d->at[i].score >= USUAL_CONF;
        if (d->at[i].score < d->lowest) d->lowest = d->at[i].score;
    }
}

/* Keeps the requested detections of `from`, which may be d itself. The rest, in a file about thousands of videos, is
   freed. */
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

/* Sorts by frames and keeps the order within each. */
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
        d->format = "MOT"; /* a video in which the detector found nothing */
        return detections_name(&d->owners, "", 0) != UINT32_MAX || text_no_memory(why);
    }
    if (!*start) return refuse(why, "the file is empty");
    if (*start == '{' || *start == '[') {
        int is_coco = strstr(start, "\"annotations\"") || strstr(start, "\"image_id\"");
        if (!is_coco) d->any_scale = 0; /* MegaDetector's confidence is one */
        d->format = is_coco ? "COCO" : *start == '[' ? "Microsoft's MegaDetector" : "MegaDetector";
        return (is_coco ? detections_from_coco : detections_from_megadetector)(d, r, file, why);
    }
    int is_mot = (*start >= '0' && *start <= '9') || *start == '-';
    d->format = is_mot ? "MOT" : "CSV";
    if (!is_mot && (r->photos || r->listed) && !detections_csv_has_frames(file))
        return detections_of_photos_from_csv(d, r, file, why);
    return (is_mot ? detections_from_mot : detections_from_csv)(d, r, file, why);
}

/* Scores of another scale count as unknown, all of them; so do scores that are all 0, as placeholders are. */
static void settle_scores(detections *d) {
    size_t zeros = 0;
    for (size_t i = 0; i < d->count; i++) zeros += d->at[i].score == 0;
    if (d->any_scale && zeros && zeros == d->count) d->other_scale = 1;
    if (!d->other_scale) return;
    for (size_t i = 0; i < d->count; i++) d->at[i].score = 1;
    d->scored = 0;
}

static int parse_all(detections *d, const detections_request *r, const text *file, text *why) {
    memset(d, 0, sizeof *d);
    d->unit = BOX_PIXELS;
    d->photos = r->photos;
    d->any_scale = !(r->min_conf >= 0);
    text_clear(why);
    if (!parse(d, r, file, why) || !can_be_chosen(d, r, why)) return 0;
    settle_scores(d);
    measure(d, r);
    return 1;
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
    int alone = d->owners.count == 1 && d->pictures; /* images of one video, whatever their folder's name */
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
    int good = file_read(r->path, most, 0, &file, why) && text_from_utf16(&file, why) && how(d, r, &file, why);
    text_free(&file);
    return good;
}

int detections_read(detections *d, const detections_request *r, text *why) {
    return read_file(d, r, why, detections_parse);
}

int detections_read_all(detections *all, const detections_request *r, text *why) {
    return read_file(all, r, why, parse_all);
}

/* Copies all categories of the file, even if the camera has only some of them. */
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
    d->strangers = all->strangers;
    d->flagged = all->flagged, d->boxless = all->boxless, d->other_scale = all->other_scale;
    uint32_t mine = find_camera(all, r, why);
    if (why->len) return 0;
    if (!copy_categories(d, all)) return text_no_memory(why);
    return keep_sorted(d, all, r, mine, why);
}
