/* reid inspect: what is in a weight file, and what would be made of it. */
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
    char network[32];
    tensor *tensors;
    size_t count, cap, by_status[STATUSES];
    model loaded; /* loaded.ctx is NULL when it failed */
    reid_gpu_info gpu; /* only where it computes, or was asked to */
    int has_gpu;
    char network_in_file[32], preset_in_file[256], stride_in_file[16];
    long long file_size;
    int no_memory;     /* for a tensor's name; told */
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
        reid_error unused; /* reid_create has told what is wrong */
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

/* The names of every tensor of one status, or of the first few. */
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

/* Head, preprocessing, size and cost. */
static void describe_network(inspection *in) {
    text *t = &in->out;
    const reid_info *info = &in->loaded.info;
    add_label(t, "head");
    text_puts(t, info->head);
    if (strcmp(info->head, "seeded") == 0) text_printf(t, ":%llu", (unsigned long long)info->head_seed);
    reid_op_info last;
    int op = reid_op_count(in->loaded.ctx) - 2; /* behind it comes the normalisation */
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
    text_printf(t, "%.3f GMAC an image\n", (double)info->macs * 1e-9);
    add_label(t, "embedding");
    text_printf(t, "%d floats, %s%s\n", info->dim, info->raw ? "not normalised" : "of length 1",
                info->flip ? ", averaged with the mirrored image" : "");
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
                info->precision, info->latency ? ", for latency" : "", info->threads, info->threads == 1 ? "" : "s",
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

/* "3x3/2", with what happens around the operation: residual added, input scaled, activation. */
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

/* The same as JSON. */

static void json_gpu(inspection *in) {
    text *t = &in->out;
    const reid_gpu_info *g = &in->gpu;
    text_puts(t, ", \"gpu\": {\"name\": ");
    text_json(t, g->name);
    text_printf(t, ", \"arch\": \"%s\", \"multiprocessors\": %d, \"uuid\": \"%s\", \"memory\": %zu, "
                "\"memory_free\": %zu, \"integrated\": %s, \"driver\": %d, \"nvrtc\": %d",
                g->arch, g->multiprocessors, g->uuid, g->memory, g->memory_free, g->integrated ? "true" : "false",
                g->driver_version, g->nvrtc_version);
    text_puts(t, ", \"nvrtc_path\": ");
    text_json(t, g->nvrtc_path);
    text_printf(t, ", \"kernels\": \"%s\", \"cache\": ", g->kernels);
    text_json(t, g->cache_dir);
    text_putc(t, '}');
}

static void json_tensors(inspection *in) {
    text *t = &in->out;
    text_puts(t, ", \"tensors\": {");
    for (int s = 0; s < STATUSES; s++)
        text_printf(t, "%s\"%s\": %zu", s ? ", " : "", STATUS_NAMES[s], in->by_status[s]);
    text_puts(t, ", \"list\": [");
    for (size_t i = 0, n = 0; i < in->count; i++) {
        reid_tensor_status s = in->tensors[i].status;
        if (!in->o->inspect.tensors && (s == REID_TENSOR_USED || s == REID_TENSOR_IGNORED)) continue;
        text_puts(t, n++ ? ",\n  {\"name\": " : "\n  {\"name\": ");
        text_json(t, in->tensors[i].name);
        text_printf(t, ", \"status\": \"%s\", \"note\": ", STATUS_NAMES[s]);
        text_json(t, in->tensors[i].note);
        text_putc(t, '}');
    }
    text_puts(t, "]}");
}

static void json_model(inspection *in) {
    text *t = &in->out;
    const reid_info *info = &in->loaded.info;
    text_printf(t, ", \"fingerprint\": \"%s\", \"head\": \"%s\", \"head_seed\": %llu, \"preset\": \"%s\"",
                info->fingerprint, info->head, (unsigned long long)info->head_seed, info->preset);
    text_printf(t, ", \"preset_from\": \"%s\", \"height\": %d, \"width\": %d, \"resize_edge\": %d",
                source_of(in->asked->preset, in->preset_in_file, "the network's default"), info->height, info->width,
                info->resize_edge);
    text_puts(t, ", \"preprocessing\": ");
    text_json(t, info->preprocessing);
    text_printf(t, ", \"filter\": \"%s\", \"order\": \"%s\", \"scale\": %.17g", info->filter,
                info->bgr ? "bgr" : "rgb", info->scale);
    text_printf(t, ", \"mean\": [%.17g, %.17g, %.17g]", info->mean[0], info->mean[1], info->mean[2]);
    text_printf(t, ", \"std\": [%.17g, %.17g, %.17g]", info->std[0], info->std[1], info->std[2]);
    text_printf(t, ", \"last_stride\": %d, \"dim\": %d, \"flip\": %s, \"raw\": %s, \"latency\": %s", info->last_stride,
                info->dim, info->flip ? "true" : "false", info->raw ? "true" : "false",
                info->latency ? "true" : "false");
    text_printf(t, ", \"parameters\": %lld, \"macs\": %lld", (long long)info->parameters, (long long)info->macs);
    text_printf(t, ", \"device\": \"%s\", \"chip\": ", info->device);
    text_json(t, info->chip);
    text_printf(t, ", \"isa\": \"%s\", \"precision\": \"%s\", \"batch\": %d, \"threads\": %d, \"lanes\": %d", info->isa,
                info->precision, info->batch, info->threads, info->lanes);
    text_printf(t, ", \"weight_bytes\": %zu, \"arena_bytes\": %zu, \"total_bytes\": %zu", info->weight_bytes,
                info->arena_bytes, info->total_bytes);
}

static void json_plan(inspection *in) {
    text *t = &in->out;
    text_puts(t, ", \"plan\": [");
    for (int i = 0; i < reid_op_count(in->loaded.ctx); i++) {
        reid_op_info op;
        reid_query_op(in->loaded.ctx, i, &op);
        text_puts(t, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
        text_json(t, op.name);
        text_printf(t, ", \"op\": \"%s\", \"in\": [%d, %d, %d], \"out\": [%d, %d, %d], \"kernel\": [%d, %d]", op.kind,
                    op.in_h, op.in_w, op.in_c, op.out_h, op.out_w, op.out_c, op.kernel_h, op.kernel_w);
        text_printf(t, ", \"stride\": %d, \"pad\": %d, \"activation\": \"%s\"", op.stride, op.pad_y, op.activation);
        text_printf(t, ", \"adds_residual\": %d, \"scales_input\": %d", op.residual != REID_OP_NONE,
                    op.scale != REID_OP_NONE);
        text_printf(t, ", \"macs\": %lld, \"parameters\": %lld, \"bytes\": %lld}", (long long)op.macs,
                    (long long)op.parameters, (long long)op.bytes);
    }
    text_puts(t, "]");
}

static void print_json(inspection *in) {
    text *t = &in->out;
    text_puts(t, "{\"file\": ");
    text_json(t, in->asked->weights);
    text_printf(t, ", \"file_bytes\": %lld, \"usable\": %s, \"error\": ", in->file_size,
                in->loaded.ctx ? "true" : "false");
    if (in->loaded.ctx) text_puts(t, "null");
    else text_json(t, reason_of(&in->loaded.error, in->loaded.result));
    text_puts(t, ", \"network\": ");
    if (in->network[0]) text_json(t, in->network);
    else text_puts(t, "null");
    if (in->loaded.ctx) json_model(in);
    if (in->has_gpu) json_gpu(in);
    json_tensors(in);
    if (in->o->inspect.plan && in->loaded.ctx) json_plan(in);
    text_puts(t, "}\n");
}

static void print_text(inspection *in) {
    if (!in->count && !in->loaded.ctx) return; /* nothing could be read; the error says it all */
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
