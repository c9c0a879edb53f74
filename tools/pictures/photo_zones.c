#include "pictures/photo_zones.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/when.h"

#include <stdlib.h>

typedef struct stated {
    int zone;
    size_t camera, photos; /* camera: the first one that states it */
} stated;

typedef struct zone_list {
    stated *at;
    size_t count, cap;
} zone_list;

/* Counts a photo. Returns 0 after reporting that memory ran out. */
static int count_zone(zone_list *l, int zone, size_t of) {
    size_t i = 0;
    while (i < l->count && l->at[i].zone != zone) i++;
    if (i == l->count) {
        if (!NEED(l->at, l->count, l->cap)) return 0;
        l->at[l->count++] = (stated){zone, of, 0};
    }
    l->at[i].photos++;
    return 1;
}

static void add_zone(text *t, int zone) {
    if (zone == WHEN_NO_ZONE) text_puts(t, "no zone");
    else when_zone(t, zone);
}

static void tell_camera(const camera *c, const zone_list *l) {
    text list = TEXT_INIT;
    for (size_t i = 0; i < l->count; i++) {
        text_puts(&list, i ? ", " : "");
        add_zone(&list, l->at[i].zone);
        text_printf(&list, " (%zu photo%s)", l->at[i].photos, plural(l->at[i].photos));
    }
    if (need_text(&list))
        say_warning("%s: its photos state times of several zones: %s; all are used as the camera wrote them, so the "
                    "order and the bursts of photos around a change may be wrong. --times FILE.csv gives other times",
                    shown(c->folder), list.s);
    text_free(&list);
}

static void tell_cameras(const photos *p, const zone_list *l) {
    text list = TEXT_INIT;
    for (size_t i = 0; i < l->count; i++) {
        text_puts(&list, i ? ", " : "");
        add_zone(&list, l->at[i].zone);
        text_printf(&list, " (such as %s)", shown(p->at[l->at[i].camera].folder));
    }
    if (need_text(&list))
        say_warning("the cameras state times of several zones: %s; all are used as the cameras wrote them, which "
                    "matters only for reid calibrate --same-time", list.s);
    text_free(&list);
}

void photo_zones_tell(const photos *p) {
    zone_list cameras = {0};
    int good = 1;
    for (size_t i = 0; i < p->count && good; i++) {
        zone_list own = {0};
        const camera *c = &p->at[i];
        for (size_t k = 0; k < c->count - c->undated && good; k++) good = count_zone(&own, c->at[k].zone, i);
        if (own.count > 1) tell_camera(c, &own);
        else if (own.count && good) good = count_zone(&cameras, own.at[0].zone, i);
        free(own.at);
    }
    if (cameras.count > 1) tell_cameras(p, &cameras);
    free(cameras.at);
}
