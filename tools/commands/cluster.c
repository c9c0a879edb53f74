/* reid cluster: groups unnamed crops by individual. */
#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/counting.h"
#include "gallery/gallery_file.h"
#include "groups/census_estimate.h"
#include "groups/cluster_labels.h"
#include "report/camtrap_export.h"
#include "report/cluster_report.h"
#include "report/count_report.h"
#include "report/crop_tables.h"
#include "report/eval_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* 1 if the output is the input, a folder of reid track. */
static int renews_tables(const options *o) {
    struct stat in, out;
    return o->output.path && !o->cluster.camtrap && o->operand_count && gallery_file_is_folder(o->operands[0]) &&
           stat(o->operands[0], &in) == 0 && stat(o->output.path, &out) == 0 && in.st_dev == out.st_dev &&
           in.st_ino == out.st_ino;
}

static int check_options(const options *o) {
    if (o->operand_count < (o->cluster.explain ? 3 : 1))
        say_error("cluster: no %s; see \"reid help cluster\"", o->cluster.explain ? "INPUT and two ids" : "INPUT");
    else if (o->cluster.carry && o->cluster.add)
        say_error("cluster: --carry groups everything anew, --add keeps earlier groups: give only one of them");
    else if (o->cluster.linkage &&
             (o->cluster.same_frame || o->cluster.tracks || o->cluster.decisions || o->cluster.add || o->count.asked))
        say_error("cluster: --method single uses only scores: it excludes --same-frame, --tracks, --decisions, --add "
                  "and --count");
    else if (o->cluster.explain && o->output.path)
        say_error("cluster: --explain writes no file: remove -o");
    else if (o->input.labels && o->cluster.own_labels)
        say_error("cluster: --labels and --own-labels: give only one of them");
    else if ((o->input.labels || o->cluster.own_labels) && !o->output.path)
        say_error("cluster: agreement with labels is reported when the groups go to a file: give -o");
    else if (o->cluster.camtrap && (!o->output.path || o->cluster.explain || o->count.asked))
        say_error("cluster: --camtrap-dp %s", o->output.path ? "excludes --explain and --count"
                                                              : "writes a folder: name it with -o");
    else if (o->cluster.species && !o->cluster.camtrap) say_error("cluster: --species is for --camtrap-dp");
    else if (renews_tables(o) && (o->operand_count > 1 || o->cluster.explain || o->count.asked))
        say_error("cluster: -o %s rewrites the tables of this folder: give no other INPUT, --explain or --count",
                  shown(o->output.path));
    else if (o->output.path && !o->cluster.camtrap && !renews_tables(o) && !text_ends_with(o->output.path, ".csv") &&
             !text_ends_with(o->output.path, ".json"))
        say_error("%s: the name of the output must end in .csv or .json, or be that of INPUT, a folder of reid track",
                  shown(o->output.path));
    else return counting_options(o, "cluster");
    return 0;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static int agreement_lines(const grouping *run, text *t) {
    agreement a;
    if (!clusters_agree(&run->found, &run->crops, &a)) return 0;
    text_printf(t, "%zu crop%s of %zu known identit%s, in %zu group%s\n", a.rows, plural(a.rows), a.identities,
                a.identities == 1 ? "y" : "ies", a.groups, plural(a.groups));
    text_printf(t, "BCubed  precision %.4f  recall %.4f  F %.4f\n", a.bcubed_precision, a.bcubed_recall, a.bcubed_f);
    text_printf(t, "pairs   precision %.4f  recall %.4f  F %.4f\n", a.pair_precision, a.pair_recall, a.pair_f);
    text_printf(t, "ARI %.4f  AMI %.4f\n", a.ari, a.ami);
    return 1;
}

static void group_lines(const grouping *run, text *t) {
    const clusters *c = &run->found;
    size_t alone = 0, none = 0;
    for (size_t i = 0; i < c->rows; i++) {
        none += c->group[i] == CLUSTERS_NONE;
        alone += c->group[i] != CLUSTERS_NONE && isnan(c->score[i]);
    }
    text_printf(t, "%zu crop%s in %zu group%s at threshold %.6g, %zu of them with one crop; to be reviewed: %zu join%s "
                   "scoring %.6g or more\n",
                c->rows - none, plural(c->rows - none), c->groups, plural(c->groups), c->threshold, alone, c->doubts,
                plural(c->doubts), run->request.doubt);
    if (none) text_printf(t, "%zu marked as not a crop\n", none);
}

static int write_out(const text *t) {
    int good = need_text(t) && results_begin(0) && results_write(t);
    return results_end(good) && good;
}

/* Prints a summary to stdout when the groups go to a file. */
static int tell_summary(const grouping *run) {
    const options *o = run->o;
    text out = TEXT_INIT;
    int good = 1;
    if (!o->output.quiet) group_lines(run, &out);
    if (o->input.labels || o->cluster.own_labels) good = agreement_lines(run, &out);
    if (good && out.len) good = write_out(&out);
    text_free(&out);
    return good;
}

static int goes_to_json(const options *o) {
    return o->output.path ? text_ends_with(o->output.path, ".json") : o->output.json;
}

static const output_kind *kind_of(const options *o) {
    static const output_kind csv = {.what = "a table of reid cluster",
                                    .start = "id,group,name,score,status,suggested\n"};
    static const output_kind tree = {.what = "the JSON of reid cluster", .start = "{",
                                     .holds = "\"format\": \"reid-groups\""};
    return goes_to_json(o) ? &tree : &csv;
}

/* Checks, before minutes of work, that the groups may go to this file. A folder is checked when it is made. */
static int check_file(const options *o) {
    text why = TEXT_INIT;
    int folder = o->cluster.camtrap || renews_tables(o);
    int good = !o->output.path || folder || file_target(o->output.path, kind_of(o), &why);
    if (!good) say_error("%s: %s", shown(o->output.path), why.s);
    text_free(&why);
    return good;
}

static int write_groups(const grouping *run) {
    const options *o = run->o;
    text out = TEXT_INIT, why = TEXT_INIT;
    int good;
    if (goes_to_json(o)) clusters_json(&run->found, &run->crops.makers, &out);
    else clusters_csv(&run->found, run->known, &out);
    if (!o->output.path) {
        good = write_out(&out);
    } else {
        good = need_text(&out);
        if (good && !file_write(o->output.path, kind_of(o), &out, &why)) {
            say_error("%s: %s", shown(o->output.path), why.s);
            good = 0;
        }
        good = good && tell_summary(run);
    }
    text_free(&out), text_free(&why);
    return good;
}

/* Writes a table to a temporary file in the folder. */
static int write_table(pending *p, const options *o, const char *name, const char *start, const text *content,
                       text *why) {
    const output_kind kind = {.what = "a table of reid track", .start = start};
    text path = TEXT_INIT;
    text_printf(&path, "%s/%s", o->output.path, name);
    int good = need_text(&path) && need_text(content) && pending_begin(p, path.s, &kind, why) &&
               pending_write(p, content->s, content->len, 0, why) && pending_sync(p, why);
    if (!good && why->len) say_error("%s: %s", shown(path.s), why->s);
    text_free(&path);
    return good;
}

/* Replaces both tables of the folder, or neither. */
static int renew_tables(const grouping *run) {
    const options *o = run->o;
    pending crop_file = {0}, individual_file = {0}, *both[] = {&crop_file, &individual_file};
    text rows = TEXT_INIT, individuals = TEXT_INIT, why = TEXT_INIT;
    const char *failed;
    crop_table(&run->crops, &run->found, &rows);
    individual_table(&run->crops, &run->found, &individuals);
    int good = write_table(&crop_file, o, "crops.csv", CROP_TABLE_START, &rows, &why) &&
               write_table(&individual_file, o, "individuals.csv", INDIVIDUAL_TABLE_START, &individuals, &why);
    if (good && !pending_rename_all(both, 2, &failed, &why)) {
        say_error("%s: %s", shown(failed), why.s);
        good = 0;
    }
    pending_close(&crop_file), pending_close(&individual_file);
    text_free(&rows), text_free(&individuals), text_free(&why);
    return good && tell_summary(run);
}

static int write_package(const grouping *run) {
    const options *o = run->o;
    struct timespec now;
    size_t written;
    text out = TEXT_INIT;
    clock_gettime(CLOCK_REALTIME, &now);
    const camtrap_request r = {.package = o->cluster.camtrap,
                               .out = o->output.path,
                               .found = &run->found,
                               .crops = &run->crops,
                               .boxes = run->box,
                               .calibration = grouping_calibration(run),
                               .decided = o->cluster.decisions ? &run->decided.list : NULL,
                               .state = o->cluster.decisions ? &run->state : NULL,
                               .species = o->cluster.species,
                               .root = o->cluster.pictures,
                               .now = (long long)now.tv_sec * 1000};
    int good = camtrap_export(&r, &written);
    if (good && !o->output.quiet) {
        text_printf(&out, "%zu observation%s of %zu individual%s in %s\n", written, plural(written),
                    run->found.groups, plural(run->found.groups), shown(o->output.path));
        good = write_out(&out);
    }
    text_free(&out);
    return good && tell_summary(run);
}

static int explain(const grouping *run) {
    const options *o = run->o;
    size_t at[2];
    text out = TEXT_INIT;
    for (int i = 0; i < 2; i++) {
        const char *id = o->operands[o->operand_count - 2 + i];
        at[i] = crops_find(&run->crops, id);
        if (at[i] != SIZE_MAX) continue;
        say_error("%s is not one of the crops", shown(id));
        return 0;
    }
    int good = clusters_explain(&run->found, (uint32_t)at[0], (uint32_t)at[1],
                                grouping_calibration(run), &out) && write_out(&out);
    text_free(&out);
    return good;
}

/* Warns when the journal does not exist, which is allowed, because its name may be mistyped. */
static void warn_about_journal(const decisions *d, const char *path) {
    if (d->fd < 0 && !d->table) say_warning("%s: not found; continuing without decisions", shown(path));
    decisions_warn_torn(d, path);
}

/* Returns the exit status: 1 when too few questions were answered. */
static int tell_count(const grouping *run) {
    counting c;
    census_result result;
    text out = TEXT_INIT;
    int status = 2;
    if (counting_make(&c, run) && census_estimate(&c.sample, &result)) {
        const count_report report = {&c.sample, &result, &c.request, &run->crops.makers};
        (run->o->output.json ? count_json : count_lines)(&report, &out);
        if (write_out(&out)) status = result.state != CENSUS_GOOD;
    }
    text_free(&out);
    counting_free(&c);
    return status;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

int cluster_main(options *o) {
    grouping run;
    folder_names names;
    int status = 2;
    if (!check_options(o) || !check_file(o) || !folder_complete(o, &names, 0)) return 2;
    if (grouping_make(&run, o, o->operands, o->operand_count - (o->cluster.explain ? 2 : 0), "cluster")) {
        if (o->cluster.decisions) warn_about_journal(&run.decided, o->cluster.decisions);
        if (o->count.asked) status = tell_count(&run);
        else if (o->cluster.explain) status = explain(&run) ? 0 : 2;
        else if (o->cluster.camtrap) status = write_package(&run) ? 0 : 2;
        else status = (renews_tables(o) ? renew_tables : write_groups)(&run) ? 0 : 2;
    }
    grouping_free(&run);
    folder_names_free(&names);
    return status;
}
