#include "commands/gallery_groups.h"

#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/unicode.h"
#include "gallery/gallery_file.h"
#include "gallery/gallery_host.h"
#include "gallery/templates.h"
#include "groups/earlier.h"
#include "pictures/box_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct naming {
    const options *o;
    const char *path;
    templates *to;
    earlier groups;      /* sorted by id, for name_find */
    unsigned char *seen; /* [groups.count]: 1 if a file has the crop */
    uint16_t *half_row;  /* [dim] */
    const char *jpeg;    /* the decoder of the JPEG files behind the current file; "": unknown */
    size_t names, added, known, nameless;
} naming;

/* --- names -------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    const earlier_crop *x = *(const earlier_crop *const *)a, *y = *(const earlier_crop *const *)b;
    int order = name_order(x->name, y->name);
    return order ? order : (x->group > y->group) - (x->group < y->group);
}

/* Refuses two groups with the same name: they may be one individual that the scores did not join, which people must
   decide. */
static int check_names(naming *n) {
    const earlier_crop **named = need_array(n->groups.count + 1, sizeof *named);
    size_t count = 0;
    int good = named != NULL;
    for (size_t i = 0; i < n->groups.count && good; i++)
        if (n->groups.at[i].name) named[count++] = &n->groups.at[i];
    if (good) qsort(named, count, sizeof *named, by_name);
    for (size_t i = 0; i < count && good; i++) {
        int other = i == 0 || !name_same(named[i]->name, named[i - 1]->name);
        n->names += (size_t)other;
        if (other || named[i]->group == named[i - 1]->group) continue;
        say_error("%s: groups %u and %u are both called %s: rename one of them in reid review",
                  shown(n->o->gallery.groups), (unsigned)named[i - 1]->group, (unsigned)named[i]->group,
                  shown(named[i]->name));
        good = 0;
    }
    if (good && !count) {
        say_error("%s: no group has a name: give some with reid review", shown(n->o->gallery.groups));
        good = 0;
    }
    free(named);
    return good;
}

/* --- templates ---------------------------------------------------------------------------------------------------- */

/* Adds one crop. Returns 0 after saying what is wrong. */
static int add_crop(naming *n, const char *id, const char *name, const store_item *more, const float *row) {
    char why[STORE_WHY] = "";
    const char *now;
    const store_meta *meta = templates_info(n->to);
    templates_result result = templates_find(n->to, id, &now, why);
    if (result == TEMPLATES_FAILED) {
        say_gallery_error(n->path, why);
        return 0;
    }
    if (result == TEMPLATES_DONE) {
        n->known += name_same(now, name) != 0;
        if (name_same(now, name)) return 1;
        say_error("%s: named %s in the gallery, but %s in --groups", shown(id), shown(now), shown(name));
        return 0;
    }
    store_item item = *more;
    item.id = id, item.identity = name;
    if (meta->halves) reid_to_halves(row, n->half_row, (size_t)meta->dim);
    if (templates_add(n->to, &item, meta->halves ? (const void *)n->half_row : row, why) != TEMPLATES_DONE ||
        templates_add_decoders(n->to, n->jpeg, why) != TEMPLATES_DONE) {
        say_error("%s: %s", shown(id), why);
        return 0;
    }
    n->added++;
    return 1;
}

/* Reports a crop that another writer has added in the meantime; nothing is stored then. */
static void say_refused(void *user, size_t number, const char *id, const char *why) {
    (void)user, (void)number;
    say_error("%s: %s", shown(id), why);
}

/* The photo and the box, from which the crop can be cut again; "" if unknown, as for a video. */
static const char *source_of(const gallery_file *f, size_t i) {
    box_unit unit = BOX_NONE;
    double box[4];
    if (f->source_count) box_text_split(f->sources[i], &unit, box);
    return unit == BOX_NONE ? "" : f->sources[i];
}

static int add_file(naming *n, const char *name) {
    gallery_file f;
    store_meta meta = *templates_info(n->to);
    int good = gallery_file_read(&f, name) && makers_agree(&f.makers, name, &meta, NULL, n->path);
    n->jpeg = f.jpeg;
    if (good) makers_note_decoders(f.jpeg, name, meta.jpeg, n->path);
    for (size_t i = 0; good && i < f.count && !interrupted(); i++) {
        const earlier_crop *crop = name_find(f.ids[i], n->groups.at, n->groups.count, sizeof *crop);
        if (crop) n->seen[crop - n->groups.at] = 1;
        if (!crop || !crop->name) {
            n->nameless++;
            continue;
        }
        const char *camera = f.cameras && *f.cameras[i] ? f.cameras[i]
                             : n->o->gallery.camera     ? n->o->gallery.camera
                                                        : "";
        const store_item more = {NULL, NULL, camera, source_of(&f, i), f.times ? f.times[i] : STORE_NO_TIME, 0, 0};
        good = add_crop(n, f.ids[i], crop->name, &more, f.rows + i * f.columns);
    }
    n->jpeg = "";
    gallery_file_free(&f);
    return good;
}

static int check_seen(const naming *n) {
    for (size_t i = 0; i < n->groups.count; i++) {
        if (n->seen[i] || !n->groups.at[i].name) continue;
        say_error("%s: crop %s (%s) is in none of the files of embeddings", shown(n->o->gallery.groups),
                  shown(n->groups.at[i].id), shown(n->groups.at[i].name));
        return 0;
    }
    return 1;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int check_options(const options *o) {
    if (o->models || o->gallery.list || o->input.boxes || o->gallery.time)
        say_error("gallery add: --groups is for files of embeddings; it excludes -m, --list, --boxes and --time");
    else if (!o->operand_count)
        say_error("gallery add: --groups needs the files of embeddings that were given to reid cluster");
    else return 1;
    return 0;
}

static void tell_json(const naming *n, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "added", n->added);
    json_put_count(&w, "known", n->known);
    json_put_count(&w, "individuals", n->names);
    json_put_count(&w, "left_out", n->nameless);
    json_put_finish(&w);
}

static int tell(const naming *n) {
    text t = TEXT_INIT;
    if (n->o->output.json) tell_json(n, &t);
    else
        text_printf(&t, "added %zu crop%s of %zu named individual%s; already in the gallery: %zu; left out without a "
                        "name: %zu\n",
                    n->added, plural(n->added), n->names, plural(n->names), n->known, n->nameless);
    int good = need_text(&t) && results_begin(0) && results_write(&t);
    text_free(&t);
    return results_end(good) && good;
}

int gallery_add_groups(const options *o, const char *path) {
    naming n;
    char why[STORE_WHY] = "";
    memset(&n, 0, sizeof n);
    n.o = o, n.path = path;
    int good = check_options(o) && earlier_read(&n.groups, o->gallery.groups) && check_names(&n);
    n.seen = good ? need_zeroed(n.groups.count + 1, 1) : NULL;
    n.to = n.seen ? templates_change(path) : NULL;
    good = n.to && (n.half_row = need_array((size_t)templates_info(n.to)->dim, sizeof *n.half_row)) != NULL;
    for (int i = 0; i < o->operand_count && good; i++) good = add_file(&n, o->operands[i]);
    good = good && !interrupted() && check_seen(&n);
    if (good && n.added) {
        const commit_rules rules = {1, say_refused, NULL};
        templates_result result = templates_commit(n.to, &rules, why);
        good = result == TEMPLATES_DONE;
        if (result < TEMPLATES_REFUSED) say_gallery_error(path, why);
    }
    good = good && tell(&n);
    templates_close(n.to);
    earlier_free(&n.groups);
    free(n.seen), free(n.half_row);
    return good ? 0 : 2;
}
