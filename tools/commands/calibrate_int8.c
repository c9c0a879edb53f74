/* reid calibrate --int8: the ranges of the activations of a network, for INT8. */
#include "commands/calibrate_int8.h"

#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/requests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 16384, TRIES = 256, LEAST_TRY = TRIES / 16, MAX_RANGES = 256 };
enum { HELD_OUT = 5, LEAST_CROPS = 10 }; /* one image in HELD_OUT is held out if there are LEAST_CROPS or more */

/* A lower cosine between INT8 and FP32 means a different embedding, not just a rounded one. */
static const double POOR = 0.98;

/* Magnitudes of one operation's outputs, without zeros, which any range stores exactly. */
typedef struct histogram {
    char name[64];
    int levels;      /* positive values of a byte */
    float width, most; /* width of a bin, a power of two, 0 before the first value; largest value so far */
    uint64_t count[BINS];
} histogram;

typedef struct measuring {
    const options *o;
    inputs list;
    histogram *all;
    size_t ranges, crops, failed;
    int too_many;    /* 1: more than MAX_RANGES operations, which no known network has */
    models both;     /* FP32 and INT8 */
    size_t compared, poor; /* images */
    double sum, least;
    const char *worst;
} measuring;

/* Ranges fit the images on which they were measured, so they are judged on held-out images: every fifth, unless there
   are too few. */
static int holds_out(const measuring *m) { return m->list.count >= LEAST_CROPS; }
static int is_held_out(const measuring *m, size_t index) { return holds_out(m) && index % HELD_OUT == HELD_OUT - 1; }

/* ---- measuring --------------------------------------------------------------------------------------------------- */

/* Doubles the width of the bins until `value` has one. */
static void widen(histogram *h, float value) {
    if (h->width == 0) h->width = ldexpf(1, ilogbf(value) - 13); /* uses at least half of the bins */
    while (value >= h->width * (float)BINS) {
        for (int i = 0; i < BINS; i++)
            h->count[i] = i < BINS / 2 ? h->count[2 * i] + h->count[2 * i + 1] : 0;
        h->width *= 2;
    }
}

static void observe(const reid_op_info *op, const float *values, void *user) {
    measuring *m = user;
    size_t count = (size_t)op->out_h * (size_t)op->out_w * (size_t)op->out_c, at = 0;
    if (strcmp(op->kind, "conv") != 0) return;
    while (at < m->ranges && strcmp(m->all[at].name, op->name) != 0) at++;
    if (at == MAX_RANGES) {
        m->too_many = 1;
        return;
    }
    histogram *h = &m->all[at];
    if (at == m->ranges) {
        m->ranges++;
        snprintf(h->name, sizeof h->name, "%s", op->name);
        h->levels = op->activation[0] ? 255 : 127;
    }
    for (size_t i = 0; i < count; i++) {
        float value = fabsf(values[i]);
        if (!(value >= 1e-30f && value <= 1e30f)) continue;
        if (value > h->most) h->most = value, widen(h, value);
        h->count[(int)(value / h->width)]++;
    }
}

/* Returns 0 after saying what is wrong, or without a message when interrupted(). */
static int measure(measuring *m, reid_ctx *ctx) {
    decoded d;
    reid_error error;
    size_t good = 0;
    const decode_settings how = decoding(m->o);
    pipeline *p = pipeline_start(&m->list, 0, m->list.count, &how, NULL);
    if (!p) return 0;
    progress_start("range", m->list.count);
    while (pipeline_next(p, &d)) {
        reid_image image = {d.pic.rgb, d.pic.width, d.pic.height, 0, REID_RGB8, NULL};
        int held_out = is_held_out(m, d.first);
        if (!d.pic.rgb) say_error("%s: %s", shown(m->list.at[d.first].path), d.why.s);
        else if (!held_out && reid_observe(ctx, &image, observe, m, &error) != REID_OK)
            say_error("%s: %s", shown(m->list.at[d.first].path), error.text);
        else good++, m->crops += !held_out;
        m->failed = d.first + 1 - good;
        progress_update(d.first + 1, m->failed);
        pipeline_release(p, &d);
    }
    progress_stop();
    pipeline_stop(p);
    if (m->too_many) say_error("calibrate --int8: the network has more than %d convolutions", MAX_RANGES);
    return !m->too_many && !interrupted();
}

/* The squared error of all values when `range` is the largest that can be stored. */
static double squared_error(const histogram *h, double range) {
    double step = range / h->levels, sum = 0;
    for (int i = 0; i < BINS; i++) {
        double x = (i + 0.5) * (double)h->width, stored = fmin(rint(x / step), h->levels) * step;
        sum += (double)h->count[i] * (x - stored) * (x - stored);
    }
    return sum;
}

static float best_range(const histogram *h) {
    double best = h->most, least = INFINITY;
    if (h->width == 0) return 1; /* only zeros */
    for (int i = LEAST_TRY; i <= TRIES; i++) {
        double range = (double)h->most * i / (double)TRIES, error = squared_error(h, range);
        if (error < least) least = error, best = range;
    }
    return (float)best;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Describes F32 scalar number i of the file's data. */
static void put_scalar(json_writer *w, const char *name, size_t i) {
    json_put_object(w, name);
    json_put_string(w, "dtype", "F32");
    json_put_array(w, "shape");
    json_put_end(w);
    json_put_array(w, "data_offsets");
    json_put_count(w, NULL, 4 * i);
    json_put_count(w, NULL, 4 * i + 4);
    json_put_end(w);
    json_put_end(w);
}

static const output_kind RANGES_FILE = {.what = "ranges written by reid calibrate --int8",
                                       .holds = "{\"__metadata__\":{\"reid.fingerprint\":"};

/* safetensors: one F32 scalar for each operation. */
static int write_ranges(const measuring *m, const reid_info *info) {
    text file = TEXT_INIT, values = TEXT_INIT, why = TEXT_INIT;
    json_writer w = json_write(&file);
    w.tight = 1;
    text_add(&file, "\0\0\0\0\0\0\0\0", 8);
    json_put_object(&w, NULL);
    json_put_object(&w, "__metadata__");
    json_put_string(&w, "reid.fingerprint", info->fingerprint);
    json_put_string(&w, "reid.network", info->network);
    json_put_end(&w);
    for (size_t i = 0; i < m->ranges; i++) {
        float range = best_range(&m->all[i]);
        uint32_t bits;
        memcpy(&bits, &range, 4);
        put_scalar(&w, m->all[i].name, i);
        for (int k = 0; k < 32; k += 8) text_putc(&values, (char)(bits >> k & 255));
        say_info("%-24s largest %-12g range %g", m->all[i].name, (double)m->all[i].most, (double)range);
    }
    json_put_end(&w);
    while (file.len % 8 && !text_failed(&file)) text_putc(&file, ' ');
    for (int i = 0; i < 8 && !text_failed(&file); i++) file.s[i] = (char)((uint64_t)(file.len - 8) >> 8 * i & 255);
    text_add(&file, values.s, values.len);
    int good = text_failed(&values) ? text_no_memory(&why) : file_write(m->o->output.path, &RANGES_FILE, &file, &why);
    if (!good) say_error("%s: %s", shown(m->o->output.path), why.s);
    text_free(&file);
    text_free(&values);
    text_free(&why);
    return good;
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static int open_as(models *all, const options *o, reid_precision precision, const char *ranges) {
    reid_desc desc = model_desc(o, &o->model[0], NULL);
    desc.precision = precision, desc.device = REID_DEVICE_CPU, desc.flip = desc.raw = 0;
    desc.ranges = ranges, desc.fallback = 0; /* INT8 alone, without the fallback to FP32 */
    return models_add(all, &desc);
}

static int compare(void *user, size_t index, const float *row, const char *why) {
    measuring *m = user;
    (void)why; /* already reported */
    int dim = m->both.dim / 2;
    if (!row || (holds_out(m) && !is_held_out(m, index))) return 1;
    double cosine = reid_cosine(row, row + dim, dim);
    m->compared++;
    m->sum += cosine;
    m->poor += cosine < POOR;
    if (cosine < m->least) m->least = cosine, m->worst = m->list.at[index].id;
    return 1;
}

/* The share of images for which the chance of seeing at most `poor` of `count` is 5 %: the upper end of Clopper and
   Pearson's one-sided 95 % interval (Biometrika 26, 1934), by bisection. */
static double at_most(size_t poor, size_t count) {
    double low = 0, high = 1;
    for (int step = 0; step < 60 && poor < count; step++) {
        double p = (low + high) / 2, term = pow(1 - p, (double)count), sum = term;
        for (size_t i = 0; i < poor; i++) sum += term *= (double)(count - i) / (double)(i + 1) * p / (1 - p);
        *(sum > 0.05 ? &low : &high) = p;
    }
    return high;
}

static void tell_json(const measuring *m, double mean, double tail, text *out) {
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_count(&w, "crops", m->crops);
    json_put_count(&w, "failed", m->failed);
    json_put_count(&w, "ranges", m->ranges);
    json_put_bool(&w, "held_out", holds_out(m));
    json_put_object(&w, "cosine");
    json_put_count(&w, "pictures", m->compared);
    json_put_number(&w, "mean", mean, 9);
    json_put_number(&w, "least", m->least, 9);
    json_put_number(&w, "below", POOR, 6);
    json_put_count(&w, "count_below", m->poor);
    json_put_fixed(&w, "share_at_most", tail, 4);
    json_put_finish(&w);
}

static int tell(const measuring *m) {
    text out = TEXT_INIT;
    double mean = m->compared ? m->sum / (double)m->compared : (double)NAN, tail = at_most(m->poor, m->compared);
    if (m->o->output.json) {
        tell_json(m, mean, tail, &out);
    } else {
        text_printf(&out, "%zu range%s from %zu image%s. Cosine between INT8 and FP32 on %zu %s: mean %.6f, least "
                          "%.6f\n", m->ranges, plural(m->ranges), m->crops, plural(m->crops), m->compared,
                    holds_out(m) ? "held-out images" : "of the same images", mean, m->least);
        if (holds_out(m))
            text_printf(&out, "%zu of the %zu held-out images are below %g; among all images like these, up to %.1f %% "
                              "may be (95 %% confidence)\n", m->poor, m->compared, POOR, 100 * tail);
    }
    if (m->poor)
        say_warning("INT8 and FP32 embeddings differ for %zu image%s, most for %s: activations exceed the ranges. "
                    "Measure more images like these, or stay with FP32", m->poor, plural(m->poor), shown(m->worst));
    else if (!holds_out(m))
        say_warning("too few images to hold any out, so the effect on other images is unknown; give at least %d",
                    LEAST_CROPS);
    return results_print(&out);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int usable(const options *o) {
    text why = TEXT_INIT;
    int good = 0;
    if (o->models != 1) say_error("calibrate --int8: give exactly one model with -m FILE");
    else if (!o->output.path) say_error("calibrate --int8: name the file for the ranges with -o FILE.safetensors");
    else if (!o->operand_count) say_error("calibrate --int8: no INPUT; see \"reid help calibrate\"");
    else if (!file_target(o->output.path, &RANGES_FILE, &why)) say_error("%s: %s", shown(o->output.path), why.s);
    else good = 1;
    text_free(&why);
    return good;
}

static int run(measuring *m) {
    const options *o = m->o;
    if (!collect_inputs(&m->list, o)) return 2;
    if (!open_as(&m->both, o, REID_FP32, NULL)) return 2;
    const model *fp32 = &m->both.at[0];
    if (strncmp(fp32->info.network, "resnet", 6) != 0) {
        say_error("%s: %s cannot be computed in INT8; only ResNets can", shown(fp32->weights), fp32->info.network);
        return 2;
    }
    if (!measure(m, fp32->ctx)) return 2;
    if (!m->crops) {
        say_error("calibrate --int8: no image could be measured");
        return 2;
    }
    if (!write_ranges(m, &fp32->info) || !open_as(&m->both, o, REID_INT8, o->output.path)) return 2;
    stream_job job = {.all = &m->both, .list = &m->list, .first = 0, .end = m->list.count, .decode = decoding(o),
                      .label = "comparison", .fn = compare, .user = m};
    if (stream_run(&job) != STREAM_DONE) return 2;
    return !tell(m) ? 2 : m->failed ? 1 : 0;
}

int calibrate_int8(const options *o) {
    measuring m;
    memset(&m, 0, sizeof m);
    m.o = o, m.least = 1;
    if (!usable(o)) return 2;
    m.all = need_zeroed(MAX_RANGES, sizeof *m.all);
    int status = m.all ? run(&m) : 2;
    models_close(&m.both);
    inputs_free(&m.list);
    free(m.all);
    return status;
}
