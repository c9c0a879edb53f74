#include "machine/subjects.h"

#include "base/say.h"
#include "gallery/gallery_file.h"
#include "gallery/templates.h"
#include "pictures/inputs.h"
#include "scores/calibration_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Collects the messages of other rooms into one finding instead of printing them to stderr. */
typedef struct hearing {
    char said[1024];
} hearing;

static void listen_to(hearing *h) {
    h->said[0] = 0;
    say_listen(h->said, sizeof h->said);
}

/* The messages in one line; "" if there were none. */
static const char *heard(hearing *h) {
    say_listen(NULL, 0);
    size_t n = strlen(h->said);
    while (n && h->said[n - 1] == '\n') h->said[--n] = 0;
    for (char *at = h->said; *at; at++)
        if (*at == '\n') *at = ';';
    return h->said;
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static int open_model(findings *f, models *all, const reid_desc *desc) {
    hearing h;
    listen_to(&h);
    int good = models_add(all, desc);
    const char *said = heard(&h);
    if (!good) {
        findings_add(f, FOUND_ERROR, "model", "reid inspect and reid convert say more", "%s", said);
        return 0;
    }
    const reid_info *info = &all->at[all->count - 1].info;
    findings_add(f, FOUND_GOOD, "model", NULL, "%s: %s, %d float%s, %s %s, %s, %.2f GiB, fingerprint %s",
                 shown(desc->weights), info->network, info->dim, plural((size_t)info->dim), info->device,
                 info->isa, info->precision, (double)info->total_bytes / 1073741824.0, info->fingerprint);
    if (*said) findings_add(f, FOUND_WARNING, "model", NULL, "%s", said);
    return 1;
}

/* --- gallery ------------------------------------------------------------------------------------------------------ */

typedef struct gallery_facts {
    store_meta makers;
    size_t rows, identities; /* identities: 0: not counted */
    char jpeg[STORE_JPEG];
    int is_folder;
} gallery_facts;

static int read_templates(const char *place, gallery_facts *to) {
    gallery_store *s = templates_read(place, 0);
    if (!s) return 0;
    to->makers = *store_info(s);
    memcpy(to->jpeg, to->makers.jpeg, sizeof to->jpeg);
    to->rows = store_count(s), to->identities = store_identity_count(s);
    store_close(s);
    return 1;
}

static int read_rows(const char *path, gallery_facts *to) {
    gallery_file file;
    int good = gallery_file_read(&file, path);
    to->makers = file.makers, to->rows = file.count;
    to->makers.threshold = (double)NAN;
    memcpy(to->jpeg, file.jpeg, sizeof to->jpeg);
    gallery_file_free(&file);
    return good;
}

/* Counts the images without opening them. */
static int read_folder(const char *path, gallery_facts *to) {
    inputs list = {0};
    int good = inputs_add_path(&list, path);
    to->rows = list.count, to->is_folder = 1;
    to->makers.threshold = (double)NAN;
    inputs_free(&list);
    return good;
}

static int read_gallery(const char *place, gallery_facts *to) {
    struct stat st;
    memset(to, 0, sizeof *to);
    if (templates_is_place(place)) return read_templates(place, to);
    if (stat(place, &st) == 0 && S_ISDIR(st.st_mode)) return read_folder(place, to);
    return read_rows(place, to);
}

static void add_gallery(findings *f, const subjects *s, const gallery_facts *g) {
    char who[48] = "", maker[64] = "";
    if (g->identities) snprintf(who, sizeof who, " of %zu identit%s", g->identities, g->identities == 1 ? "y" : "ies");
    if (g->makers.models) snprintf(maker, sizeof maker, ", made by %s", g->makers.model[0].fingerprint);
    findings_add(f, g->rows ? FOUND_GOOD : FOUND_WARNING, "gallery", g->rows ? NULL : "reid gallery add",
                 "%s: %zu %s%s%s%s", shown(s->gallery), g->rows, g->is_folder ? "image" : "template", plural(g->rows),
                 who, maker);
}

/* Checks the gallery. Returns 0 when it cannot be read. */
static int look_at_gallery(findings *f, const subjects *s, const models *all, gallery_facts *g) {
    hearing h;
    listen_to(&h);
    int good = read_gallery(s->gallery, g);
    const char *said = heard(&h);
    if (!good) {
        findings_add(f, FOUND_ERROR, "gallery", "reid gallery verify, or the file's own .meta.json next to it", "%s",
                     *said ? said : "it cannot be read");
        return 0;
    }
    add_gallery(f, s, g);
    if (g->is_folder || !all->count) return 1;
    store_meta ours;
    makers_of_models(all, &ours);
    listen_to(&h);
    int agree = makers_agree(&g->makers, s->gallery, &ours, all, NULL);
    if (agree) makers_note_decoders(g->jpeg, s->gallery, s->jpeg, NULL);
    said = heard(&h);
    if (!agree)
        findings_add(f, FOUND_ERROR, "gallery",
                     "the model and options that made it, or a new gallery (in a database: reid gallery reembed)",
                     "%s", said);
    else if (*said) findings_add(f, FOUND_WARNING, "gallery", NULL, "%s", said);
    else findings_add(f, FOUND_GOOD, "gallery", NULL, "its fingerprint is the model's");
    return 1;
}

/* --- calibration -------------------------------------------------------------------------------------------------- */

static void look_at_calibration(findings *f, const subjects *s, const models *all) {
    hearing h;
    calibration c;
    store_meta ours;
    listen_to(&h);
    int good = calibration_read(&c, s->calibration);
    const char *said = heard(&h);
    if (!good) findings_add(f, FOUND_ERROR, "calibration", "reid calibrate", "%s", said);
    else if (*said) findings_add(f, FOUND_WARNING, "calibration", "more and better labelled images, or another model",
                                 "%s", said);
    else if (c.identities)
        findings_add(f, FOUND_GOOD, "calibration", NULL, "%s: threshold %.4f, equal error rate %.2f %%, from %zu "
                     "identit%s", shown(s->calibration), c.threshold, 100 * c.score.points.eer, c.identities,
                     c.identities == 1 ? "y" : "ies");
    else findings_add(f, FOUND_GOOD, "calibration", NULL, "%s: threshold %.4f, equal error rate %.2f %%",
                      shown(s->calibration), c.threshold, 100 * c.score.points.eer);
    if (good && all->count) {
        makers_of_models(all, &ours);
        listen_to(&h);
        int agree = makers_agree(&c.makers, s->calibration, &ours, all, NULL);
        said = heard(&h);
        if (!agree || *said) findings_add(f, agree ? FOUND_WARNING : FOUND_ERROR, "calibration",
                                          "reid calibrate with this model and these options", "%s", said);
    }
    calibration_free(&c);
}

/* Warns when there is no threshold, without which a score means nothing; two models have a default. */
static void look_for_threshold(findings *f, const subjects *s, const gallery_facts *g) {
    if (s->calibration || !isnan(s->threshold) || !isnan(g->makers.threshold) || s->model_count == 2) return;
    findings_add(f, FOUND_WARNING, "calibration", "reid calibrate, with images of your own, then --calibration FILE",
                 "none, and the gallery has no threshold: scores cannot become decisions");
}

void subjects_look(findings *f, const subjects *s) {
    models all;
    gallery_facts g;
    memset(&all, 0, sizeof all);
    memset(&g, 0, sizeof g);
    int good = 1;
    for (int i = 0; i < s->model_count && good; i++) good = open_model(f, &all, &s->models[i]);
    if (!good) models_close(&all); /* with part of an ensemble the gallery cannot be checked */
    g.makers.threshold = (double)NAN;
    int readable = s->gallery && look_at_gallery(f, s, &all, &g);
    if (s->calibration) look_at_calibration(f, s, &all);
    else if (readable) look_for_threshold(f, s, &g);
    models_close(&all);
}
