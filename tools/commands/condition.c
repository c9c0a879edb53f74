/* reid inspect --condition: the numerical behaviour of a network on the user's images: how large activations get
   compared with FP16's limit, and how far an embedding moves when all pixels change by a millionth. */
#include "commands/condition.h"

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

static const double FP16_MOST = 65504, STEP = 1e-6, FP32_ROUNDING = 6e-8, AGREEMENT = 1e-5;

typedef struct conditioning {
    const options *o;
    models both;          /* unchanged, and with pixels that differ by STEP, up or down by channel */
    inputs list;
    char moved[320];      /* preset of the second model */
    float largest, most;  /* of one image; of all. at, most_at: operations that store them */
    char at[64], most_at[64];
    double growth;        /* the largest */
    const char *steepest; /* image with the largest growth */
    size_t done, failed;
    text out;
} conditioning;

static void observe(const reid_op_info *op, const float *values, void *user) {
    conditioning *c = user;
    size_t count = (size_t)op->out_h * (size_t)op->out_w * (size_t)op->out_c;
    for (size_t i = 0; i < count; i++) {
        float size = fabsf(values[i]);
        if (size <= c->largest) continue;
        c->largest = size;
        snprintf(c->at, sizeof c->at, "%s", op->name);
    }
}

/* Opens both models in FP32 on the CPU. Another std changes every value by the fraction STEP. */
static int open_both(conditioning *c) {
    reid_desc desc = model_desc(c->o, &c->o->every, NULL);
    desc.device = REID_DEVICE_CPU, desc.precision = REID_FP32, desc.fallback = desc.flip = desc.raw = 0;
    if (!models_add(&c->both, &desc)) return 0;
    const reid_info *info = &c->both.at[0].info;
    int n = snprintf(c->moved, sizeof c->moved, "%s std=%.9f,%.9f,%.9f", info->preprocessing,
                     info->std[0] * (1 + STEP), info->std[1] * (1 - STEP), info->std[2] * (1 + STEP));
    if (n >= (int)sizeof c->moved) {
        say_error("%s: the text of its preset is too long", shown(desc.weights));
        return 0;
    }
    desc.preset = c->moved, desc.height = desc.width = 0;
    return models_add(&c->both, &desc);
}

static void add_line(conditioning *c, const char *path, double growth) {
    text *t = &c->out;
    if (c->o->output.json) {
        json_writer w = json_write_inside(t, '[', c->done > 0);
        json_put_line(&w, 0);
        json_put_object(&w, NULL);
        json_put_string(&w, "path", path);
        json_put_number(&w, "largest", (double)c->largest, 9);
        json_put_string(&w, "at", c->at);
        json_put_number(&w, "growth", growth, 4);
        json_put_end(&w);
    } else {
        text_printf(t, "%-12.5g %-22s %-10.4g ", (double)c->largest, c->at, growth);
        text_visible(t, path);
        text_putc(t, '\n');
    }
}

/* Examines one image. Returns 0 with the reason in error. */
static int examine(conditioning *c, const char *path, const reid_image *image, float *rows, reid_error *error) {
    int dim = c->both.at[0].info.dim;
    c->largest = 0, c->at[0] = 0;
    if (reid_observe(c->both.at[0].ctx, image, observe, c, error) != REID_OK) return 0;
    for (int i = 0; i < 2; i++)
        if (reid_embed_ex(c->both.at[i].ctx, image, 1, rows + (ptrdiff_t)i * dim, error) != REID_OK) return 0;
    double square = 0;
    for (int k = 0; k < dim; k++) square += pow((double)rows[k] - (double)rows[dim + k], 2);
    double growth = sqrt(square) / STEP;
    if (!(growth <= c->growth)) c->growth = growth, c->steepest = path;
    if (c->largest > c->most) c->most = c->largest, memcpy(c->most_at, c->at, sizeof c->at);
    add_line(c, path, growth);
    c->done++;
    return 1;
}

static int examine_all(conditioning *c) {
    decoded d;
    reid_error error;
    const decode_settings how = decoding(c->o);
    float *rows = need_array((size_t)c->both.at[0].info.dim, 2 * sizeof *rows);
    pipeline *p = rows ? pipeline_start(&c->list, 0, c->list.count, &how, NULL) : NULL;
    while (p && pipeline_next(p, &d)) {
        const char *path = c->list.at[d.first].path;
        reid_image image = {d.pic.rgb, d.pic.width, d.pic.height, 0, REID_RGB8, NULL};
        int good = d.pic.rgb && examine(c, path, &image, rows, &error);
        if (!good) say_error("%s: %s", shown(path), d.pic.rgb ? error.text : d.why.s);
        c->failed += !good;
        pipeline_release(p, &d);
    }
    if (p) pipeline_stop(p);
    free(rows);
    return p && !interrupted();
}

/* Says what the figures mean for the choice of a precision and for comparisons between programs. */
static void warn(const conditioning *c) {
    if (c->most > (float)FP16_MOST)
        say_warning("activations reach %.3g, beyond FP16's limit of %g: on a GPU use --precision bf16 (from sm_80 on) "
                    "or fp32", (double)c->most,
                    FP16_MOST);
    else if (c->most > (float)(FP16_MOST / 4))
        say_warning("activations reach %.3g, close to FP16's limit of %g: other images may overflow; --precision bf16 "
                    "and fp32 are safe", (double)c->most, FP16_MOST);
    if (c->growth * FP32_ROUNDING > AGREEMENT)
        say_warning("%s: the rounding of FP32 (%g) may grow to %.1g in the embedding, so no two programs will agree to "
                    "%g on this image", shown(c->steepest), FP32_ROUNDING, c->growth * FP32_ROUNDING, AGREEMENT);
}

static void tell_json(const conditioning *c, text *all) {
    json_writer w = json_write(all);
    json_put_object(&w, NULL);
    json_put_number(&w, "step", STEP, 6);
    json_put_number(&w, "fp16_most", FP16_MOST, 6);
    json_put_number(&w, "largest", (double)c->most, 9);
    json_put_number(&w, "growth", c->growth, 4);
    json_put_count(&w, "failed", c->failed);
    json_put_array(&w, "pictures");
    json_put_inside(&w, &c->out);
    json_put_finish(&w);
}

static int tell(conditioning *c) {
    text all = TEXT_INIT;
    if (c->o->output.json) {
        tell_json(c, &all);
    } else {
        text_puts(&all, "LARGEST      STORED BY              GROWTH     IMAGE\n");
        text_join(&all, &c->out);
        text_printf(&all, "largest activation %.5g (%s), %.3g %% of FP16's limit; a change of %g in every pixel "
                    "becomes at most %.3g in an embedding\n", (double)c->most, c->most_at,
                    100 * (double)c->most / FP16_MOST,
                    STEP, c->growth * STEP);
    }
    return results_print(&all);
}

int inspect_condition(options *o) {
    conditioning c;
    int status = 2;
    memset(&c, 0, sizeof c);
    if (o->operand_count < 2) {
        say_error("inspect --condition: expected a file of weights and at least one image; see \"reid help inspect\"");
        return 2;
    }
    o->every.weights = o->operands[0];
    c.o = o;
    o->operands++, o->operand_count--; /* skips WEIGHTS, so that the operands are images, as in other commands */
    int found = collect_inputs(&c.list, o);
    o->operands--, o->operand_count++;
    if (found && open_both(&c) && examine_all(&c)) {
        if (!c.done) say_error("inspect --condition: no image could be used");
        else if (tell(&c)) status = c.failed ? 1 : 0;
        if (c.done) warn(&c);
    }
    models_close(&c.both);
    inputs_free(&c.list);
    text_free(&c.out);
    return status;
}
