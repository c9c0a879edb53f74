#include "tracks/photo_frames.h"

#include "base/files.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct photo_frames {
    const camera *of;
    const uint32_t *wanted; /* [count] */
    size_t count, due;      /* due: index of the first wanted photo that was not handed out */
    size_t next;            /* index of the next photo */
    double burst, seconds;
    int width, height;      /* of the last photo that was decoded */
    inputs list;            /* the wanted photos */
    pipeline *decoding;
    decoded now;
    int holds;              /* 1: `now` must be released */
};

photo_frames *photo_frames_open(const camera *of, const uint32_t *wanted, size_t wanted_count, double burst,
                                const decode_settings *how) {
    photo_frames *p = need_zeroed(1, sizeof *p);
    if (!p) return NULL;
    p->of = of;
    p->wanted = wanted, p->count = wanted_count;
    p->burst = burst;
    int good = 1;
    for (size_t i = 0; i < wanted_count && good; i++) {
        const char *path = of->at[wanted[i]].path;
        good = inputs_add(&p->list, path, 0, path) != NULL;
    }
    if (good && wanted_count) p->decoding = pipeline_start(&p->list, 0, p->list.count, how, NULL);
    if (good && (p->decoding || !wanted_count)) return p;
    photo_frames_close(p);
    return NULL;
}

static void release(photo_frames *p) {
    if (p->holds) pipeline_release(p->decoding, &p->now);
    p->holds = 0;
}

/* Fills in the pixels of a wanted frame. Returns 0 when the program was asked to stop. */
static int decode(photo_frames *p, video_frame *frame, text *why) {
    if (!pipeline_next(p->decoding, &p->now)) return 0;
    p->holds = 1;
    p->due++;
    if (!p->now.pic.rgb) {
        text_puts(why, p->now.why.len ? p->now.why.s : "unknown failure");
        return 1;
    }
    frame->rgb = p->now.pic.rgb;
    frame->width = p->now.pic.width, frame->height = p->now.pic.height;
    frame->part = (reid_box){0, 0, frame->width, frame->height};
    frame->cut = frame->cut || (p->width && (p->width != frame->width || p->height != frame->height));
    p->width = frame->width, p->height = frame->height;
    return 1;
}

/* Cameras store whole seconds but take several photos per second; photos with the same second are spread over it. */
static double seconds_of(const camera *of, size_t i) {
    const photo *is = &of->at[i];
    size_t before = 0, after = 0;
    while (before < i && is[-1 - (ptrdiff_t)before].when == is->when) before++;
    while (i + after + 1 < of->count && is[after + 1].dated && is[after + 1].when == is->when) after++;
    double within = is->when % 1000 == 0 ? (double)before / (double)(before + after + 1) : 0;
    return (double)(is->when - of->at[0].when) / 1000 + within;
}

int photo_frames_next(photo_frames *p, video_frame *frame, text *why) {
    release(p);
    text_clear(why);
    if (p->next == p->of->count || interrupted()) return 0;
    const photo *is = &p->of->at[p->next], *before = p->next ? is - 1 : NULL;
    memset(frame, 0, sizeof *frame);
    if (is->dated) p->seconds = seconds_of(p->of, p->next);
    frame->index = p->next++;
    frame->seconds = p->seconds;
    frame->cut = before && (!is->dated || (double)(is->when - before->when) / 1000 > p->burst);
    int wanted = p->due < p->count && p->wanted[p->due] == frame->index;
    return !wanted || decode(p, frame, why);
}

void photo_frames_close(photo_frames *p) {
    if (!p) return;
    release(p);
    if (p->decoding) pipeline_stop(p->decoding);
    inputs_free(&p->list);
    free(p);
}
