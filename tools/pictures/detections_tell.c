#include "pictures/detections_tell.h"

#include "base/say.h"

#include <string.h>

enum { MOST_LINES = 20 }; /* of failures; the rest is counted */

static void tell_failures(const detections *d) {
    size_t n = d->failed.count;
    for (size_t i = 0; i < n && i < MOST_LINES; i++) {
        say_warning("%s: the detector failed on it: %s", shown(d->failed.at[i]), shown(d->reasons.at[i]));
    }
    if (n > MOST_LINES) say_warning("the detector failed on %zu more photos", n - MOST_LINES);
}

/* MegaDetector writes boxes down to a confidence of 0.005, most of which show nothing. */
static void tell_confidence(const detections *d, const detections_request *r) {
    if (r->min_conf >= 0 || !d->format || !strstr(d->format, "MegaDetector") || d->sure == d->all) return;
    say_warning("%s: without --min-conf all boxes are used: %zu, from a confidence of %.3g on; --min-conf 0.2 would "
                "keep %zu", shown(r->path), d->all, d->lowest, d->sure);
}

/* What of the file is not taken as it is. */
static void tell_left_out(const detections *d, const char *file) {
    if (d->flagged)
        say_warning("%s: left out %zu box%s with flag 0, which the ground truth marks as not to be considered", file,
                    d->flagged, d->flagged == 1 ? "" : "es");
    if (d->boxless)
        say_warning("%s: left out %zu annotation%s without a box", file, d->boxless, plural(d->boxless));
    if (d->other_scale)
        say_warning("%s: its scores are not confidences between 0 and 1; all boxes count as certain", file);
}

void detections_tell(const detections *d, const detections_request *r) {
    const char *file = shown(r->path);
    if (d->strangers) say_warning("%s: %zu entr%s to photos that were not found", file, d->strangers,
                                  d->strangers == 1 ? "y refers" : "ies refer");
    if (d->videos) say_warning("%s: boxes of %zu video%s are left out; reid track reads videos", file, d->videos,
                               plural(d->videos));
    tell_left_out(d, file);
    tell_failures(d);
    tell_confidence(d, r);
}
