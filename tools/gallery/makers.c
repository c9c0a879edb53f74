#include "gallery/makers.h"

#include "base/say.h"
#include "embedding/imported.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void makers_of_models(const models *all, store_meta *out) {
    out->models = all->count;
    out->dim = all->dim;
    for (int i = 0; i < all->count; i++) {
        const reid_info *info = &all->at[i].info;
        store_model *m = &out->model[i];
        memset(m, 0, sizeof *m);
        snprintf(m->fingerprint, sizeof m->fingerprint, "%s", info->fingerprint);
        snprintf(m->network, sizeof m->network, "%s", info->network);
        snprintf(m->preset, sizeof m->preset, "%s", info->preset);
        snprintf(m->precision, sizeof m->precision, "%s", info->precision);
        m->dim = info->dim;
    }
}

static const char *or_unknown(const char *name) { return *name ? name : "?"; }

/* A fingerprint proves nothing about the rows behind it, because a file states both: rows of another length would be
   read and written beyond the end of ours. A calibration states no length; its model has dim 0. */
static int widths_agree(const store_model *theirs, const char *path, const store_model *ours, const char *owner) {
    if (!theirs->dim || !ours->dim || theirs->dim == ours->dim) return 1;
    say_error("%s: its rows by model %s have %d value%s, but those of %s have %d: one of the two was damaged or "
              "altered; make it again", shown(path), theirs->fingerprint, theirs->dim, plural((size_t)theirs->dim),
              shown(owner), ours->dim);
    return 0;
}

/* Reports that rows of two models cannot be compared. At least one of them ran in another program, so only its name is
   known. */
static void say_imported(const store_model *theirs, const char *path, const store_model *ours, const char *owner,
                         int owner_computes) {
    static const char *const ways[] = {"", " (imported)"};
    const store_model *both[2] = {theirs, ours};
    char name[2][128];
    for (int i = 0; i < 2; i++)
        snprintf(name[i], sizeof name[i], "%s%s", *both[i]->network ? both[i]->network : both[i]->fingerprint,
                 ways[is_imported(both[i]->fingerprint)]);
    if (owner_computes)
        say_error(
            "%s: made by the model %s in another program, so %s cannot embed images for it: embed them there, and "
            "import their rows (reid import)",
            shown(path), theirs->network, shown(owner));
    else if (strcmp(name[0], name[1]) == 0 && theirs->dim && ours->dim)
        say_error("%s: its rows by %s have %d value%s, but those of %s have %d: they cannot be compared", shown(path),
                  name[0], theirs->dim, plural((size_t)theirs->dim), shown(owner), ours->dim);
    else
        say_error("%s was made by %s, but %s by %s: embeddings of two models cannot be compared", shown(path), name[0],
                  shown(owner), name[1]);
}

int makers_agree(const store_meta *theirs, const char *path, const store_meta *ours, const models *all,
                 const char *owner) {
    if (theirs->models != ours->models) {
        const char *s = plural((size_t)theirs->models);
        if (all) say_error("%s: made with %d model%s, but -m gives %d", shown(path), theirs->models, s, ours->models);
        else say_error("%s: made with %d model%s, but %s with %d", shown(path), theirs->models, s, shown(owner),
                       ours->models);
        return 0;
    }
    for (int i = 0; i < ours->models; i++) {
        const store_model *a = &theirs->model[i], *b = &ours->model[i];
        const int differ = strcmp(a->fingerprint, b->fingerprint) != 0;
        if (differ && (is_imported(a->fingerprint) || is_imported(b->fingerprint))) {
            say_imported(a, path, b, all ? all->at[i].weights : owner, all != NULL);
            return 0;
        }
        if (differ) {
            say_error("%s was made by %s (%s, %s), but %s %s %s (%s, %s): their embeddings cannot be compared",
                      shown(path), a->fingerprint, or_unknown(a->network), or_unknown(a->preset),
                      shown(all ? all->at[i].weights : owner), all ? "with these options makes" : "holds embeddings by",
                      b->fingerprint, or_unknown(b->network), or_unknown(b->preset));
            return 0;
        }
        if (!widths_agree(a, path, b, all ? all->at[i].weights : owner)) return 0;
        if (strcmp(a->precision, b->precision) != 0)
            say_warning("%s was computed in %s, %s in %s: scores shift slightly", shown(path), a->precision,
                        all ? "queries are" : shown(owner), b->precision);
    }
    return 1;
}

const char *makers_nameless(const store_meta *makers) {
    return is_imported(makers->model[0].fingerprint) ? "" : ", because folders of photos are cameras";
}

void makers_note_decoders(const char *theirs, const char *path, const char *ours, const char *owner) {
    if (!*theirs || !*ours || strcmp(theirs, ours) == 0) return;
    say_warning("%s: its JPEG images were decoded by %s, those of %s by %s (--jpeg): scores shift slightly",
                shown(path), theirs, owner ? shown(owner) : "this command", ours);
}

void makers_note_mixture(const char *theirs, const char *path) {
    if (!strchr(theirs, ',')) return;
    say_warning("%s: its JPEG images were decoded by %s: scores among them shift slightly", shown(path), theirs);
}

int row_is_unit(const store_meta *makers, const float *row, text *why) {
    for (int m = 0; m < makers->models; row += makers->model[m++].dim) {
        double sum = 0;
        for (int i = 0; i < makers->model[m].dim; i++) sum += (double)row[i] * row[i];
        double length = sqrt(sum);
        if (length > 0.999 && length < 1.001) continue;
        text_clear(why);
        text_printf(why, "has length %g instead of 1", length);
        return 0;
    }
    return 1;
}
