/* reid convert: converts a checkpoint to safetensors for the library, and reports what became of every tensor. */
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/requests.h"
#include "weights/beside.h"
#include "weights/checkpoint_open.h"
#include "weights/fastreid_config.h"
#include "weights/head_make.h"
#include "weights/networks.h"
#include "weights/new_tensors.h"
#include "weights/onnx_names.h"
#include "weights/safetensors_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LISTED = 20, METADATA = 20 };

typedef struct conversion {
    const options *o;
    const char *in, *out; /* out: NULL for the report only */
    checkpoint from;
    networks all;
    mapping map;
    int mapped, unchecked;
    const char *preset, *preset_why; /* NULL: unknown */
    int last_stride;                 /* 0: unknown, or not a ResNet */
    const char *stride_why;
    made_head head;
    checkpoint pool;                 /* the exponent of a pool whose training code fixes it; else empty */
    text pool_bytes;
    const char *activation;          /* of the head that is written; NULL: none */
    uint64_t out_size;
    char fingerprint[40], final_preset[256];
    char pixels[256];                /* "mean=R,G,B std=R,G,B", as the file says; empty: it does not */
    char fields[256];                /* of these, what the preset that was found may not have */
    char beside[80];                 /* why the preset has them, if they are in a file next to the checkpoint */
    stated around;                   /* what the checkpoint or a file next to it states about them */
    fastreid_config config;          /* what fast-reid's file next to the checkpoint says */
    char config_why[40];             /* "config.yaml next to the file" */
    int no_config;                   /* Hugging Face's config.json, which would tell more, is missing */
    int contradicted;                /* the preset states other values than these */
    text changed;                    /* the preset, with fields changed by options */
    text why, report;
    int done;
} conversion;

static int is_resnet(const conversion *v) { return strncmp(v->map.network->name, "resnet", 6) == 0; }

/* --- options ------------------------------------------------------------------------------------------------------ */

static int is_listed(const char *name, const char *(*name_of)(int)) {
    for (int i = 0; name_of(i); i++)
        if (strcmp(name, name_of(i)) == 0) return 1;
    return 0;
}

static int check_arguments(const options *o) {
    if (o->operand_count < 1 || o->operand_count > 2)
        say_error("convert: expected a checkpoint and the name of the output, or only a checkpoint; see "
                  "\"reid help convert\"");
    else if (o->operand_count == 2) {
        const char *out = o->operands[1];
        if (!path_has_ending(out, ".safetensors"))
            say_error("convert: %s: the name of the output must end in .safetensors", shown(out));
        else if (replace_is_input(out))
            say_error("convert: %s is both input and output; name another output", shown(out));
        else return 1;
    } else {
        return 1;
    }
    return 0;
}

static int starts_projection(const mapped *m) { return strncmp(m->name, "projection.", 11) == 0; }

static int is_imagenet(const char *pixels) {
    return strcmp(pixels, "mean=0.485,0.456,0.406 std=0.229,0.224,0.225") == 0;
}

/* Finds what the checkpoint states about pixels, else what a file next to it does. */
static int find_stated(conversion *v) {
    stated around;
    if (v->config.name) return v->around = v->config.input, 1;
    if (v->map.has_pixels) return 0;
    if (stated_read(&v->around, v->from.stated.s)) return 1;
    if (v->around.problem[0] || !beside_read(&around, v->in)) return 0;
    memcpy(around.unused, v->around.unused, sizeof around.unused);
    memcpy(around.why_unused, v->around.why_unused, sizeof around.why_unused);
    v->around = around;
    return 1;
}

/* Writes sizes and a filter as fields of a preset, each with a space behind it. */
static void put_sizes(const stated *b, char *out, size_t out_size) {
    char size[32] = "", resize[32] = "", crop[32] = "", filter[32] = "";
    if (b->height) snprintf(size, sizeof size, "size=%dx%d ", b->height, b->width);
    if (b->height && b->resize) snprintf(resize, sizeof resize, "resize=%d ", b->resize);
    if (b->is_straight) snprintf(resize, sizeof resize, "resize=straight ");
    if (b->crop > 0) snprintf(crop, sizeof crop, "crop=%.6g ", b->crop);
    if (b->filter) snprintf(filter, sizeof filter, "filter=%s ", b->filter);
    snprintf(out, out_size, "%s%s%s%s", size, resize, crop, filter);
}

/* Sets v->fields to what fast-reid's configuration changes of the preset fastreid, which has its filter. */
static void find_changes(conversion *v, const char *values) {
    stated b = v->around;
    b.filter = NULL;
    if (b.height == FASTREID_INPUT.height && b.width == FASTREID_INPUT.width && b.is_straight) b.height = 0;
    b.is_straight = 0;
    put_sizes(&b, v->fields, sizeof v->fields);
    const size_t len = strlen(v->fields);
    if (!is_imagenet(values)) snprintf(v->fields + len, sizeof v->fields - len, "%s", values);
    else if (len) v->fields[len - 1] = 0;
}

/* Sets v->pixels to what the files say about pixels, as fields of a preset, and v->fields. Returns 0 with the reason in
   v->why if that is impossible. */
static int describe_pixels(conversion *v) {
    char values[160], sizes[100] = "";
    const int is_found = !v->from.preset && find_stated(v);
    const stated *b = &v->around;
    if (is_found && b->is_impossible)
        return refuse(&v->why, "%s next to the file says mean %g,%g,%g, std %g,%g,%g, crop %g, but a mean and a crop "
                               "are from 0 to 1, a std is above 0.001 and at most 10; correct or remove it", b->name,
                      b->mean[0], b->mean[1], b->mean[2], b->std[0], b->std[1], b->std[2], b->crop);
    for (int k = 0; k < 3 && is_found; k++)
        v->map.pixel_mean[k] = 255 * b->mean[k], v->map.pixel_std[k] = 255 * b->std[k];
    v->map.has_pixels |= is_found;
    if (!v->map.has_pixels) return 1;
    const double *mean = v->map.pixel_mean, *std = v->map.pixel_std;
    snprintf(values, sizeof values, "mean=%.6g,%.6g,%.6g std=%.6g,%.6g,%.6g", mean[0] / 255, mean[1] / 255,
             mean[2] / 255, std[0] / 255, std[1] / 255, std[2] / 255);
    if (is_found) put_sizes(b, sizes, sizeof sizes);
    snprintf(v->pixels, sizeof v->pixels, "%s%s", sizes, values);
    if (v->config.name) find_changes(v, values);
    else if (!is_imagenet(v->pixels)) snprintf(v->fields, sizeof v->fields, "%s", v->pixels);
    return 1;
}

/* Adds v->fields to the preset that was found. */
static int add_pixels(conversion *v) {
    if (!v->fields[0]) return 1;
    text_printf(&v->changed, "%s%s%s", v->preset ? v->preset : "", v->preset ? " " : "", v->fields);
    if (text_failed(&v->changed)) return text_no_memory(&v->why);
    v->preset = v->changed.s;
    if (v->around.name)
        snprintf(v->beside, sizeof v->beside, "with the values in %s next to the file", v->around.name);
    v->preset_why = v->around.name         ? v->beside
                    : v->around.std[0] > 0 ? "with the preprocessing that the file states"
                                           : "with the mean and standard deviation in the file";
    return 1;
}

/* Decides the preset and the stride: from the option, else from the file, else from its origin. */
static int decide(conversion *v) {
    const char *stride = v->from.last_stride;
    v->preset = v->map.preset;
    v->preset_why = v->map.preset_why;
    if (v->from.preset) v->preset = v->from.preset, v->preset_why = "named in the file";
    const model_options *asked = &v->o->every;
    const char *given = asked->preset ? asked->preset : "";
    int whole = *given && !memchr(given, '=', strcspn(given, " ")); /* a name, perhaps with fields */
    if (v->config.no_size[0] && !whole && !asked->height && !strstr(given, "size="))
        return refuse(&v->why, "%s next to the file: no preset can do what INPUT says about sizes: %s; give --size HxW",
                      v->config.name, v->config.no_size);
    if (!describe_pixels(v)) return 0;
    if (!v->from.preset && !whole && !add_pixels(v)) return 0;
    if (asked->preset || asked->height) {
        if (!whole && v->preset && v->preset != v->changed.s) text_puts(&v->changed, v->preset);
        if (!whole && v->preset) text_putc(&v->changed, ' ');
        text_puts(&v->changed, given);
        if (asked->height) text_printf(&v->changed, "%ssize=%dx%d", *given ? " " : "", asked->height, asked->width);
        if (text_failed(&v->changed)) return text_no_memory(&v->why);
        v->preset_why = whole || !v->preset ? "given as option" : "changed by options";
        v->preset = v->changed.s;
    }
    if (v->preset) { /* its fields are checked when the file is opened again */
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(v->preset, " "), v->preset);
        if (!strchr(name, '=') && !is_listed(name, reid_preset_name))
            return refuse(&v->why, "no preset is named \"%.100s\" (%s); \"reid help models\" lists them", name,
                          v->preset_why);
    }
    if (!is_resnet(v)) return 1;
    v->last_stride = v->map.last_stride;
    v->stride_why = v->map.origin;
    if (stride && strcmp(stride, "1") != 0 && strcmp(stride, "2") != 0)
        return refuse(&v->why, "the file says that reid.last_stride is \"%.100s\"; it must be 1 or 2", stride);
    if (v->config.name) v->last_stride = v->config.last_stride, v->stride_why = v->config_why;
    if (stride) v->last_stride = *stride - '0', v->stride_why = "named in the file";
    if (v->o->every.last_stride) v->last_stride = v->o->every.last_stride, v->stride_why = "given as option";
    return 1;
}

/* The number of features that this network gives a head; 0 if it takes none. */
static uint64_t features_of(const conversion *v) {
    for (size_t i = 0; i < v->all.count; i++)
        for (size_t k = 0; k < v->all.at[i].count; k++)
            if (strcmp(v->all.at[i].name, v->map.network->name) == 0 &&
                strcmp(v->all.at[i].wants[k].name, "projection.weight") == 0)
                return v->all.at[i].wants[k].shape[1];
    return 0;
}

/* Decides the head: from the option, else the file's own head with its activation. */
static int decide_head(conversion *v) {
    const char *layers = v->o->convert.layers;
    int own = 0;
    for (size_t i = 0; i < v->map.count; i++) own |= v->map.at[i].wanted && starts_projection(&v->map.at[i]);
    if (!layers) {
        v->activation = own ? v->from.head_activation : NULL;
        return 1;
    }
    uint64_t features = features_of(v);
    if (!features)
        return refuse(&v->why, "network %s already ends with its own layers and takes no head", v->map.network->name);
    if (!head_make(&v->head, &v->from, &v->map, layers, features, &v->why)) return 0;
    v->activation = v->head.activation;
    for (size_t i = 0; i < v->map.count; i++)
        if (v->map.at[i].what != FATE_HEAD && starts_projection(&v->map.at[i]))
            return refuse(&v->why, "the file already has a head, %s; remove --head %s",
                          v->map.at[i].from->name, layers);
    return 1;
}

/* Refuses to lose tensors without --allow-unused. */
static int check_left_over(conversion *v) {
    for (int neck = 1; neck >= 0; neck--)
        for (size_t i = 0; i < v->map.count && !v->o->every.allow_unused; i++) {
            const mapped *m = &v->map.at[i];
            if (m->what == FATE_NECK && neck)
                return refuse(&v->why, "%s: %s; --allow-unused leaves it out", m->from->name, m->note);
            if (m->what == FATE_UNKNOWN && !neck)
                return refuse(&v->why, "tensor %s is not part of network %s; --allow-unused leaves it out",
                              m->from->name, v->map.network->name);
        }
    return 1;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int is_written(const mapped *m) {
    return m->what == FATE_USED || m->what == FATE_RESHAPED || m->what == FATE_CARRIED;
}

/* Makes the exponent that the file lacks. */
static int make_pool(conversion *v) {
    const float exponent = (float)v->map.exponent;
    const new_tensor list[] = {{.name = "pool_layer.p", .ndim = 1, .shape = {1, 0}, .values = &exponent}};
    return v->map.exponent == 0 || new_tensors(&v->pool, list, 1, &v->pool_bytes, &v->why);
}

static void add_made(outgoing *list, size_t *count, const checkpoint *made) {
    for (size_t i = 0; i < made->tensor_count; i++) {
        const tensor *t = &made->tensors[i];
        outgoing *out = &list[(*count)++];
        *out = (outgoing){.name = t->name, .from = t, .of = made, .ndim = t->ndim};
        memcpy(out->shape, t->shape, sizeof out->shape);
    }
}

static outgoing *choose_tensors(conversion *v, size_t *count) {
    const checkpoint *head = &v->head.tensors;
    outgoing *list = mem_array(v->map.count + head->tensor_count + v->pool.tensor_count, sizeof *list);
    *count = 0;
    if (!list) text_no_memory(&v->why);
    if (!list) return NULL;
    for (size_t i = 0; i < v->map.count; i++) {
        const mapped *m = &v->map.at[i];
        if (m->what == FATE_HEAD) v->from.storages[m->from->storage].needed = 1; /* head_make has read it */
        if (!is_written(m)) continue;
        if (*count && strcmp(list[*count - 1].name, m->name) == 0) continue; /* a classifier under two names */
        outgoing *out = &list[(*count)++];
        out->name = m->name;
        out->from = m->from;
        out->of = &v->from;
        out->ndim = m->what == FATE_RESHAPED ? m->wanted->ndim : m->from->ndim;
        memcpy(out->shape, m->what == FATE_RESHAPED ? m->wanted->shape : m->from->shape, sizeof out->shape);
        v->from.storages[m->from->storage].needed = 1;
    }
    add_made(list, count, head);
    add_made(list, count, &v->pool);
    return list;
}

/* 1 if the file states other sizes or another filter than the network gets. */
static int contradicts_size(const stated *s, const reid_info *info) {
    const int has_edge = s->resize || s->is_straight;
    if (s->height && (s->height != info->height || s->width != info->width)) return 1;
    if (s->height && has_edge && s->resize != info->resize_edge) return 1;
    return s->filter && strcmp(s->filter, info->filter) != 0;
}

/* 1 if the file states another normalisation than the network gets, where value v becomes (v * scale - mean) / std. */
static int contradicts(const mapping *m, const reid_info *info) {
    for (int k = 0; k < 3 && m->has_pixels; k++) {
        int channel = info->bgr ? 2 - k : k;
        if (fabs(info->mean[channel] / info->scale - m->pixel_mean[k]) > 0.01 ||
            fabs(info->std[channel] / info->scale - m->pixel_std[k]) > 0.01) return 1;
    }
    return 0;
}

/* Opens the file like `reid embed`, to check names and shapes and that every value is a number. */
static int check_result(conversion *v, const char *temp) {
    reid_error error;
    reid_desc desc = REID_INIT;
    model made;
    char found[REID_NETWORK_NAME];
    desc.weights = temp;
    desc.device = REID_DEVICE_CPU;
    desc.error = &error;
    memset(&error, 0, sizeof error);
    reid_result r = reid_check_weights(&desc, NULL, NULL, found);
    if (r == REID_OK) {
        if (model_create(&made, &desc)) {
            snprintf(v->fingerprint, sizeof v->fingerprint, "%s", made.info.fingerprint);
            snprintf(v->final_preset, sizeof v->final_preset, "%s", made.info.preprocessing);
            v->contradicted = contradicts(&v->map, &made.info) || contradicts_size(&v->around, &made.info);
            model_close(&made);
            return 1;
        }
        error = made.error, r = made.result;
    }
    const char *reason = reason_of(&error, r);
    size_t n = strlen(temp);
    if (strncmp(reason, temp, n) == 0 && strncmp(reason + n, ": ", 2) == 0) reason += n + 2;
    return refuse(&v->why, "%s", reason);
}

static int write_and_check(conversion *v, pending *p, outgoing *list, size_t count) {
    char stride[2] = {(char)('0' + v->last_stride), 0};
    const char *metadata[METADATA];
    text name = TEXT_INIT;
    int n = 0;
    text_visible(&name, path_name(v->in));
    if (text_failed(&name)) return text_no_memory(&v->why);
    metadata[n++] = "reid.network", metadata[n++] = v->map.network->name;
    if (v->preset) metadata[n++] = "reid.preset", metadata[n++] = v->preset;
    if (v->last_stride) metadata[n++] = "reid.last_stride", metadata[n++] = stride;
    if (v->activation) metadata[n++] = "reid.head_activation", metadata[n++] = v->activation;
    metadata[n++] = "reid.source", metadata[n++] = name.s;
    metadata[n++] = "reid.source_format", metadata[n++] = v->from.format;
    metadata[n++] = "reid.layout", metadata[n++] = v->map.layout;
    if (v->map.origin) metadata[n++] = "reid.origin", metadata[n++] = v->map.origin;
    metadata[n] = NULL;
    int good = safetensors_write(p, list, count, metadata, &v->out_size, &v->why) &&
               check_result(v, p->temp) && pending_sync(p, &v->why) && pending_rename(p, &v->why);
    text_free(&name);
    return good;
}

static int write_out(conversion *v) {
    size_t count;
    pending p;
    outgoing *list = choose_tensors(v, &count);
    int good = list && checkpoint_verify(&v->from, &v->unchecked, &v->why);
    if (good && v->out) {
        good = pending_begin(&p, v->out, &WEIGHTS_FILE, &v->why);
        if (good) {
            good = write_and_check(v, &p, list, count);
            if (good) sync_folder_of(v->out);
            pending_close(&p);
        }
        if (!good) { /* name the output: the input may not be at fault */
            text reason = TEXT_INIT;
            text_join(&reason, &v->why);
            refuse(&v->why, "%s: %s", v->out, reason.s);
            text_free(&reason);
        }
    }
    free(list);
    return good;
}

/* --- the report --------------------------------------------------------------------------------------------------- */

static void add_label(text *t, const char *label) { text_printf(t, "%-12s ", label); }

static void list_fate(conversion *v, fate what) {
    size_t listed = 0;
    for (size_t i = 0; i < v->map.count; i++) {
        const mapped *m = &v->map.at[i];
        if (m->what != what) continue;
        if (listed++ == MAX_LISTED && !v->o->output.verbose) {
            text_printf(&v->report, "    ... %zu more, listed with -v\n", v->map.by_fate[what] - MAX_LISTED);
            return;
        }
        text_printf(&v->report, "    %-10s ", FATE_NAMES[what]);
        text_visible(&v->report, m->from->name);
        if (strcmp(m->from->name, m->name) != 0) {
            text_puts(&v->report, " -> ");
            text_visible(&v->report, m->name);
        }
        if (m->note[0]) {
            text_puts(&v->report, ": ");
            text_visible(&v->report, m->note);
        }
        text_putc(&v->report, '\n');
    }
}

static void report_tensors(conversion *v) {
    text *t = &v->report;
    const mapping *m = &v->map;
    add_label(t, "tensors");
    text_printf(t, "%zu used, %zu missing", m->by_fate[FATE_USED], m->missing_count);
    for (int f = FATE_RESHAPED; f < FATES; f++)
        if (m->by_fate[f]) text_printf(t, ", %zu %s", m->by_fate[f], FATE_NAMES[f]);
    text_putc(t, '\n');
    for (size_t i = 0; i < m->missing_count; i++) {
        if (i == MAX_LISTED && !v->o->output.verbose) {
            text_printf(t, "    ... %zu more, listed with -v\n", m->missing_count - MAX_LISTED);
            break;
        }
        text_printf(t, "    %-10s %s\n", "missing", m->missing[i]->name);
    }
    for (int f = 0; f < FATES; f++)
        if (v->o->output.verbose || f == FATE_NECK || f == FATE_UNKNOWN || f == FATE_MISMATCHED) list_fate(v, (fate)f);
}

static void report_source(conversion *v) {
    text *t = &v->report;
    const tensor_group *g = &v->from.groups[v->map.group];
    add_label(t, "file");
    text_visible(t, v->in);
    text_printf(t, " (%llu bytes)\n", (unsigned long long)v->from.source.size);
    add_label(t, "format");
    text_printf(t, "%s, %zu tensor%s", v->from.format, g->tensors, plural(g->tensors));
    if (*g->path) {
        text_puts(t, " in ");
        text_visible(t, g->path);
    }
    if (v->map.prefix[0]) {
        text_puts(t, " with prefix ");
        text_visible(t, v->map.prefix);
    }
    text_putc(t, '\n');
    if (g->model) {
        add_label(t, "model");
        text_visible(t, g->model);
        text_puts(t, ", pickled whole; read without executing it\n");
    }
    add_label(t, "layout");
    text_printf(t, "%s%s%s\n", v->map.layout, v->map.origin ? ", from " : "", v->map.origin ? v->map.origin : "");
}

static void report_text(conversion *v) {
    text *t = &v->report;
    report_source(v);
    add_label(t, "network");
    text_printf(t, "%s (%s)\n", v->map.network->name,
                v->o->every.network                 ? "given as option"
                : v->config.network[0]              ? v->config_why
                : v->map.ambiguous[0]               ? "or another with the same tensors: see the warning"
                : v->from.network && !v->from.graph ? "named in the file" /* for ONNX, the nodes determine it */
                                                    : "found from its tensors");
    add_label(t, "preset");
    if (v->preset) text_printf(t, "%s (%s)\n", v->preset, v->preset_why);
    else if (v->final_preset[0])
        text_printf(t, "%s (the network's default; the file names none)\n", v->final_preset);
    else text_puts(t, "the network's default; the file names none\n");
    if (v->last_stride) {
        add_label(t, "last stride");
        text_printf(t, "%d (%s)\n", v->last_stride, v->stride_why);
    }
    if (v->map.exponent != 0) {
        add_label(t, "pool");
        text_printf(t, "exponent %g, which fast-reid's code fixes, stored as pool_layer.p\n", v->map.exponent);
    }
    if (v->head.width) {
        add_label(t, "head");
        text_visible(t, v->o->convert.layers);
        text_printf(t, ": %llu output%s%s%s, stored as projection\n", (unsigned long long)v->head.width,
                    plural((size_t)v->head.width), v->activation ? ", " : "", v->activation ? v->activation : "");
    }
    report_tensors(v);
    if (!v->done || !v->out) return;
    add_label(t, "written");
    text_visible(t, v->out);
    text_printf(t, " (%llu bytes)\n", (unsigned long long)v->out_size);
    add_label(t, "fingerprint");
    text_printf(t, "%s\n", v->fingerprint);
}

static void json_field(json_writer *w, const char *name, const char *value) {
    json_put_string(w, name, value && *value ? value : NULL);
}

static void json_tensor(json_writer *w, const char *name, const char *to, const char *status, const char *note) {
    json_put_line(w, 2);
    json_put_object(w, NULL);
    json_put_string(w, "name", name);
    json_field(w, "to", to);
    json_field(w, "status", status);
    json_field(w, "note", note);
    json_put_end(w);
}

static void json_tensors(const conversion *v, json_writer *w) {
    const mapping *m = &v->map;
    json_put_object(w, "tensors");
    json_put_count(w, "missing", m->missing_count);
    for (int f = 0; f < FATES; f++) json_put_count(w, FATE_NAMES[f], m->by_fate[f]);
    json_put_array(w, "list");
    for (size_t i = 0; i < m->missing_count; i++) json_tensor(w, m->missing[i]->name, NULL, "missing", NULL);
    for (size_t i = 0; i < m->count; i++) {
        const mapped *one = &m->at[i];
        if (one->what != FATE_USED || v->o->output.verbose)
            json_tensor(w, one->from->name, is_written(one) ? one->name : NULL, FATE_NAMES[one->what], one->note);
    }
    json_put_end(w);
    json_put_end(w);
}

static void json_mapping(const conversion *v, json_writer *w) {
    const mapping *m = &v->map;
    json_field(w, "group", v->from.groups[m->group].path);
    json_field(w, "model", v->from.groups[m->group].model);
    json_field(w, "prefix", m->prefix);
    json_field(w, "layout", m->layout);
    json_field(w, "origin", m->origin);
    json_field(w, "network", m->network->name);
    json_field(w, "ambiguous", m->ambiguous);
    json_field(w, "preset", v->preset ? v->preset : v->final_preset);
    json_field(w, "preset_from", v->preset ? v->preset_why : "the network's default");
    json_put_int(w, "last_stride", v->last_stride);
    if (v->head.width) {
        json_field(w, "head", v->o->convert.layers);
        json_put_count(w, "head_width", v->head.width);
    }
    json_field(w, "head_activation", v->activation);
    json_put_bool(w, "checksums", !v->unchecked);
    json_tensors(v, w);
}

static void report_json(conversion *v) {
    json_writer w = json_write(&v->report);
    int written = v->done && v->out;
    json_put_object(&w, NULL);
    json_put_string(&w, "file", v->in);
    json_put_bool(&w, "converted", written);
    json_field(&w, "error", v->done ? NULL : v->why.s);
    json_field(&w, "format", v->from.format);
    if (v->mapped) json_mapping(v, &w);
    json_field(&w, "output", v->done ? v->out : NULL);
    if (written) json_put_count(&w, "output_bytes", v->out_size);
    json_field(&w, "fingerprint", v->fingerprint);
    json_put_finish(&w);
}

static void say_notes(const conversion *v) {
    if (v->unchecked && v->from.has_pickle_crc)
        say_warning("%s: the file was written without checksums, so damage would go unnoticed", shown(v->in));
    if (v->map.others[0])
        say_warning("%s: the file also contains %s, which was not used; --key selects a group",
                    shown(v->in), shown(v->map.others));
    if (v->around.has_other_filter)
        say_warning("%s: %s names a filter other than bilinear and bicubic, which no preset has; check --filter",
                    shown(v->in), v->around.name ? v->around.name : "it");
    if (v->around.problem[0]) say_warning("%s: %s", shown(v->in), v->around.problem);
    if (v->around.unused[0])
        say_warning("%s: the file names torchvision's %s, which %s not read%s%s; check --size, --resize and --filter",
                    shown(v->in), v->around.unused, strchr(v->around.unused, ',') ? "are" : "is",
                    v->around.why_unused[0] ? ", because " : "", v->around.why_unused);
    if (v->no_config)
        say_warning("%s: without Hugging Face's config.json next to the file, its %s", shown(v->in),
                    is_resnet(v) ? "strides are taken to be in the 3x3 convolutions, as in microsoft/resnet-50"
                                 : "activation and pooling are taken to be those of google/efficientnet-b0");
    if (v->contradicted)
        say_warning("%s: %s says %s, which contradicts the preset (%s); the preset is used", shown(v->in),
                    v->around.name ? v->around.name : "the file", v->pixels,
                    v->preset_why ? v->preset_why : "the network's default");
    if (v->map.wide[0] && !v->head.width) say_warning("%s: %s", shown(v->in), shown(v->map.wide));
    if (v->map.ambiguous[0]) say_warning("%s: %s", shown(v->in), v->map.ambiguous);
    if (v->map.differs[0])
        say_warning("%s: embeddings will differ from the original's: %s", shown(v->in), v->map.differs);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Lists the networks that the file can have, names the tensors of a graph, and sets *net to the network that the option
   or the file names, or to NULL. */
static int find_named(conversion *v, const char **net) {
    const char *asked = v->o->every.network;
    char trunk[TRUNK_NAME];
    if (v->from.graph) onnx_trunk_of(&v->from, trunk);
    else trunk_of(&v->from, trunk);
    if (!networks_list(&v->all, trunk)) return text_no_memory(&v->why);
    *net = asked ? networks_named(&v->all, asked) : NULL;
    if (asked && !*net)
        return refuse(&v->why, "no network is named \"%.100s\", or the file's tensors have another trunk (resnet%s)",
                      asked, trunk);
    if (!onnx_name_tensors(&v->from, v->all.at, v->all.count, *net, &v->why)) return 0;
    if (asked || !v->from.network) return 1;
    *net = networks_named(&v->all, v->from.network);
    return *net || refuse(&v->why, "the file names an unknown network, \"%.100s\"; give --net NAME", v->from.network);
}

static int find_mapping(conversion *v, const char *net) {
    const char *key = v->o->convert.key;
    mapping_free(&v->map);
    v->mapped = mapping_find(&v->map, &v->from, v->all.at, v->all.count, net, key, path_name(v->in), &v->why);
    return v->mapped;
}

/* Reads fast-reid's configuration, and takes the network that it means unless another is asked for. */
static int use_config(conversion *v, const char *asked) {
    fastreid_config *f = &v->config;
    if (!fastreid_config_read(f, v->in, &v->from, &v->map, &v->why)) return 0;
    if (f->name) snprintf(v->config_why, sizeof v->config_why, "%s next to the file", f->name);
    if (!f->network[0]) return 1;
    const char *net = networks_named(&v->all, f->network);
    if (!net) return refuse(&v->why, "%s means %s, which is not supported", v->config_why, f->network);
    if (!asked) return find_mapping(v, net);
    if (!strstr(asked, "-fastreid") || strcmp(asked, net) == 0) return 1; /* other heads are knowingly different */
    return refuse(&v->why, "%s means %s, which contradicts --net %s; remove one of them", v->config_why, net, asked);
}

static int convert(conversion *v) {
    const char *net;
    if (!checkpoint_open(&v->from, v->in, &v->why) || !find_named(v, &net)) return 0;
    if (!find_mapping(v, net) || !use_config(v, net) || !decide(v)) return 0;
    if (v->map.problem.len) return refuse(&v->why, "%s", v->map.problem.s);
    if (!beside_check(v->map.layout, v->in, &v->no_config, &v->why)) return 0;
    return decide_head(v) && check_left_over(v) && make_pool(v) && write_out(v);
}

int convert_main(options *o) {
    conversion v;
    if (!check_arguments(o)) return 2;
    memset(&v, 0, sizeof v);
    v.o = o;
    v.in = o->operands[0];
    v.out = o->operands[1]; /* NULL when there is none */
    v.done = convert(&v);
    if (o->output.json) report_json(&v);
    else if (v.mapped) report_text(&v);
    results_begin(0);
    results_write(&v.report);
    int status = results_end(1) && v.done ? 0 : 2;
    if (!v.done && !interrupted()) say_error("%s: %s", shown(v.in), shown(v.why.s));
    else if (v.done) say_notes(&v);
    head_free(&v.head);
    checkpoint_close(&v.pool);
    text_free(&v.pool_bytes);
    mapping_free(&v.map);
    networks_free(&v.all);
    checkpoint_close(&v.from);
    text_free(&v.why);
    text_free(&v.changed);
    text_free(&v.report);
    return status;
}
