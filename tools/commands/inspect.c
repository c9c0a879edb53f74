/* reid inspect: the contents of a weight file, and how they would be used. */
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/condition.h"
#include "commands/requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STATUSES = REID_TENSOR_UNEXPECTED + 1, MAX_LISTED = 20 };

static const char *const STATUS_NAMES[STATUSES] = {"used", "missing", "mismatched", "ignored", "unexpected"};

typedef struct tensor {
    char *name, *note;
    reid_tensor_status status;
} tensor;

typedef struct inspection {
    const options *o;
    const model_options *asked;
    reid_result checked;
    reid_error check_error;
    char network[REID_NETWORK_NAME];
    tensor *tensors;
    size_t count, cap, by_status[STATUSES];
    model loaded; /* loaded.ctx is NULL when it failed */
    reid_gpu_info gpu; /* only if it would compute, or was requested */
    int has_gpu;
    char network_in_file[32], preset_in_file[256], stride_in_file[16];
    long long file_size;
    int no_memory;     /* for a tensor's name; reported */
    text out;
} inspection;

static void note_tensor(const char *name, reid_tensor_status status, const char *note, void *user) {
    inspection *in = user;
    if (in->no_memory || !NEED(in->tensors, in->count, in->cap)) {
        in->no_memory = 1;
        return;
    }
    tensor *t = &in->tensors[in->count++];
    t->name = need_copy(name, strlen(name));
    t->note = t->name ? need_copy(note ? note : "", note ? strlen(note) : 0) : NULL;
    t->status = status;
    in->no_memory = !t->note;
    in->by_status[status]++;
}

static void look(inspection *in) {
    struct stat st;
    reid_desc desc = model_desc(in->o, in->asked, &in->check_error);
    in->checked = reid_check_weights(&desc, note_tensor, in, in->network);
    in->file_size = stat(desc.weights, &st) == 0 ? (long long)st.st_size : -1;
    reid_weights_metadata(&desc, "reid.network", in->network_in_file, sizeof in->network_in_file);
    reid_weights_metadata(&desc, "reid.preset", in->preset_in_file, sizeof in->preset_in_file);
    reid_weights_metadata(&desc, "reid.last_stride", in->stride_in_file, sizeof in->stride_in_file);
    model_create(&in->loaded, &desc);
    if (in->o->compute.device == REID_DEVICE_CUDA || strncmp(in->loaded.info.device, "cuda", 4) == 0) {
        reid_error unused; /* reid_create has already reported it */
        desc.error = &unused;
        reid_query_gpu(&desc, &in->gpu);
        in->has_gpu = in->gpu.name[0] != 0;
    }
}

static const char *source_of(const char *given, const char *in_file, const char *otherwise) {
    return given ? "given as option" : in_file[0] ? "named in the file" : otherwise;
}

/* 12345678 as "12,345,678". */
static void add_grouped(text *t, long long n) {
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%lld", n);
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) text_putc(t, ',');
        text_putc(t, digits[i]);
    }
}

/* 4.09 G, 102 M, 12.3 k: four characters and a prefix. */
static void add_short(text *t, long long n, int width) {
    static const char prefix[] = " kMGT";
    double value = (double)n;
    int i = 0;
    char cell[32];
    while (value >= 999.5 && prefix[i + 1]) value /= 1000, i++;
    if (i == 0) snprintf(cell, sizeof cell, "%lld", n);
    else snprintf(cell, sizeof cell, "%.*f%c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, prefix[i]);
    text_printf(t, "%*s", width, cell);
}

static void add_label(text *t, const char *label) { text_printf(t, "%-12s ", label); }

/* Lists the tensors of one status, or the first few. */
static void list_tensors(inspection *in, reid_tensor_status status, size_t limit) {
    size_t listed = 0;
    for (size_t i = 0; i < in->count; i++) {
        const tensor *t = &in->tensors[i];
        if (t->status != status) continue;
        if (listed++ == limit) {
            text_printf(&in->out, "    ... %zu more, listed with --tensors\n", in->by_status[status] - limit);
            return;
        }
        text_printf(&in->out, "    %-10s ", STATUS_NAMES[status]);
        text_visible(&in->out, t->name);
        if (t->note[0]) {
            text_puts(&in->out, ": ");
            text_visible(&in->out, t->note);
        }
        text_putc(&in->out, '\n');
    }
}

static void describe_tensors(inspection *in) {
    add_label(&in->out, "tensors");
    for (int s = 0; s < STATUSES; s++)
        text_printf(&in->out, "%s%zu %s", s ? ", " : "", in->by_status[s], STATUS_NAMES[s]);
    text_putc(&in->out, '\n');
    for (int s = 0; s < STATUSES; s++) {
        int wrong = s == REID_TENSOR_MISSING || s == REID_TENSOR_MISMATCH || s == REID_TENSOR_UNEXPECTED;
        int asked = in->o->output.verbose && s != REID_TENSOR_USED;
        if (in->o->inspect.tensors) list_tensors(in, (reid_tensor_status)s, SIZE_MAX);
        else if (wrong || asked) list_tensors(in, (reid_tensor_status)s, MAX_LISTED);
    }
}

static void describe_file(inspection *in) {
    add_label(&in->out, "file");
    text_visible(&in->out, in->asked->weights);
    if (in->file_size >= 0) {
        text_puts(&in->out, " (");
        add_grouped(&in->out, in->file_size);
        text_puts(&in->out, " bytes)");
    }
    text_putc(&in->out, '\n');
    add_label(&in->out, "network");
    if (!in->network[0]) text_puts(&in->out, "unknown\n");
    else text_printf(&in->out, "%s (%s)\n", in->network,
                     source_of(in->asked->network, in->network_in_file, "found from its tensors"));
}

/* Describes head, preprocessing, size and cost. */
static void describe_network(inspection *in) {
    text *t = &in->out;
    const reid_info *info = &in->loaded.info;
    add_label(t, "head");
    text_puts(t, info->head);
    if (strcmp(info->head, "seeded") == 0) text_printf(t, ":%llu", (unsigned long long)info->head_seed);
    reid_op_info last;
    int op = reid_op_count(in->loaded.ctx) - 2; /* the last one is the normalisation */
    if (op > 0 && reid_query_op(in->loaded.ctx, op, &last) == REID_OK && strcmp(last.name, "projection") == 0)
        text_printf(t, ": %d wide%s%s", last.out_c, last.activation[0] ? ", " : "", last.activation);
    text_putc(t, '\n');
    add_label(t, "preset");
    text_puts(t, info->preprocessing);
    text_printf(t, " (%s)\n", source_of(in->asked->preset, in->preset_in_file, "the network's default"));
    add_label(t, "input");
    text_printf(t, "%d x %d (height x width), ", info->height, info->width);
    if (info->resize_edge) text_printf(t, "cropped from the centre after resizing the short side to %d\n",
                                       info->resize_edge);
    else text_puts(t, "resized straight to it\n");
    add_label(t, "pixels");
    text_printf(t, "%s, %s, times %.6g, ", info->filter, info->bgr ? "blue first" : "red first", info->scale);
    text_printf(t, "mean %.6g %.6g %.6g, ", info->mean[0], info->mean[1], info->mean[2]);
    text_printf(t, "std %.6g %.6g %.6g\n", info->std[0], info->std[1], info->std[2]);
    if (strncmp(info->network, "resnet", 6) == 0) {
        add_label(t, "last stride");
        text_printf(t, "%d (%s)\n", info->last_stride,
                    source_of(in->asked->last_stride ? "" : NULL, in->stride_in_file, "the network's default"));
    }
    add_label(t, "parameters");
    add_grouped(t, info->parameters);
    text_putc(t, '\n');
    add_label(t, "work");
    text_printf(t, "%.3f GMAC per image\n", (double)info->macs * 1e-9);
    add_label(t, "embedding");
    text_printf(t, "%d float%s, %s%s\n", info->dim, plural((size_t)info->dim),
                info->raw ? "not normalised" : "of length 1", info->flip ? ", averaged with the mirrored image" : "");
}

static void describe_gpu(inspection *in) {
    text *t = &in->out;
    const reid_gpu_info *g = &in->gpu;
    add_label(t, "gpu");
    text_printf(t, "%s (%s), %d multiprocessors, ", g->name, g->arch, g->multiprocessors);
    add_short(t, (long long)g->memory, 0);
    text_puts(t, "B, ");
    add_short(t, (long long)g->memory_free, 0);
    text_puts(t, g->integrated ? "B free, the host's own memory\n" : "B free\n");
    add_label(t, "driver");
    text_printf(t, "for CUDA %d.%d\n", g->driver_version / 1000, g->driver_version % 1000 / 10);
    add_label(t, "nvrtc");
    if (g->nvrtc_version) text_printf(t, "%d.%d, ", g->nvrtc_version / 1000, g->nvrtc_version % 1000 / 10);
    text_visible(t, g->nvrtc_version ? g->nvrtc_path : "none was found");
    text_putc(t, '\n');
    add_label(t, "kernels");
    text_printf(t, "%s; compiled ones are kept in ", g->kernels[0] ? g->kernels : "missing");
    text_visible(t, g->cache_dir[0] ? g->cache_dir : "memory only");
    text_putc(t, '\n');
}

static void describe_machine(inspection *in) {
    text *t = &in->out;
    const reid_info *info = &in->loaded.info;
    add_label(t, "fingerprint");
    text_printf(t, "%s\n", info->fingerprint);
    add_label(t, "device");
    text_printf(t, "%s (%s), %s, %s%s, %d thread%s, batch %d%s%s\n", info->device, info->chip, info->isa,
                info->precision, info->latency ? ", for latency" : "", info->threads, plural((size_t)info->threads),
                info->batch, strcmp(info->isa, "scalar") == 0 ? ", NO VECTOR INSTRUCTIONS: many times slower" : "",
                info->optimized ? "" : ", COMPILED WITHOUT -O2: many times slower");
    add_label(t, "memory");
    add_short(t, (long long)info->total_bytes, 0);
    text_puts(t, "B in all: weights ");
    add_short(t, (long long)info->weight_bytes, 0);
    text_puts(t, "B, activations ");
    add_short(t, (long long)info->arena_bytes, 0);
    text_puts(t, "B\n");
}

static void add_shape(text *t, int h, int w, int c) {
    char cell[48];
    snprintf(cell, sizeof cell, "%dx%dx%d", h, w, c);
    text_printf(t, " %13s", cell);
}

/* Writes "3x3/2", and the steps fused into the operation: residual added, input scaled, activation. */
static void add_details(text *t, const reid_op_info *op) {
    char kernel[24] = "", around[32];
    if (op->kernel_h) snprintf(kernel, sizeof kernel, "%dx%d/%d", op->kernel_h, op->kernel_w, op->stride);
    snprintf(around, sizeof around, "%s%s%s", op->scale != REID_OP_NONE ? "*se " : "",
             op->residual != REID_OP_NONE ? "+res " : "", op->activation);
    text_printf(t, "  %-7s %-9s", kernel, around);
}

static void describe_plan(inspection *in) {
    text *t = &in->out;
    long long macs = 0, bytes = 0, parameters = 0;
    text_printf(t, "\n%-24s %-9s %13s %13s  %-7s %-9s %6s %6s %6s\n", "NAME", "OP", "IN (HxWxC)", "OUT", "KERNEL",
                "AROUND", "MACS", "PARAMS", "BYTES");
    for (int i = 0; i < reid_op_count(in->loaded.ctx); i++) {
        reid_op_info op;
        reid_query_op(in->loaded.ctx, i, &op);
        text_printf(t, "%-24s %-9s", op.name, op.kind);
        add_shape(t, op.in_h, op.in_w, op.in_c);
        add_shape(t, op.out_h, op.out_w, op.out_c);
        add_details(t, &op);
        text_putc(t, ' ');
        add_short(t, op.macs, 6);
        text_putc(t, ' ');
        add_short(t, op.parameters, 6);
        text_putc(t, ' ');
        add_short(t, op.bytes, 6);
        text_putc(t, '\n');
        macs += op.macs;
        parameters += op.parameters;
        bytes += op.bytes;
    }
    text_printf(t, "%-24s %d operations%*s", "total", reid_op_count(in->loaded.ctx), 45, "");
    add_short(t, macs, 7);
    add_short(t, parameters, 7);
    add_short(t, bytes, 7);
    text_putc(t, '\n');
}

/* The report as JSON. */

static void json_gpu(const inspection *in, json_writer *w) {
    const reid_gpu_info *g = &in->gpu;
    json_put_object(w, "gpu");
    json_put_string(w, "name", g->name);
    json_put_string(w, "arch", g->arch);
    json_put_int(w, "multiprocessors", g->multiprocessors);
    json_put_string(w, "uuid", g->uuid);
    json_put_count(w, "memory", g->memory);
    json_put_count(w, "memory_free", g->memory_free);
    json_put_bool(w, "integrated", g->integrated);
    json_put_int(w, "driver", g->driver_version);
    json_put_int(w, "nvrtc", g->nvrtc_version);
    json_put_string(w, "nvrtc_path", g->nvrtc_path);
    json_put_string(w, "kernels", g->kernels);
    json_put_string(w, "cache", g->cache_dir);
    json_put_end(w);
}

static void json_tensors(const inspection *in, json_writer *w) {
    json_put_object(w, "tensors");
    for (int s = 0; s < STATUSES; s++) json_put_count(w, STATUS_NAMES[s], in->by_status[s]);
    json_put_array(w, "list");
    for (size_t i = 0; i < in->count; i++) {
        reid_tensor_status s = in->tensors[i].status;
        if (!in->o->inspect.tensors && (s == REID_TENSOR_USED || s == REID_TENSOR_IGNORED)) continue;
        json_put_line(w, 2);
        json_put_object(w, NULL);
        json_put_string(w, "name", in->tensors[i].name);
        json_put_string(w, "status", STATUS_NAMES[s]);
        json_put_string(w, "note", in->tensors[i].note);
        json_put_end(w);
    }
    json_put_end(w);
    json_put_end(w);
}

static void json_preset(const inspection *in, json_writer *w) {
    const reid_info *info = &in->loaded.info;
    json_put_string(w, "preset", info->preset);
    json_put_string(w, "preset_from", source_of(in->asked->preset, in->preset_in_file, "the network's default"));
    json_put_int(w, "height", info->height);
    json_put_int(w, "width", info->width);
    json_put_int(w, "resize_edge", info->resize_edge);
    json_put_string(w, "preprocessing", info->preprocessing);
    json_put_string(w, "filter", info->filter);
    json_put_string(w, "order", info->bgr ? "bgr" : "rgb");
    json_put_number(w, "scale", info->scale, 17);
    json_put_numbers(w, "mean", info->mean, 3, 17);
    json_put_numbers(w, "std", info->std, 3, 17);
}

static void json_model(const inspection *in, json_writer *w) {
    const reid_info *info = &in->loaded.info;
    json_put_string(w, "fingerprint", info->fingerprint);
    json_put_string(w, "head", info->head);
    json_put_count(w, "head_seed", info->head_seed);
    json_preset(in, w);
    json_put_int(w, "last_stride", info->last_stride);
    json_put_int(w, "dim", info->dim);
    json_put_bool(w, "flip", info->flip);
    json_put_bool(w, "raw", info->raw);
    json_put_bool(w, "latency", info->latency);
    json_put_int(w, "parameters", info->parameters);
    json_put_int(w, "macs", info->macs);
    json_put_string(w, "device", info->device);
    json_put_string(w, "chip", info->chip);
    json_put_string(w, "isa", info->isa);
    json_put_string(w, "precision", info->precision);
    json_put_int(w, "batch", info->batch);
    json_put_int(w, "threads", info->threads);
    json_put_int(w, "lanes", info->lanes);
    json_put_count(w, "weight_bytes", info->weight_bytes);
    json_put_count(w, "arena_bytes", info->arena_bytes);
    json_put_count(w, "total_bytes", info->total_bytes);
}

static void json_sizes(json_writer *w, const char *key, const int *sizes, int count) {
    json_put_array(w, key);
    for (int i = 0; i < count; i++) json_put_int(w, NULL, sizes[i]);
    json_put_end(w);
}

static void json_op(const reid_op_info *op, json_writer *w) {
    const int in[] = {op->in_h, op->in_w, op->in_c}, out[] = {op->out_h, op->out_w, op->out_c};
    const int kernel[] = {op->kernel_h, op->kernel_w};
    json_put_line(w, 2);
    json_put_object(w, NULL);
    json_put_string(w, "name", op->name);
    json_put_string(w, "op", op->kind);
    json_sizes(w, "in", in, 3);
    json_sizes(w, "out", out, 3);
    json_sizes(w, "kernel", kernel, 2);
    json_put_int(w, "stride", op->stride);
    json_put_int(w, "pad", op->pad_y);
    json_put_string(w, "activation", op->activation);
    json_put_int(w, "adds_residual", op->residual != REID_OP_NONE);
    json_put_int(w, "scales_input", op->scale != REID_OP_NONE);
    json_put_int(w, "macs", op->macs);
    json_put_int(w, "parameters", op->parameters);
    json_put_int(w, "bytes", op->bytes);
    json_put_end(w);
}

static void json_plan(const inspection *in, json_writer *w) {
    json_put_array(w, "plan");
    for (int i = 0; i < reid_op_count(in->loaded.ctx); i++) {
        reid_op_info op;
        reid_query_op(in->loaded.ctx, i, &op);
        json_op(&op, w);
    }
    json_put_end(w);
}

static void print_json(inspection *in) {
    json_writer w = json_write(&in->out);
    int usable = in->loaded.ctx != NULL;
    json_put_object(&w, NULL);
    json_put_string(&w, "file", in->asked->weights);
    json_put_int(&w, "file_bytes", in->file_size);
    json_put_bool(&w, "usable", usable);
    json_put_string(&w, "error", usable ? NULL : reason_of(&in->loaded.error, in->loaded.result));
    json_put_string(&w, "network", in->network[0] ? in->network : NULL);
    if (usable) json_model(in, &w);
    if (in->has_gpu) json_gpu(in, &w);
    json_tensors(in, &w);
    if (in->o->inspect.plan && usable) json_plan(in, &w);
    json_put_finish(&w);
}

static void print_text(inspection *in) {
    if (!in->count && !in->loaded.ctx) return; /* nothing could be read; the error message suffices */
    describe_file(in);
    if (in->loaded.ctx) describe_network(in);
    describe_tensors(in);
    if (in->loaded.ctx) describe_machine(in);
    if (in->has_gpu) describe_gpu(in);
    if (in->loaded.ctx && in->o->inspect.plan) describe_plan(in);
}

static void free_inspection(inspection *in) {
    for (size_t i = 0; i < in->count; i++) {
        free(in->tensors[i].name);
        free(in->tensors[i].note);
    }
    free(in->tensors);
    text_free(&in->out);
    reid_destroy(in->loaded.ctx);
}

int inspect_main(options *o) {
    inspection in;
    if (o->inspect.condition) return inspect_condition(o);
    if (o->operand_count != 1) {
        say_error("inspect: expected exactly one file of weights; see \"reid help inspect\"");
        return 2;
    }
    memset(&in, 0, sizeof in);
    o->every.weights = o->operands[0];
    in.o = o;
    in.asked = &o->every;
    look(&in);
    if (in.no_memory) {
        free_inspection(&in);
        return 2;
    }
    if (o->output.json) print_json(&in);
    else print_text(&in);
    results_begin(0);
    results_write(&in.out);
    int status = results_end(1) && in.loaded.ctx ? 0 : 2;
    if (!in.loaded.ctx) say_model_error(in.asked->weights, &in.loaded.error, in.loaded.result);
    free_inspection(&in);
    return status;
}
