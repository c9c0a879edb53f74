#include "groups/bursts.h"

#include "base/memory.h"
#include "base/unicode.h"

#include <stdlib.h>
#include <string.h>

/* A crop with a camera and a time. */
typedef struct seen_crop {
    const char *camera;
    long long when;
    uint32_t row;
} seen_crop;

typedef struct two_tracks {
    uint32_t a, b;
} two_tracks;

typedef struct finding {
    const bursts_request *r;
    bursts *b;
    seen_crop *seen;         /* [count], by camera and time */
    size_t count;
    uint32_t tracks;         /* above all tracks */
    uint32_t *of_track;      /* [tracks]: the burst that was looked at last with this track in it, + 1 */
    uint32_t *crops, *inside; /* [tracks]: crops of the track; those in that burst */
    two_tracks *apart;       /* each pair in both directions, sorted */
    uint32_t *frames;        /* [count]: working memory */
    uint32_t next;           /* the next burst's number as a track */
} finding;

/* --- order -------------------------------------------------------------------------------------------------------- */

static int by_camera_and_time(const void *a, const void *b) {
    const seen_crop *x = a, *y = b;
    int order = name_order(x->camera, y->camera);
    if (order) return order;
    if (x->when != y->when) return x->when < y->when ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_track(const void *a, const void *b) {
    const two_tracks *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static int by_number(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static uint32_t track_at(const finding *f, size_t row) {
    return f->r->tracks ? f->r->tracks[row] : UINT32_MAX;
}

static int make_room(finding *f) {
    const bursts_request *r = f->r;
    size_t n = r->crops->count;
    for (size_t i = 0; i < n; i++)
        if (track_at(f, i) != UINT32_MAX && track_at(f, i) >= f->tracks) f->tracks = track_at(f, i) + 1;
    f->b->tracks = need_array(n + 1, sizeof *f->b->tracks);
    for (size_t i = 0; i < 2 * r->apart_count; i++)
        if (r->apart[i] >= f->tracks) f->tracks = r->apart[i] + 1;
    f->b->apart = f->b->tracks ? need_array(r->apart_count + 1, 2 * sizeof *f->b->apart) : NULL;
    f->seen = f->b->apart ? need_array(n + 1, sizeof *f->seen) : NULL;
    f->frames = f->seen ? need_array(n + 1, sizeof *f->frames) : NULL;
    f->of_track = f->frames ? need_zeroed((size_t)f->tracks + 1, 3 * sizeof *f->of_track) : NULL;
    f->apart = f->of_track ? need_array(r->apart_count + 1, 2 * sizeof *f->apart) : NULL;
    if (!f->apart) return 0;
    f->crops = f->of_track + f->tracks, f->inside = f->crops + f->tracks;
    return 1;
}

static void sort_all(finding *f) {
    const bursts_request *r = f->r;
    for (uint32_t i = 0; i < r->crops->count; i++) {
        const crop_facts *at = &r->crops->facts[i];
        f->b->tracks[i] = track_at(f, i);
        if (track_at(f, i) != UINT32_MAX) f->crops[track_at(f, i)]++;
        if (at->camera && *at->camera && at->when != STORE_NO_TIME)
            f->seen[f->count++] = (seen_crop){at->camera, at->when, i};
    }
    if (f->count) qsort(f->seen, f->count, sizeof *f->seen, by_camera_and_time);
    for (size_t i = 0; i < 2 * r->apart_count; i += 2) {
        f->apart[i] = (two_tracks){r->apart[i], r->apart[i + 1]};
        f->apart[i + 1] = (two_tracks){r->apart[i + 1], r->apart[i]};
    }
    if (r->apart_count) qsort(f->apart, 2 * r->apart_count, sizeof *f->apart, by_track);
}

/* --- a burst ------------------------------------------------------------------------------------------------------ */

/* Whether a track that is apart from this one is in the burst, too. */
static int meets_another(const finding *f, uint32_t track, uint32_t burst) {
    size_t from = 0, to = 2 * f->r->apart_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f->apart[middle].a < track) from = middle + 1;
        else to = middle;
    }
    for (; from < 2 * f->r->apart_count && f->apart[from].a == track; from++)
        if (f->of_track[f->apart[from].b] == burst) return 1;
    return 0;
}

/* Whether two of the crops are of one photo: by the photos, or, if these are unknown, by the time. */
static int share_a_photo(finding *f, const seen_crop *at, size_t count) {
    for (size_t i = 1; i < count && !f->r->frames; i++)
        if (at[i].when == at[i - 1].when) return 1;
    for (size_t i = 0; i < count && f->r->frames; i++) f->frames[i] = f->r->frames[at[i].row];
    if (f->r->frames) qsort(f->frames, count, sizeof *f->frames, by_number);
    for (size_t i = 1; i < count && f->r->frames; i++)
        if (f->frames[i] == f->frames[i - 1]) return 1;
    return 0;
}

/* Whether its crops may count as one track. burst: a number for it, above 0. */
static int is_one(finding *f, const seen_crop *at, size_t count, uint32_t burst) {
    if (share_a_photo(f, at, count)) return 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t track = track_at(f, at[i].row);
        if (track == UINT32_MAX) continue;
        if (f->of_track[track] != burst) f->of_track[track] = burst, f->inside[track] = 0;
        f->inside[track]++;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t track = track_at(f, at[i].row);
        if (track == UINT32_MAX) continue;
        if (f->inside[track] != f->crops[track] || meets_another(f, track, burst)) return 0;
    }
    return 1;
}

static void find_all(finding *f) {
    uint32_t burst = 0;
    f->next = f->tracks;
    for (size_t i = 0, end; i < f->count; i = end) {
        for (end = i + 1; end < f->count; end++)
            if (!name_same(f->seen[end].camera, f->seen[i].camera) ||
                f->seen[end].when - f->seen[end - 1].when > 1000LL * BURST_SECONDS)
                break;
        if (end - i < 2 || !is_one(f, &f->seen[i], end - i, ++burst)) continue;
        for (size_t k = i; k < end; k++) {
            const uint32_t track = track_at(f, f->seen[k].row);
            if (track != UINT32_MAX) f->inside[track] = UINT32_MAX, f->crops[track] = f->next;
            f->b->tracks[f->seen[k].row] = f->next;
        }
        f->next++;
    }
    for (size_t i = 0; i < 2 * f->r->apart_count; i++) {
        const uint32_t track = f->r->apart[i];
        f->b->apart[i] = f->inside[track] == UINT32_MAX ? f->crops[track] : track;
    }
    f->b->apart_count = f->r->apart_count;
}

int bursts_find(bursts *b, const bursts_request *r) {
    finding f = {.r = r, .b = b};
    memset(b, 0, sizeof *b);
    int good = make_room(&f);
    if (good) {
        sort_all(&f);
        find_all(&f);
    }
    free(f.seen), free(f.frames), free(f.of_track), free(f.apart);
    return good;
}

void bursts_free(bursts *b) {
    free(b->tracks), free(b->apart);
    memset(b, 0, sizeof *b);
}
