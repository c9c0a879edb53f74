#include "commands/calibrate_unlabelled.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "commands/grouping.h"
#include "gallery/gallery_file.h"

#include <math.h>
#include <string.h>

/* ---- when -------------------------------------------------------------------------------------------------------- */

/* 1 if the operands are files of embeddings without a single identity. 0 if one cannot be read: the command that reads
   it later reports why. */
static int lack_identities(const options *o) {
    int unnamed = o->operand_count > 0;
    for (int i = 0; i < o->operand_count && unnamed; i++) unnamed = gallery_file_is_nameless(o->operands[i]);
    return unnamed;
}

int calibrate_is_unlabelled(const options *o) {
    const char *asked = o->calibrate.unlabelled          ? "--unlabelled"
                        : o->cluster.decisions           ? "--decisions"
                        : !isnan(o->calibrate.same_time) ? "--same-time"
                                                         : NULL;
    const char *labels = o->input.labels ? "--labels" : o->calibrate.pairs ? "--pairs" : NULL;
    if (asked && labels) say_error("calibrate: %s is for crops without labels: remove it or %s", asked, labels);
    else if (asked && o->models)
        say_error("calibrate: %s takes a folder of reid track or files of reid embed, not images: remove -m", asked);
    else if (asked && !o->operand_count)
        say_error("calibrate: %s: no crops; give the folder of reid track or the files of reid embed whose crops %s",
                  asked, o->cluster.decisions ? "the decisions are about" : "are to be compared");
    else return asked || (!labels && !o->models && lack_identities(o));
    return -1;
}

/* ---- reporting --------------------------------------------------------------------------------------------------- */

static void add_counts(text *t, const unlabelled *u) {
    text_printf(t, "%zu sighting%s, %zu of them tracks; %llu pair%s of sightings", u->sightings, plural(u->sightings),
                u->tracks, (unsigned long long)u->pairs, plural(u->pairs));
    if (u->pairs < u->every) text_printf(t, " (drawn from %llu)", (unsigned long long)u->every);
    text_printf(t, ",\n%llu of which are known to be different and %llu to be the same; no labels\n\n",
                (unsigned long long)u->different, (unsigned long long)u->same);
}

static void add_table(text *t, const unlabelled *u, const calibration *c) {
    const mixture *m = &u->fit;
    add_counts(t, u);
    text_printf(t, "  two individuals    %8.4f  (standard deviation %.4f)\n", c->score.impostor.mean,
                c->score.impostor.deviation);
    text_printf(t, "  one individual     %8.4f  (standard deviation %.4f), about %.2g %% of all pairs\n",
                c->score.genuine.mean, c->score.genuine.deviation, 100 * m->share);
    if (u->different) text_printf(t, "  known different    %8.4f\n", u->apart);
    if (u->tracks) text_printf(t, "  within a track     %8.4f\n", u->within);
    text_printf(t, "  threshold          %8.6f  (95 %% interval %.4f to %.4f)\n", m->threshold, m->interval.low,
                m->interval.high);
    text_printf(t,
                "                     which %.2g %% of the pairs of two individuals exceed, and %.2f %% of those of "
                "one\n",
                100 * c->fmr, 100 * m->accepted);
    text_printf(t, "  probability        1 / (1 + exp(-(%.6g score %+.6g)))\n\n", c->score.curve.slope,
                c->score.curve.intercept);
    text_puts(
        t, "The scores of all pairs were split into those of one and of two individuals, from what is known without\n"
           "labels.");
    if (u->tracks)
        text_puts(t, " Pairs within a track were left out: they look more alike than two sightings\n"
                     "of one individual, and a threshold from them would be too high.");
    text_puts(t, "\nScores that depend on the place or the pose look like those of individuals: check some groups,\n"
                 "answer questions of reid review, and calibrate again with these decisions.\n");
}

/* ---- the calibration --------------------------------------------------------------------------------------------- */

static int make(grouping *run, calibration *c, text *table) {
    unlabelled u;
    text why = TEXT_INIT;
    if (!grouping_learn(run, &u)) return 0;
    if (!run->made) {
        unlabelled_reason(&u, &why);
        if (need_text(&why))
            say_error(
                "calibrate: no threshold can be found without labels: %s. Answer the questions of reid review --count, "
                "or give --labels FILE.csv or --pairs FILE.csv",
                why.s);
        text_free(&why);
        return 0;
    }
    *c = run->calibration;
    memset(&run->calibration, 0, sizeof run->calibration);
    add_table(table, &u, c);
    return need_text(table);
}

int calibrate_unlabelled(options *o, calibration *c, text *table) {
    grouping run;
    folder_names names;
    memset(c, 0, sizeof *c);
    if (!folder_complete(o, &names, 0)) return 0;
    o->match.calibration = NULL; /* it is to be replaced */
    int good = grouping_open(&run, o, o->operands, o->operand_count, "calibrate") && make(&run, c, table);
    grouping_free(&run);
    o->cluster.decisions = o->cluster.decisions == names.decisions.s ? NULL : o->cluster.decisions;
    folder_names_free(&names);
    return good;
}
