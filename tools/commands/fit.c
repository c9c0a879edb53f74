/* reid fit: computes the last linear layer of a network for these individuals, in closed form. */
#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/source.h"
#include "commands/commands.h"
#include "commands/requests.h"
#include "embedding/head_inputs.h"
#include "heads/fit.h"
#include "report/fit_report.h"
#include "weights/head_write.h"
#include "weights/safetensors_write.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TENSORS = 8 };

typedef struct fit_run {
    const options *o;
    reid_desc desc;
    head_inputs inputs;  /* of -m */
    int from_file;       /* rows come from a file of embeddings */
    eval_set set;
    fit_part part[HEAD_LAYERS];
    int parts;
    char name[HEAD_LAYERS][128];
    const char *names[HEAD_LAYERS];
    size_t *pick, *identity, *camera;
    fit_request request;
    fit_judge_rules rules;
    fitted head;
    fit_judgement judged;
    char fingerprint[33];
} fit_run;

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Checks, before minutes of work, that a file can be created there. */
static int can_be_written(const char *path) {
    text why = TEXT_INIT, folder = TEXT_INIT;
    path_folder(&folder, path);
    int good = text_failed(&folder) ? text_no_memory(&why) : file_target(path, &WEIGHTS_FILE, &why);
    if (good && access(folder.s, W_OK | X_OK) != 0)
        good = refuse(&why, "cannot write to %.500s: %s", shown(folder.s), strerror(errno));
    if (!good) say_error("%s: %s", shown(path), why.s);
    text_free(&why);
    text_free(&folder);
    return good;
}

static int check_arguments(fit_run *f) {
    const options *o = f->o;
    for (int i = 0; i < o->operand_count; i++) f->from_file |= gallery_file_is_one(o->operands[i]);
    if (o->models > 1) say_error("fit: one model at a time: give one -m");
    else if (!o->models && !f->from_file) say_error("fit: no model: give its weights with -m");
    else if (!o->models && o->output.path) say_error("fit: -o writes a model's weights with the new head: give the "
                                                     "model with -m");
    else if (!o->output.path && !o->fit.report) say_error("fit: nothing to do: give -o, --report or both");
    else if (!isnan(o->fit.holdout) && !o->fit.report) say_error("fit: --holdout needs --report");
    else if (o->output.path && !text_ends_with(o->output.path, ".safetensors"))
        say_error("%s: the name of the output must end in .safetensors", shown(o->output.path));
    else return !o->output.path || can_be_written(o->output.path);
    return 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Checks that the file holds the pooled features of this network: its fingerprint must be that of these weights without
   head, raw. */
static int check_makers(const fit_run *f) {
    reid_desc desc = f->desc;
    models one;
    store_meta ours;
    desc.raw = 1;
    desc.head = REID_HEAD_NONE;
    desc.flip = desc.latency = 0;
    if (f->inputs.vectors > 1) {
        say_error("%s has a head of several layers, whose inputs are not in a file of embeddings: give the images",
                  f->inputs.m.info.network);
        return 0;
    }
    if (!models_open(&one, &desc, 1)) return 0;
    memset(&ours, 0, sizeof ours);
    makers_of_models(&one, &ours);
    int good = makers_agree(&f->set.makers, f->o->operands[0], &ours, &one, NULL);
    models_close(&one);
    return good;
}

static int open_rows(fit_run *f, int *status) {
    const options *o = f->o;
    labelled_request asked;
    store_meta makers;
    labelled_of(&asked, o);
    memset(&makers, 0, sizeof makers);
    if (o->models) {
        f->desc = asked.models[0];
        f->desc.device = REID_DEVICE_CPU;
        f->desc.log_fn = say_log;
        if (!head_inputs_open(&f->inputs, &f->desc)) return 0;
        makers.models = 1;
    }
    const eval_source pictures = {f->inputs.dim, &makers, head_inputs_run, &f->inputs};
    asked.r.model_count = 0;
    asked.r.raw = 1;
    asked.r.source = f->from_file ? NULL : &pictures;
    if (!eval_set_open(&f->set, &asked.r, NULL, status)) return 0;
    if (f->set.failed) say_warning("%zu labelled crop%s failed; the head is fitted to the others", f->set.failed,
                                   plural(f->set.failed));
    if (f->set.makers.models != 1) say_error("the embeddings are from two models: embed with one model at a time, and "
                                             "fit a head to each");
    return f->set.makers.models == 1 && (!f->from_file || !o->models || check_makers(f));
}

/* Describes the vectors of a row, and how many outputs the layers after each vector have. */
static void describe_parts(fit_run *f) {
    const head_inputs *h = &f->inputs;
    const fit_part whole = {0, f->set.dim, FIT_MOST_AXES};
    f->parts = h->vectors ? h->vectors : 1;
    if (!h->vectors) snprintf(f->name[0], sizeof f->name[0], "head");
    f->part[0] = whole;
    for (int v = 0; v < h->vectors; v++) {
        const fit_part one = {h->vector[v].first, h->vector[v].dim, 0};
        text name = TEXT_INIT;
        f->part[v] = one;
        for (int l = 0; l < h->layers; l++) {
            if (h->layer[l].vector != v) continue;
            f->part[v].room += (size_t)h->layer[l].rows;
            text_printf(&name, "%s%s", name.len ? ", " : "", h->layer[l].name);
        }
        snprintf(f->name[v], sizeof f->name[v], "%s", name.s ? name.s : "");
        text_free(&name);
    }
    for (int p = 0; p < f->parts; p++) f->names[p] = f->name[p];
}

/* Collects the rows to fit: all except those without a particular identity, each image once. */
static int make_request(fit_run *f) {
    const options *o = f->o;
    const eval_set *set = &f->set;
    size_t n = 0;
    int by_camera = o->eval.leave_out == LEAVE_OUT_CAMERA ||
                    (o->eval.leave_out == LEAVE_OUT_AUTO && set->every_camera && set->cameras > 1);
    char *seen = need_zeroed(set->count + 1, 1);
    f->pick = seen ? need_array(set->count + 1, 3 * sizeof *f->pick) : NULL;
    if (by_camera && !set->every_camera) say_error("--leave-out camera: not every crop's camera is known");
    int good = f->pick && (!by_camera || set->every_camera);
    for (size_t i = 0; i < set->count && good; i++) {
        const eval_image *at = &set->at[i];
        f->identity = f->pick + set->count, f->camera = f->pick + 2 * set->count;
        f->identity[i] = at->identity;
        f->camera[i] = at->camera;
        if (at->label->distractor || seen[at->picture]) continue;
        seen[at->picture] = 1;
        f->pick[n++] = i;
    }
    free(seen);
    const fit_request request = {
        .rows = set->rows, .columns = set->dim, .pick = f->pick, .count = n, .identity = f->identity,
        .identities = set->identities, .camera = by_camera ? f->camera : NULL, .part = f->part, .parts = f->parts,
        .method = (fit_method)o->fit.method, .shrinkage = o->fit.shrinkage, .dim = (size_t)o->fit.dim,
        .seed = (uint64_t)o->fit.seed};
    const fit_judge_rules rules = {
        .holdout = o->fit.holdout, .made_first = f->from_file ? 0 : f->inputs.made_first,
        .made = f->from_file ? set->dim : f->inputs.made, .by_camera = by_camera,
        .draws = rules_of(o).draws, .threads = o->compute.threads};
    f->request = request;
    f->rules = rules;
    return good;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Opens the file as reid embed would. */
static int check_result(void *user, const char *path, text *why) {
    fit_run *f = user;
    reid_desc desc = f->desc;
    model made;
    desc.weights = path;
    desc.network = NULL;
    desc.preset = NULL;
    desc.last_stride = 0;
    desc.head = REID_HEAD_AUTO;
    if (!model_create(&made, &desc)) return refuse(why, "%s", reason_of(&made.error, made.result));
    snprintf(f->fingerprint, sizeof f->fingerprint, "%s", made.info.fingerprint);
    model_close(&made);
    return 1;
}

/* Weight and bias of each layer, and a batch norm after it that only changes the scale, by 1 in 200,000. */
typedef struct tensor_list {
    new_tensor at[MOST_TENSORS * HEAD_LAYERS];
    size_t count;
    float *values, *next;
    const char *replaced[2 * HEAD_LAYERS + 1];
} tensor_list;

static float *add_new(tensor_list *list, const char *layer, const char *end, uint64_t rows, uint64_t columns) {
    new_tensor *t = &list->at[list->count++];
    snprintf(t->name, sizeof t->name, "%s.%s", layer, end);
    t->ndim = columns ? 2 : 1;
    t->shape[0] = rows, t->shape[1] = columns;
    t->values = list->next;
    list->next += rows * (columns ? columns : 1);
    return list->next - rows * (columns ? columns : 1);
}

/* Layers after one vector share its directions in order; the rest of their rows is 0. */
static void add_layer(tensor_list *list, const fit_run *f, const head_layer *l, size_t *used) {
    const fitted_part *p = &f->head.part[l->vector];
    size_t rows = (size_t)l->rows, from = used[l->vector];
    size_t n = p->found > from ? p->found - from : 0;
    if (n > rows) n = rows;
    float *weight = add_new(list, l->name, "weight", rows, p->dim), *bias = add_new(list, l->name, "bias", rows, 0);
    for (size_t i = 0; i < n * p->dim; i++) weight[i] = (float)p->weight[from * p->dim + i];
    for (size_t i = 0; i < n; i++) bias[i] = (float)p->bias[from + i];
    used[l->vector] += rows;
    if (!l->norm[0]) return;
    static const char *const ends[4] = {"weight", "bias", "running_mean", "running_var"};
    for (int k = 0; k < 4; k++) {
        float *to = add_new(list, l->norm, ends[k], rows, 0);
        for (size_t i = 0; i < rows; i++) to[i] = k == 0 || k == 3;
    }
}

static int list_tensors(tensor_list *list, const fit_run *f) {
    const head_inputs *h = &f->inputs;
    size_t used[HEAD_LAYERS] = {0}, total = 0, replaced = 0;
    memset(list, 0, sizeof *list);
    for (int l = 0; l < h->layers; l++) total += (size_t)h->layer[l].rows * (h->vector[h->layer[l].vector].dim + 5);
    list->values = list->next = need_zeroed(total + 1, sizeof *list->values);
    for (int l = 0; l < h->layers && list->values; l++) {
        add_layer(list, f, &h->layer[l], used);
        list->replaced[replaced++] = h->layer[l].name;
        if (h->layer[l].norm[0]) list->replaced[replaced++] = h->layer[l].norm;
    }
    return list->values != NULL;
}

/* Writes method and shrinkage of each part ("lda", "0.1"), and the parts' shares. */
static void tell_parts(const fit_run *f, text *method, text *shrinkage, text *share) {
    for (int p = 0; p < f->head.parts; p++) {
        const char *comma = p ? "," : "";
        text_printf(method, "%s%s", comma, fit_method_name(f->head.part[p].method));
        text_printf(shrinkage, "%s%.9g", comma, f->head.part[p].shrinkage);
        text_printf(share, "%s%.9g", comma, f->head.part[p].share);
    }
}

static int write_head(fit_run *f) {
    const reid_info *info = &f->inputs.m.info;
    char stride[4], individuals[32], crops[32];
    text from = TEXT_INIT, method = TEXT_INIT, shrinkage = TEXT_INIT, share = TEXT_INIT, why = TEXT_INIT;
    tensor_list list;
    uint64_t size;
    snprintf(stride, sizeof stride, "%d", info->last_stride == 1 ? 1 : 2);
    snprintf(individuals, sizeof individuals, "%zu", f->head.individuals);
    snprintf(crops, sizeof crops, "%zu", f->head.crops);
    text_visible(&from, path_name(f->o->model[0].weights));
    tell_parts(f, &method, &shrinkage, &share);
    const char *metadata[] = {
        "reid.network", f->inputs.written, "reid.preset", info->preprocessing, "reid.source", from.s,
        "reid.head_source", info->fingerprint, "reid.head_method", method.s,
        "reid.head_shrinkage", shrinkage.s, "reid.head_share", share.s,
        "reid.head_individuals", individuals, "reid.head_crops", crops,
        strncmp(info->network, "resnet", 6) == 0 ? "reid.last_stride" : NULL, stride, NULL};
    int good = need_text(&from) && need_text(&method) && need_text(&shrinkage) && need_text(&share);
    good = good && list_tensors(&list, f);
    if (good) {
        const head_write_request r = {
            .from = f->o->model[0].weights, .to = f->o->output.path, .tensors = list.at, .count = list.count,
            .replaced = list.replaced, .metadata = metadata, .check = check_result, .user = f};
        good = head_write(&r, &size, &why);
        if (!good && !interrupted()) say_error("%s: %s", shown(f->o->output.path), shown(why.s));
        free(list.values);
    }
    text_free(&from);
    text_free(&method);
    text_free(&shrinkage);
    text_free(&share);
    text_free(&why);
    return good;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int tell(const fit_run *f) {
    if (f->o->fit.report && f->judged.gain.map.value < 0)
        say_warning("the head performs worse on unseen individuals than the original network");
    const fit_story story = {&f->head,          f->names,       f->o->fit.report ? &f->judged : NULL,
                             f->inputs.written, f->fingerprint, f->o->output.path};
    text out = TEXT_INIT;
    if (f->o->output.json) fit_report_json(&story, &out);
    else fit_report_table(&story, &out);
    int good = need_text(&out) && results_begin(0) && results_write(&out);
    text_free(&out);
    return results_end(good) && good;
}

int fit_main(options *o) {
    fit_run *f = need_zeroed(1, sizeof *f);
    int status = 2;
    if (!f) return 2;
    f->o = o;
    int good = check_arguments(f) && open_rows(f, &status);
    if (good) describe_parts(f);
    good = good && make_request(f) && (!o->fit.report || fit_judge(&f->judged, &f->set, &f->request, &f->rules)) &&
           fit_heads(&f->head, &f->request) && (!o->output.path || write_head(f)) && tell(f);
    if (good) status = f->set.failed ? 1 : 0;
    fitted_free(&f->head);
    free(f->pick);
    eval_set_free(&f->set);
    head_inputs_close(&f->inputs);
    free(f);
    return status;
}
